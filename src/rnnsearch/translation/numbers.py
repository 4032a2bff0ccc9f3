"""Holds the numbers of a translation to those of the source: each arrives once, with its parts.

page/engine/numbers.js has the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rnnsearch.text.codec import JOINER
from rnnsearch.translation.number_forms import (
    AFTER_HOUR,
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
from rnnsearch.translation.target_words import (
    RARE,
    Word,
    beside,
    copy,
    insert,
    mean,
    reword,
    word_at,
)
from rnnsearch.translation.word_tables import word_list

AFTER_DAY = [*MONTHS, *word_list("à au de du et ou dans pour")]
"""What follows a day of the month, which is no ordinal in French."""
BEFORE_HOUR = word_list("à apres après avant de dès entre est et vers")
"""What is before a time of day in French."""
COUNTED_BY = dict.fromkeys(("zh", "ja", "ko"), "十百千万萬亿億兆십백천만억조")
"""Language → words behind a number (5 万: 50,000) that are not read: numbers stay as they are."""
FIRST_SPELT = re.compile("first|premi", re.IGNORECASE)
FRENCH_ORDINAL = re.compile(r"1(?:er|re|ère)s?|\d+(?:e|ème)s?")
MINUS_SIGNS = word_list("- − –")
MINUS = [*MINUS_SIGNS, "minus", "moins"]
LONGEST_NUMBER = 12
"""Maximum number of target words of a number."""
NOONS = word_list("noon midday midnight midi minuit")
IN_LETTERS = re.compile(r"(?<!\w)(?:thousands?|mille|milliers?)(?!\w)", re.IGNORECASE)
"""A thousand in letters."""
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
        if self.languages == ("en", "fr"):
            for at, link in enumerate(words[1:-1], 1):
                if link in HOUR_LINKS:
                    first, last, after = words[at - 1], words[at + 1], word_at(words, at + 2)
                    words[at - 1] = begun_in_24_hours(first, last, after) or first
        self.words = words

    def held(self) -> tuple[list[Word], list[str]]:
        """Returns the words with each source number once, and the numbers to check: those that no
        word of the translation has been made from, or that only words without digits translate."""
        if self._is_counted():
            return self.made, []
        self.keep_equal()
        missing, doubtful = [place for place in self.places if place not in self._copied()], []
        for first, end in reversed(self._wrong()):
            if self._is_thousand(first, end):
                continue
            run, row = self.made[first:end], mean(self.made[first:end])
            place = max(missing, key=lambda place: row[place], default=None)
            if place is not None and row[place] > RARE * row[:-1].max():
                missing.remove(place)
                self._copy(first, end, place)
            elif run[0].read in self.places or self._is_double(first, end):
                if run[0].text == "000":  # 9 000 200 for 9 thousand 200
                    doubtful.append(self._text(max(first - 1, 0), end + 1))
                del self.made[first:end]
            else:
                doubtful.append(self._text(first, end))
        for place in missing:
            doubtful += self._add(place)
        self._hold_signs()
        self._hold_thousands()
        if set(self.languages) == ENGLISH_AND_FRENCH:
            self._drop_thousands()
            self._hold_halves()
            self._hold_ordinals()
            hold_decades(self.words, self.made, self.languages[1])
            hold_shares(self.words, self.places, self.made)
        self._hold_numerals()
        return self._joined(), doubtful

    def _text(self, first: int, end: int) -> str:
        """Returns the text of a run of words of the translation."""
        return " ".join(word.text for word in self.made[first:end])

    def _after(self, at: int) -> str:
        """Returns the text of the next word of the translation."""
        return self._text(at + 1, at + 2)

    def _is_counted(self) -> bool:
        """Tells whether a word of COUNTED_BY is behind a number."""
        texts = " ".join(self.words), self._text(0, len(self.made))
        return any(
            language in COUNTED_BY and re.search(rf"\d\s?[{COUNTED_BY[language]}]", text)
            for language, text in zip(self.languages, texts, strict=True)
        )

    def _hold_signs(self) -> None:
        """Writes the minus of a source number that its copy has lost (:5 % for *: -5 %*) or has in
        a word of its own (- 5)."""
        for at in reversed(range(len(self.made))):
            word = self.made[at]
            source = "" if word.copied is None else self.words[word.copied]
            before = self.made[at - 1] if at else None
            if not re.match(r"[-−]\d", source):
                continue
            own = word.copied and self.words[word.copied - 1] in MINUS_SIGNS  # 5 - -3
            if before and before.copied is None and before.text in MINUS_SIGNS and not own:
                minus = "" if word.text[0] in MINUS_SIGNS else "-"
                self.made[at - 1 : at + 1] = [replace(word, text=f"{minus}{word.text}")]
                continue
            if before and (before.copied == word.copied or before.text in MINUS):
                continue
            if re.search(r"[-−–]", word.text):
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
            text = self._figures(word.copied).replace(JOINER, " ")
            marked = re.match(r"\d+[\s.,']\d{3}", text)
            if marked and re.fullmatch(r"\d{4,}(?:[.,]\d+)?", word.text):
                reword(self.made, at, self._figures(word.copied))

    def _drop_thousands(self) -> None:
        """Leaves out a thousand that is in the number before it (2,000 thousand), if the source has
        none in letters."""
        if IN_LETTERS.search(" ".join(self.words)):
            return
        for at in reversed(range(1, len(self.made))):
            number, word = self.made[at - 1], self.made[at]
            source = "" if number.copied is None else self.words[number.copied]
            marked = re.match(r"\d+[\s.,']\d{3}", source.replace(JOINER, " "))
            if marked and word.copied is None and IN_LETTERS.search(word.text):
                del self.made[at]

    def _hold_halves(self) -> None:
        """Removes the a.m. or p.m. that the source has not and that makes another time (6h05, 6:05
        p.m.). Where the source's own is missing, writes the hour of 24 (9 pm, 21 heures)."""
        for at in reversed(range(len(self.made))):
            place, following = self.made[at].copied, self.made[at + 1 : at + 5]
            same = [word.copied for word in following[:1]] == [place]
            if place is None or place not in self.places or same:
                continue
            if not (time := clock(self.words[place], word_at(self.words, place + 1))):
                continue
            hour, _, half = time
            after = [undotted(word.text) for word in following]
            named = not TIMES_OF_DAY.isdisjoint(self.words[place + 1 : place + 5])  # 8h du soir
            if half:
                if TIMES_OF_DAY.isdisjoint(after):
                    self._write_hour(at, hour, hour_of_day(hour, half))
                    self._say_hour(at)
            elif after[:1] == ["pm"] and 12 < hour < 24:  # 15 p.m., 18:00 p.m.
                self._write_hour(at, hour, hour - 12)
            elif after[:1] == ["am" if hour >= 12 else "pm"] and not named:
                texts = []
                if self._lasts(place):  # 2 pm for 2 heures
                    texts.append("hour" if hour == 1 else "hours")
                if len(following) == 1 and following[0].text.endswith("."):
                    texts.append(".")
                self.made[at + 1 : at + 2] = [replace(following[0], text=text) for text in texts]

    def _say_hour(self, at: int) -> None:
        """Writes the *h* of French behind an hour without minutes, where nothing says that it is
        one (*at 3 pm*: *à 15h*)."""
        word, copied = self.made[at], [word.copied for word in self.made]
        said = self.languages[1] != "fr" or undotted(self._after(at)) in AFTER_HOUR
        if copied.count(word.copied) == 1 and word.text.isdecimal() and not said:
            reword(self.made, at, f"{word.text}h")

    def _lasts(self, place: int) -> bool:
        """Tells whether the source number is one of hours that something lasts: not *à 2 h*."""
        before, after = beside(self.words, place)
        hours = after in ("h", "heure", "heures") or re.fullmatch(r"\d\d?h", self.words[place])
        return bool(hours) and before.lower() not in BEFORE_HOUR

    def _hold_ordinals(self) -> None:
        """Writes the target language's ending of an ordinal without or with another one (22d, 3th,
        3 étage), and the hour of 18h for 18th."""
        for at, word in enumerate(self.made):
            source = "" if word.copied is None else self.words[word.copied]
            text = word.text
            if self.languages[1] == "fr" and text == "1" and self._after(at) in MONTHS:
                text = "1er"
            elif ORDINAL.fullmatch(source) and word.copied is not None:
                right = converted(source, *self.languages)
                day = self.languages == ("en", "fr") and is_day(self.words, word.copied)
                if is_king(self.words, word.copied):
                    text = "I"
                elif day and re.fullmatch(r"\d+\D+", text):
                    text = right if right == "1er" else right[:-1]
                elif self._lacks_ending(at, right):
                    text = right
            elif re.fullmatch(r"\d\d?h", source) and ORDINAL.fullmatch(text):
                text = f"{source[:-1]}:00"
            reword(self.made, at, text)

    def _lacks_ending(self, at: int, right: str) -> bool:
        """Tells whether a word with the digits of an ordinal needs its right ending: not 4 in 4
        juillet and le 4."""
        text, after, english = self.made[at].text, self._after(at), self.languages[1] == "en"
        if text.isdecimal():
            return english or (after.isalpha() and after not in AFTER_DAY)
        ordinal = bool(re.fullmatch(r"\d+[^\W\d_]+", text)) and text != f"{right}s"
        if english:
            return ordinal or bool(ROMAN.fullmatch(text))
        return ordinal and not FRENCH_ORDINAL.fullmatch(text)

    def _hold_numerals(self) -> None:
        """Writes the source's Roman numeral (Louis XIV) for another one that reads it."""
        for at, word in enumerate(self.made):
            place, free = word.read, word.copied is None and word.text not in self.words
            if place is None or not (free and NUMERAL.fullmatch(word.text)):
                continue
            if NUMERAL.fullmatch(self.words[place]):
                self.made[at] = copy(self.words[place], [word], place)

    def _write_hour(self, at: int, hour: int, wanted: int) -> None:
        """Writes this hour at the beginning of the number that ends at `at`, unless a.m. or p.m. is
        in it."""
        first = at
        while first and self.made[first - 1].copied == self.made[at].copied:
            first -= 1
        text, said = self.made[first].text, clock(self.made[first].text, "")
        if re.match(rf"{hour}(?!\d)", text) and not (said and said[2]):
            rest = text.removeprefix(str(hour))
            english = self.languages[1] == "en" and rest == "h"
            reword(self.made, first, f"{wanted}:00" if english else f"{wanted}{rest}")

    def _joined(self) -> list[Word]:
        """Returns the words, with the words of a decimal (1 , 5) in one, and those of English
        thousands (1 200: 1,200)."""
        joined: list[Word] = []
        for word in self.made:
            place = word.copied
            if joined and place is not None and joined[-1].copied == place:
                before = joined.pop()
                mark = self._mark(before.text, word.text, place)
                if mark is None:
                    joined.append(before)
                else:
                    word = copy(before.text + mark + word.text, [before, word], place)
            joined.append(word)
        return joined

    def _mark(self, before: str, text: str, place: int) -> str | None:
        """Returns what joins two words of one number; None if nothing does."""
        if {before[-1:], text} & {*",."}:
            return ""
        thousands = re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})* \d{3}(?:\.\d+)?", f"{before} {text}")
        source = self.words[place]
        several = "," in converted(source, *self.languages) or re.fullmatch(r"\d{1,3}", source)
        return "," if thousands and several and self.languages[1] == "en" else None

    def _is_thousand(self, first: int, end: int) -> bool:
        """Tells whether the run is the 000 of 12 000, which stands for 12 thousand."""
        spelt = self._text(first, end) == "000" and self.made[first].read not in self.places
        before, after = self._text(max(first - 1, 0), first), self._text(end, end + 1)
        return spelt and before.isdecimal() and not is_number(after)

    def _is_double(self, first: int, end: int) -> bool:
        """Tells whether the run stands beside a source number, or repeats one that is too long to
        be spelt in the source."""
        source, target = self.languages
        written = value(self._text(first, end), target)
        equal = any(value(self.words[place], source) == written for place in self.places)
        around = self.made[max(first - 1, 0) : first] + self.made[end : end + 1]
        return (equal and len(written) > 2) or any(word.copied in self.places for word in around)

    def _copied(self) -> set[int | None]:
        return {word.copied for word in self.made}

    def keep_equal(self) -> None:
        """Marks the runs of words that are equal to a source number, the longest first, and those
        with the largest weights."""
        (source, target), given = self.languages, []
        for place in self.places:
            before, after = beside(self.words, place)
            given.append((place, values(self.words[place], after, source, before)))
        written = [
            (first, end, values(self._text(first, end), self._text(end, end + 1), target))
            for first, end in self._runs()
        ]
        found = [
            (first - end, -float(mean(self.made[first:end])[place]), place, first, end)
            for first, end, values_there in written
            for place, own in given
            if own & values_there
        ]
        for _, _, place, first, end in sorted(found):
            run = self.made[first:end]
            if place not in self._copied() and all(word.copied is None for word in run):
                self.made[first:end] = [replace(word, copied=place) for word in run]

    def _runs(self) -> list[tuple[int, int]]:
        """Returns the runs of words that may be one number: between two words with digits is at
        most one other."""
        found, free = [], [word.copied is None and is_number(word.text) for word in self.made]
        roman = [bool(ROMAN.fullmatch(word.text)) for word in self.made]
        for first in (at for at, number in enumerate(free) if number):
            for end in range(first + 1, min(first + LONGEST_NUMBER, len(free)) + 1):
                if end - first > 1 and any(roman[first:end]):
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
            first, end = runs[-1] if runs else (at, at)
            rest = self.made[end : at + 1]
            same = {(one.copied, one.read) for one in rest} == {(None, self.made[first].read)}
            if runs and same and len(rest) <= 2:
                runs.pop()
            else:
                first = at
            runs.append((first, at + 1))
        return runs

    def _figures(self, place: int) -> str:
        """Returns a source number as it is written; an amount (5.30 %) with the target language's
        decimal mark."""
        text, (source, target) = self.words[place], self.languages
        before, after = beside(self.words, place)
        if {source, target} <= MARKS.keys() and is_amount(before, text, after):
            whole, _, decimals = text.partition(MARKS[source][1])
            if whole.isdecimal() and decimals.isdecimal():
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
        time, digits = certain_time(text, word_at(self.words, place + 1)), value(text, "")
        ordinal, right = ORDINAL.fullmatch(text), list[int]()
        if time and time[0] in (0, 12):
            right = [at for at, word in enumerate(self.made) if word.text.lower() in NOONS]
        elif ordinal and digits == "1":
            right = [at for at in spelt if FIRST_SPELT.match(self.made[at].text)]
        if right:
            self.made[right[0]] = replace(self.made[right[0]], copied=place)
            return []
        if not spelt or text[0] in "+-" or not digits.isdecimal():
            insert(self.made, figures, place, len(self.words))
            return [text.replace(JOINER, " ")]
        # else 40-year-old, or another language's ordinal
        certain = text == digits or figures != text
        if certain or (text[0].isdecimal() and not ordinal):
            run = [self.made[spelt[0]]]
            self.made[spelt[0]] = copy(figures if certain else digits, run, place)
        return [] if certain or re.fullmatch(r"\d\d?[hH]", text) else [text]


def _spells(word: Word) -> bool:
    return word.copied is None and word.text[:1].isalpha() and float(word.row.max()) > 0.5
