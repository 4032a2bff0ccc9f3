"""Word links of given sentence pairs by forced decoding: of one run, of two runs of opposite directions,
against gold links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat, tee
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.text.links import (
    DEFAULT,
    METHODS,
    LinkWords,
    PairWordCounts,
    given_words,
    recognise,
    symmetrise,
    tokeniser_ranges,
    word_ranges,
)
from rnnsearch.translation.sentence_search import END
from rnnsearch.translation.translator import Translator
from rnnsearch.word_links import GoldLinks, Link, hard_links, threshold_links

Pair = tuple[str, str]
Words = str | Sequence[str]
"""One side of a pair: a line, or its words."""
PRODUCT = "product"
"""Links where the weights of both directions agree (Liang, Taskar & Klein 2006): of matrices, so for runs
only."""
WAYS = (*METHODS, PRODUCT)
AGREEMENT = 0.4
"""√(w→ w←) that a link of PRODUCT has if no threshold is named."""


class Aligned(NamedTuple):
    """One pair. reverse: of the run of the other direction: its tokens are the source words. others: of
    further runs, for comparison.

    links: (source, target), sorted; those of both directions made one if there are two. forward_links: of
    `result` alone.
    reverse_links: of `reverse`, (source, target) too. lines: the pair as it was given.
    """

    result: Translation
    links: list[Link]
    forward_links: list[Link]
    reverse: Translation | None = None
    reverse_links: list[Link] | None = None
    others: tuple[Translation, ...] = ()
    lines: Pair = ("", "")


@dataclass(frozen=True)
class WordAligner:
    """How links are made. reverse: a model from the target language to the source language, whose links are
    symmetrised with the others.

    threshold: links are the weights that reach it, several for a word or none; without one each word has its
    strongest.
    method: one of WAYS; `product` links what has √(w→ w←) ≥ threshold, w→ and w← being the weights of the two
    directions.
    words: what the links count of a line, the tokeniser's words or the given ones. posterior: weights are
    those that each word has once it is known (translation/forced.py), not α. exact, scored: as in
    `Translator.force`.
    """

    translator: Translator = field(repr=False)
    reverse: Translator | None = field(default=None, repr=False)
    others: Sequence[Translator] = field(default=(), repr=False)
    threshold: float | None = None
    method: str = DEFAULT
    words: LinkWords = "tokenised"
    batch_size: int = 64
    posterior: bool = False
    exact: bool = False
    scored: bool = True

    def align(self, pairs: Iterable[tuple[Words, Words]], first: int = 1) -> Iterator[Aligned]:
        """Yields one result for each pair, in order. Raises InputError, with the pair's number, where two
        runs cut a pair into other words.

        pairs: the links of a side that is a list of words count these words. first: the number of the first
        pair.
        """
        forward = (self.translator, *self.others)
        lines, *copies = tee(pairs, 1 + len(forward) + (self.reverse is not None))
        found = [self._forced(one, copy, first) for one, copy in zip(forward, copies, strict=False)]
        back: Iterable[Translation | None] = repeat(None)
        if self.reverse is not None:
            back = self._forced(self.reverse, (pair[::-1] for pair in copies[-1]), first)
        # The results come first: they end with what the pairs end with, an error too.
        rows = zip(*found, back, lines, strict=False)
        for number, (result, *others, reverse, pair) in enumerate(rows, first):
            yield self._aligned(number, pair, result, reverse, others)

    def _forced(
        self, translator: Translator, pairs: Iterable[tuple[Words, Words]], first: int
    ) -> Iterator[Translation]:
        return translator.force(
            map(as_lines, pairs),
            self.batch_size,
            posterior=self.posterior,
            exact=self.exact,
            scored=self.scored,
            first=first,
        )

    def _aligned(
        self,
        number: int,
        pair: tuple[Words, Words],
        result: Translation,
        reverse: Translation | None,
        others: list[Translation],
    ) -> Aligned:
        if self.words == "given" or not all(isinstance(side, str) for side in pair):
            source, target = (
                None if isinstance(side, str) and self.words == "tokenised" else side for side in pair
            )
            result, *others = (in_given_words(one, source, target, number) for one in (result, *others))
            reverse = None if reverse is None else in_given_words(reverse, target, source, number)
        links = self._links(result)
        if reverse is None:
            return Aligned(result, links, links, others=tuple(others), lines=as_lines(pair))
        if (reverse.tokens, reverse.source_tokens[:-1]) != (result.source_tokens[:-1], result.tokens):
            raise InputError(
                f"pair {number}: the two directions split it into different words", remedy="use --words given"
            )
        back = sorted((source, target) for target, source in self._links(reverse))
        if self.method == PRODUCT:
            agreed = np.sqrt(result.alignment[:, :-1] * reverse.alignment[:, :-1].T)
            both = threshold_links(
                agreed, AGREEMENT if self.threshold is None else self.threshold, end_of_sentence=False
            )
        else:
            both = symmetrise(links, back, self.method)
        return Aligned(result, both, links, reverse, back, tuple(others), as_lines(pair))

    def _links(self, result: Translation) -> list[Link]:
        if self.threshold is None or self.method == PRODUCT:
            return hard_links(result.alignment)
        return threshold_links(result.alignment, self.threshold)


def check_reverse(forward: Any, reverse: Any, named: str | Path) -> None:
    """Raises InputError if the second run or translator does not read what the first one writes, and write
    what it reads."""
    ours, theirs = (translator.settings.data for translator in (forward, reverse))
    if "space" in (ours.tokeniser, theirs.tokeniser):
        return  # nothing depends on the languages, and nobody need name them
    if (theirs.source_language, theirs.target_language) != (ours.target_language, ours.source_language):
        what = f"translates from {theirs.source_language} to {theirs.target_language}"
        remedy = f"the reverse run must translate from {ours.target_language} to {ours.source_language}"
        raise InputError(what, file=named, remedy=remedy)


def as_lines(pair: tuple[Words, Words]) -> Pair:
    """Returns a pair whose words are joined by spaces. Whatever is no pair stays as it is, for
    `Translator.force` to refuse."""

    def line(side: Words) -> Words:
        words = isinstance(side, (tuple, list)) and all(isinstance(word, str) for word in side)
        return " ".join(side) if words else side

    return tuple(map(line, pair)) if isinstance(pair, (tuple, list)) else pair  # type: ignore[return-value]


def in_given_words(
    result: Translation, source: Words | None, target: Words | None, number: int
) -> Translation:
    """Returns the result with given words, or those that stand between spaces in a line, in place of the
    tokeniser's, and their alignment. None: the words of this side stay.

    A tokeniser's word of several given words shares its weight among them; a given word of several has the
    mean of their rows. Raises InputError, with the pair's number, for a line whose letters the tokeniser
    changes.
    """
    sides = []
    for side, words in ((source, result.source_tokens[:-1]), (target, result.tokens)):
        given = words if side is None else given_words(side) if isinstance(side, str) else list(side)
        ranges = word_ranges(given, words) if side is None else tokeniser_ranges(given, words)
        if ranges is None:
            raise InputError(
                f"pair {number}: the tokeniser changes its characters: {' '.join(given)[:60]!r}",
                remedy="use --words tokenised",
            )
        belongs = np.zeros((len(given), len(words)))
        for place, (first, end) in enumerate(ranges):
            belongs[place, first:end] = 1.0
        sides.append((given, belongs))
    (source_given, on_source), (target_given, on_target) = sides
    shares = on_source / np.maximum(on_source.sum(axis=0, keepdims=True), 1.0)
    rows = on_target / np.maximum(on_target.sum(axis=1, keepdims=True), 1.0)
    weights = rows @ result.alignment[:, :-1] @ shares.T
    # The rest is the end's, also of a word that is no letter to the tokeniser: no link.
    weights = np.column_stack((weights, 1.0 - weights.sum(axis=1)))
    return replace(
        result,
        tokens=target_given,
        source_tokens=[*source_given, END],
        alignment=np.clip(weights, 0.0, 1.0).astype(np.float32),
    )


def counted_by(gold: Sequence[GoldLinks], pairs: Sequence[Pair], translator: Translator) -> LinkWords:
    """Tells which words gold links count: the tokeniser's if they fit those of every pair and not the given
    ones.
    Raises InputError if there are not as many pairs as gold sentences."""
    if len(gold) != len(pairs):
        raise InputError(
            f"{len(pairs)} pairs but {len(gold)} sentences of gold links",
            remedy="sentence n of the gold file must belong to line n",
        )
    cut = translator.source.tokeniser.words, translator.target.tokeniser.words

    def counted(links: GoldLinks, source: str, target: str) -> PairWordCounts:
        given = len(given_words(source)), len(given_words(target))
        return PairWordCounts(sorted(links.possible), given, (len(cut[0](source)), len(cut[1](target))))

    return recognise(counted(links, *pair) for links, pair in zip(gold, pairs, strict=True))
