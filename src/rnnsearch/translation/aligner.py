"""Word links of given sentence pairs by forced decoding, with one run or two runs of opposite
directions, and the phrases that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat, tee
from math import inf
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from rnnsearch.arguments import given_items, require_choice, require_number
from rnnsearch.errors import InputError
from rnnsearch.figure3 import Panel
from rnnsearch.installed import is_name
from rnnsearch.pretrained.card import opposite_model
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec
from rnnsearch.text.links import (
    METHODS,
    LinkWords,
    Range,
    character_ranges,
    symmetrise,
    tokeniser_ranges,
)
from rnnsearch.text.tokens import given_words
from rnnsearch.text.vocabulary import END
from rnnsearch.translation.terms import best_run
from rnnsearch.translation.translator import Translator
from rnnsearch.word_links import Link, format_links, hard_links, threshold_links

TextPair = tuple[str, str]
Words = str | Sequence[str]
"""One side of a pair: a line, or its words."""
PRODUCT = "product"
"""Links where the weights of both directions agree (Liang, Taskar & Klein 2006). It needs weight
matrices, so it exists for runs only."""
WAYS = (*METHODS, PRODUCT)
AGREEMENT = 0.4
"""The default threshold of √(w→ w←) for PRODUCT."""


@dataclass(frozen=True, eq=False)
class AlignedPair:
    """A sentence pair with its word links.

    source, target: the two lines; given words are joined by spaces.
    result, reverse: its alignments by the run, and by the run of the opposite direction, if there
    is one, whose tokens are the source words.
    links: (source, target) positions of `source_words` and `target_words`, from 0, sorted;
    symmetrised if there are two directions. forward_links, reverse_links: those of one direction
    alone, also as (source, target).
    """

    source: str
    target: str
    result: Translation
    links: list[Link]
    forward_links: list[Link]
    reverse: Translation | None = None
    reverse_links: list[Link] | None = None

    @property
    def source_words(self) -> list[str]:
        """Returns the source words that links refer to: the given words, or those of the model's
        tokeniser."""
        return self.result.source_tokens[:-1]

    @property
    def target_words(self) -> list[str]:
        """Returns the target words that links refer to."""
        return self.result.tokens

    @cached_property
    def probabilities(self) -> NDArray[np.float32]:
        """Returns (source words, target words) float32, so `probabilities[link]` is the probability
        of a link: the alignment posterior of the target word, or, with two directions, √(p→ p←) of
        their posteriors. For an Aligner without `posterior`, p is α."""
        return product_weights(self.result, self.reverse).T

    def pharaoh(self) -> str:
        """Returns the links as a line of Pharaoh format, `0-0 1-2`."""
        return format_links(self.links)

    def to_dict(self) -> dict[str, Any]:
        """Returns the pair, its words, its links and their probabilities as plain lists, for a line
        of JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "source_tokens": self.source_words,
            "tokens": list(self.target_words),
            "links": [list(link) for link in self.links],
            "probabilities": [round(float(self.probabilities[link]), 5) for link in self.links],
        }

    def matrices(self) -> dict[str, Any]:
        """Returns the words, links and weights as plain lists, for a line of JSON."""
        of_translations = {"alternatives", "confidence", "doubtful_numbers", "unknown_words"}
        fields = self.result.to_dict() | {"links": self.links}
        made = {name: value for name, value in fields.items() if name not in of_translations}
        if self.reverse is not None:
            made |= {"forward_links": self.forward_links, "reverse_links": self.reverse_links}
            made["reverse_alignment"] = self.reverse.to_dict()["alignment"]
        return made

    def panels(self, name: str = "") -> list[Panel]:
        """Returns the picture of the run, and that of the reverse run (transposed). name: of the
        run."""
        one, back = self.result, self.reverse
        found = [Panel(name, one.source_tokens, one.tokens, one.alignment)]
        if back is not None:
            weights, title = back.alignment[:, :-1].T, f"{name} reverse run".strip()
            found.append(Panel(title, back.tokens, back.source_tokens[:-1], weights))
        return found

    def target_span(self, first: int, end: int) -> Range | None:
        """Returns the target words [first, end) that translate the source words [first, end).

        They are the run of target words for which the probabilities of links into the phrase, minus
        those of links to words outside it, have the largest sum. Returns None if the phrase has no
        links. Raises InputError if the sentence does not have these words.
        """
        linked = np.zeros_like(self.probabilities)
        for link in self.links:
            linked[link] = self.probabilities[link]
        require_number("first", first, -inf)
        require_number("end", end, -inf)
        if not 0 <= first < end <= len(linked):
            what = f"there are no words {first} to {end} in a sentence of {len(linked)} words"
            remedy = "count words from 0; the second number is one after the last"
            raise InputError(what, remedy)
        return best_run((2 * linked[first:end].sum(0) - linked.sum(0)).tolist())

    def target_characters(self, begin: int, end: int) -> Range | None:
        """Returns the characters [begin, end) of `target` that translate the characters [begin,
        end) of `source`: whole words, found by `target_span`.

        Raises InputError if no source word is there.
        """
        ranges, others = self.source_ranges, self.target_ranges
        touched = [word for word, (one, last) in enumerate(ranges) if one < end and begin < last]
        if not touched:
            what = f"there is no word at characters {begin} to {end}: {self.source[:60]!r}"
            remedy = "count characters from 0; the second number is one after the last"
            raise InputError(what, remedy)
        found = self.target_span(touched[0], touched[-1] + 1)
        return None if found is None else (others[found[0]][0], others[found[1] - 1][1])

    @cached_property
    def source_ranges(self) -> list[Range]:
        """Returns the characters [begin, end) of each source word in `source`. Raises InputError if
        the tokeniser has changed characters."""
        return _places_of(self.source, self.source_words)

    @cached_property
    def target_ranges(self) -> list[Range]:
        """Returns the characters [begin, end) of each target word in `target`, as `source_ranges`
        does."""
        return _places_of(self.target, self.target_words)


