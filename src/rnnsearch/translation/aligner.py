"""Word links of given sentence pairs by forced decoding, with one run or two runs of opposite directions, and
the phrases that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat, tee
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.installed import is_name
from rnnsearch.pretrained.card import opposite_model
from rnnsearch.records import Translation
from rnnsearch.text.links import (
    DEFAULT,
    METHODS,
    LinkWords,
    PairWordCounts,
    Range,
    character_ranges,
    recognise,
    symmetrise,
    tokeniser_ranges,
    word_ranges,
)
from rnnsearch.text.tokens import given_words
from rnnsearch.translation.faithful import best_run
from rnnsearch.translation.translator import END, Translator
from rnnsearch.word_links import GoldLinks, Link, format_links, hard_links, threshold_links

Pair = tuple[str, str]
Words = str | Sequence[str]
"""One side of a pair: a line, or its words."""
PRODUCT = "product"
"""Links where the weights of both directions agree (Liang, Taskar & Klein 2006). It needs weight matrices, so
it exists for runs only."""
WAYS = (*METHODS, PRODUCT)
AGREEMENT = 0.4
"""The default threshold of √(w→ w←) for PRODUCT."""


class Aligned(NamedTuple):
    """Links and alignments of one pair. reverse: result of the reverse run, whose tokens are the source
    words.

    links: (source, target), sorted; symmetrised if there are two directions. forward_links: those of `result`
    alone.
    reverse_links: those of `reverse`, also as (source, target). lines: the given pair.
    """

    result: Translation
    links: list[Link]
    forward_links: list[Link]
    reverse: Translation | None = None
    reverse_links: list[Link] | None = None
    lines: Pair = ("", "")


@dataclass(frozen=True)
class WordAligner:
    """Aligns sentence pairs by forced decoding. reverse: a model from the target to the source language,
    whose links are symmetrised with the forward ones.

    threshold: smallest weight of a link; a word may then have several links or none. If None, each word is
    linked at its largest weight.
    method: one of WAYS. `product` links words with √(w→ w←) ≥ threshold, where w→ and w← are the weights of
    the two directions.
    words: whether links refer to the tokeniser's words or to the given ones. posterior, exact, scored: as in
    `Translator.force`.
    """

    translator: Translator = field(repr=False)
    reverse: Translator | None = field(default=None, repr=False)
    threshold: float | None = None
    method: str = DEFAULT
    words: LinkWords = "tokenised"
    batch_size: int = 64
    posterior: bool = False
    exact: bool = False
    scored: bool = True

    def align(self, pairs: Iterable[tuple[Words, Words]], first: int = 1) -> Iterator[Aligned]:
        """Yields one result for each pair, in order. Raises InputError, with the pair's number, if two runs
        split a pair into different words.

        pairs: on a side that is a list of words, links refer to these words. first: the number of the first
        pair.
        """
        lines, forward, *back = tee(pairs, 2 + (self.reverse is not None))
        results = self._forced(self.translator, forward, first)
        reverses: Iterable[Translation | None] = repeat(None)
        if self.reverse is not None:
            reverses = self._forced(self.reverse, (pair[::-1] for pair in back[0]), first)
        # The results come first in zip: the end of the pairs, or their error, reaches them first.
        for number, (result, reverse, pair) in enumerate(zip(results, reverses, lines, strict=False), first):
            yield self._aligned(number, pair, result, reverse)

    def _forced(
        self, translator: Translator, pairs: Iterable[tuple[Words, Words]], first: int
    ) -> Iterator[Translation]:
        return translator.force(
            map(as_lines, pairs),
            self.batch_size,
            posterior=self.posterior,
            exact=self.exact,
            scored=self.scored,
            fast=True,
            first=first,
        )

    def _aligned(
        self,
        number: int,
        pair: tuple[Words, Words],
        result: Translation,
        reverse: Translation | None,
    ) -> Aligned:
        if self.words == "given" or not all(isinstance(side, str) for side in pair):
            source, target = (self._given(place, side) for place, side in enumerate(pair))
            result = in_given_words(result, source, target, number)
            reverse = None if reverse is None else in_given_words(reverse, target, source, number)
        links = self._links(result)
        if reverse is None:
            return Aligned(result, links, links, lines=as_lines(pair))
        if (reverse.tokens, reverse.source_tokens[:-1]) != (result.source_tokens[:-1], result.tokens):
            raise InputError(
                f"pair {number}: the two directions split it into different words", remedy="use --words given"
            )
        back = sorted((source, target) for target, source in self._links(reverse))
        if self.method == PRODUCT:
            agreed = np.sqrt(result.alignment[:, :-1] * reverse.alignment[:, :-1].T)
            both = threshold_links(agreed, AGREEMENT if self.threshold is None else self.threshold)
        else:
            both = symmetrise(links, back, self.method)
        return Aligned(result, both, links, reverse, back, as_lines(pair))

    def _given(self, place: int, side: Words) -> Words | None:
        """Returns the words of a side of a pair that links count; None for those of the tokeniser."""
        if not isinstance(side, str):
            return side
        codecs = self.translator.source, self.translator.target
        return None if self.words == "tokenised" else codecs[place].tokeniser.link_words(side)

    def _links(self, result: Translation) -> list[Link]:
        if self.threshold is None or self.method == PRODUCT:
            return hard_links(result.alignment)
        return threshold_links(result.alignment[:, :-1], self.threshold)


def check_reverse(forward: Any, reverse: Any, named: str | Path) -> None:
    """Raises InputError unless the second run or translator has the languages of the first in the opposite
    direction."""
    ours, theirs = (translator.settings.data for translator in (forward, reverse))
    if "space" in (ours.tokeniser, theirs.tokeniser):
        return  # this tokeniser ignores the languages, so they need not be named
    if (theirs.source_language, theirs.target_language) != (ours.target_language, ours.source_language):
        what = f"translates from {theirs.source_language} to {theirs.target_language}"
        remedy = f"the reverse run must translate from {ours.target_language} to {ours.source_language}"
        raise InputError(what, file=named, remedy=remedy)


def as_lines(pair: tuple[Words, Words]) -> Pair:
    """Joins lists of words by spaces. An item that is not a pair is returned unchanged; `Translator.force`
    rejects it."""

    def line(side: Words) -> Words:
        words = isinstance(side, (tuple, list)) and all(isinstance(word, str) for word in side)
        return " ".join(side) if words else side

    return tuple(map(line, pair)) if isinstance(pair, (tuple, list)) else pair  # type: ignore[return-value]


def in_given_words(
    result: Translation, source: Words | None, target: Words | None, number: int
) -> Translation:
    """Converts a result from the tokeniser's words to given words: those of a list, or of a line split at
    spaces. None keeps the words of that side.

    A tokeniser's word that covers several given words divides its weight among them. A given word that covers
    several of the tokeniser's has the mean of their rows. Raises InputError, with the pair's number, if the
    tokeniser changes letters of a line.
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
    # The remaining weight goes to the end of sentence, which means no link.
    weights = np.column_stack((weights, 1.0 - weights.sum(axis=1)))
    return replace(
        result,
        tokens=target_given,
        source_tokens=[*source_given, END],
        alignment=np.clip(weights, 0.0, 1.0).astype(np.float32),
    )


