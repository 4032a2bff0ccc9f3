"""Noun phrases by chance: names, nouns with adjectives, owners ("of …") and relative clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from entries import (
    ACTORS,
    BODIES,
    NATIONS,
    OTHER,
    OWNERS,
    PEOPLE,
    PERSONS,
    POSSESSIVES,
    PRONOUNS,
    QUANTITIES,
    THE,
    THE_TWO,
    THINGS,
    THIS,
    A,
    Adjective,
    Determiner,
    Kind,
    Kinds,
    Name,
    adjectives_of,
    nouns_of,
)
from phrase import Phrase, join
from rules import NounPhrase, coordinate, noun_group

SUBJECTS: tuple[Kinds, ...] = (
    PERSONS,
    PERSONS,
    PERSONS,
    PERSONS,
    ACTORS,
    ("institution", "zone"),
    ("nation",),
    ("document",),
    THINGS,
)
"""Kinds of subjects; all are equally likely."""


T = TypeVar("T")


class Chance:
    """Random choices that are the same in every version of Python. Only `Random.random` guarantees that, so
    everything is built on it."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def fraction(self) -> float:
        """Returns a number drawn uniformly from [0, 1)."""
        return self._random.random()

    def pick(self, options: Sequence[T]) -> T:
        """Returns one of the options, all equally likely."""
        return options[int(self._random.random() * len(options))]

    def between(self, low: int, high: int) -> int:
        """Returns an integer from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))


class NounPhrases:
    """The noun phrases of one sentence; no name is repeated. The grammar defines relative clauses."""

    def __init__(self, chance: Chance) -> None:
        self.pick, self.happens = chance.pick, chance.happens
        self.between, self.fraction = chance.between, chance.fraction
        self.names_left = [*PEOPLE, *NATIONS, *BODIES]

    def relative(self, antecedent: NounPhrase, words: int) -> Phrase:
        """Returns a relative clause on the noun right before it."""
        raise NotImplementedError

    def subject(self, words: int) -> NounPhrase:
        """Returns the subject of a clause of this many words; short subjects are more frequent."""
        if words <= 2:
            return self.someone()
        kinds = self.pick(SUBJECTS)
        if kinds is PERSONS and self.happens(0.3):
            return self.someone()
        length = 2 + int(self.fraction() ** 2 * max(1, words - 3) * 0.7)
        if length >= 5 and kinds is PERSONS and self.happens(0.3):
            first = self.noun_phrase(kinds, self.between(1, 3), relative=False)
            second = self.noun_phrase(kinds, length - size(first.phrase) - 1, relative=False)
            return coordinate(first, second) if first.phrase != second.phrase else second
        return self.noun_phrase(kinds, length)

    def someone(self) -> NounPhrase:
        """Returns one word: a name or a pronoun."""
        people = [name for name in self.names_left if name.kind == "adult"]
        return self.named(self.pick((*people, *PRONOUNS)))

    def named(self, name: Name) -> NounPhrase:
        self.names_left = [left for left in self.names_left if left is not name]
        return NounPhrase(name.phrase, name.gender, False, name.kind)

    def noun_phrase(
        self, kinds: Kinds, words: int, relative: bool = True, negated: bool = False, counted: bool = True
    ) -> NounPhrase:
        """Returns a name, or a noun with its modifiers.

        relative: whether it may have a relative clause. negated: whether it is the object of a negated verb.
        counted: whether it may be indefinite or counted.
        """
        nouns = nouns_of(kinds)  # none of kind "nation"
        names = [name for name in self.names_left if name.kind in kinds and size(name.phrase) <= words]
        if names and (words == 1 or not nouns or self.happens(0.15)):
            return self.named(self.pick(names))
        noun = self.pick(nouns or nouns_of(PERSONS))
        plural = self.happens(0.35)
        adjectives = self.adjectives(noun.kind, words - 2)
        left = words - 2 - len(adjectives)
        described = left >= 3 and not negated
        determiner = self.determiner(plural, adjectives, negated, counted, described)
        core = noun_group(noun, plural, determiner, adjectives, negated)
        if not described:
            return core
        if noun.kind in OWNERS and (not relative or self.happens(0.4)):
            owner = self.noun_phrase(OWNERS[noun.kind], left - 1, relative, counted=False)
            return replace(core, phrase=join(core.phrase, "of|de", owner.phrase))
        return replace(core, phrase=join(core.phrase, self.relative(core, left))) if relative else core

    def determiner(
        self, plural: bool, adjectives: Sequence[Adjective], negated: bool, counted: bool, described: bool
    ) -> Determiner:
        """Returns a determiner that exists in this number and makes sense here. described: before a relative
        clause or "of"."""
        drawn = self.fraction()
        some = plural and (
            negated or not counted
        )  # "does not see some", "near some": French has no "des" here
        another = not plural and OTHER in adjectives  # "an other" is not English
        if 0.5 <= drawn < 0.7 and not some and not another:
            return A
        if 0.7 <= drawn < 0.8 and plural and counted and not negated:
            return self.pick(QUANTITIES)
        if 0.8 <= drawn < 0.9 and not described:
            return self.pick(POSSESSIVES)
        if drawn >= 0.9:
            return THE_TWO if plural and self.happens(0.3) else THIS
        return THE

    def adjectives(self, kind: Kind, most: int) -> list[Adjective]:
        """Returns at most one adjective of each rank, and perhaps "other", which comes first: "the other
        small house"."""
        chosen: list[Adjective] = []
        for _ in range(min(most, self.pick((0, 1, 1, 1, 2, 2, 3)))):
            ranks = {adjective.rank for adjective in chosen if adjective is not OTHER}
            chosen.append(
                self.pick([one for one in adjectives_of(kind) if one not in chosen and one.rank not in ranks])
            )
        return sorted(chosen, key=lambda adjective: adjective is not OTHER)


def size(phrase: Phrase) -> int:
    """Returns the number of English words."""
    return len(phrase.source)
