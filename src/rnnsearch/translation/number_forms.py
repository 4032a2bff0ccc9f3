"""How numbers are written: what each is worth, and what it is in another language.

A number is one source word with its parts: 10 000,25, a telephone number, 12:45, 8/18/2016. Two
numbers are equal if their values are; the hour of a clock may change by 12 (3 pm, 15 h).
page/engine/number_forms.js has the same rules.
"""

from __future__ import annotations

import re
from itertools import pairwise

from rnnsearch.text.codec import JOINER
from rnnsearch.translation.spelt import english_ending, in_digits
from rnnsearch.translation.word_tables import word_list

THOUSAND = r"\s(?:thousand|mille)\s"
_DECIMAL = r"\d+(?:[.,]\d+)*"
FIGURE = (
    r"(?<![\w.,:/+'-])(?:[1-9]\d{0,2}(?:[\s']\d{3})+(?:[.,]\d+)?"
    rf"|[1-9]\d{{0,2}}{THOUSAND}\d{{1,3}}|{_DECIMAL}{THOUSAND}millions?"
    r"|\+\d{1,3}(?:[\s.-]\d{1,4}){2,7}"
    rf"|\d{{2,4}}(?:\s\d{{2,4}}){{2,7}}|{_DECIMAL}(?:[:/–—]{_DECIMAL})+"
    r"|\d{1,2}\s?h\s?\d\d|\d{1,2}(?:[:.]\d\d)?(?:[ap]m|[AP]M)|No\.\s?\d+)(?!\w|[.,:/-]\d)"
)
"""Regular expression of the numbers that a tokeniser cuts: thousands, telephone numbers, times,
dates."""
MARKS = {
    **dict.fromkeys(word_list("en zh ja ko th he"), (",", ".")),
    **dict.fromkeys(word_list("de es it nl pt ro tr id da el"), (".", ",")),
    **dict.fromkeys(word_list("fr ru uk bg cs sk pl hu sv nb fi"), (" ", ",")),
}
"""Language → its marks of thousands and of decimals. In other languages, any mark is one of
thousands."""
CLOCK = re.compile(r"(\d{1,2})(?:\s?[:h.]\s?(\d\d)?)?\s?([ap]m)?")
CURRENCY = re.compile("[$£€¥]|EUR|USD|GBP")
AMOUNT = re.compile(
    rf"{CURRENCY.pattern}|%|(?:euro|dollar|pound|livre|cent|point)s?|percent|fois|times|[ckm]?m"
    r"|m[io]ll.*|bill.*|trill.*|[km]?g|[cdm]?[lL]"
)
"""What is behind a number with a point that is no time of day (5.30 %); CURRENCY: or in front of
it."""
HALVES = ("am", "pm")
ENGLISH_AND_FRENCH = {"en", "fr"}
"""Languages whose ordinals and times of day are known."""
AFTER_HOUR = word_list("am pm h heure heures o'clock")
TOO_LATE = re.compile(r"(?:2[5-9]|[3-9]\d)\s?h\s?\d\d")
"""An hour that no clock has: 42 h 15 for 42:15, minutes and seconds."""
ROMAN = re.compile(r"([IVX]+)(?:(?<=I)(?:er|re)|e|ème)s?")
ORDINAL = re.compile(rf"\d+(?:st|nd|rd|th|(?:er|re|e|ère|ème)s?)|{ROMAN.pattern}")
CAPITAL_ORDINAL = re.compile("\\d+(?:E|ER|RE|ÈME|ST|ND|RD|TH)")
BILLIONS = re.compile(r"(\W)(?:(thousand)|mille)\Wmillions?$")


def is_number(word: str) -> bool:
    """Tells whether a word has a digit, or is an ordinal in Roman numerals (XIXe)."""
    return any(map(str.isdecimal, word)) or bool(ROMAN.fullmatch(word))


def is_source_number(word: str) -> bool:
    """Tells whether a source word is a number, in digits or letters."""
    return is_number(word) or in_digits(word) is not None


def value(text: str, language: str) -> str:
    """Returns the digits of a number without marks of thousands: "." is the decimal mark, and "|"
    is what stands between other parts."""
    if roman := ROMAN.fullmatch(text):
        ones = [{"I": 1, "V": 5, "X": 10}[letter] for letter in roman[1]] + [0]
        return str(sum(one if one >= later else -one for one, later in pairwise(ones)))
    marks = ".,".replace(MARKS[language][1], "") if language in MARKS else ".,"
    text = text.replace(JOINER, " ")
    thousand = rf"(?<!\d)(\d{{1,3}}){THOUSAND}(\d{{1,3}})(?!\d)"
    text = re.sub(thousand, lambda found: found[1] + found[2].zfill(3), text)
    thousands = rf"(?<![\d.,])[1-9]\d{{0,2}}(?:[{marks}'\s]\d{{3}}(?!\d))+"
    text = re.sub(thousands, lambda found: re.sub(r"\D", "", found[0]), text)
    text = re.sub(r"(?<=\d)\s?[.,]\s?(?=\d)", ".", text)
    text = re.sub(r"\.(?!\d)|(?<!\d)\.|\+(?!\d)|[^\d.+]", "|", text)
    return re.sub(r"\|+", "|", text).strip("|")


