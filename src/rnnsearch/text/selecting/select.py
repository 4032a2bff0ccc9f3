"""Selects the pairs of a pool that resemble a domain most, by their scores, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import compress, islice
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.system.files import prepare_output, written_whole
from rnnsearch.system.progress import Progress
from rnnsearch.text.formats.readers import Layout, ParallelText
from rnnsearch.text.selecting.scores import (
    Names,
    Records,
    Scores,
    ScoresHeader,
    chunks,
    open_scores,
    pool_texts,
    text_checksum,
)

Unit = Literal["words", "pairs"]

_CHUNK = 1 << 18  # records read at a time
_ABSENT = 0xFF800000  # the key of the score infinity


class SelectionAmount(NamedTuple):
    """The part of a pool that is kept: at most this many target words or pairs, or this share (0–1) of the
    pool's target words."""

    value: float
    unit: Unit | str  # "words", "pairs", "share"


class SelectionThreshold(NamedTuple):
    """Defines the best pairs: those with a score below `score`, and the first `ties` of those with exactly
    this score."""

    score: float
    ties: int


def best(records: Records, limit: int, unit: Unit) -> SelectionThreshold:
    """Returns the threshold that selects the best pairs up to `limit` words or pairs in all; of equally good
    pairs the earlier one comes first.

    The limiting score is found by bisection: 32 passes over the file, with hardly any memory."""

    def total(key: int) -> int:
        """Returns the size of all pairs with this key, or a lower one."""
        return sum(int(_sizes(chunk, unit)[_keys(chunk) <= key].sum()) for chunk in _chunks(records))

    key = bisect_right(range(_ABSENT), limit, key=total)
    if key == _ABSENT:
        return SelectionThreshold(np.inf, 0)
    left, ties = limit - (total(key - 1) if key else 0), 0
    for chunk in _chunks(records):
        sizes = np.cumsum(_sizes(chunk, unit)[_keys(chunk) == key])
        fitting = int(np.searchsorted(sizes, left, side="right"))
        ties += fitting
        if fitting < len(sizes):
            break
        left -= int(sizes[-1]) if len(sizes) else 0
    return SelectionThreshold(_score(np.uint32(key)), ties)


def selected(records: Records, threshold: SelectionThreshold) -> Iterator[bool]:
    """Yields for each pair, in the pool's order, True if it is selected."""
    ties = threshold.ties
    for chunk in _chunks(records):
        tied = chunk["score"] == threshold.score
        chosen = (chunk["score"] < threshold.score) | (tied & (np.cumsum(tied) <= ties))
        ties = max(ties - int(tied.sum()), 0)
        yield from (chosen & np.isfinite(chunk["score"])).tolist()


def total_words(records: Records) -> int:
    """Counts the target words of the whole pool."""
    return sum(int(chunk["words"].sum(dtype=np.int64)) for chunk in _chunks(records))


def _chunks(records: Records) -> Iterator[Records]:
    for start in range(0, len(records), _CHUNK):
        yield np.asarray(records[start : start + _CHUNK])


def _sizes(chunk: Records, unit: Unit) -> NDArray[np.int64]:
    return chunk["words"].astype(np.int64) if unit == "words" else np.ones(len(chunk), np.int64)


def _keys(chunk: Records) -> NDArray[np.uint32]:
    """Returns integers in the order of the scores: the bits of the floats, inverted for negative ones."""
    # + 0 makes negative zero positive: both are equal scores.
    bits = (chunk["score"] + np.float32(0)).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def _score(key: np.uint32) -> float:
    """Returns the score that has this key."""
    bits = key & np.uint32(0x7FFFFFFF) if key >> 31 else ~key
    return float(bits.view(np.float32))


@dataclass(slots=True)
class TextSelection:
    """The numbers of pairs and target words in one text of the pool, and of those that were selected."""

    name: str
    pairs: int = 0
    words: int = 0
    kept_pairs: int = 0
    kept_words: int = 0

    def add(self, pairs: int, words: int, kept_pairs: int, kept_words: int) -> None:
        self.pairs += pairs
        self.words += words
        self.kept_pairs += kept_pairs
        self.kept_words += kept_words