@dataclass(frozen=True)
class Aligner:
    """Links words of sentence pairs by the alignment posterior of a model, or of two models of
    opposite directions, which is better.

    method: how the links of two directions are symmetrised, one of WAYS. `product` links words with
    √(w→ w←) ≥ threshold, where w→ and w← are the weights of the two directions.
    words: whether links refer to the tokeniser's words or to the given ones.
    posterior, exact, scored: as in `Translator.scorer`; without `posterior`, links are made from α.

    Raises InputError for another method, other words, or a reverse model of other languages.
    """

    translator: Translator
    reverse: Translator | None = None
    method: str = PRODUCT
    words: LinkWords = "tokenised"
    posterior: bool = True
    exact: bool = False
    scored: bool = False

    def __post_init__(self) -> None:
        for name in ("translator", "reverse"):
            if isinstance(named := getattr(self, name), (str, Path)):
                raise InputError(f"{name} is {named!r}, no Translator", "use Aligner.load")
        require_choice("method", self.method, WAYS)
        require_choice("words", self.words, get_args(LinkWords))
        if self.reverse is not None:
            check_reverse(self.translator, self.reverse, "reverse")

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

        reverse: from the target language to the source language. By default, an installed model
        gets the installed model of the other direction, if there is one, and a folder none. Raises
        InputError as `Translator.load` does, and for a reverse model of other languages.
        """
        translator = Translator.load(run, device=device, trust_code=trust_code)
        if reverse is None and isinstance(run, (str, Path)) and is_name(run):
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

        pairs: texts and their translations. Each side is a line or a list of words; links then
        refer to the words of the list.
        threshold: the smallest probability of a link. The default is 0.4 for the product of two
        directions. Otherwise each word is by default linked to its most probable word of the other
        language, or to none.
        """
        return list(self.stream(pairs, threshold=threshold, batch_size=batch_size))

    def stream(
        self,
        pairs: Iterable[tuple[Words, Words]],
        first: int = 1,
        *,
        threshold: float | None = None,
        batch_size: int = 64,
    ) -> Iterator[AlignedPair]:
        """Yields what `align` returns, for a corpus of any length. first: the number of the first
        pair in messages.

        Raises InputError, with the pair's number, if an item is not a pair of texts, the tokeniser
        changes characters of given words, or the two models tokenise a line differently.
        """
        if threshold is not None:
            require_number("threshold", threshold, 0, 1, whole=False)
        how: dict[str, Any] = {
            "posterior": self.posterior,
            "exact": self.exact,
            "scored": self.scored,
            "first": first,
        }
        lines, forward, *back = tee(given_items(pairs, "pairs"), 2 + (self.reverse is not None))
        results = self.translator.force(map(as_lines, forward), batch_size, **how)
        reverses: Iterable[Translation | None] = repeat(None)
        if self.reverse is not None:
            turned = (as_lines(pair[::-1]) for pair in back[0])
            reverses = self.reverse.force(turned, batch_size, **how)
        # The results come first in zip: the end of the pairs, or their error, reaches them first.
        for number, (result, reverse, pair) in enumerate(
            zip(results, reverses, lines, strict=False), first
        ):
            codecs = self.translator.source, self.translator.target
            source, target = map(self._given, codecs, pair)
            result = in_given_words(result, source, target, number)
            if reverse is not None:
                reverse = in_given_words(reverse, target, source, number)
                theirs = reverse.tokens, reverse.source_tokens[:-1]
                if theirs != (result.source_tokens[:-1], result.tokens):
                    what = f"pair {number}: the two directions split it into different words"
                    raise InputError(what, "use align.words = given")
            yield self._linked(as_lines(pair), result, reverse, threshold)

    def _given(self, codec: Codec, side: Words) -> Sequence[str] | None:
        """Returns the words of a side that links refer to; None for those of the network."""
        if not isinstance(side, str):
            return side
        if self.words == "given":
            return given_words(side)
        return codec.tokeniser.link_words(side) if codec.tokeniser.unspaced else None

    def _linked(
        self,
        lines: TextPair,
        result: Translation,
        reverse: Translation | None,
        threshold: float | None,
    ) -> AlignedPair:
        product = reverse is not None and self.method == PRODUCT
        of_one = None if product else threshold
        forward = _links(result, of_one)
        if reverse is None:
            return AlignedPair(*lines, result, forward, forward)
        back = sorted(link[::-1] for link in _links(reverse, of_one))
        if product:
            least = AGREEMENT if threshold is None else threshold
            both = threshold_links(product_weights(result, reverse), least)
        else:
            both = symmetrise(forward, back, self.method)
        return AlignedPair(*lines, result, both, forward, reverse, back)


