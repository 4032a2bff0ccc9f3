"""Blocks of words to ids, whole arrays at a time: only the different words of a block are looked up one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.codec import Codec
from rnnsearch.text.store.blocks import Integers, Ragged, SideBlock, offsets_of
from rnnsearch.text.vocabulary import EOS, UNK


class EncodedBlock:
    """A block as ids. sentences: each with its end of sentence. tokens: without it; unknown: how many of them are UNK; (sentences,)."""

    def __init__(self, words: Ragged, tokens_per_word: Integers, ids: Integers, dtype: np.dtype[Any]) -> None:
        """words: indices of different words; tokens_per_word: of each different word; ids: the ids of their tokens, end to end."""
        starts = offsets_of(tokens_per_word)[:-1]
        self.word_lengths = words.lengths
        self.tokens_per_word = tokens_per_word[words.values]  # of each running word
        self.offsets = offsets_of(self.tokens_per_word)  # where the tokens of each running word begin
        ids = ids[np.repeat(starts[words.values] - self.offsets[:-1], self.tokens_per_word) + np.arange(self.offsets[-1])]
        ends = self.offsets[offsets_of(words.lengths)]
        self.tokens = np.diff(ends)
        unknown = np.concatenate([[0], np.cumsum(ids == UNK)])[ends]
        self.unknown = np.diff(unknown)
        self.sentences = Ragged(np.insert(ids, ends[1:], EOS).astype(dtype), (self.tokens + 1).astype(np.int32))


def id_dtype(codec: Codec) -> np.dtype[Any]:
    """The smallest type that holds every id of the vocabulary."""
    return np.dtype(np.uint16 if len(codec.vocabulary) <= 1 << 16 else np.uint32)


def encode_block(block: SideBlock, codec: Codec) -> EncodedBlock:
    ids, tokens_per_word = codec.word_ids(block.words)
    return EncodedBlock(block.sentences, np.array(tokens_per_word, dtype=np.int64), np.array(ids, dtype=np.int64), id_dtype(codec))


def subword_links(links: Ragged, source: EncodedBlock, target: EncodedBlock) -> Ragged:
    """Links between words → links between all their tokens, which are subwords; an end of sentence has none."""
    pairs = links.values.reshape(-1, 2).astype(np.int64)
    counts = links.lengths // 2
    pair = np.repeat(np.arange(len(counts)), counts)
    sides = [_token_ranges(side, pair, pairs[:, column]) for column, side in enumerate((source, target))]
    (first_source, sources), (first_target, targets) = sides
    made: NDArray[np.int64] = sources.astype(np.int64) * targets
    within = np.arange(made.sum()) - np.repeat(offsets_of(made)[:-1], made)
    width = np.repeat(targets, made)
    positions = np.stack([np.repeat(first_source, made) + within // width, np.repeat(first_target, made) + within % width], axis=1)
    lengths = np.diff(offsets_of(made)[offsets_of(counts)])
    return Ragged(positions.reshape(-1).astype(np.uint32), (2 * lengths).astype(np.int32))


def _token_ranges(side: EncodedBlock, pair: NDArray[np.int64], word: NDArray[np.int64]) -> tuple[NDArray[np.int64], Integers]:
    """Where in its sentence the tokens of each linked word begin, and how many they are."""
    sentence_starts = offsets_of(side.word_lengths)[:-1]
    running = sentence_starts[pair] + word
    return side.offsets[running] - side.offsets[sentence_starts[pair]], side.tokens_per_word[running]
