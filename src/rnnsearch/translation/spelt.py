"""Numbers of several words, in English and French: *two hundred and six*, *quatre-vingt-deux*,
*nineteen eighty-four*. A network loses parts of them, so it reads their digits.
page/engine/spelt.js has the same rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rnnsearch.text.codec import JOINER


def _numbered(words: str, first: int = 1, step: int = 1) -> dict[str, int]:
    return {word: first + step * number for number, word in enumerate(words.split())}


FRENCH_ONES = _numbered(
    "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
) | {"une": 1}
FRENCH_NUMBERS = {
    **FRENCH_ONES,
    **_numbered("vingt trente quarante cinquante soixante septante huitante nonante", 20, 10),
    **{"vingts": 20, "octante": 80},
}
NUMBER_WORDS = {
    **_numbered("one two three four five six seven eight nine ten eleven twelve"),
    **_numbered("thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 13),
    **_numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
    **FRENCH_NUMBERS,
}
"""Word → its number."""
RANK_WORDS = {
    **_numbered("first third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth", 2),
    **{f"{word.removesuffix('e')}ième": number for word, number in FRENCH_ONES.items()},
    **{"first": 1, "cinquième": 5, "neuvième": 9},
}
"""Last word of an ordinal → its number. *twenty-second* may be a time."""
MULTIPLIERS = {"hundred": 100, "cent": 100, "cents": 100, "thousand": 1000, "mille": 1000}
MULTIPLIERS |= {"million": 1_000_000, "millions": 1_000_000}
"""Word → by what it multiplies the number before it."""
_HOURS, _LINKS = re.compile(" heures? "), re.compile("[ -](?:(?:and|et)[ -])?")
_NUMBER = "|".join(sorted(NUMBER_WORDS, reverse=True))
_WORD = "|".join(sorted(NUMBER_WORDS.keys() | RANK_WORDS.keys() | {"hundred", "thousand", "mille"}))
_FIRST = "|".join(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in NUMBER_WORDS)
_HUNDREDS = "|".join(f"(?<={word})" for word in (*FRENCH_ONES, "mille"))  # six cents, five cents
SPELT = (
    r"(?<![\w-])(?<!hundred and )(?<!thousand and )(?:(?:[Aa] (?:hundred|thousand)"
    rf"|(?<!pour )[Cc]ents?|[Mm]ille|{_FIRST})"
    rf"(?:(?:(?<=hundred)|(?<=thousand)) and (?:{_NUMBER}|{'|'.join(RANK_WORDS)})"
    rf"|[ -]et[ -](?:une?|onze|unième)|(?<!ty[ -]six)(?:{_HUNDREDS})[ -]cents?|[ -](?:{_WORD})"
    rf"|(?: millions?| heures?)(?= (?:{_NUMBER})))+|[Ss]eventy|[Ee]ighty|[Nn]inety)"
    r"(?:-(?!second\b)[a-z]{3,}(?:-old)?)?(?![\w-])"
)
"""Regular expression of words that may be one number."""
_SPELT = re.compile(SPELT)
ADJECTIVE = re.compile(rf"(.*?)((?!-(?:{_WORD}|cents?)\b)-[a-z]+(?:-old)?)")
"""A number, and what is joined to it by a hyphen: *thirty-two-year-old*."""


def in_digits(text: str) -> str | None:
    """Returns a number of several words in digits: 256, 25 600, 1984, 43rd, 3:45, 32-year-old. None
    for what is no number; for one below 20 or a round one, such as *two hundred*, which networks
    know."""
    text = text.replace(JOINER, " ")
    if not _SPELT.fullmatch(text):
        return None
    if adjective := ADJECTIVE.fullmatch(text):
        digits = in_digits(adjective[1])
        return digits + adjective[2] if digits and ":" not in digits else None
    first, *minutes = map(_LINKS.split, _HOURS.split(text.lower()))
    number = 0 if minutes else _number(first)
    if minutes:
        return _clock(first, *minutes)
    if not number:  # three forty-five, but not *tous deux cinquante ans*
        none = first[1] in FRENCH_NUMBERS or first[-1] in RANK_WORDS
        return None if none else _clock(first[:1], first[1:])
    if (first[1:] and MULTIPLIERS.keys() >= {*first[1:]}) or number < 20:
        return None
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if first[-1] in RANK_WORDS else ""
    return (f"{number:,}".replace(",", " ") if number >= 10_000 else f"{number}") + ending


def _clock(hour: Sequence[str], minutes: Sequence[str], *others: Sequence[str]) -> str | None:
    """Returns a time of day; None if the minutes are few, or what is counted in an hour."""
    hours, past = _number(hour), _number(minutes)
    return f"{hours}:{past}" if 0 < hours < 25 and 12 < past < 60 and not others else None


def _number(words: Sequence[str]) -> int:
    """Returns the number of these words; 0 if they are none."""
    total, part, before = 0, 0, ""
    for word in words[words[0] == "a" :]:
        times = MULTIPLIERS.get(word, 0)
        if times > 100:
            if total % (1000 * times):
                return 0
            total, part = total + max(part, 1) * times, 0
        elif times:
            if part >= 100:
                return 0
            part = max(part, 1) * times
        else:
            joined = _joined(part, before, word)
            if not joined:
                return 0
            part = joined
        before = word
    return total + part


def _joined(part: int, before: str, word: str) -> int:
    """Returns the number below 1,000, or the year, that a word and those before it make; 0 if they
    make none."""
    number, tens = NUMBER_WORDS.get(word) or RANK_WORDS[word], part % 100
    french = word in FRENCH_NUMBERS or word.endswith("ième")
    if number == 20 and before == "quatre":
        return part + 76
    if before == "dix":
        return part + number if 7 <= number <= 9 else 0
    behind = number < 10 and tens >= 20 and not tens % 10
    if not tens or behind or (french and tens in (60, 80) and number < 20):
        return part + number
    return 100 * part + number if not french and 15 <= part <= 20 and number >= 10 else 0