def read_figure(figure: str, language: str) -> str:
    """Returns a figure as networks know it: 6 billion for 6 thousand million, 5:30 pm for 5:30pm,
    number 7 for No. 7; the digits of one in letters."""
    if letters := in_digits(figure):
        other = "en" if language == "fr" else "fr"
        return converted(letters, other, language).replace(JOINER, " ")
    figure = re.sub(r"(?<=\d)[aApP][mM]$", lambda found: f" {found[0].lower()}", figure)
    number = {"fr": "numéro ", "en": "number "}.get(language, r"\g<0>")
    figure = re.sub(r"^No\.\s?", number, figure)
    return BILLIONS.sub(lambda found: f"{found[1]}{'billion' if found[2] else 'milliards'}", figure)


def undotted(word: str) -> str:
    """Returns pm for P.M."""
    return word.lower().replace(".", "")


def clock(text: str, after: str) -> tuple[int, str, str] | None:
    """Returns hour, minutes, and "am", "pm" or ""; None for what is no time. after: the next
    word."""
    found = CLOCK.fullmatch(text.replace(JOINER, " ").lower())
    half = undotted(after) if undotted(after) in HALVES else ""
    return (int(found[1]), found[2] or "00", found[3] or half) if found else None


def certain_time(text: str, after: str) -> tuple[int, str, str] | None:
    """Returns `clock` of what is more than two digits; None for these."""
    return clock(text, after) if undotted(after) in AFTER_HOUR or not text.isdecimal() else None


def hour_of_day(hour: int, half: str) -> int:
    """Returns the hour counted to 24."""
    return hour % 12 + 12 * (half == "pm") if half else hour


def in_24_hours(text: str, after: str) -> str:
    """Returns 17-19 for 5-7 if "pm" is after it; "" for other text."""
    hours = re.fullmatch(r"(\d{1,2})([-–])(\d{1,2})", text)
    if hours is None or undotted(after) != "pm":
        return ""
    first, last = int(hours[1]), int(hours[3])
    return f"{afternoon(first, last)}{hours[2]}{hour_of_day(last, 'pm')}"


def afternoon(first: int, last: int) -> int:
    """Returns the hour, counted to 24, of the first one in *2 to 4 pm*: 14; in *10 to 4 pm*: 10."""
    return hour_of_day(first, "pm") if first <= 12 and first % 12 < last % 12 else first


def begun_in_24_hours(text: str, last: str, after: str) -> str:
    """Returns 14 for 2, and 14 h 30 for 2:30, in *2 to 4 pm* and *2:30 to 4 pm*; "" for other text.
    last: the second number. after: the word behind it."""
    begin, end = clock(text, ""), clock(last, after)
    if not (begin and end) or begin[2] or end[2] != "pm":
        return ""
    hour = afternoon(begin[0], end[0])
    minutes = "" if text.isdecimal() else f"{JOINER}h{JOINER}{begin[1]}"
    return f"{hour}{minutes}" if hour != begin[0] else ""


def is_amount(before: str, text: str, after: str) -> bool:
    """Tells whether a number between two words is an amount of something."""
    sure = text[-1:].isdecimal() and (CURRENCY.fullmatch(before) or AMOUNT.fullmatch(after))
    return bool(sure) and undotted(after) not in AFTER_HOUR


def values(text: str, after: str, language: str, before: str = "") -> set[str]:
    """Returns the value of a number, and that of a time of day (5 pm, 17h: 17h00; 5-7 pm: 17-19) or
    of thousands (5k: 5000). before, after: the words beside it."""
    if TOO_LATE.fullmatch(text):
        return set()
    own, time = {value(text, language)}, certain_time(text, after)
    if re.fullmatch(r"\d+k", text + after * (after in ("k", "K")), re.IGNORECASE):
        own.add(f"{value(text, language)}000")
    if hours := in_24_hours(text, after):
        own.add(value(hours, language))
    if time and not ("." in text and is_amount(before, text, after)):
        hour, minutes, half = time
        own |= {f"{hour}h{minutes}", f"{hour_of_day(hour, half)}h{minutes}"}
    return own


def converted(text: str, source: str, target: str) -> str:
    """Returns a number with the target language's marks of thousands and decimals, if it has
    thousands; an hour of a clock with a colon (12h45); an ordinal with the target language's
    ending."""
    text = BILLIONS.sub("", text)
    if source == target or not {source, target} <= MARKS.keys():
        return text
    both, plain = {source, target} == ENGLISH_AND_FRENCH, text.replace(JOINER, " ")
    if both and ORDINAL.fullmatch(text):
        rank = value(text, source)
        if target == "fr":
            return rank + ("er" if rank == "1" else "e")
        return rank + english_ending(int(rank))
    if both and target == "en" and re.fullmatch(r"\d{1,2}\s?h\s?\d\d", plain):
        return re.sub(r"\s?h\s?", ":", plain)
    whole, dot, decimals = value(plain, source).partition(".")
    marked = re.match(rf"\d+(?:[\s.,']\d\d|{THOUSAND})\d", plain)
    if "." in decimals or not whole.isdecimal() or not marked:
        return text
    thousands, decimal = MARKS[target]
    digits = f"{int(whole):,}".replace(",", thousands.replace(" ", JOINER))
    return digits + (decimal + decimals if dot else "")
