"""A pair of phrases with its word links, and functions that compose pairs; the links move with the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from rnnsearch.word_links import Link

Slot = tuple[int, int | None]
"""A place in the target order: (part, one of its target words), or (part, None) for all of its target
words."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Source words, target words, and the (source, target) links between them, 0-based within the phrase."""

    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()


NOTHING = Phrase()


@cache
def word(source: str, target: str) -> Phrase:
    """Returns a phrase in which every source word is linked to every target word: `word("not", "ne pas")`,
    `word("looks for", "cherche")`."""
    left, right = tuple(source.split()), tuple(target.split())
    return Phrase(left, right, tuple((j, i) for j in range(len(left)) for i in range(len(right))))


@cache
def parallel(source: str, target: str) -> Phrase:
    """Returns a phrase that is linked word by word: `parallel("all the", "tous les")`. Raises ValueError if
    the two sides differ in length."""
    left, right = tuple(source.split()), tuple(target.split())
    return Phrase(left, right, tuple((i, i) for i, _ in enumerate(zip(left, right, strict=True))))


@cache
def linked(source: str, target: str, links: str) -> Phrase:
    """Returns a phrase with links in Pharaoh format: `linked("Monetary Fund", "Fonds monétaire", "0-1
    1-0")`."""
    pairs = tuple((int(j), int(i)) for j, i in (pair.split("-") for pair in links.split()))
    return Phrase(tuple(source.split()), tuple(target.split()), pairs)


def join(*parts: Phrase | str) -> Phrase:
    """Joins the parts in the same order on both sides; "to|à" stands for `word("to", "à")`."""
    source: list[str] = []
    target: list[str] = []
    links: list[Link] = []
    for part in (word(*part.split("|")) if isinstance(part, str) else part for part in parts):
        links += [(j + len(source), i + len(target)) for j, i in part.links]
        source += part.source
        target += part.target
    return Phrase(tuple(source), tuple(target), tuple(links))


def reorder(parts: Sequence[Phrase], slots: Sequence[Slot]) -> Phrase:
    """Returns the parts in source order; `slots` names them, or single target words of them, in target order.

    Raises ValueError unless every target word of every part is used exactly once.
    """
    target: list[str] = []
    place: dict[tuple[int, int], int] = {}  # (part, target word of the part) → target position
    for number, only in slots:
        for i in range(len(parts[number].target)) if only is None else (only,):
            if (number, i) in place:
                raise ValueError(f"target word {i} of {parts[number]} is used twice")
            place[number, i] = len(target)
            target.append(parts[number].target[i])
    if len(target) != sum(len(part.target) for part in parts):
        raise ValueError(f"the target order {list(slots)} leaves out words of {list(parts)}")
    source: list[str] = []
    links: list[Link] = []
    for number, part in enumerate(parts):
        links += [(j + len(source), place[number, i]) for j, i in part.links]
        source += part.source
    return Phrase(tuple(source), tuple(target), tuple(links))


def weave(source: str, target: str, **parts: Phrase) -> Phrase:
    """Applies a rule of a synchronous grammar: two templates that name the parts in the order of each
    language.

    `name.k` stands for the k-th target word of a part whose words do not stay together. A part not given is
    empty:
    `weave("not verb", "not.0 verb not.1", verb=word("see", "voit"), not=word("not", "ne pas"))`.
    """
    names, slots = _read_templates(source, target)
    given = [parts.get(name, NOTHING) for name in names]
    return reorder(given, [slot for slot in slots if slot[1] is None or given[slot[0]].target])


@cache
def _read_templates(source: str, target: str) -> tuple[tuple[str, ...], tuple[Slot, ...]]:
    names = tuple(source.split())
    slots: list[Slot] = []
    for field in target.split():
        name, _, index = field.partition(".")
        slots.append((names.index(name), int(index) if index else None))
    return names, tuple(slots)


def merge_targets(phrase: Phrase, position: int, merged: str) -> Phrase:
    """Returns the phrase with the target words at `position` and after it merged into one word, which keeps
    the links of both."""
    target = (*phrase.target[:position], merged, *phrase.target[position + 2 :])
    moved = ((j, i if i <= position else i - 1) for j, i in phrase.links)
    return Phrase(phrase.source, target, tuple(dict.fromkeys(moved)))


def capitalised(phrase: Phrase) -> Phrase:
    """Returns the phrase with the first letter of either side in upper case, as at the start of a
    sentence."""
    return Phrase(_capital(phrase.source), _capital(phrase.target), phrase.links)


def _capital(words: tuple[str, ...]) -> tuple[str, ...]:
    return (words[0][0].upper() + words[0][1:], *words[1:]) if words else words
