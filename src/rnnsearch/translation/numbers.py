"""Holds the numbers of a translation to those of the source: each arrives once, with its parts.

A number is one source word with its parts: 10 000,25, a telephone number, 12:45, 8/18/2016. Two
numbers are equal if their values are; the hour of a clock may change by 12 (3 pm, 15 h).
page/engine/numbers.js has the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rnnsearch.text.codec import JOINER
from rnnsearch.translation.spelt import in_digits
from rnnsearch.translation.target_words import RARE, Word, copy, insert, mean

THOUSAND = r"\s(?:thousand|mille)\s"
_DECIMAL = r"\d+(?:[.,]\d+)*"
FIGURE = (
    r"(?<![\w.,:/+'-])(?:[1-9]\d{0,2}(?:[\s']\d{3})+(?:[.,]\d+)?"
    rf"|[1-9]\d{{0,2}}{THOUSAND}\d{{1,3}}|{_DECIMAL}{THOUSAND}millions?"
    r"|\+\d{1,3}(?:[\s.-]\d{1,4}){2,7}"
    rf"|\d{{2,4}}(?:\s\d{{2,4}}){{2,7}}|{_DECIMAL}(?:[:/–—]{_DECIMAL})+"
    r"|\d{1,2}\s?h\s?\d\d|\d{1,2}[:.]\d\d[ap]m|No\.\s?\d+)(?!\w|[.,:/-]\d)"
)
"""Regular expression of the numbers that a tokeniser cuts: thousands, telephone numbers, times,
dates."""
MARKS = {
    **dict.fromkeys(("en", "zh", "ja", "ko", "th", "he"), (",", ".")),
    **dict.fromkeys(("de", "es", "it", "nl", "pt", "ro", "tr", "id", "da", "el"), (".", ",")),
    **dict.fromkeys(("fr", "ru", "uk", "bg", "cs", "sk", "pl", "hu", "sv", "nb", "fi"), (" ", ",")),
}
"""Language → its marks of thousands and of decimals. In other languages, any mark is one of
thousands."""
COUNTED_BY = dict.fromkeys(("zh", "ja", "ko"), "十百千万萬亿億兆십백천만억조")
"""Language → words behind a number (5 万: 50,000) that are not read: numbers stay as they are."""
NOONS = ("noon", "midday", "midnight", "midi", "minuit")
CLOCK = re.compile(r"(\d{1,2})(?:\s?[:h.]\s?(\d\d)?)?\s?([ap]m)?")
HALVES = ("am", "pm")
TIMES_OF_DAY = {*HALVES, "matin", "après-midi", "soir", "nuit"}
ENGLISH_AND_FRENCH = {"en", "fr"}
"""Languages whose ordinals and times of day are known."""
AFTER_HOUR = (*HALVES, "h", "heure", "heures", "o'clock")
AFTER_DAY = (
    *("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre"),
    *("octobre", "novembre", "décembre", "à", "au", "de", "du", "et", "ou", "dans", "pour"),
)
"""What follows a day of the month, which is no ordinal in French."""
TOO_LATE = re.compile(r"(?:2[5-9]|[3-9]\d)\s?h\s?\d\d")
"""An hour that no clock has: 42 h 15 for 42:15, minutes and seconds."""
LONGEST_NUMBER = 12
"""Maximum number of target words of a number."""


ROMAN = re.compile(r"([IVX]+)(?:(?<=I)(?:er|re)|e|ème)s?")
NUMERAL = re.compile("[IVXLC]{2,}")
ORDINAL = re.compile(rf"\d+(?:st|nd|rd|th|(?:er|re|e|ère|ème)s?)|{ROMAN.pattern}")
FIRST_SPELT = re.compile("first|premi", re.IGNORECASE)
FRENCH_ORDINAL = re.compile(r"1(?:er|re|ère)s?|\d+(?:e|ème)s?")
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
    figure = re.sub(r"(?<=\d)(?=[ap]m$)", " ", figure)
    number = {"fr": "numéro ", "en": "number "}.get(language, r"\g<0>")
    figure = re.sub(r"^No\.\s?", number, figure)
    return BILLIONS.sub(lambda found: f"{found[1]}{'billion' if found[2] else 'milliards'}", figure)


def _plain(word: str) -> str:
    return word.lower().replace(".", "")


def clock(text: str, after: str) -> tuple[int, str, str] | None:
    """Returns hour, minutes, and "am", "pm" or ""; None for what is no time. after: the next
    word."""
    found = CLOCK.fullmatch(text.replace(JOINER, " ").lower())
    half = _plain(after) if _plain(after) in HALVES else ""
    return (int(found[1]), found[2] or "00", found[3] or half) if found else None


def certain_time(text: str, after: str) -> tuple[int, str, str] | None:
    """Returns `clock` of what is more than two digits; None for these."""
    return clock(text, after) if _plain(after) in AFTER_HOUR or not text.isdecimal() else None


def hour_of_day(hour: int, half: str) -> int:
    """Returns the hour counted to 24."""
    return hour % 12 + 12 * (half == "pm") if half else hour


def in_24_hours(text: str, after: str) -> str:
    """Returns 17-19 for 5-7 if "pm" is after it; "" for other text."""
    hours = re.fullmatch(r"(\d{1,2})([-–])(\d{1,2})", text) if _plain(after) == "pm" else None
    if hours is None:
        return ""
    first, last = (hour_of_day(int(hours[at]), "pm") for at in (1, 3))
    return f"{first}{hours[2]}{last}"


def values(text: str, after: str, language: str) -> set[str]:
    """Returns the value of a number, and that of a time of day (5 pm, 17h: 17h00; 5-7 pm: 17-19) or
    of thousands (5k: 5000). after: the next word."""
    if TOO_LATE.fullmatch(text):
        return set()
    own, time = {value(text, language)}, certain_time(text, after)
    if re.fullmatch(r"\d+k", text + after * (after in ("k", "K")), re.IGNORECASE):
        own.add(f"{value(text, language)}000")
    own |= set(filter(None, [value(in_24_hours(text, after), language)]))
    if time:
        hour, minutes, half = time
        own |= {f"{hour}h{minutes}", f"{hour_of_day(hour, half)}h{minutes}"}
    return own


def converted(text: str, source: str, target: str) -> str:
    """Returns a number with the target language's marks of thousands and decimals, if it has
    thousands; an hour of a clock with a colon (12h45); an ordinal with the target language's
    ending."""
    text = BILLIONS.sub("", text)
    plain = text.replace(JOINER, " ")
    if source == target or not {source, target} <= MARKS.keys():
        return text
    both = {source, target} == ENGLISH_AND_FRENCH
    if both and ORDINAL.fullmatch(text):
        rank = value(text, source)
        english = (
            {"1": "st", "2": "nd", "3": "rd"}.get(rank[-1], "th") if rank[-2:-1] != "1" else "th"
        )
        return rank + (english if target == "en" else "er" if rank == "1" else "e")
    if both and re.fullmatch(r"\d{1,2}\s?h\s?\d\d", plain):
        return re.sub(r"\s?h\s?", ":", plain)
    whole, dot, decimals = value(plain, source).partition(".")
    if (
        "." in decimals
        or not whole.isdecimal()
        or not re.match(rf"\d+(?:[\s.,']\d\d|{THOUSAND})\d", plain)
    ):
        return text
    thousands, decimal = MARKS[target]
    digits = f"{int(whole):,}".replace(",", thousands.replace(" ", JOINER))
    return digits + (decimal + decimals if dot else "")


@dataclass
class Numbers:
    """The numbers of a sentence and its translation. words: of the source. places: of its numbers.
    made: the words of the translation. languages: source, target."""

    words: Sequence[str]
    places: Sequence[int]
    made: list[Word]
    languages: tuple[str, str]

    def __post_init__(self) -> None:
        words = [in_digits(word) or word for word in self.words]
        if self.languages == ("en", "fr"):  # 5-7 pm
            words = [in_24_hours(word, after) or word for word, after in pairwise((*words, ""))]
        self.words = words

    def held(self) -> tuple[list[Word], list[str]]:
        """Returns the words with each source number once, and the numbers to check: those that no
        word of the translation has been made from, or that only words without digits translate."""
        if self._is_counted():
            return self.made, []
        self.keep_equal()
        missing, doubtful = [place for place in self.places if place not in self._copied()], []
        for first, end in reversed(self._wrong()):
            run, row = self.made[first:end], mean(self.made[first:end])
            place = max(missing, key=lambda place: row[place], default=None)
            if self._is_thousand(first, end):
                continue
            if place is not None and row[place] > RARE * row[:-1].max():
                missing.remove(place)
                self._copy(first, end, place)
            elif run[0].read in self.places or self._is_double(first, end):
                if run[0].text == "000":  # 9 000 200 for 9 thousand 200
                    doubtful.append(
                        " ".join(word.text for word in self.made[max(first - 1, 0) : end + 1])
                    )
                del self.made[first:end]
            else:
                doubtful.append(" ".join(word.text for word in run))
        for place in missing:
            doubtful += self._add(place)
        if set(self.languages) == ENGLISH_AND_FRENCH:
            self._hold_halves()
            self._hold_ordinals()
        self._hold_numerals()
        return self._joined(), doubtful

    def _is_counted(self) -> bool:
        """Tells whether a word of COUNTED_BY is behind a number."""
        sides = self.words, [word.text for word in self.made]
        return any(
            re.search(rf"\d\s?[{COUNTED_BY[language]}]", " ".join(texts))
            for language, texts in zip(self.languages, sides, strict=True)
            if language in COUNTED_BY
        )

    def _hold_halves(self) -> None:
        """Removes the a.m. or p.m. that the source has not and that makes another time (6h05, 6:05
        p.m.). Where the source's own is missing, writes the hour of 24 (9 pm, 21 heures)."""
        for at in range(len(self.made) - 1, -1, -1):
            place, following = self.made[at].copied, self.made[at + 1 : at + 5]
            same = [word.copied for word in following[:1]] == [place]
            if place is None or place not in self.places or same:
                continue
            time = clock(self.words[place], "".join(self.words[place + 1 : place + 2]))
            after = [_plain(word.text) for word in following]
            if time is None:
                continue
            hour, _, half = time
            if half:
                if TIMES_OF_DAY.isdisjoint(after):
                    self._write_hour(at, hour, hour_of_day(hour, half))
                continue
            named = not TIMES_OF_DAY.isdisjoint(self.words[place + 1 : place + 5])  # 8h du soir
            if after and after[0] in HALVES and not named and (hour >= 12) != (after[0] == "pm"):
                stops = len(following) == 1 and following[0].text.endswith(".")
                self.made[at + 1 : at + 2] = [replace(following[0], text=".")] if stops else []

    def _hold_ordinals(self) -> None:
        """Writes the target language's ending of an ordinal without or with another one (22d, 3th,
        3 étage), and the hour of 18h for 18th."""
        for at, word in enumerate(self.made):
            source = "" if word.copied is None else self.words[word.copied]
            if ORDINAL.fullmatch(source):
                text = converted(source, *self.languages)
                if self._lacks_ending(at, text):
                    self.made[at] = replace(word, text=text)
            elif re.fullmatch(r"\d\d?h", source) and ORDINAL.fullmatch(word.text):
                self.made[at] = replace(word, text=f"{source[:-1]}:00")

    def _lacks_ending(self, at: int, right: str) -> bool:
        """Tells whether a word with the digits of an ordinal needs its right ending: not 4 in 4
        juillet and le 4."""
        text = self.made[at].text
        after = "".join(word.text for word in self.made[at + 1 : at + 2])
        if text.isdecimal():
            counted = after.isalpha() and after not in AFTER_DAY
            return self.languages[1] == "en" or counted
        french = self.languages[1] == "fr" and FRENCH_ORDINAL.fullmatch(text)
        ordinal = re.fullmatch(r"\d+[^\W\d_]+", text)
        return bool(ordinal) and not french and text != f"{right}s"

    def _hold_numerals(self) -> None:
        """Writes the source's Roman numeral (Louis XIV) for another one that reads it."""
        for at, word in enumerate(self.made):
            place = word.read
            if place is None or word.copied is not None or word.text in self.words:
                continue
            if NUMERAL.fullmatch(word.text) and NUMERAL.fullmatch(self.words[place]):
                self.made[at] = copy(self.words[place], [word], place)

    def _write_hour(self, at: int, hour: int, wanted: int) -> None:
        """Writes this hour at the beginning of the number that ends at `at`, unless a.m. or p.m. is
        in it."""
        first = at
        while first and self.made[first - 1].copied == self.made[at].copied:
            first -= 1
        text, said = self.made[first].text, clock(self.made[first].text, "")
        if re.match(rf"{hour}(?!\d)", text) and not (said and said[2]):
            self.made[first] = replace(
                self.made[first], text=f"{wanted}{text.removeprefix(str(hour))}"
            )

    def _joined(self) -> list[Word]:
        """Returns the words, with the words of a decimal (1 , 5) in one, and those of English
        thousands (1 200: 1,200)."""
        joined: list[Word] = []
        for word in self.made:
            before, place = joined[-1:], word.copied
            mark = None
            if before and place is not None and before[0].copied == place:
                mark = self._mark(before[0].text, word.text, place)
            if mark is not None and place is not None:
                joined[-1] = copy(before[0].text + mark + word.text, [*before, word], place)
            else:
                joined.append(word)
        return joined

    def _mark(self, before: str, text: str, place: int) -> str | None:
        """Returns what joins two words of one number; None if nothing does."""
        if {before[-1:], text} & set(",."):
            return ""
        thousands = re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})* \d{3}(?:\.\d+)?", f"{before} {text}")
        source = self.words[place]
        several = "," in converted(source, *self.languages) or re.fullmatch(r"\d\d?\d?", source)
        return "," if thousands and several and self.languages[1] == "en" else None

    def _is_thousand(self, first: int, end: int) -> bool:
        """Tells whether the run is the 000 of 12 000, which stands for 12 thousand."""
        texts = ["", *(word.text for word in self.made), ""]
        before, text, *_, after = texts[first : end + 2]
        spelt = text == "000" and self.made[first].read not in self.places
        return spelt and end - first == 1 and before.isdecimal() and not is_number(after)

    def _is_double(self, first: int, end: int) -> bool:
        """Tells whether the run stands beside a source number, or repeats one that is too long to
        be spelt in the source."""
        source, target = self.languages
        written = value(" ".join(word.text for word in self.made[first:end]), target)
        if len(written) > 2 and written in {
            value(self.words[place], source) for place in self.places
        }:
            return True
        beside = self.made[max(first - 1, 0) : first] + self.made[end : end + 1]
        return any(word.copied in self.places for word in beside)

    def _copied(self) -> set[int | None]:
        return {word.copied for word in self.made}

    def keep_equal(self) -> None:
        """Marks the runs of words that are equal to a source number, the longest first, and those
        with the largest weights."""
        source, target = self.languages
        after = [*self.words[1:], ""]
        given = [(place, values(self.words[place], after[place], source)) for place in self.places]
        texts = [*(word.text for word in self.made), ""]
        found = [
            (first - end, -float(mean(self.made[first:end])[place]), place, first, end)
            for first, end in self._runs()
            for place, own in given
            if not own.isdisjoint(values(" ".join(texts[first:end]), texts[end], target))
        ]
        for _, _, place, first, end in sorted(found):
            run = self.made[first:end]
            if place not in self._copied() and all(word.copied is None for word in run):
                self.made[first:end] = [replace(word, copied=place) for word in run]

    def _runs(self) -> list[tuple[int, int]]:
        """Returns the runs of words that may be one number: between two words with digits is at
        most one other."""
        found, free = [], [word.copied is None and is_number(word.text) for word in self.made]
        for first in (at for at, number in enumerate(free) if number):
            for end in range(first + 1, min(first + LONGEST_NUMBER, len(free)) + 1):
                if end - first > 1 and any(
                    ROMAN.fullmatch(word.text) for word in self.made[first:end]
                ):
                    break
                if free[end - 1]:
                    found.append((first, end))
                elif not any(free[end : end + 1]):
                    break
        return found

    def _wrong(self) -> list[tuple[int, int]]:
        """Returns the runs of words with digits that are equal to no source number and read the
        same word."""
        runs: list[tuple[int, int]] = []
        for at, word in enumerate(self.made):
            if word.copied is not None or not is_number(word.text):
                continue
            first, end = runs[-1] if runs else (0, 0)
            between = self.made[end:at]
            if (
                runs
                and len(between) <= 1
                and all(
                    each.copied is None and each.read == self.made[first].read
                    for each in (*between, word)
                )
            ):
                runs[-1] = first, at + 1
            else:
                runs.append((at, at + 1))
        return runs

    def _copy(self, first: int, end: int, place: int) -> None:
        """Replaces a run of words by a source number; in one word, its digits only (17h)."""
        text, written = converted(self.words[place], *self.languages), self.made[first].text
        digits = re.findall(r"\d+", text)
        if len(digits) == 1 and end - first == len(re.findall(r"\d+", written)) == 1:
            text = re.sub(r"\d+", digits[0], written)
        first -= text[0] == "+" and first > 0 and self.made[first - 1].text == "+"
        self.made[first:end] = [copy(text, self.made[first:end], place)]

    def _add(self, place: int) -> list[str]:
        """Writes a number that is missing: its figures instead of a word that spells it, or at the
        place of its neighbours. Returns the number if it is to be checked."""
        text, figures = self.words[place], converted(self.words[place], *self.languages)
        spelt = [at for at, word in enumerate(self.made) if word.read == place and _spells(word)]
        time = certain_time(text, "".join(self.words[place + 1 : place + 2]))
        if time and time[0] in (0, 12):
            right = [at for at, word in enumerate(self.made) if word.text.lower() in NOONS]
        else:
            first = ORDINAL.fullmatch(text) and value(text, "") == "1"
            right = [at for at in spelt if first and FIRST_SPELT.match(self.made[at].text)]
        if right:
            self.made[right[0]] = replace(self.made[right[0]], copied=place)
            return []
        at = next(iter(spelt), None)
        if at is None or not (digits := value(text, "")).isdecimal():
            insert(self.made, figures, place, len(self.words))
            return [text.replace(JOINER, " ")]
        # else 40-year-old, or another language's ordinal
        certain = text == digits or figures != text
        if certain or (text[0].isdecimal() and not ORDINAL.fullmatch(text)):
            self.made[at] = copy(figures if certain else digits, [self.made[at]], place)
        return [] if certain else [text]


def _spells(word: Word) -> bool:
    return word.copied is None and word.text[:1].isalpha() and float(word.row.max()) > 0.5
