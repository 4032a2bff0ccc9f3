"""The last pass of `prepare`: encodes the pairs that stay, shuffles them, and writes them, the development
pairs, and what was dropped."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, Codec, Side
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.preparing.cleaning import CleanedCorpus
from rnnsearch.text.preparing.preparation_report import EXAMPLES, ShownPair, SideReport, TextReport
from rnnsearch.text.preparing.shuffle import Buckets
from rnnsearch.text.store.blocks import (
    FilterOutcomes,
    Integers,
    Mask,
    Ragged,
    SideBlock,
    offsets_of,
    ranges,
    read_blocks,
    read_links,
)
from rnnsearch.text.store.store import write_rows
from rnnsearch.text.vocabulary import EOS, UNK, Vocabulary

_RATIOS = np.exp2(np.arange(-12, 13) / 4)  # from 1/8 to 8
_SAMPLES = 10


class EncodedCorpus(NamedTuple):
    """Numbers about what the last pass wrote. shards: pairs in each; ratios, samples: for the report; links:
    their number, None without links."""

    shards: list[int]
    ratios: list[tuple[float, int]]
    samples: list[ShownPair]
    links: int | None


def encode(
    cleaned: CleanedCorpus,
    codecs: dict[Side, Codec],
    reports: dict[Side, SideReport],
    linked: bool,
    settings: DataSettings,
    folder: Path,
    progress: Progress,
) -> EncodedCorpus:
    """Writes the shuffled shards, what was dropped, and how often every entry of the vocabularies occurs."""
    work, links, done = cleaned.work, 0, 0
    frequencies = {side: np.zeros(len(codec.vocabulary), dtype=np.int64) for side, codec in codecs.items()}
    ratios, samples = np.zeros(len(_RATIOS) + 1, dtype=np.int64), _Samples(cleaned, settings.seed)
    dtypes = id_dtype(codecs["source"]), id_dtype(codecs["target"])
    words = sum(reports[side].words * dtype.itemsize for side, dtype in zip(SIDES, dtypes, strict=True))
    expected = words * (1 if settings.subwords == "none" else 2)
    link_blocks = read_links(work / "links") if linked else itertools.repeat(None)
    with (
        Buckets(work, expected, settings.seed, dtypes) as buckets,
        (folder / "dropped.tsv.gz").open("wb") as raw,
        # Neither name nor time: the same text gives the same bytes.
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as dropped,
    ):
        dropped.write(b"text\tpair\treason\n")
        sides = read_blocks(work / "source"), read_blocks(work / "target")
        passes = zip(*sides, link_blocks, cleaned.outcomes())  # noqa: B905 (links may repeat)
        for source, target, links_block, (outcomes, keep) in passes:
            places = _write_dropped(dropped, cleaned, outcomes, keep, (source, target))
            blocks: dict[Side, SideBlock] = {"source": source.select(keep), "target": target.select(keep)}
            encoded = {side: EncodedBlock(blocks[side], codecs[side]) for side in SIDES}
            rows = [encoded[side].sentences for side in SIDES]
            if links_block is not None:
                rows.append(subword_links(links_block.select(keep), encoded["source"], encoded["target"]))
            text = cleaned.texts[outcomes.text]
            samples.add(text.name, outcomes.first + places, blocks["source"], blocks["target"])
            lengths = [blocks[side].sentences.lengths for side in SIDES]
            bins = np.searchsorted(_RATIOS, lengths[1] / lengths[0], side="right")
            ratios += text.repeat * np.bincount(bins, minlength=len(ratios))
            for side in SIDES:
                _note(reports[side], encoded[side], text.repeat)
                here = np.bincount(encoded[side].sentences.values, minlength=len(frequencies[side]))
                frequencies[side] += text.repeat * here
            for _ in range(text.repeat):
                buckets.add(*rows)
                links += len(rows[-1].values) // 2 if links_block is not None else 0
                done += len(places)
                progress("encoding", done, cleaned.pairs)
        shards = []
        for pairs in buckets.write_shards(folder, linked):
            shards.append(pairs)
            progress("shuffling", sum(shards), cleaned.pairs)
    for side in SIDES:
        path = folder / f"vocabulary.{side}.counts.tsv"
        _write_frequencies(path, codecs[side].vocabulary, frequencies[side])
    bounds = [0.0, *np.round(_RATIOS, 4).tolist()]
    counted = list(zip(bounds, ratios.tolist(), strict=True))
    return EncodedCorpus(shards, counted, samples.samples, links if linked else None)


def _note(report: SideReport, encoded: EncodedBlock, times: int) -> None:
    report.tokens += times * int(encoded.tokens.sum())
    report.known_tokens += times * int(encoded.tokens.sum() - encoded.unknown.sum())
    report.known_sentences += times * int((encoded.unknown == 0).sum())


def _write_frequencies(path: Path, vocabulary: Vocabulary, frequencies: NDArray[np.int64]) -> None:
    """Writes a line for each id: entry TAB how often it stands in the training sentences."""
    lines = [f"{vocabulary.word(number)}\t{count}\n" for number, count in enumerate(frequencies.tolist())]
    path.write_bytes("".join(lines).encode("utf-8"))


class _Samples:
    """Picks pairs at random."""

    def __init__(self, cleaned: CleanedCorpus, seed: int) -> None:
        pairs = sum(text.pairs_kept for text in cleaned.texts)
        random = np.random.default_rng([seed % 2**32, 0, 2])
        self._chosen = np.sort(random.choice(pairs, min(_SAMPLES, pairs), replace=False))
        self._seen = 0
        self.samples: list[ShownPair] = []

    def add(self, text: str, numbers: NDArray[np.int64], source: SideBlock, target: SideBlock) -> None:
        """Takes the chosen ones among the next pairs. numbers: of each pair in its text."""
        begin, end = np.searchsorted(self._chosen, [self._seen, self._seen + len(numbers)])
        for place in (self._chosen[begin:end] - self._seen).tolist():
            sides = (" ".join(block.sentence(place)) for block in (source, target))
            self.samples.append(ShownPair(text, int(numbers[place]), *sides))
        self._seen += len(numbers)


def _write_dropped(
    file: gzip.GzipFile,
    cleaned: CleanedCorpus,
    outcomes: FilterOutcomes,
    keep: Mask,
    sides: Sequence[SideBlock],
) -> NDArray[np.int64]:
    """Writes text, number and reason of a block's dropped pairs, and returns the places of the others.

    keep: False for the repetitions among the pairs that no filter dropped.
    """
    dropped, name = cleaned.dropped, cleaned.texts[outcomes.text].name
    places = np.flatnonzero(outcomes.reasons == 0)
    reasons = outcomes.reasons.copy()
    reasons[places[~keep]] = len(dropped)  # the last of them: duplicates
    for place in np.flatnonzero(~keep)[:EXAMPLES].tolist():
        words = (" ".join(block.sentence(place)) for block in sides)
        dropped[-1].show(name, int(outcomes.first + places[place]), *words)
    lines = [
        f"{name}\t{outcomes.first + place}\t{dropped[reasons[place] - 1].reason}\n"
        for place in np.flatnonzero(reasons).tolist()
    ]
    file.write("".join(lines).encode("utf-8"))
    return places[keep]


class EncodedBlock:
    """A block as ids. sentences: rows of ids, each with its end of sentence. tokens: for each sentence,
    the number of ids without it; unknown: how many of them are UNK."""

    def __init__(self, block: SideBlock, codec: Codec) -> None:
        """Looks up only the different words of the block."""
        ids, tokens_per_word = (np.array(part, dtype=np.int64) for part in codec.word_ids(block.words))
        running, self.word_lengths = block.sentences
        self.tokens_per_word = tokens_per_word[running]  # of each running word
        self.offsets = offsets_of(self.tokens_per_word)  # where the tokens of each running word begin
        ids = ids[ranges(offsets_of(tokens_per_word)[running], self.tokens_per_word)]
        ends = self.offsets[offsets_of(self.word_lengths)]
        self.tokens = np.diff(ends)
        self.unknown = np.diff(offsets_of((ids == UNK).astype(np.int64))[ends])
        with_ends = np.insert(ids, ends[1:], EOS).astype(id_dtype(codec))
        self.sentences = Ragged(with_ends, (self.tokens + 1).astype(np.int32))


def id_dtype(codec: Codec) -> np.dtype[Any]:
    """Returns the smallest type that holds every id of the vocabulary."""
    return np.dtype(np.uint16 if len(codec.vocabulary) <= 1 << 16 else np.uint32)


def subword_links(links: Ragged, source: EncodedBlock, target: EncodedBlock) -> Ragged:
    """Turns links between words into links between all their tokens; an end of sentence has none."""
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
    sentence_starts = offsets_of(side.word_lengths)[:-1]
    running = sentence_starts[pair] + word
    return side.offsets[running] - side.offsets[sentence_starts[pair]], side.tokens_per_word[running]


@dataclass(frozen=True, slots=True)
class Development:
    """The development pairs, all of which are kept, in their order. lines: of each side, of all texts."""

    lines: dict[Side, list[str]]
    texts: list[TextReport]


def read_dev(texts: Sequence[ParallelText]) -> Development:
    """Reads them into memory. Raises InputError as the texts do, and if one is empty."""
    pairs, reports = [], []
    for text in texts:
        here = list(text.pairs())
        if not here:
            what = f"{text.name}: the development files are empty"
            raise InputError(what, remedy="give files with one sentence per line, or no --dev")
        warnings = text.source_warnings, text.target_warnings
        reports.append(TextReport(text.name, len(here), len(here), *warnings))
        pairs += here
    return Development(
        {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}, reports
    )


def encode_dev(dev: Development, folder: Path, codecs: dict[Side, Codec]) -> dict[Side, SideReport]:
    """Writes ids and text of every side."""
    reports: dict[Side, SideReport] = {}
    for side, codec in codecs.items():
        sentences = [codec.tokeniser.words(line) for line in dev.lines[side]]
        ids = [codec.encode_words(words).ids for words in sentences]
        unknown = [row.count(UNK) for row in ids]
        tokens = sum(map(len, ids)) - len(ids)
        reports[side] = SideReport(
            sentences=len(sentences),
            words=sum(map(len, sentences)),
            distinct_words=len(set(chain.from_iterable(sentences))),
            longest=max(map(len, sentences)),
            tokens=tokens,
            known_tokens=tokens - sum(unknown),
            known_sentences=unknown.count(0),
        )
        values = np.fromiter(chain.from_iterable(ids), dtype=np.int64)
        write_rows(folder, f"dev.{side}", np.array(list(map(len, ids))), [values], id_dtype(codec))
        text = "".join(f"{line}\n" for line in dev.lines[side])
        (folder / f"dev.{side}.txt").write_bytes(text.encode("utf-8"))
    return reports
