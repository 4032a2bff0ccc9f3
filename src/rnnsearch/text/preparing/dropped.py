"""Which pairs stay, which were dropped and why: a few bytes per pair, so that both can be traced back to their texts."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.preparing.preparation_report import EXAMPLES, Dropped, Sample, TextReport
from rnnsearch.text.store.blocks import FilterOutcomes, Mask, SideBlock

_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class CleanedCorpus:
    """What the first pass found. pairs: those that stay; repeated: of the pairs that no filter dropped, those that occurred before."""

    pairs: int
    texts: list[TextReport]
    dropped: list[Dropped]
    repeated: Mask | None

    def without_repeated(self, blocks: Iterable[SideBlock]) -> Iterator[SideBlock]:
        """The blocks without the repeated pairs."""
        start = 0
        for block in blocks:
            pairs = len(block.sentences.lengths)
            yield block if self.repeated is None else block.select(~self.repeated[start : start + pairs])
            start += pairs


class Samples:
    """Picks pairs at random."""

    def __init__(self, cleaned: CleanedCorpus, seed: int) -> None:
        random = np.random.default_rng([seed % 2**32, 0, 2])
        self._chosen = np.sort(random.choice(cleaned.pairs, min(_SAMPLES, cleaned.pairs), replace=False))
        self._seen = 0
        self.samples: list[Sample] = []

    def add(self, text: str, numbers: NDArray[np.int64], source: SideBlock, target: SideBlock) -> None:
        for place in self._chosen[(self._chosen >= self._seen) & (self._chosen < self._seen + len(numbers))] - self._seen:
            sides = (" ".join(block.sentence(int(place))) for block in (source, target))
            self.samples.append(Sample(text, int(numbers[place]), *sides))
        self._seen += len(numbers)


class DroppedFile:
    """dropped.tsv.gz: text, number and reason of every pair that was dropped, in their order."""

    def __init__(self, path: Path, cleaned: CleanedCorpus) -> None:
        self._path, self._cleaned, self._seen = path, cleaned, 0

    def __enter__(self) -> Self:
        self._raw = self._path.open("wb")
        self._file = gzip.GzipFile("", "wb", fileobj=self._raw, mtime=0)  # neither name nor time: the same text gives the same bytes
        self._file.write(b"text\tpair\treason\n")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    def add(self, outcomes: FilterOutcomes, source: SideBlock, target: SideBlock) -> Mask:
        """Of the block's pairs, those that stay. (block,)"""
        dropped, reasons, name = self._cleaned.dropped, outcomes.reasons, self._cleaned.texts[outcomes.text].name
        places = np.flatnonzero(reasons == 0)
        keep = np.ones(len(places), dtype=bool)
        if self._cleaned.repeated is not None:
            keep = ~self._cleaned.repeated[self._seen : self._seen + len(places)]
            reasons = reasons.copy()
            reasons[places[~keep]] = len(dropped)  # the last of them: duplicates
            self._cleaned.texts[outcomes.text].pairs_kept -= int((~keep).sum())
            for place in np.flatnonzero(~keep)[:EXAMPLES].tolist():
                sides = (" ".join(block.sentence(place)) for block in (source, target))
                dropped[-1].show(name, int(outcomes.first + places[place]), *sides)
        self._seen += len(places)
        lines = [f"{name}\t{outcomes.first + place}\t{dropped[reasons[place] - 1].reason}\n" for place in np.flatnonzero(reasons).tolist()]
        self._file.write("".join(lines).encode("utf-8"))
        return keep
