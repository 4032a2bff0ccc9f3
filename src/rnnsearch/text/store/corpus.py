"""Reads a prepared dataset for training: both sides' codecs, and sentences as memory-mapped ids."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64, Integer, UInt
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.parsing import read_text, reading
from rnnsearch.text.codec import SIDES, Codec, Side, load_codecs
from rnnsearch.text.store.blocks import offsets_of
from rnnsearch.text.store.store import (
    AGAIN,
    CHECKED_BYTES,
    TrainContents,
    check_store,
    damaged,
    map_array,
    map_rows,
    read_contents,
    shard_name,
)
from rnnsearch.text.vocabulary import EOS

Ids = UInt[NDArray[np.unsignedinteger[Any]], " _"]
Lengths = Integer[NDArray[np.integer[Any]], " _"]


class SentenceIds:
    """Concatenated sentences of ids: sentence i is ids[offsets[i] : offsets[i + 1]], with its end of
    sentence. lengths: int32, with the end of sentence."""

    def __init__(self, ids: Ids, offsets: Int64[NDArray[np.int64], " offsets"]) -> None:
        self.ids, self.offsets = ids, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> Ids:
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    @cached_property
    def lengths(self) -> Lengths:
        return np.diff(self.offsets).astype(np.int32)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> SentenceIds:
        """Concatenates sentences in memory; each must end with the end of sentence."""
        rows = list(sentences)
        ids = np.array([number for row in rows for number in row], dtype=np.uint32)
        return cls(ids, offsets_of(np.array([len(row) for row in rows], dtype=np.int64)))


class Shards:
    """Sentences of several files, one after another. kind: source, target or links. folder: the dataset's."""

    def __init__(self, parts: Sequence[SentenceIds], lengths: Lengths, folder: Path, kind: str) -> None:
        self.parts, self.lengths = parts, lengths
        self._starts = [0, *accumulate(len(part) for part in parts)]
        self._folder, self._kind = folder, kind

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, number: int) -> Ids:
        """Returns a sentence or its links. Raises InputError if it is visibly damaged: the checksums of a
        large dataset are not verified when it is opened."""
        part = bisect_right(self._starts, number) - 1
        row = self.parts[part][number - self._starts[part]]
        as_written = (
            len(row) % 2 == 0
            if self._kind == "links"
            else len(row) == self.lengths[number] > 0 and row[-1] == EOS
        )
        if not as_written:
            file = self._folder / f"{shard_name(self._kind, part)}.*.npy"
            raise damaged(f"is damaged: pair {number - self._starts[part]:,} is not what was written", file)
        return row


Sentences = SentenceIds | Shards


class Pairs:
    """Sentence pairs as ids. source_lengths, target_lengths: (pairs,) int32, with the end of sentence;
    memory-mapped if read from a prepared dataset."""

    def __init__(
        self,
        source: Sentences,
        target: Sentences,
        links: Sentences | None = None,
        words: tuple[int, int] | None = None,
    ) -> None:
        """links: rows of positions, source and target alternating. words: vocabulary sizes K of source and
        target; all ids are smaller."""
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source sentences, {len(target)} target sentences")
        self._source, self._target, self._links, self.words = source, target, links, words

    def __len__(self) -> int:
        return len(self._source)

    @property
    def source_lengths(self) -> Lengths:
        """Returns the lengths of the sources, with the end of sentence: (pairs,)."""
        return self._source.lengths

    @property
    def target_lengths(self) -> Lengths:
        """Returns the lengths of the targets, with the end of sentence: (pairs,)."""
        return self._target.lengths

    @property
    def linked(self) -> bool:
        """Tells whether the pairs have word links."""
        return self._links is not None

    def source(self, number: int) -> Ids:
        """Returns source_lengths[number] ids, the end of sentence last: a view into the dataset."""
        return self._source[number]

    def target(self, number: int) -> Ids:
        """Returns target_lengths[number] ids, the end of sentence last: a view into the dataset."""
        return self._target[number]

    def links(self, number: int) -> UInt[NDArray[np.unsignedinteger[Any]], "links 2"]:
        """Returns positions in source and target ids, sorted; the ends of sentence have none. Raises
        InputError without links."""
        if self._links is None:
            raise InputError(
                "the corpus has no word links", remedy="give them to `rnnsearch prepare` with --links"
            )
        return self._links[number].reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A prepared dataset, as `prepare` makes it.

    settings: those it was prepared with. source, target: the codecs of both sides. train: the training pairs,
    shuffled once. dev: every development pair, in the order of its files; None if there are none.
    dev_source_lines, dev_target_lines: the raw text of dev, for BLEU."""

    path: Path
    settings: DataSettings
    source: Codec
    target: Codec
    train: Pairs
    dev: Pairs | None
    dev_source_lines: list[str]
    dev_target_lines: list[str]

    @classmethod
    def open(cls, path: str | Path, *, check: bool = False) -> Corpus:
        """Opens a prepared dataset; ids and lengths stay on disk until they are read, so any number of
        processes may open it.

        All file sizes are verified, and the checksums of smaller files; with `check`, those of all files.
        Damage in other files is reported when they are read, if it is visible. Raises InputError if the
        dataset is missing, damaged or of another format."""
        folder = Path(path)
        contents = read_contents(folder)
        check_store(folder, None if check else CHECKED_BYTES)
        source, target = load_codecs(folder, contents.data)
        kinds = (*SIDES, "links") if contents.train.links else SIDES
        words = len(source.vocabulary), len(target.vocabulary)
        dev = _read_dev(folder, words) if any(folder.glob("dev.*")) else None
        shards = {kind: _read_shards(folder, kind, contents.train) for kind in kinds}
        return cls(
            path=folder,
            settings=contents.data,
            source=source,
            target=target,
            train=Pairs(shards["source"], shards["target"], shards.get("links"), words),
            dev=dev,
            dev_source_lines=_read_lines(folder, "source", dev),
            dev_target_lines=_read_lines(folder, "target", dev),
        )


def _read_shards(folder: Path, kind: str, contents: TrainContents) -> Shards:
    parts = []
    for number, pairs in enumerate(contents.shards):
        name = shard_name(kind, number)
        parts.append(SentenceIds(*map_rows(folder, name)))
        if (found := len(parts[-1])) != pairs:
            what = f"is damaged: it has {found:,} sentences, and {pairs:,} were written"
            raise damaged(what, folder / f"{name}.offsets.npy")
    if kind == "links":
        return Shards(parts, np.zeros(0, dtype=np.int32), folder, kind)
    file = folder / f"train.{kind}.lengths.npy"
    lengths = map_array(file)
    if len(lengths) != sum(contents.shards):
        raise damaged("does not fit its shards", file, f"the dataset is damaged: {AGAIN}")
    return Shards(parts, lengths, folder, kind)


def _read_dev(folder: Path, words: tuple[int, int]) -> Pairs:
    source, target = (SentenceIds(*map_rows(folder, f"dev.{side}")) for side in SIDES)
    if len(source) != len(target):
        what = f"is damaged: {len(source)} source and {len(target)} target sentences in dev"
        raise damaged(what, folder)
    return Pairs(source, target, words=words)


def _read_lines(folder: Path, side: Side, dev: Pairs | None) -> list[str]:
    if dev is None:
        return []
    path = folder / f"dev.{side}.txt"
    with reading(path, AGAIN):
        lines = read_text(path).split("\n")[:-1]
    if len(lines) != len(dev):
        what = f"has {len(lines)} lines for {len(dev)} pairs"
        raise damaged(what, path, f"the dataset is damaged: {AGAIN}")
    return lines
