"""The passes of `prepare` over a corpus: clean, count, number. Each reads what the one before left in a working folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES, Codec, Side, side_tokeniser
from rnnsearch.text.formats.lines import Oddities, Untouched
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.links.words import LinkWords
from rnnsearch.text.preparing.cleaning import Cleaned, Cleaner, chunks
from rnnsearch.text.preparing.dropped import DroppedFile, Kept, Samples
from rnnsearch.text.preparing.duplicates import Duplicates
from rnnsearch.text.preparing.encoding import Numbered, Numberer, pieces_of_links
from rnnsearch.text.preparing.filters import active_filters, governing_setting, reason
from rnnsearch.text.preparing.growth import Growth
from rnnsearch.text.preparing.preparation_report import Dropped, Sample, SideReport, TextReport
from rnnsearch.text.preparing.shuffle import Buckets
from rnnsearch.text.preparing.word_counts import WordCounts
from rnnsearch.text.store.blocks import read_blocks, read_fates, read_links
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.vocabulary import Vocabulary

_ALONE = 3  # so few chunks are done before workers have started
_RATIOS = np.exp2(np.arange(-12, 13) / 4)  # from 1/8 to 8


def clean(
    texts: Sequence[ParallelText],
    links: Sequence[str | Path],
    links_are: tuple[bool, LinkWords | Literal["auto"]],
    settings: DataSettings,
    work: Path,
    workers: int,
    progress: Progress,
) -> Kept:
    """Writes the blocks of the pairs that stay and says what became of the others. links_are: (written target-source, what they count)."""
    filters = active_filters(settings)
    dropped = [Dropped(reason(drops), governing_setting(drops)) for drops in filters]
    reports = [TextReport(text.name) for text in texts]
    if settings.drop_control_characters:  # the filter has to see them
        for text in texts:
            text.source_oddities, text.target_oddities = Untouched(), Untouched()
    with ExitStack() as stack:
        names = [*SIDES, "fates", *(["links"] if links else [])]
        files = {name: stack.enter_context((work / name).open("wb")) for name in names}
        duplicates = stack.enter_context(Duplicates(work)) if settings.drop_duplicates else None
        done = 0
        for place, count, cleaned in _cleaned(texts, links, Cleaner(settings, *links_are), workers):
            for name, packed in cleaned.packed.items():
                files[name].write(packed)
            if duplicates is not None:
                duplicates.add(cleaned.digests)
            _tally(cleaned, reports[place], dropped)
            reports[place].link_words = count if links else ""
            done += cleaned.pairs
            progress("tokenising", done, None)
        repeated = None if duplicates is None else duplicates.repetitions()
    for text_report, text in zip(reports, texts, strict=True):
        text_report.source_oddities, text_report.target_oddities = _copied(text.source_oddities), _copied(text.target_oddities)
    if repeated is not None:
        dropped.append(Dropped("duplicate", "data.drop_duplicates", int(repeated.sum())))
    kept = sum(report.pairs_kept for report in reports) - (0 if repeated is None else int(repeated.sum()))
    _check_not_empty(reports, kept, dropped)
    return Kept(kept, reports, dropped, repeated)


def _cleaned(
    texts: Sequence[ParallelText], links: Sequence[str | Path], cleaner: Cleaner, workers: int
) -> Iterator[tuple[int, LinkWords, Cleaned]]:
    given = cleaner.recognised(chunks(texts, links))
    beginning = list(itertools.islice(given, _ALONE))
    for chunk, cleaned in ordered_map(cleaner, itertools.chain(beginning, given), workers if len(beginning) == _ALONE else 1):
        yield chunk.text, chunk.link_words, cleaned


def _tally(cleaned: Cleaned, report: TextReport, dropped: list[Dropped]) -> None:
    report.pairs_read += cleaned.pairs
    report.pairs_kept += cleaned.kept
    for tally, pairs in zip(dropped, cleaned.dropped, strict=True):
        tally.pairs += pairs
    for pair in cleaned.examples:
        dropped[pair.reason].show(report.name, pair.number, pair.source, pair.target)


def _copied(oddities: Oddities) -> Oddities:
    return replace(oddities, lines=dict(oddities.lines), first=dict(oddities.first))


def _check_not_empty(reports: list[TextReport], kept: int, dropped: list[Dropped]) -> None:
    names = ", ".join(report.name for report in reports)
    if not any(report.pairs_read for report in reports):
        raise InputError(f"{names}: the texts hold no lines", remedy="give files with one sentence a line")
    if not kept:
        reasons = ", ".join(f"{tally.reason}: {tally.pairs:,}" for tally in dropped if tally.pairs)
        raise InputError(f"no pair of {names} is left ({reasons})", remedy="look at the files, and at the settings in [data]")


def count(side: Side, kept: Kept, work: Path, progress: Progress) -> tuple[WordCounts, SideReport]:
    """Frequencies of the words of one side, and what the report says of them."""
    counts, report = WordCounts(), SideReport(sentences=kept.pairs)
    lengths, growth = np.zeros(1, dtype=np.int64), Growth()
    for block in kept.of(read_blocks(work / side)):
        if not counts.missed:  # else a word may be in no table and not be new
            growth.add(block, counts.counts)
        counts.add(block.words, block.counts())
        here = np.bincount(block.sentences.lengths)
        lengths = _added(lengths, here)
        report.words += int(block.sentences.lengths.sum())
        progress(f"counting the {side} words", int(lengths.sum()), kept.pairs)
    report.distinct_words, report.uncounted = max(len(counts.counts), growth.distinct), counts.missed
    if counts.missed:
        counts.recount((block.words, block.counts()) for block in kept.of(read_blocks(work / side)))
    report.longest, report.lengths = len(lengths) - 1, lengths.tolist()
    report.growth = growth.points()
    report.coverage = _coverage(counts, report.words)
    return counts, report


def _added(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.zeros(max(len(left), len(right)), dtype=np.int64)
    total[: len(left)] += left
    total[: len(right)] += right
    return total


def _coverage(counts: WordCounts, words: int) -> list[tuple[int, float]]:
    """What share of the running words the 1, 2, 5, 10, 20, … most frequent words are."""
    frequencies = np.fromiter(counts.counts.values(), dtype=np.int64, count=len(counts.counts))
    covered = np.cumsum(np.sort(frequencies)[::-1])
    sizes = [digit * 10**power for power in range(8) for digit in (1, 2, 5)]
    sizes = [*(size for size in sizes if size < len(covered)), len(covered)]
    return [(size, round(int(covered[size - 1]) / max(words, 1), 6)) for size in sizes]


def make_codec(folder: Path, side: Side, counts: WordCounts, settings: DataSettings, progress: Progress) -> Codec:
    """The side's codec, saved."""
    subwords = None
    if settings.subwords == "none":
        vocabulary = Vocabulary.from_counts(counts.counts, settings.shortlist, settings.minimum_count)
        if len(vocabulary) == 2:
            raise InputError(f"no {side} word occurs {settings.minimum_count} times", remedy="lower data.minimum_count")
    else:
        progress(f"training {side} subwords", 0, None)
        path = folder / f"subwords.{side}.model"
        subwords = Subwords.train_on_counts(counts.counts, settings.subwords, settings.shortlist, path)
        vocabulary = Vocabulary(subwords.vocabulary())
    codec = Codec(side_tokeniser(side, settings), vocabulary, subwords)
    codec.save(folder, side)
    return codec


