"""The last pass of `prepare`: encodes the pairs that stay, shuffles them and writes them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, Codec, Side
from rnnsearch.text.preparing.dropped import CleanedCorpus, DroppedFile, Samples
from rnnsearch.text.preparing.encoding import EncodedBlock, encode_block, id_dtype, subword_links
from rnnsearch.text.preparing.preparation_report import Sample, SideReport
from rnnsearch.text.preparing.shuffle import Buckets
from rnnsearch.text.store.blocks import read_blocks, read_links, read_outcomes
from rnnsearch.text.vocabulary import Vocabulary

_RATIOS = np.exp2(np.arange(-12, 13) / 4)  # from 1/8 to 8


class EncodedCorpus(NamedTuple):
    """What the last pass wrote. shards: pairs in each; ratios, samples: for the report; links: their number, None without links."""

    shards: list[int]
    ratios: list[tuple[float, int]]
    samples: list[Sample]
    links: int | None


def encode(
    cleaned: CleanedCorpus,
    codecs: dict[Side, Codec],
    reports: dict[Side, SideReport],
    linked: bool,
    settings: DataSettings,
    folder: Path,
    work: Path,
    progress: Progress,
) -> EncodedCorpus:
    """Writes the shuffled shards, what was dropped, and how often every entry of the vocabularies occurs."""
    frequencies = {side: np.zeros(len(codec.vocabulary), dtype=np.int64) for side, codec in codecs.items()}
    ratios, samples, links, done = np.zeros(len(_RATIOS) + 1, dtype=np.int64), Samples(cleaned, settings.seed), 0, 0
    dtypes = id_dtype(codecs["source"]), id_dtype(codecs["target"])
    words = sum(reports[side].words * dtype.itemsize for side, dtype in zip(SIDES, dtypes, strict=True))
    expected = words * (1 if settings.subwords == "none" else 2)
    link_blocks = read_links(work / "links") if linked else itertools.repeat(None)
    with Buckets(work, expected, settings.seed, dtypes) as buckets, DroppedFile(folder / "dropped.tsv.gz", cleaned) as dropped_file:
        sides = read_blocks(work / "source"), read_blocks(work / "target")
        for source, target, links_block, outcomes in zip(*sides, link_blocks, read_outcomes(work / "outcomes")):  # noqa: B905 (links may repeat)
            keep = dropped_file.add(outcomes, source, target)
            places = np.flatnonzero(outcomes.reasons == 0)[keep]
            blocks = {"source": source.select(keep), "target": target.select(keep)}
            encoded = {side: encode_block(blocks[side], codecs[side]) for side in SIDES}
            for side in SIDES:
                _note(reports[side], encoded[side])
                frequencies[side] += np.bincount(encoded[side].sentences.values, minlength=len(frequencies[side]))
            rows = [encoded[side].sentences for side in SIDES]
            if links_block is not None:
                rows.append(subword_links(links_block.select(keep), encoded["source"], encoded["target"]))
                links += len(rows[-1].values) // 2
            buckets.add(*rows)
            lengths = [blocks[side].sentences.lengths for side in SIDES]
            ratios += np.bincount(np.searchsorted(_RATIOS, lengths[1] / lengths[0], side="right"), minlength=len(ratios))
            samples.add(cleaned.texts[outcomes.text].name, outcomes.first + places, blocks["source"], blocks["target"])
            done += len(places)
            progress("encoding", done, cleaned.pairs)
        shards = []
        for pairs in buckets.write_shards(folder, linked):
            shards.append(pairs)
            progress("shuffling", sum(shards), cleaned.pairs)
    for side in SIDES:
        _write_frequencies(folder / f"vocabulary.{side}.counts.tsv", codecs[side].vocabulary, frequencies[side])
    bounds = [0.0, *np.round(_RATIOS, 4).tolist()]
    return EncodedCorpus(shards, list(zip(bounds, ratios.tolist(), strict=True)), samples.samples, links if linked else None)


def _note(report: SideReport, encoded: EncodedBlock) -> None:
    report.tokens += int(encoded.tokens.sum())
    report.known_tokens += int(encoded.tokens.sum() - encoded.unknown.sum())
    report.known_sentences += int((encoded.unknown == 0).sum())


def _write_frequencies(path: Path, vocabulary: Vocabulary, frequencies: NDArray[np.int64]) -> None:
    """A line for each id: entry TAB how often it stands in the training sentences."""
    lines = [f"{vocabulary.word(number)}\t{count}\n" for number, count in enumerate(frequencies.tolist())]
    path.write_bytes("".join(lines).encode("utf-8"))
