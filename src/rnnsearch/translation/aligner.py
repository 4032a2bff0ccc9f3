"""The Python interface for word links and phrases of sentence pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.installed import is_name
from rnnsearch.pretrained.card import opposite_model
from rnnsearch.text.links import DEFAULT, Range, character_ranges
from rnnsearch.translation.faithful import best_run
from rnnsearch.translation.translator import Translator
from rnnsearch.translation.word_aligner import PRODUCT, Aligned, WordAligner, Words, check_reverse
from rnnsearch.word_links import Link, format_links


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

    def source_span(self, first: int, end: int) -> Range | None:
        """Returns the source words of a phrase of target words, as `target_span` does."""
        return _span(self._linked.T, first, end)

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
