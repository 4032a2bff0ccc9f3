"""How much a pair resembles one domain more than the pool it comes from (Axelrod, He & Gao 2011), by four
n-gram models."""

from __future__ import annotations

import functools
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.text.codec import Side
from rnnsearch.text.formats.readers import LinePair
from rnnsearch.text.selecting.ngrams import Floats, NgramModel, as_text
from rnnsearch.text.selecting.scores import RECORD, Records
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary

MINIMUM_COUNT = 2
"""A word must occur this often in the domain to be in the vocabulary of all models of its language; every
other word is unknown."""


class Tokenisers(NamedTuple):
    """The tokenisers of the two languages."""

    source: Tokeniser
    target: Tokeniser

    def words(self, line: LinePair) -> tuple[list[str], list[str]]:
        return self.source.words(line[0]), self.target.words(line[1])


class TokenisedLines(NamedTuple):
    """Pairs of tokenised sentences, their words joined by spaces: they are read several times, and lists of
    words are large."""

    source: list[str]
    target: list[str]

    @property
    def words(self) -> list[int]:
        """The number of words of either side."""
        return [sum(line.count(" ") + 1 for line in side) for side in self]


def tokenised(pairs: Iterable[LinePair], tokenisers: Tokenisers) -> TokenisedLines:
    """Returns the pairs of which neither side is empty."""
    sentences = TokenisedLines([], [])
    for line in pairs:
        source, target = tokenisers.words(line)
        if source and target:
            sentences.source.append(" ".join(source))
            sentences.target.append(" ".join(target))
    return sentences


def random_sample(pairs: Iterable[LinePair], tokenisers: Tokenisers, words: int, seed: int) -> TokenisedLines:
    """Returns pairs drawn at random, in the order of the pool: the fewest that have `words` words on both
    sides together, or all pairs if these have fewer.

    One pass over the pool, which holds no more than the sample: each pair draws a number, and those with the
    lowest are the sample.
    """
    chosen: list[tuple[float, int, int, str, str]] = []  # a heap: the highest number, negated, comes first
    total = 0
    for position, (number, line) in enumerate(zip(_random_numbers(seed), pairs, strict=False)):
        if total >= words and number >= -chosen[0][0]:
            continue
        source, target = tokenisers.words(line)
        if not source or not target:
            continue
        heapq.heappush(
            chosen, (-number, position, len(source) + len(target), " ".join(source), " ".join(target))
        )
        total += len(source) + len(target)
        while total - chosen[0][2] >= words:
            total -= heapq.heappop(chosen)[2]
    in_order = sorted(chosen, key=lambda pair: pair[1])
    return TokenisedLines([pair[3] for pair in in_order], [pair[4] for pair in in_order])


@dataclass(frozen=True, slots=True)
class Contrast:
    """The two models of one language, of the domain and of the pool at large, over one vocabulary."""

    vocabulary: Vocabulary
    domain: NgramModel
    pool: NgramModel

    @classmethod
    def learn(cls, domain: Sequence[str], pool: Sequence[str], order: int, side: Side) -> Contrast:
        """Learns from tokenised lines. Raises InputError if no word occurs often enough."""
        counts = Counter(chain.from_iterable(map(str.split, domain)))
        vocabulary = Vocabulary.from_counts(counts, len(counts), MINIMUM_COUNT)
        if len(vocabulary) == len(Vocabulary([])):
            raise InputError(
                f"no {side} word of the in-domain text occurs twice", remedy="give more text of the domain"
            )
        models = [
            NgramModel.estimate(as_text(map(str.split, lines), vocabulary), len(vocabulary), order)
            for lines in (domain, pool)
        ]
        return cls(vocabulary, *models)

    def differences(self, sentences: list[list[str]]) -> Floats:
        """Returns H_domain(s) − H_pool(s) of each sentence, in bits per word."""
        text = as_text(sentences, self.vocabulary)
        return self.domain.cross_entropies(text) - self.pool.cross_entropies(text)

    def save(self, folder: Path) -> None:
        """Makes the folder."""
        for name, model in {"domain": self.domain, "pool": self.pool}.items():
            (folder / name).mkdir(parents=True)
            model.save(folder / name)
        self.vocabulary.save(folder / "vocabulary.txt")

    @classmethod
    def open(cls, folder: Path) -> Contrast:
        return cls(
            Vocabulary.load(folder / "vocabulary.txt"),
            NgramModel.open(folder / "domain"),
            NgramModel.open(folder / "pool"),
        )


@dataclass(frozen=True, slots=True)
class PairScorer:
    """Scores pairs with the models in the folders `source` and `target` of `folder`: a plain value that can
    be sent to another process."""

    folder: Path
    tokenisers: Tokenisers

    def __call__(self, lines: list[LinePair]) -> Records:
        """Returns the records of these pairs: the sum of both sides' differences, infinite if a side is
        empty, and the words of the target."""
        sentences = [self.tokenisers.words(line) for line in lines]
        sources, targets = [source for source, _ in sentences], [target for _, target in sentences]
        records = np.empty(len(lines), RECORD)
        records["score"] = _opened(self.folder / "source").differences(sources) + _opened(
            self.folder / "target"
        ).differences(targets)
        records["score"][[not source or not target for source, target in sentences]] = np.inf
        records["words"] = [len(target) for target in targets]
        return records


@functools.lru_cache(maxsize=2)
def _opened(folder: Path) -> Contrast:
    """Opens the models once in each process."""
    return Contrast.open(folder)


def _random_numbers(seed: int) -> Iterator[float]:
    random = np.random.default_rng(seed)
    while True:
        yield from random.random(4096).tolist()
