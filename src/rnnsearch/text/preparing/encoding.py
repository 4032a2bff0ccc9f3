"""Blocks of words to ids, whole arrays at a time: only the different words of a block are looked up one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.codec import Codec
from rnnsearch.text.store.blocks import Integers, Ragged, SideBlock, offsets_of
from rnnsearch.text.vocabulary import EOS, UNK


class Numbered:
    """A block in ids. sentences: each with its end of sentence. tokens: without it; unknown: how many of them are UNK; (sentences,)."""

    def __init__(self, words: Ragged, pieces: Integers, piece_ids: Integers, dtype: np.dtype[Any]) -> None:
        """words: places in the two arrays; pieces: of how many pieces each different word consists; piece_ids: their ids, end to end."""
        starts = offsets_of(pieces)[:-1]
        self.word_lengths = words.lengths
        self.pieces = pieces[words.values]  # of each running word
        self.offsets = offsets_of(self.pieces)  # where the pieces of each running word begin
        ids = piece_ids[np.repeat(starts[words.values] - self.offsets[:-1], self.pieces) + np.arange(self.offsets[-1])]
        ends = self.offsets[offsets_of(words.lengths)]
        self.tokens = np.diff(ends)
        unknown = np.concatenate([[0], np.cumsum(ids == UNK)])[ends]
        self.unknown = np.diff(unknown)
        self.sentences = Ragged(np.insert(ids, ends[1:], EOS).astype(dtype), (self.tokens + 1).astype(np.int32))


class Numberer:
    """Words to ids by a codec. dtype: the smallest type that holds every id."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.dtype: np.dtype[Any] = np.dtype(np.uint16 if len(codec.vocabulary) <= 1 << 16 else np.uint32)

    def number(self, block: SideBlock) -> Numbered:
        ids, pieces = self.codec.word_ids(block.words)
        return Numbered(block.sentences, np.array(pieces, dtype=np.int64), np.array(ids, dtype=np.int64), self.dtype)


def pieces_of_links(links: Ragged, source: Numbered, target: Numbered) -> Ragged:
    """Links between words → links between all their pieces; an end of sentence has none."""
    pairs = links.values.reshape(-1, 2).astype(np.int64)
    counts = links.lengths // 2
    pair = np.repeat(np.arange(len(counts)), counts)
    sides = [_piece_ranges(side, pair, pairs[:, column]) for column, side in enumerate((source, target))]
    (first_source, sources), (first_target, targets) = sides
    made: NDArray[np.int64] = sources.astype(np.int64) * targets
    within = np.arange(made.sum()) - np.repeat(offsets_of(made)[:-1], made)
    width = np.repeat(targets, made)
    positions = np.stack([np.repeat(first_source, made) + within // width, np.repeat(first_target, made) + within % width], axis=1)
    lengths = np.diff(offsets_of(made)[offsets_of(counts)])
    return Ragged(positions.reshape(-1).astype(np.uint32), (2 * lengths).astype(np.int32))


def _piece_ranges(side: Numbered, pair: NDArray[np.int64], word: NDArray[np.int64]) -> tuple[NDArray[np.int64], Integers]:
    """Where in its sentence the pieces of each linked word begin, and how many they are."""
    sentence_starts = offsets_of(side.word_lengths)[:-1]
    running = sentence_starts[pair] + word
    return side.offsets[running] - side.offsets[sentence_starts[pair]], side.pieces[running]