class NumberedCorpus(NamedTuple):
    """What the last pass found. shards: pairs in each; ratios, samples: for the report; links: how many there are, None without."""

    shards: list[int]
    ratios: list[tuple[float, int]]
    samples: list[Sample]
    links: int | None


def number(
    kept: Kept,
    codecs: dict[Side, Codec],
    reports: dict[Side, SideReport],
    linked: bool,
    settings: DataSettings,
    folder: Path,
    work: Path,
    progress: Progress,
) -> NumberedCorpus:
    """Writes the shuffled shards, what was dropped, and how often every entry of the vocabularies occurs."""
    numberers = {side: Numberer(codec) for side, codec in codecs.items()}
    frequencies = {side: np.zeros(len(codec.vocabulary), dtype=np.int64) for side, codec in codecs.items()}
    ratios, samples, links, done = np.zeros(len(_RATIOS) + 1, dtype=np.int64), Samples(kept, settings.seed), 0, 0
    expected = sum(reports[side].words * numberers[side].dtype.itemsize for side in SIDES) * (1 if settings.subwords == "none" else 2)
    dtypes = numberers["source"].dtype, numberers["target"].dtype
    link_blocks = read_links(work / "links") if linked else itertools.repeat(None)
    with Buckets(work, expected, settings.seed, dtypes) as buckets, DroppedFile(folder / "dropped.tsv.gz", kept) as dropped_file:
        fates = read_fates(work / "fates")
        for source, target, linkage, fate in zip(read_blocks(work / "source"), read_blocks(work / "target"), link_blocks, fates):  # noqa: B905
            keep = dropped_file.add(fate, source, target)
            places = np.flatnonzero(fate.reasons == 0)[keep]
            blocks = {"source": source.kept(keep), "target": target.kept(keep)}
            numbered = {side: numberers[side].number(blocks[side]) for side in SIDES}
            for side in SIDES:
                _note(reports[side], numbered[side])
                frequencies[side] += np.bincount(numbered[side].sentences.values, minlength=len(frequencies[side]))
            rows = [numbered[side].sentences for side in SIDES]
            if linkage is not None:
                rows.append(pieces_of_links(linkage.kept(keep), numbered["source"], numbered["target"]))
                links += len(rows[-1].values) // 2
            buckets.add(*rows)
            lengths = [blocks[side].sentences.lengths for side in SIDES]
            ratios += np.bincount(np.searchsorted(_RATIOS, lengths[1] / lengths[0], side="right"), minlength=len(ratios))
            samples.add(kept.texts[fate.text].name, fate.first + places, blocks["source"], blocks["target"])
            done += len(places)
            progress("numbering", done, kept.pairs)
        shards = []
        for pairs in buckets.write_shards(folder, linked):
            shards.append(pairs)
            progress("shuffling", sum(shards), kept.pairs)
    for side in SIDES:
        _write_frequencies(folder / f"vocabulary.{side}.counts.tsv", codecs[side].vocabulary, frequencies[side])
    bounds = [0.0, *np.round(_RATIOS, 4).tolist()]
    return NumberedCorpus(shards, list(zip(bounds, ratios.tolist(), strict=True)), samples.samples, links if linked else None)


def _note(report: SideReport, numbered: Numbered) -> None:
    report.tokens += int(numbered.tokens.sum())
    report.known_tokens += int(numbered.tokens.sum() - numbered.unknown.sum())
    report.known_sentences += int((numbered.unknown == 0).sum())


def _write_frequencies(path: Path, vocabulary: Vocabulary, frequencies: NDArray[np.int64]) -> None:
    """A line for each id: entry TAB how often it stands in the training sentences."""
    lines = [f"{vocabulary.word(number)}\t{count}\n" for number, count in enumerate(frequencies.tolist())]
    path.write_bytes("".join(lines).encode("utf-8"))