def _links(result: Translation, threshold: float | None) -> list[Link]:
    """Returns the links of one direction. threshold: None for the strongest source word of each
    word."""
    if threshold is None:
        return hard_links(result.alignment)
    return threshold_links(result.alignment[:, :-1], threshold)


def product_weights(result: Translation, reverse: Translation | None) -> NDArray[np.float32]:
    """Returns (target words, source words): the weights of a result, or √(w→ w←) of those of both
    directions."""
    weights = result.alignment[:, :-1]
    return weights if reverse is None else np.sqrt(weights * reverse.alignment[:, :-1].T)


def check_reverse(forward: Any, reverse: Any, named: str | Path) -> None:
    """Raises InputError unless the second run or translator has the languages of the first in the
    opposite direction."""
    ours, theirs = (translator.settings.data for translator in (forward, reverse))
    if "space" in (ours.tokeniser, theirs.tokeniser):
        return  # this tokeniser ignores the languages, so they need not be named
    found, wanted = (
        f"from {source} to {target}"
        for source, target in (
            (theirs.source_language, theirs.target_language),
            (ours.target_language, ours.source_language),
        )
    )
    if found != wanted:
        remedy = f"the reverse run must translate {wanted}"
        raise InputError(f"translates {found}", remedy, file=named)


def as_lines(pair: tuple[Words, Words]) -> TextPair:
    """Joins lists of words by spaces. An item that is not a pair is returned unchanged;
    `Translator.force` rejects it."""
    if isinstance(pair, (tuple, list)):
        return tuple(map(_as_line, pair))  # type: ignore[return-value]
    return pair


def _as_line(side: Words) -> Words:
    words = isinstance(side, (tuple, list)) and all(isinstance(word, str) for word in side)
    return " ".join(side) if words else side


def in_given_words(
    result: Translation, source: Sequence[str] | None, target: Sequence[str] | None, number: int
) -> Translation:
    """Converts a result from the tokeniser's words to given words. None keeps the words of that
    side.

    A tokeniser's word that covers several given words divides its weight among them. A given word
    that covers several of the tokeniser's has the mean of their rows. Raises InputError, with the
    pair's number, if the tokeniser changes letters of a line.
    """
    if source is None and target is None:
        return result
    sides = []
    for given, words in ((source, result.source_tokens[:-1]), (target, result.tokens)):
        if given is None:
            sides.append((words, np.eye(len(words))))
            continue
        ranges = tokeniser_ranges(given, words)
        if ranges is None:
            what = f"pair {number}: the tokeniser changes its characters: {' '.join(given)[:60]!r}"
            raise InputError(what, "use align.words = tokenised")
        belongs = np.zeros((len(given), len(words)))
        for place, (first, end) in enumerate(ranges):
            belongs[place, first:end] = 1.0
        sides.append((list(given), belongs))
    (given_source, on_source), (given_target, on_target) = sides
    shares = on_source / np.maximum(on_source.sum(axis=0, keepdims=True), 1.0)
    rows = on_target / np.maximum(on_target.sum(axis=1, keepdims=True), 1.0)
    weights = rows @ result.alignment[:, :-1] @ shares.T
    # The remaining weight goes to the end of sentence, which means no link.
    weights = np.column_stack((weights, 1.0 - weights.sum(axis=1)))
    return replace(
        result,
        tokens=given_target,
        source_tokens=[*given_source, END],
        alignment=np.clip(weights, 0.0, 1.0).astype(np.float32),
    )


def _places_of(text: str, words: list[str]) -> list[Range]:
    found = character_ranges(text, words)
    if found is None:
        what = f"the tokeniser changes characters of the text: {text[:60]!r}"
        raise InputError(what, "give words instead, and use target_span")
    return found
