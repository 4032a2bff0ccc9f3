"""How amounts of money are read: 30 billion dollars for $30bn, 15 euros for 15 € if the network
cannot read the sign. page/engine/amounts.js has the same rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rnnsearch.text.codec import JOINER
from rnnsearch.translation.measures import UNITS
from rnnsearch.translation.target_words import word_at
from rnnsearch.translation.word_tables import word_table

NAMES = {
    "en": word_table("€ euros, $ dollars, £ pounds"),
    "fr": word_table("€ euros, $ dollars, £ livres"),
}
"""Language → sign → the word that is read."""
SIZES = {
    "en": {"k": ",000", "K": ",000", "m": " million", "bn": " billion", "tn": " trillion"},
    "fr": {"k": " 000", "M": " millions", "Md": " milliards", "Mds": " milliards"},
}
"""Language → what stands for a size behind a number → what is read."""
OWNERS = word_table("US US, C Canadian, A Australian, NZ New Zealand, HK Hong Kong")
"""What stands in front of an English $ → whose dollars they are."""
UNTIL = {"en": "to", "fr": "à"}
"""Language → what is read for the dash in €5-€10."""
NUMBER = re.compile(r"(\d(?:[\d.,\s]*\d)?(?:[-–]\d(?:[\d.,]*\d)?)?)([A-Za-z]*)([.–-]?)")


@dataclass(frozen=True)
class _Amount:
    """first, end: its places. number: one, or two (5-10). size: what is read behind it. cut: size
    is not a word, or there are two numbers. stop: the full stop in the last word (1.2bn.), or what
    is read for a dash before another amount."""

    first: int
    end: int
    number: str
    size: str
    cut: bool
    stop: str


def read_amounts(
    words: Sequence[str], languages: tuple[str, str], unread: Callable[[str], bool]
) -> dict[int, str]:
    """Returns, for the places of amounts that are read in other words, what is read there.
    languages: source, target. unread: tells whether the network cannot read a sign."""
    language, target = languages
    units = UNITS.get(language, {}) if target in UNITS else {}
    read: dict[int, str] = {}
    for at, sign in enumerate(words):
        name = NAMES.get(language, {}).get(sign, "")
        owned = sign == "$" and language == "en"
        owner = OWNERS.get(word_at(words, at - 1), "") if owned else ""
        ahead = _amount(words, at + 1, language) if name else None
        behind = [_amount(words, first, language) for first in (at - 2, at - 1) if name]
        amount = ahead or next((one for one in behind if one and one.end == at), None)
        if amount is None or not (amount.cut or (owner and ahead) or unread(sign)):
            continue
        if language == "fr" and amount.size.startswith(" mill"):  # millions d'euros
            name = f"d'{name}" if name[0] in "aeiou" else f"de {name}"
        read |= dict.fromkeys(range(amount.first, amount.end), "")
        size = amount.size[1:]
        figure = amount.number + amount.size.replace(size, units.get(size, size))
        if ahead:
            read |= {at: "", amount.first: f"{figure} {owner} {name} {amount.stop}"}
        else:
            read |= {amount.first: figure, at: name}
        if ahead and owner:
            read[at - 1] = ""
    return read


def _amount(words: Sequence[str], first: int, language: str) -> _Amount | None:
    """Returns the amount whose number is at `first`: 30, 30bn, 30 bn or 30 billion."""
    sizes = SIZES[language]
    found = NUMBER.fullmatch(word_at(words, first).replace(JOINER, " "))
    if found is None or (found[2] and found[2] not in sizes):
        return None
    number, short, stop = found.groups()
    number = number.replace("–", "-")
    after = word_at(words, first + 1)
    spelt = not short and f" {after}" in sizes.values()
    apart = spelt or (not short and after in sizes)
    if stop in ("-", "–"):
        if after not in NAMES[language] or _amount(words, first + 2, language) is None:
            return None
        stop = UNTIL[language]
    size = f" {after}" if spelt else sizes.get(short or after, "")
    if re.search("[.,-]", number) and size[1:].isdecimal():  # 2.5k
        return None
    cut = "-" in number or (bool(size) and not spelt)
    return _Amount(first, first + 1 + apart, number, size, cut, stop)
