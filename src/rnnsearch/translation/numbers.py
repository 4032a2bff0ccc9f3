"""Holds the numbers of a translation to those of the source: each arrives once, with its parts.

page/engine/numbers.js has the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rnnsearch.text.codec import JOINER
from rnnsearch.translation.number_forms import (
    CAPITAL_ORDINAL,
    ENGLISH_AND_FRENCH,
    HALVES,
    MARKS,
    ORDINAL,
    ROMAN,
    begun_in_24_hours,
    certain_time,
    clock,
    converted,
    hour_of_day,
    in_24_hours,
    is_amount,
    is_number,
    undotted,
    value,
    values,
)
from rnnsearch.translation.number_words import (
    MONTHS,
    hold_decades,
    hold_shares,
    is_day,
    is_king,
)
from rnnsearch.translation.spelt import in_digits
from rnnsearch.translation.target_words import RARE, Word, copy, insert, mean
from rnnsearch.translation.word_tables import word_list

AFTER_DAY = [*MONTHS, *word_list("à au de du et ou dans pour")]
"""What follows a day of the month, which is no ordinal in French."""
BEFORE_HOUR = word_list("à apres après avant de dès entre est et vers")
"""What is before a time of day in French."""
COUNTED_BY = dict.fromkeys(("zh", "ja", "ko"), "十百千万萬亿億兆십백천만억조")
"""Language → words behind a number (5 万: 50,000) that are not read: numbers stay as they are."""
FIRST_SPELT = re.compile("first|premi", re.IGNORECASE)
FRENCH_ORDINAL = re.compile(r"1(?:er|re|ère)s?|\d+(?:e|ème)s?")
MINUS = word_list("- − – minus moins")
LONGEST_NUMBER = 12
"""Maximum number of target words of a number."""
NOONS = word_list("noon midday midnight midi minuit")
NUMERAL = re.compile("[IVXLC]{2,}")
HOUR_LINKS = word_list("to and or until till - –")
"""What is between two hours: *2 to 4 pm*."""
TIMES_OF_DAY = {*HALVES, "matin", "après-midi", "soir", "nuit"}


@dataclass
class Numbers:
    """The numbers of a sentence and its translation. words: of the source. places: of its numbers.
    made: the words of the translation. languages: source, target."""

    words: Sequence[str]
    places: Sequence[int]
    made: list[Word]
    languages: tuple[str, str]

    def __post_init__(self) -> None:
        words = [
            in_digits(word) or (word.lower() if CAPITAL_ORDINAL.fullmatch(word) else word)
            for word in self.words
        ]
        if self.languages == ("en", "fr"):  # 5-7 pm
            words = [in_24_hours(word, after) or word for word, after in pairwise((*words, ""))]
            for at, link in enumerate(words[1:-1], 1):
                if link in HOUR_LINKS:
                    last, after = words[at + 1], "".join(words[at + 2 : at + 3])
                    words[at - 1] = begun_in_24_hours(words[at - 1], last, after) or words[at - 1]
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
        self._hold_signs()
        self._hold_thousands()
        if set(self.languages) == ENGLISH_AND_FRENCH:
            self._hold_halves()
            self._hold_ordinals()
            hold_decades(self.words, self.made, self.languages[1])
            hold_shares(self.words, self.places, self.made)
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

    def _hold_signs(self) -> None:
        """Writes the minus of a source number that its copy has lost (:5 % for *: -5 %*)."""
        for at in reversed(range(len(self.made))):
            word = self.made[at]
            source = "" if word.copied is None else self.words[word.copied]
            before = self.made[at - 1] if at else None
            if not re.match(r"[-−]\d", source) or re.search(r"[-−–]", word.text):
                continue
            if before and (before.copied == word.copied or before.text in MINUS):
                continue
            if found := re.match(r"(\D*)(\d.*)", word.text):
                marks = [replace(word, text=found[1], copied=None)] if found[1] else []
                self.made[at : at + 1] = [*marks, replace(word, text=f"-{found[2]}")]

    def _hold_thousands(self) -> None:
        """Writes the target language's marks of thousands where only the source has its own
        (12500 for 12,500)."""
        copied = [word.copied for word in self.made]
        for at, word in enumerate(self.made):
            if word.copied is None or copied.count(word.copied) > 1:
                continue
            if re.fullmatch(r"\d{4,}(?:[.,]\d+)?", word.text):
                text = self._figures(word.copied)
                if re.match(r"\d+[\s.,']\d{3}", text.replace(JOINER, " ")):
                    self.made[at] = replace(word, text=text)

    def _hold_halves(self) -> None:
        """Removes the a.m. or p.m. that the source has not and that makes another time (6h05, 6:05
        p.m.). Where the source's own is missing, writes the hour of 24 (9 pm, 21 heures)."""
        for at in range(len(self.made) - 1, -1, -1):
            place, following = self.made[at].copied, self.made[at + 1 : at + 5]
            same = [word.copied for word in following[:1]] == [place]
            if place is None or place not in self.places or same:
                continue
            time = clock(self.words[place], "".join(self.words[place + 1 : place + 2]))
            after = [undotted(word.text) for word in following]
            if time is None:
                continue
            hour, _, half = time
            if not half and after[:1] == ["pm"] and 12 < hour < 24:  # 15 p.m., 18:00 p.m.
                self._write_hour(at, hour, hour - 12)
                continue
            if half:
                if TIMES_OF_DAY.isdisjoint(after):
                    self._write_hour(at, hour, hour_of_day(hour, half))
                continue
            named = not TIMES_OF_DAY.isdisjoint(self.words[place + 1 : place + 5])  # 8h du soir
            if after and after[0] in HALVES and not named and (hour >= 12) != (after[0] == "pm"):
                stops = len(following) == 1 and following[0].text.endswith(".")
                rest = [replace(following[0], text=".")] if stops else []
                if self._lasts(place):  # 2 pm for 2 heures
                    name = "hour" if hour == 1 else "hours"
                    rest = [replace(following[0], text=name), *rest]
                self.made[at + 1 : at + 2] = rest

    def _lasts(self, place: int) -> bool:
        """Tells whether the source number is one of hours that something lasts: not *à 2 h*."""
        before, word, after = ["", *self.words, ""][place : place + 3]
        hours = after in ("h", "heure", "heures") or re.fullmatch(r"\d\d?h", word)
        return bool(hours) and before.lower() not in BEFORE_HOUR

    def _hold_ordinals(self) -> None:
        """Writes the target language's ending of an ordinal without or with another one (22d, 3th,
        3 étage), and the hour of 18h for 18th."""
        for at, word in enumerate(self.made):
            source = "" if word.copied is None else self.words[word.copied]
            after = "".join(word.text for word in self.made[at + 1 : at + 2])
            if self.languages[1] == "fr" and word.text == "1" and after in MONTHS:
                self.made[at] = replace(word, text="1er")
            elif ORDINAL.fullmatch(source) and word.copied is not None:
                text = converted(source, *self.languages)
                day = self.languages == ("en", "fr") and is_day(self.words, word.copied)
                if is_king(self.words, word.copied):
                    self.made[at] = replace(word, text="I")
                elif day and re.fullmatch(r"\d+\D+", word.text):
                    self.made[at] = replace(word, text=text if text == "1er" else text[:-1])
                elif self._lacks_ending(at, text):
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
        ordinal = re.fullmatch(r"\d+[^\W\d_]+", text) or (
            self.languages[1] == "en" and ROMAN.fullmatch(text)
        )
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
        around = ["", *self.words, ""]
        given = [
            (place, values(self.words[place], around[place + 2], source, around[place]))
            for place in self.places
        ]
        texts = [*(word.text for word in self.made), ""]
        written = [
            (first, end, values(" ".join(texts[first:end]), texts[end], target))
            for first, end in self._runs()
        ]
        found = [
            (first - end, -float(mean(self.made[first:end])[place]), place, first, end)
            for first, end, values_there in written
            for place, own in given
            if not own.isdisjoint(values_there)
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

    def _figures(self, place: int) -> str:
        """Returns a source number as it is written; an amount (5.30 %) with the target language's
        decimal mark."""
        text, (source, target) = self.words[place], self.languages
        before, _, after = ["", *self.words, ""][place : place + 3]
        if {source, target} <= MARKS.keys() and is_amount(before, text, after):
            whole, mark, decimals = text.partition(MARKS[source][1])
            if mark and whole.isdecimal() and decimals.isdecimal():
                return whole + MARKS[target][1] + decimals
        return converted(text, source, target)

    def _copy(self, first: int, end: int, place: int) -> None:
        """Replaces a run of words by a source number; in one word, its digits only (17h)."""
        text, written = self._figures(place), self.made[first].text
        digits = re.findall(r"\d+", text)
        if len(digits) == 1 and end - first == len(re.findall(r"\d+", written)) == 1:
            text = re.sub(r"\d+", digits[0], written)
        first -= text[0] == "+" and first > 0 and self.made[first - 1].text == "+"
        self.made[first:end] = [copy(text, self.made[first:end], place)]

    def _add(self, place: int) -> list[str]:
        """Writes a number that is missing: its figures instead of a word that spells it, or at the
        place of its neighbours. Returns the number if it is to be checked."""
        text, figures = self.words[place], self._figures(place)
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
        if at is None or text[0] in "+-" or not (digits := value(text, "")).isdecimal():
            insert(self.made, figures, place, len(self.words))
            return [text.replace(JOINER, " ")]
        # else 40-year-old, or another language's ordinal
        certain = text == digits or figures != text
        if certain or (text[0].isdecimal() and not ORDINAL.fullmatch(text)):
            self.made[at] = copy(figures if certain else digits, [self.made[at]], place)
        return [] if certain or re.fullmatch(r"\d\d?[hH]", text) else [text]


def _spells(word: Word) -> bool:
    return word.copied is None and word.text[:1].isalpha() and float(word.row.max()) > 0.5