def counted_by(gold: Sequence[GoldLinks], pairs: Sequence[Pair], translator: Translator) -> LinkWords:
    """Tells which words gold links refer to: the tokeniser's words if the links of every pair fit them and do
    not fit the given words.
    Raises InputError if the numbers of pairs and of gold sentences differ."""
    if len(gold) != len(pairs):
        raise InputError(
            f"{len(pairs)} pairs but {len(gold)} sentences of gold links",
            remedy="sentence n of the gold file must belong to line n",
        )
    left, right = translator.source, translator.target

    def counted(links: GoldLinks, source: str, target: str) -> PairWordCounts:
        given = len(left.tokeniser.link_words(source)), len(right.tokeniser.link_words(target))
        return PairWordCounts(
            sorted(links.possible), given, (len(left.words(source)), len(right.words(target)))
        )

    return recognise(counted(links, *pair) for links, pair in zip(gold, pairs, strict=True))


@dataclass(frozen=True, eq=False)
class AlignedPair:
    """A sentence pair with its word links.

    source, target: the two lines; given words are joined by spaces. source_words, target_words: the words
    that links refer to, from 0: the given words, or those of the model's tokeniser.
    links: (source, target) positions, sorted.
    probabilities: (source words, target words) float32, so `probabilities[link]` is the probability of a
    link: the alignment posterior of the target word, or, with two directions, √(p→ p←) of their posteriors.
    """

    source: str
    target: str
    source_words: list[str]
    target_words: list[str]
    links: list[Link]
    probabilities: NDArray[np.float32]

    @classmethod
    def of(cls, one: Aligned) -> AlignedPair:
        """Makes a pair from a result of WordAligner. The probabilities are the result's weights: posteriors,
        or α if it was made without `posterior`."""
        weights = one.result.alignment[:, :-1].T
        if one.reverse is not None:
            weights = np.sqrt(weights * one.reverse.alignment[:, :-1])
        return cls(*one.lines, one.result.source_tokens[:-1], one.result.tokens, one.links, weights)

    def pharaoh(self) -> str:
        """Returns the links as a line of Pharaoh format, `0-0 1-2`."""
        return format_links(self.links)

    def to_dict(self) -> dict[str, Any]:
        """Returns the pair, its words, its links and their probabilities as plain lists, for a line of
        JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "source_tokens": list(self.source_words),
            "tokens": list(self.target_words),
            "links": [list(link) for link in self.links],
            "probabilities": [round(float(self.probabilities[link]), 5) for link in self.links],
        }

    def target_span(self, first: int, end: int) -> Range | None:
        """Returns the target words [first, end) that translate the source words [first, end).

        They are the run of target words for which the probabilities of links into the phrase, minus those of
        links to words outside it, have the largest sum. Returns None if the phrase has no links. Raises
        InputError if the sentence does not have these words.
        """
        return _span(self._linked, first, end)

    def target_characters(self, begin: int, end: int) -> Range | None:
        """Returns the characters [begin, end) of `target` that translate the characters [begin, end) of
        `source`: whole words, found by `target_span`.

        Raises InputError if no source word is there.
        """
        ranges, others = self.source_ranges, self.target_ranges
        touched = [word for word, (one, last) in enumerate(ranges) if one < end and begin < last]
        if not touched:
            what = f"there is no word at characters {begin} to {end}: {self.source[:60]!r}"
            raise InputError(what, remedy="count characters from 0; the second number is one after the last")
        found = self.target_span(touched[0], touched[-1] + 1)
        return None if found is None else (others[found[0]][0], others[found[1] - 1][1])

    @cached_property
    def source_ranges(self) -> list[Range]:
        """Returns the characters [begin, end) of each source word in `source`."""
        return _places(self.source, self.source_words)

    @cached_property
    def target_ranges(self) -> list[Range]:
        """Returns the characters [begin, end) of each target word in `target`."""
        return _places(self.target, self.target_words)

    @cached_property
    def _linked(self) -> NDArray[np.float32]:
        """Returns the probabilities of the links; 0 elsewhere."""
        found = np.zeros_like(self.probabilities)
        for link in self.links:
            found[link] = self.probabilities[link]
        return found


class Aligner:
    """Links words of sentence pairs by the alignment posterior of a model, or of two models of opposite
    directions, which is better."""

    def __init__(self, translator: Translator, reverse: Translator | None = None) -> None:
        self.translator: Translator = translator
        self.reverse: Translator | None = reverse

    @classmethod
    def load(
        cls,
        run: str | Path,
        reverse: str | Path | None = None,
        *,
        device: str = "cpu",
        trust_code: bool = False,
    ) -> Aligner:
        """Opens one run or model for each direction, as `Translator.load` does.

        reverse: from the target language to the source language. By default, an installed model gets the
        installed model of the other direction, if there is one, and a folder none. Raises InputError as
        `Translator.load` does, and for a reverse model of other languages.
        """
        translator = Translator.load(run, device=device, trust_code=trust_code)
        if reverse is None and is_name(run) and translator.settings is not None:
            reverse = opposite_model(translator.settings.data) or None
        if not reverse:
            return cls(translator)
        back = Translator.load(reverse, device=device, trust_code=trust_code)
        check_reverse(translator, back, reverse)
        return cls(translator, back)

    def align(
        self,
        pairs: Iterable[tuple[Words, Words]],
        *,
        threshold: float | None = None,
        batch_size: int = 64,
    ) -> list[AlignedPair]:
        """Returns the word links of each pair. Raises InputError as `stream` does.

        pairs: texts and their translations. Each side is a line or a list of words; links then refer to the
        words of the list.
        threshold: the smallest probability of a link. The default is 0.4 with two directions. With one, each
        target word is linked to its most probable source word, or to none.
        """
        return list(self.stream(pairs, threshold=threshold, batch_size=batch_size))

    def stream(
        self,
        pairs: Iterable[tuple[Words, Words]],
        *,
        threshold: float | None = None,
        batch_size: int = 64,
    ) -> Iterator[AlignedPair]:
        """Yields what `align` returns, for a corpus of any length.

        Raises InputError, with the pair's number, if an item is not a pair of texts, the tokeniser changes
        characters of given words, or the two models tokenise a line differently.
        """
        aligner = WordAligner(
            self.translator,
            self.reverse,
            threshold=threshold,
            method=PRODUCT if self.reverse else DEFAULT,
            batch_size=batch_size,
            posterior=True,
            scored=False,
        )
        return map(AlignedPair.of, aligner.align(pairs))


def _span(linked: NDArray[np.float32], first: int, end: int) -> Range | None:
    """Returns the run of columns for which the sum inside the rows [first, end), minus the sum outside them,
    is largest."""
    if not 0 <= first < end <= len(linked):
        what = f"there are no words {first} to {end} in a sentence of {len(linked)} words"
        raise InputError(what, remedy="count words from 0; the second number is one after the last")
    return best_run((2 * linked[first:end].sum(0) - linked.sum(0)).tolist())


def _places(text: str, words: list[str]) -> list[Range]:
    """Returns the characters of each word in the text. Raises InputError if the tokeniser has changed
    characters."""
    found = character_ranges(text, words)
    if found is None:
        what = f"the tokeniser changes characters of the text: {text[:60]!r}"
        raise InputError(what, remedy="give words instead, and use target_span")
    return found
