"""The last pass of `prepare`: encodes the kept pairs, shuffles them, and writes them, the development pairs
and the list of dropped pairs.

The pairs are shuffled once, in bounded memory: every pair goes to a random bucket, and each bucket is
shuffled separately and becomes a shard of the dataset. Every order is equally likely.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, Codec, Side
from rnnsearch.text.formats.readers import LinePair, ParallelText
from rnnsearch.text.links import Range, word_ranges
from rnnsearch.text.preparing.blocks import (
    Block,
    Mask,
    Ragged,
    Sentences,
    SideBlock,
    append,
    appended,
    ranges,
)
from rnnsearch.text.preparing.cleaning import CleanedCorpus
from rnnsearch.text.preparing.preparation_report import PreparationReport, ShownPair, SideReport, TextReport
from rnnsearch.text.store.corpus import Integers, offsets_of, shard_name, write_array, write_rows
from rnnsearch.text.tokens import SPACE, Tokeniser
from rnnsearch.text.vocabulary import EOS, UNK

SHARD_BYTES = 1 << 27
"""Approximate bytes of the ids in a shard, both sides together. A shard is in memory while it is shuffled."""

_MOST_SHARDS = 200
_GATHERED = 1 << 16  # sentences rearranged at a time
_RATIOS = np.exp2(np.arange(-12, 13) / 4)  # from 1/8 to 8
_SAMPLES = 10


def encode(
    cleaned: CleanedCorpus,
    codecs: dict[Side, Codec],
    settings: DataSettings,
    linked: bool,
    folder: Path,
    report: PreparationReport,
    progress: Progress,
) -> list[int]:
    """Writes the shuffled shards, the list of dropped pairs, and the frequency of each vocabulary entry.
    Returns the number of pairs of each shard."""
    reports: dict[Side, SideReport] = {"source": report.source, "target": report.target}
    frequencies = {side: np.zeros(len(codec.vocabulary), dtype=np.int64) for side, codec in codecs.items()}
    ratios = np.zeros(len(_RATIOS) + 1, dtype=np.int64)
    dtypes = id_dtype(codecs["source"]), id_dtype(codecs["target"])
    words = sum(reports[side].words * dtype.itemsize for side, dtype in zip(SIDES, dtypes, strict=True))
    expected = words * (1 if settings.subwords == "none" else 2)
    buckets = Buckets(cleaned.file.parent, expected, settings.seed, dtypes)
    samples, links, done = _Samples(report, settings.seed), 0, 0
    with (
        (folder / "dropped.tsv.gz").open("wb") as raw,
        # No name or time in the gzip header: the same text gives the same bytes.
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as dropped,
    ):
        dropped.write(b"text\tpair\treason\n")
        for block in cleaned.blocks():
            text = report.texts[block.text]
            dropped.write(_dropped_lines(block, report).encode("utf-8"))
            samples.add(text.name, block)
            lengths = block.target.sentences.lengths / block.source.sentences.lengths
            bins = np.searchsorted(_RATIOS, lengths, side="right")
            ratios += text.repeat * np.bincount(bins, minlength=len(ratios))
            source = EncodedBlock(block.source, codecs["source"])
            target = EncodedBlock(block.target, codecs["target"])
            for side, encoded in zip(SIDES, (source, target), strict=True):
                encoded.count(reports[side], text.repeat)
                here = np.bincount(encoded.sentences.values, minlength=len(frequencies[side]))
                frequencies[side] += text.repeat * here
            rows = [source.sentences, target.sentences]
            if block.links is not None:
                rows.append(subword_links(block.links, source, target))
                links += text.repeat * len(rows[2].values) // 2
            for _ in range(text.repeat):
                buckets.add(*rows)
                done += len(source.tokens)
                progress("encoding", done, report.pairs_used)
    shards: list[int] = []
    for pairs in buckets.write_shards(folder, linked):
        shards.append(pairs)
        progress("shuffling", sum(shards), report.pairs_used)
    for side in SIDES:  # a line for each id: entry TAB how often it stands in the training sentences
        counts = enumerate(frequencies[side].tolist())
        lines = [f"{codecs[side].vocabulary.word(number)}\t{count}\n" for number, count in counts]
        (folder / f"vocabulary.{side}.counts.tsv").write_bytes("".join(lines).encode("utf-8"))
    report.ratios = list(zip([0.0, *np.round(_RATIOS, 4).tolist()], ratios.tolist(), strict=True))
    report.links = links if linked else None
    return shards


def _dropped_lines(block: Block, report: PreparationReport) -> str:
    """Returns a line for each dropped pair: text, number and reason."""
    name, reasons = report.texts[block.text].name, block.reasons.tolist()
    return "".join(
        f"{name}\t{number}\t{report.dropped[reason - 1].reason}\n"
        for number, reason in enumerate(reasons, block.first)
        if reason
    )


class _Samples:
    """Picks pairs at random for the report."""

    def __init__(self, report: PreparationReport, seed: int) -> None:
        random = np.random.default_rng([seed % 2**32, 0, 2])
        size = min(_SAMPLES, report.pairs_kept)
        self._chosen = np.sort(random.choice(report.pairs_kept, size, replace=False))
        self._seen, self._samples = 0, report.samples

    def add(self, text: str, block: Block) -> None:
        """Keeps those of the next pairs that were chosen."""
        numbers = block.first + np.flatnonzero(block.reasons == 0)
        begin, end = np.searchsorted(self._chosen, [self._seen, self._seen + len(numbers)])
        for place in (self._chosen[begin:end] - self._seen).tolist():
            sides = block.source.line(place), block.target.line(place)
            self._samples.append(ShownPair(text, int(numbers[place]), *sides))
        self._seen += len(numbers)


class EncodedBlock:
    """A block as ids. sentences: rows of ids, each with its end of sentence. tokens: for each sentence,
    the number of ids without it; unknown: how many of them are UNK."""

    def __init__(self, block: SideBlock, codec: Codec) -> None:
        """Encodes each distinct word of the block once."""
        ids, tokens_per_word = (np.array(part, dtype=np.int64) for part in codec.word_ids(block.words))
        running, word_lengths = block.sentences
        self.tokens_per_word = tokens_per_word[running]  # of each running word
        self.word_starts = offsets_of(word_lengths)  # where the words of each sentence begin
        self.offsets = offsets_of(self.tokens_per_word)  # where the tokens of each running word begin
        ids = ids[ranges(offsets_of(tokens_per_word)[running], self.tokens_per_word)]
        # The units between which there are links: words, or characters of unspaced text.
        self.unit_starts, self.unit_offsets, self.unit_tokens = (
            self.word_starts,
            self.offsets,
            self.tokens_per_word,
        )
        if codec.tokeniser.unspaced and codec.subwords is not None:
            self._set_units(block.words, codec.subwords.split_each(block.words), codec.tokeniser, running)
        ends = self.offsets[self.word_starts]
        self.tokens = np.diff(ends)
        self.unknown = np.diff(offsets_of((ids == UNK).astype(np.int64))[ends])
        with_ends = np.insert(ids, ends[1:], EOS).astype(id_dtype(codec))
        self.sentences = Ragged(with_ends, (self.tokens + 1).astype(np.int32))

    def _set_units(
        self, words: Sequence[str], subwords: Sequence[list[str]], tokeniser: Tokeniser, running: Integers
    ) -> None:
        """Finds the subwords of each character. words: the distinct words. running: their places in them."""
        each: list[list[Range]] = []
        characters = replace(tokeniser, runs=False).words
        for word, own in zip(words, subwords, strict=True):
            first_one, *others = characters(word.removeprefix(SPACE)) or [""]
            units = [SPACE * word.startswith(SPACE) + first_one, *others]
            each.append(word_ranges(units, own) or [(0, len(own))] * len(units))
        first, end = np.array([unit for own in each for unit in own] or [(0, 0)], dtype=np.int64).T
        counts = np.array([len(own) for own in each], dtype=np.int64)
        chosen = ranges(offsets_of(counts)[running], counts[running])
        self.unit_offsets = first[chosen] + np.repeat(self.offsets[:-1], counts[running])
        self.unit_tokens = (end - first)[chosen]
        self.unit_starts = offsets_of(counts[running])[self.word_starts]

    def count(self, report: SideReport, times: int = 1) -> None:
        """Adds the tokens of the block to the report, as often as the block is used."""
        report.tokens += times * int(self.tokens.sum())
        report.known_tokens += times * int(self.tokens.sum() - self.unknown.sum())
        report.known_sentences += times * int((self.unknown == 0).sum())


def id_dtype(codec: Codec) -> np.dtype[Any]:
    """Returns the smallest type that holds every id of the vocabulary."""
    return np.dtype(np.uint16 if len(codec.vocabulary) <= 1 << 16 else np.uint32)


def subword_links(links: Ragged, source: EncodedBlock, target: EncodedBlock) -> Ragged:
    """Converts links between words to links between all their tokens; ends of sentence have none."""
    pairs = links.values.reshape(-1, 2).astype(np.int64)
    counts = links.lengths // 2
    pair = np.repeat(np.arange(len(counts)), counts)
    sides = [_token_ranges(side, pair, pairs[:, column]) for column, side in enumerate((source, target))]
    (first_source, sources), (first_target, targets) = sides
    made: NDArray[np.int64] = sources.astype(np.int64) * targets
    within = ranges(np.zeros_like(made), made)
    width = np.repeat(targets, made)
    source_places = np.repeat(first_source, made) + within // width
    target_places = np.repeat(first_target, made) + within % width
    positions = np.stack([source_places, target_places], axis=1)
    lengths = np.diff(offsets_of(made)[offsets_of(counts)])
    return Ragged(positions.reshape(-1).astype(np.uint32), (2 * lengths).astype(np.int32))


def _token_ranges(
    side: EncodedBlock, pair: NDArray[np.int64], word: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Integers]:
    """Returns the place in its sentence where the tokens of each linked word begin, and their number."""
    unit = side.unit_starts[pair] + word
    return side.unit_offsets[unit] - side.offsets[side.word_starts[pair]], side.unit_tokens[unit]


def read_dev(texts: Sequence[ParallelText], report: PreparationReport) -> list[LinePair]:
    """Reads the development pairs into memory; all are kept, in their order. Raises InputError as the texts
    do, and if one is empty."""
    pairs = []
    for text in texts:
        here = list(text.pairs())
        if not here:
            what = f"{text.name}: the development files are empty"
            raise InputError(what, remedy="give files with one sentence per line, or no --dev")
        report.dev.append(TextReport(text.name, len(here), len(here), *text.warnings))
        pairs += here
    return pairs


def encode_dev(lines: Sequence[str], side: Side, codec: Codec, folder: Path) -> SideReport:
    """Writes ids and text of one side of the development pairs."""
    sentences = Sentences()
    for line in lines:
        sentences.add(codec.tokeniser.words(line))
    block = sentences.block()
    lengths = block.sentences.lengths
    report = SideReport(
        codec.tokeniser.unit, len(lengths), int(lengths.sum()), len(block.words), longest=int(lengths.max())
    )
    encoded = EncodedBlock(block, codec)
    encoded.count(report)
    ids, sizes = encoded.sentences
    write_rows(folder, f"dev.{side}", sizes, [ids], ids.dtype)
    (folder / f"dev.{side}.txt").write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
    return report


class Buckets:
    """Takes the encoded pairs in the order of the text and writes the shards of the dataset.

    expected_bytes: approximate size of the ids of all pairs. dtypes: types of source and target ids. The
    order of the pairs in the dataset depends only on the seed and on their order in the text.
    """

    def __init__(
        self, folder: Path, expected_bytes: int, seed: int, dtypes: tuple[np.dtype[Any], np.dtype[Any]]
    ) -> None:
        number = min(max(1, -(-expected_bytes // SHARD_BYTES)), _MOST_SHARDS)
        self.paths = [folder / f"bucket.{bucket:04d}" for bucket in range(number)]
        self.dtypes, self._seed = dtypes, seed % 2**32
        self._random = np.random.default_rng([self._seed, 0, 1])

    def add(self, *rows: Ragged) -> None:
        """Adds source ids, target ids and, if there are any, links of the same pairs."""
        # One random number per pair, so the bucket does not depend on the size of the blocks.
        bucket = (self._random.random(len(rows[0].lengths)) * len(self.paths)).astype(np.int64)
        for number, path in enumerate(self.paths):
            chosen: Mask = bucket == number
            if chosen.any():
                append(path, *(row.select(chosen) for row in rows))

    def write_shards(self, store: Path, linked: bool) -> Iterator[int]:
        """Writes every bucket's pairs in random order, and their lengths; yields the number of pairs of
        each shard."""
        lengths: dict[str, list[Integers]] = {"source": [], "target": []}
        filled = [(number, path) for number, path in enumerate(self.paths) if path.exists()]
        for shard, (number, path) in enumerate(filled):
            for place, kind in enumerate(["source", "target", "links"][: 2 + linked]):
                rows = _read(path, place)
                # The first bucket's numbers are those of the seed alone.
                order = np.random.default_rng([self._seed, number]).permutation(len(rows.lengths))
                ordered = rows.lengths[order]
                dtype = self.dtypes[place] if kind in lengths else rows.values.dtype
                write_rows(store, shard_name(kind, shard), ordered, gathered(rows, order), dtype)
                if kind in lengths:
                    lengths[kind].append(ordered.astype(np.int32))
            yield len(order)
            path.unlink()
        for side, parts in lengths.items():
            write_array(store / f"train.{side}.lengths.npy", np.dtype(np.int32), sum(map(len, parts)), parts)


def gathered(rows: Ragged, order: NDArray[np.int64]) -> Iterator[Integers]:
    """Yields the rows in another order, concatenated, some ten thousands at a time."""
    offsets = offsets_of(rows.lengths)
    for start in range(0, len(order), _GATHERED):
        chosen = order[start : start + _GATHERED]
        yield rows.values[ranges(offsets[chosen], rows.lengths[chosen])]


def _read(path: Path, place: int) -> Ragged:
    """Returns one kind of rows of a bucket."""
    arrays = zip(*(parts[place] for parts in appended(path)), strict=True)
    return Ragged(*map(np.concatenate, arrays))
