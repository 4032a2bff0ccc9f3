"""Hours, days and months as signs and timetables write them: two hours are copied, 9h30-12h as
9:30-12:00, 2-4 pm as 14h-16h; Mon-Fri is read as Monday to Friday, 5 Jan. as 5 January.
page/engine/dates.js has the same rules."""

from __future__ import annotations

import re
from functools import partial

from rnnsearch.text.codec import JOINER
from rnnsearch.translation.number_forms import afternoon, hour_of_day
from rnnsearch.translation.word_tables import word_list, word_table

_HALF = r"\s?[aApP](?:[mM]|\.[mM]\.)"
_DIGITS = r"(?:[01]?\d|2[0-4])"
_HOUR = rf"{_DIGITS}(?:(?:\s?[hH](?:\s?\d\d)?|:\d\d)(?:{_HALF})?|(?:\.\d\d)?{_HALF})"
_BEFORE_HALF = rf"{_DIGITS}(?:\.\d\d)?(?=\s?[-–—]\s?{_DIGITS}(?:[:.]\d\d)?{_HALF})"
HOURS = (
    r"(?<![\w+'-])(?<!\d[.,:/])(?<!\b[Ee]n\s)(?<!sous\s)"
    rf"(?:{_HOUR}|{_BEFORE_HALF})\s?[-–—]\s?{_HOUR}(?!\w|[.,:-]\d)"
)
"""Regular expression of two hours: 9h30-12h, 9:30-12:00, 9 am - 5:30 pm, 2-4 pm. *En 2h-3h* says
how long."""
_DAYS = {
    "en": "mon Monday, tue Tuesday, tues Tuesday, wed Wednesday, thu Thursday, thur Thursday, thurs"
    " Thursday, fri Friday, sat Saturday, sun Sunday",
    "fr": "lun lundi, mar mardi, mer mercredi, jeu jeudi, ven vendredi, sam samedi, dim dimanche",
}
_MONTHS = {
    "en": "jan January, feb February, mar March, apr April, jun June, jul July, aug August, sep"
    " September, sept September, oct October, nov November, dec December",
    "fr": "janv janvier, févr février, fév février, avr avril, juil juillet, sept septembre, oct"
    " octobre, nov novembre, déc décembre",
}
SHORT_DATES = {
    language: word_table(days) | word_table(_MONTHS[language]) for language, days in _DAYS.items()
}
"""Language → abbreviation, in lowercase → name of a day or month."""
UNTIL_DAY = {"en": " to ", "fr": " à "}
"""Language → what is read for the dash between two days."""
SHORT_DATE = re.compile(r"([^\W\d_]+)\.?")
"""A word of a match of DATES, with its full stop."""
BETWEEN_DAYS = re.compile(r"\s?[-–—]\s?")
HALVED = re.compile(
    r"(\d\d?)(?:[:.](\d\d))?(?:\s?([ap])[m.]+)?(\s?[-–—]\s?)(\d\d?)(?:[:.](\d\d))?"
    r"\s?([ap])[m.]+",
    re.IGNORECASE,
)
"""Two hours of English; the second one is before or after noon."""
SENTENCE_END = re.compile(r"\s*$|\s+[A-ZÀ-Ý]")
"""What is behind a full stop that ends a sentence."""


def _dates(language: str, links: str, ending: str, closed: str) -> re.Pattern[str]:
    """Returns the pattern of abbreviations beside another day or a number. links: words between two
    days. ending: those of ordinals. closed: what is said of a day."""
    day, month = ("|".join(word_table(each[language])) for each in (_DAYS, _MONTHS))
    number = rf"\d\d?(?:{ending})?"
    after_day = (
        rf"{number}(?::\d\d|\s?(?:h|[ap]\.?m)(?![^\W\d_])|\s(?:{month})(?!\w))|{closed}(?!\w)"
    )
    first = r"\d\d?(?![\d:.,%]|\s(?:years?|months?)\b)|" * (language == "en")
    return re.compile(
        r"(?<![\w-])(?<!\d[.,])"
        rf"(?:(?:{day})\.?(?:\s?[-–—]\s?|\s(?:{links})\s)(?:{day})(?!\w)\.?"
        rf"|(?:{day})\.?(?=[:,]?\s(?:{after_day}))|{number}\s(?:{month})(?!\w)\.?"
        rf"|(?:{month})\.?(?=\s(?:{first}(?:19|20)\d\d(?!\d))))",
        re.IGNORECASE,
    )


ENGLISH_DATES = _dates("en", "to|and|or|&", "st|nd|rd|th", "closed")
FRENCH_DATES = _dates("fr", "au|et|ou|à|&", "er", "fermé")
DATES = {"en": ENGLISH_DATES, "fr": FRENCH_DATES}
ALSO_WORDS = word_list("sat sun wed mar mer jeu sam jan dec sept")
"""Abbreviations that are also words or names."""
BEFORE_DAY_ALONE = ",;:.(/–-"
"""Marks behind which one of ALSO_WORDS with a capital is a day or month: also *on* and nothing."""


def spell_dates(line: str, language: str) -> str:
    """Returns a line with the names of abbreviated days and months."""
    return DATES[language].sub(partial(_spelt, language), line) if language in DATES else line


def _spelt(language: str, found: re.Match[str]) -> str:
    """Returns the names for an abbreviation, or two; the match, if it is of words. The full stop of
    a sentence stays."""
    names, text = SHORT_DATES[language], found[0]
    short = [one for one in re.findall(r"[^\W\d_]+", text.lower()) if one in names]
    words = all(one in ALSO_WORDS for one in short)
    before = found.string[: found.start()].rstrip()
    begins = before[-1:] in BEFORE_DAY_ALONE or before[-3:].lower().lstrip() == "on"
    sure = "." in text or BETWEEN_DAYS.search(text) or text[0].isdecimal()
    if words and not (sure or (begins and text[0].isupper())):
        return text
    ends = text.endswith(".") and SENTENCE_END.match(found.string, found.end())
    spelt = SHORT_DATE.sub(lambda one: names.get(one[1].lower(), one[0]), text)
    spelt = BETWEEN_DAYS.sub(UNTIL_DAY[language], spelt) + ("." if ends else "")
    return spelt[0].upper() + spelt[1:] if text[0].isupper() else spelt


def written_hours(text: str, languages: tuple[str, str]) -> str:
    """Returns two hours as the target language writes them: 9:30-12:00 for 9h30-12h, 9h-17h30 for
    9 am-5:30 pm. Others stay."""
    plain = text.replace(JOINER, " ")
    if languages == ("fr", "en"):
        plain = re.sub(r"\s?[hH](?!\s?\d)", ":00", plain)
        plain = re.sub(r"\s?[hH]\s?(?=\d)", ":", plain)
    elif languages == ("en", "fr") and (found := HALVED.fullmatch(plain)):
        first, minutes, half, dash, last, others, other = found.groups(default="")
        end = hour_of_day(int(last), f"{other.lower()}m")
        begin = int(first)
        if half:
            begin = hour_of_day(begin, f"{half.lower()}m")
        elif other in "pP":
            begin = afternoon(begin, int(last))
        else:  # 11-1 am
            begin = begin % 12 + 12 * (begin % 12 >= end)
        plain = f"{begin}h{minutes}{dash}{end}h{others}"
    return plain.replace(" ", JOINER)
