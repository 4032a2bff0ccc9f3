"""Numbers of several words, in English and French: *two hundred and six*, *quatre-vingt-deux*,
*in nineteen eighty-four*. A network loses parts of them, so it reads their digits.
page/engine/spelt.js has the same rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rnnsearch.text.codec import JOINER


def _numbered(words: str, first: int = 1, step: int = 1) -> dict[str, int]:
    return {word: first + step * number for number, word in enumerate(words.split())}


def _any(*words: Iterable[str]) -> str:
    return "|".join(sorted({one for some in words for one in some}, reverse=True))


def _begun(words: Iterable[str]) -> str:
    """Returns the regular expression of one of the words, with a capital or without."""
    found = sorted(words, reverse=True)
    return "|".join(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in found)


_ONES = _numbered("one two three four five six seven eight nine")
_TEENS = _numbered(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10
)
_TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
_RANKS = _numbered("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth", 3)
_RANKS |= {"first": 1}
_UNS = _numbered("un deux trois quatre cinq six sept huit neuf") | {"une": 1}
_DIX = _numbered("dix onze douze treize quatorze quinze seize", 10)
_VINGTS = _numbered("vingt trente quarante cinquante soixante septante huitante nonante", 20, 10)
_VINGTS |= {"vingts": 20, "octante": 80}
NUMBER_WORDS = _ONES | _TEENS | _TENS | _UNS | _DIX | _VINGTS
"""Word → its number."""
RANK_WORDS = _RANKS | {
    **{f"{word.removesuffix('e')}ième": number for word, number in (_UNS | _DIX).items()},
    **{"cinquième": 5, "neuvième": 9},
}
"""Last word of an ordinal → its number. *twenty-second* may be a time."""
MULTIPLIERS = {"hundred": 100, "cent": 100, "cents": 100, "thousand": 1000, "mille": 1000}
MULTIPLIERS |= {"mil": 1000, "million": 1_000_000, "millions": 1_000_000}
"""Word → by what it multiplies the number before it."""
ENGLISH_NUMBERS = sorted({*_ONES, *_TEENS, *_TENS, *_RANKS, "hundred", "thousand"} - {"six"})
"""Those that are not French, too, as *six* and *million* are."""
_TEN, _ONE, _TEEN = _any(_TENS), _any(_ONES), _any(_TEENS)
_PART = _any(NUMBER_WORDS, RANK_WORDS, MULTIPLIERS.keys() - {"million", "millions"})
_MEASURED = "-(?:year|month|week|day|hour|minute|mile|foot|page|point|room|storey)(?:-old|-long)?"
_LARGE = "[Ss]eventy|[Ee]ighty|[Nn]inety"
_BEGIN = _begun(NUMBER_WORDS)
SPELT = (
    r"(?<![\w-])(?<!undred and )(?<!housand and )(?<!illion and )(?<!etween )(?<!ntre )(?<!per )"
    rf"(?<!cent )(?:(?:{_begun(_TENS)})-(?:{_ONE}){_MEASURED}|(?:{_LARGE})(?:{_MEASURED})?"
    rf"(?! (?:{_ONE})(?![\w-])| thousand (?:and )?(?:{_PART})(?![\w-]))"
    rf"|(?:[Aa] (?:hundred|thousand)(?= and )|(?<!pour )[Cc]ent|[Mm]il(?:le)?|{_BEGIN})"
    rf"(?:(?:(?<=hundred)|(?<=thousand)) and (?:{_PART})|[ -]et[ -](?:une?|onze|unième)"
    rf"|[ -](?:{_PART})| millions?(?= (?:{_PART})))+)(?![\w-])"
)
"""Regular expression of words that may be one number."""
_PAST = f"(?:(?:{_TEN})(?:-(?:{_ONE}))?|{_TEEN})"
_YEAR = f"(?:(?:fif|six|seven|eigh|nine)teen|twenty) {_PAST}"
_CLOCK = f"(?:{_ONE}|ten|eleven|twelve) {_PAST}"
_THIRTY = f"(?:{_begun(_ONES)}|[Tt]en|[Ee]leven|[Tt]welve)-(?:thirty|forty-five)"
_HOURS = (
    f"(?:{_begun(_UNS)}|{_begun(_DIX)}|[Dd]ix-(?:sept|huit|neuf)|[Vv]ingt(?: et une|-deux|-trois)?)"
    " heures? (?:(?:vingt|trente|quarante|cinquante)(?:-deux|-cinq|-huit)?|quinze)"
)
TIMES = (
    rf"(?:(?<=\b[Ii]n )|(?<=\bof )|(?<=[Ss]ince )|(?<=year )){_YEAR}(?![\w-])"
    rf"|(?<=\b[Aa]t ){_CLOCK}(?![\w-])|(?<![\w-]){_THIRTY}(?![\w-])"
    rf"|(?<![\w-]){_HOURS}(?= (?:au|de|demain|du|et|ou|pour|à) |[.,;:!?)]|\s*$)"
)
"""Regular expression of years and times of day in a line."""
TIME = re.compile(f"({_YEAR})|{_CLOCK}|{_THIRTY}|{_HOURS}")
_SPELT = re.compile(SPELT)
ADJECTIVE = re.compile(f"(.*?)({_MEASURED})")
"""*thirty-two-year-old*, in two parts."""
LINKED = re.compile("(-et-| et | and |[ -]|^)([^ -]+)")
"""A word of a number, and what is in front of it."""


def in_digits(text: str, *, times: bool = True) -> str | None:
    """Returns a number of several words in digits: 256, 25 600, 43rd, 32-year-old, and, with
    `times`, 1984 and 3:45. None for what is no number; for one below 20 or a round one, such as
    *two hundred*, which networks know."""
    text = text.replace(JOINER, " ")
    if times and (time := TIME.fullmatch(text)):
        between = " heures? " if " heure" in text else "[ -]"
        hour, past = map(_value, re.split(between, text, maxsplit=1))
        return f"{hour}{past}" if time[1] else f"{hour}:{past}"
    if not _SPELT.fullmatch(text):
        return None
    if adjective := ADJECTIVE.fullmatch(text):
        return f"{_value(adjective[1])}{adjective[2]}"
    number, words = _value(text), re.split("[ -]", text.lower())
    if number < 20 or (words[1:] and MULTIPLIERS.keys() >= {*words[1:]}):
        return None
    digits = f"{number:,}".replace(",", " ") if number >= 10_000 else f"{number}"
    return digits + english_ending(number) * (words[-1] in RANK_WORDS)


def english_ending(rank: int) -> str:
    """Returns the ending of an ordinal: nd for 2, th for 12."""
    return "th" if rank // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")


def _value(text: str) -> int:
    """Returns the number of these words; 0 if they are none."""
    parts = LINKED.findall(re.sub("^a ", "one ", text.lower()))
    words = {word for _, word in parts}
    if not words.isdisjoint(ENGLISH_NUMBERS) and words - {*ENGLISH_NUMBERS, "six", "million"}:
        return 0
    total, part, before = 0, 0, ""
    for link, word in parts:
        times = MULTIPLIERS.get(word, 0)
        if times > 100:
            if total % (1000 * times) or not (part or word.startswith("mil")):
                return 0
            total, part = total + max(part, 1) * times, 0
        elif times:
            if part > 16 or (not part and word != "cent") or (before in MULTIPLIERS and part):
                return 0
            part = max(part, 1) * times
        elif not (part := _joined(part, before, link, word)):
            return 0
        before = word
    return total + part if total % 1_000_000 or total == 0 else 0


def _joined(part: int, before: str, link: str, word: str) -> int:
    """Returns the number below 1,000 that a word and those before it make; 0 if they make none."""
    number, tens = NUMBER_WORDS.get(word) or RANK_WORDS[word], part % 100
    seventy = tens in (60, 80) and word not in ENGLISH_NUMBERS
    if number == 20 and before == "quatre":
        return part + 76 if tens == 4 else 0
    if before == "dix":
        return part + number if 7 <= number <= 9 else 0
    if "et" in link:
        return part + number if tens in (20, 30, 40, 50, 60) and before in NUMBER_WORDS else 0
    if not tens:
        fresh = not part or before in MULTIPLIERS
        return part + number if fresh and (link != "-" or word not in ENGLISH_NUMBERS) else 0
    ranked = word in RANK_WORDS and word in ENGLISH_NUMBERS and link != "-"
    ten = tens >= 20 and not tens % 10 and link != " and " and not ranked
    return part + number if ten and (number < 10 or (seventy and number < 20)) else 0