@dataclass(slots=True)
class SelectionReport:
    """The report of `select`. threshold: the score of the worst pair that may be kept, infinite if the whole
    pool is."""

    about: ScoresHeader
    threshold: SelectionThreshold
    files: list[Path]
    parts: list[TextSelection] = field(default_factory=list)

    def text(self) -> str:
        """Returns the report for a person to read."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        about = self.about
        words = (
            f"{_both(about.in_domain_words)} words; {_both(about.vocabularies)} of them in the vocabularies "
            "(they occur twice)"
        )
        yield f"in-domain: {about.in_domain_pairs:,} pairs, {words}"
        yield (
            f"sample of the pool (seed {about.seed}): {about.sample_pairs:,} pairs, "
            f"{_both(about.sample_words)} words"
        )
        for part in self.parts if len(self.parts) > 1 else []:
            yield _line(part)
        yield _line(self.total)
        yield (
            f"scores: up to {self.threshold.score:.4f} bits per word"
            if self.threshold.score < float("inf")
            else "scores: all; the whole pool is selected"
        )
        yield f"written: {', '.join(map(str, self.files))}"

    @property
    def total(self) -> TextSelection:
        """Returns all parts together."""
        total = TextSelection("pool")
        for part in self.parts:
            total.add(part.pairs, part.words, part.kept_pairs, part.kept_words)
        return total


def select(
    scores: str | Path,
    out: str | Path,
    amount: SelectionAmount,
    *,
    pool: Names = (),
    overwrite: bool = False,
    progress: Progress = lambda text, done, total: None,
) -> SelectionReport:
    """Writes the best pairs of a scored pool, in the pool's order, line by line to `out`.LANGUAGE of either
    side.

    Pairs are taken from the best one on, equally good ones in the order of the pool, until the next one would
    exceed the limit. Pairs with an empty side are never kept. pool: the files, if they have moved since they
    were scored. Raises InputError if the pool is not the one that was scored, if nothing is kept, and if an
    output file exists.
    """
    scored = open_scores(Path(scores))
    about = scored.about
    files = output_files(out, about.layout, overwrite)
    texts = pool_texts(pool or about.pool, about.layout)
    limit, unit = _limit(scored, amount)
    threshold = best(scored.records, limit, unit)
    report = SelectionReport(about, threshold, files)
    with written_whole(files[0]) as source_path, written_whole(files[1]) as target_path:
        with source_path.open("wb") as source, target_path.open("wb") as target:
            _write_kept(texts, scored, threshold, (source, target), report, progress)
        for file in files:  # a crash between the two renames must not leave a new side next to an old one
            file.unlink(missing_ok=True)
    return report


def output_files(out: str | Path, layout: Layout, overwrite: bool) -> list[Path]:
    """Returns the two files that `select` writes. Raises InputError if one is there already and may not be
    replaced."""
    endings = (layout.source_language, layout.target_language)
    if endings[0] == endings[1]:
        endings = ("source", "target")
    files = [Path(f"{out}.{ending}") for ending in endings]
    for file in files:
        prepare_output(file, overwrite)
    return files


def _limit(scored: Scores, amount: SelectionAmount) -> tuple[int, Unit]:
    if amount.unit == "share":
        return int(amount.value * total_words(scored.records)), "words"
    return int(amount.value), "pairs" if amount.unit == "pairs" else "words"


def _write_kept(
    texts: list[ParallelText],
    scored: Scores,
    threshold: SelectionThreshold,
    files: tuple[BinaryIO, BinaryIO],
    report: SelectionReport,
    progress: Progress,
) -> None:
    """Fills the files and the report's parts. Raises InputError unless this is the text that was scored."""
    about, checksum, position = scored.about, 0, 0
    choices = selected(scored.records, threshold)
    for text in texts:
        part = TextSelection(text.name)
        report.parts.append(part)
        for lines in chunks(text.pairs()):
            if position + len(lines) > about.pairs:
                raise _other_pool(about)
            chosen = list(islice(choices, len(lines)))
            words = scored.records["words"][position : position + len(lines)].tolist()
            checksum = text_checksum(lines, checksum)
            position += len(lines)
            part.add(len(lines), sum(words), sum(chosen), sum(compress(words, chosen)))
            for side, file in enumerate(files):
                kept = "".join(f"{pair[side]}\n" for pair in compress(lines, chosen))
                file.write(kept.encode("utf-8"))
            progress("writing", position, about.pairs)
    if position != about.pairs or checksum != about.checksum:
        raise _other_pool(about)
    if not report.total.kept_pairs:
        raise InputError(
            "the amount is too small to select any pair", remedy="raise --words, --share or --pairs"
        )


def _other_pool(about: ScoresHeader) -> InputError:
    what = f"the pool is not the text that was scored ({', '.join(about.pool)}: {about.pairs:,} pairs)"
    return InputError(
        what, remedy="give the files that were scored with --pool, in the same order, or score again"
    )


def _both(numbers: list[int]) -> str:
    return " | ".join(f"{number:,}" for number in numbers)


def _line(part: TextSelection) -> str:
    share = f" ({100 * part.kept_words / part.words:.2f} % of the words)" if part.words else ""
    return (
        f"{part.name}: selected {part.kept_pairs:,} of {part.pairs:,} pairs, {part.kept_words:,} of "
        f"{part.words:,} target words{share}"
    )
