"""The first pass of `prepare`: tokenises the lines, selects the pairs to keep, and counts their
words.

Worker processes clean a few thousand pairs at a time. Their blocks of words go to a temporary file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.arguments import in_step
from rnnsearch.errors import InputError
from rnnsearch.settings import DataSettings
from rnnsearch.system.files import parse_json
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES, Side, side_tokeniser
from rnnsearch.text.dataset import Integers, Ragged
from rnnsearch.text.formats.layout import LinePair
from rnnsearch.text.formats.links import parse_links, read_link_lines
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.links import (
    FROM_ZERO,
    LinkWords,
    PairWordCounts,
    check_links,
    count_from_one,
    project,
    recognise,
    tokeniser_ranges,
)
from rnnsearch.text.preparation_report import (
    SAMPLES,
    Dropped,
    PreparationReport,
    ShownPair,
    SideReport,
    TextReport,
)
from rnnsearch.text.repairs import repair
from rnnsearch.text.tokens import Tokeniser, given_words

BLOCKS, DIGESTS_FILE, DROPPED = "blocks", "digests", "dropped.tsv.gz"
PAIRS = 10_000
"""A chunk has at most this many pairs."""

DIGEST = 8
"""Bytes of a digest. The probability that any two of 10^8 different pairs share one is 3 ×
10^-4."""

RECOGNISED = 1000
"""Number of first pairs of a text from which the meaning of its links is recognised."""

_FIRST_CHUNKS = 3  # a text with fewer is cleaned before worker processes would have started


REASONS = {
    "empty side": "",
    "too long": "max_words",
    "length ratio": "max_ratio",
    "identical sides": "drop_identical",
    "duplicate": "drop_duplicates",
}
"""Reason for dropping a pair → setting of `[data]` that governs it, "" = always on; in the order of
application. The first reason that applies is the pair's."""

SidesWords = Sequence[Sequence[str]]
"""The words of both sides of a pair."""


class SideBlock(NamedTuple):
    """One side of some pairs. words: the different words; sentences: rows of places in `words`."""

    words: list[str]
    sentences: Ragged

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> SideBlock:
        """Returns the block of these sentences."""
        places: dict[str, int] = {}
        rows = [[places.setdefault(word, len(places)) for word in each] for each in sentences]
        return cls(list(places), Ragged.of(rows))


class CleanBlock(NamedTuple):
    """The kept pairs of a chunk. text_index: place of their text among all. links: rows of
    positions in source and target words, alternating; empty ones without links."""

    text_index: int
    source: SideBlock
    target: SideBlock
    links: Ragged

    def take(self, pairs: Integers) -> CleanBlock:
        """Returns the block of only these pairs."""
        source, target = (SideBlock(side.words, side.sentences.take(pairs)) for side in self[1:3])
        return CleanBlock(self.text_index, source, target, self.links.take(pairs))

    def arrays(self) -> list[Integers]:
        """Returns the block as arrays of numbers, the words as bytes of JSON."""
        sides = (
            (np.frombuffer(json.dumps(words).encode(), np.uint8), *rows)
            for words, rows in self[1:3]
        )
        return [np.array([self.text_index]), *chain.from_iterable(sides), *self.links]

    @classmethod
    def of_arrays(cls, arrays: Sequence[Integers]) -> CleanBlock:
        """Returns the block of these arrays."""
        source, target = (
            SideBlock(parse_json(words.tobytes()), Ragged(*rows))
            for words, *rows in (arrays[1:4], arrays[4:7])
        )
        return cls(int(arrays[0][0]), source, target, Ragged(*arrays[7:]))


class Chunk(NamedTuple):
    """Consecutive pairs of one text.

    text_index: place of the text among all. first: number of the first pair, 1-based. pairs: each
    with its line of word links, which is empty without links. links_file: where the links come
    from. link_words: the words that they refer to, empty without links.
    """

    text_index: int
    first: int
    pairs: list[tuple[LinePair, str]]
    links_file: str
    link_words: LinkWords | Literal[""]


class CleanedChunk(NamedTuple):
    """The cleaning of a chunk. reasons: for each pair why it is dropped, or "". block: the kept
    pairs; digests: theirs. repairs: number of changes of each kind."""

    reasons: list[str]
    block: CleanBlock
    digests: NDArray[np.uint64]
    repairs: Counter[str]


class Cleaner:
    """Cleans chunks; it can be sent to another process. links_reversed: whether links are written
    target-source."""

    def __init__(self, settings: DataSettings, links_reversed: bool = False) -> None:
        self.settings, self.links_reversed = settings, links_reversed
        self.tokenisers = [side_tokeniser(side, settings) for side in SIDES]

    def __call__(self, chunk: Chunk) -> CleanedChunk:
        """Tokenises and filters the pairs of a chunk."""
        reasons: list[str] = []
        kept: list[tuple[SidesWords, list[int], int]] = []
        repairs = Counter[str]()
        for number, (lines, _) in enumerate(chunk.pairs, chunk.first):
            repaired, words = self.tokenised(lines, repairs)
            reasons.append(reason := self.drop_reason(words))
            links = self._links(chunk, number, repaired, words, bool(reason))
            if not reason:
                kept.append((words, links, self.digest(repaired)))
        source, target = (SideBlock.of([words[side] for words, _, _ in kept]) for side in (0, 1))
        rows = Ragged.of([links for _, links, _ in kept])
        digests = np.array([digest for *_, digest in kept], np.uint64)
        block = CleanBlock(chunk.text_index, source, target, rows)
        return CleanedChunk(reasons, block, digests, repairs)

    def drop_reason(self, words: SidesWords) -> str:
        """Returns why a pair is dropped, "" if it is kept; duplicates are found later.

        A sentence without words has no translation to learn. Too long are mostly lines that were
        never cut into sentences. With more than `max_ratio` times the words on one side, a line is
        shifted or half translated. Identical sides are mostly text that was never translated, but
        numbers and names as well.
        """
        settings = self.settings
        if not all(words):
            return "empty side"
        shorter, longer = sorted(self.lengths(words))
        if longer > settings.max_words:
            return "too long"
        if settings.max_ratio and longer > settings.max_ratio * shorter:
            return "length ratio"
        return "identical sides" if settings.drop_identical and words[0] == words[1] else ""

    def lengths(self, words: SidesWords) -> list[float]:
        """Returns the lengths of both sides, which `max_words` limits."""
        return list(map(Tokeniser.length, self.tokenisers, words))

    def recognise(self, pairs: Sequence[tuple[LinePair, str]], file: str) -> LinkWords:
        """Returns the words that the links of a text refer to, recognised from its first pairs.
        Raises InputError if the links seem to count from 1."""
        counts = [
            PairWordCounts(
                parse_links(links, file, number, swapped=self.links_reversed),
                list(map(len, map(given_words, lines))),
                list(map(len, self._link_words(*self.tokenised(lines)))),
            )
            for number, (lines, links) in enumerate(pairs[:RECOGNISED], 1)
        ]
        if count_from_one(counts):
            what = (
                "its links seem to count words from 1: none has position 0, and some are too large"
            )
            raise InputError(what, f"count from 0: {FROM_ZERO}", file=file)
        return recognise(counts)

    def tokenised(
        self, lines: LinePair, repairs: Counter[str] | None = None
    ) -> tuple[list[str], SidesWords]:
        """Returns the repaired lines and their words."""
        mended = [
            repair(line, side, repairs) for side, line in zip(self.tokenisers, lines, strict=True)
        ]
        return mended, list(map(Tokeniser.words, self.tokenisers, mended))

    def digest(self, repaired: Sequence[str]) -> int:
        """Returns a number that tells a pair from others, whatever its spaces, and in lowercase if
        words are. Neither line may hold a line feed."""
        sides = zip(self.tokenisers, repaired, strict=True)
        text = "\n".join(side.cased(" ".join(line.split())) for side, line in sides)
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST)
        return int.from_bytes(digest.digest(), "big")

    def _link_words(self, repaired: Sequence[str], words: SidesWords) -> SidesWords:
        """Returns the words that links refer to if they do not refer to given words."""
        sides = zip(self.tokenisers, repaired, words, strict=True)
        return [side.link_words(line) if side.unspaced else own for side, line, own in sides]

    def _links(
        self, chunk: Chunk, number: int, repaired: Sequence[str], words: SidesWords, dropped: bool
    ) -> list[int]:
        """Returns the links of a pair between the tokeniser's words, as positions of source and
        target alternating. The links of a dropped pair are only checked."""
        if not chunk.link_words:
            return []
        file, (lines, line) = chunk.links_file, chunk.pairs[number - chunk.first]
        links = parse_links(line, file, number, swapped=self.links_reversed)
        given: SidesWords = list(map(given_words, lines))
        if chunk.link_words == "tokenised":
            given = self._link_words(repaired, words)
        check_links(links, list(map(len, given)), file, number, chunk.link_words)
        if dropped or not links:
            return []
        if given == words:
            return list(chain.from_iterable(sorted(set(links))))
        ranges = []
        for side, tokens, own, tokeniser in zip(SIDES, given, words, self.tokenisers, strict=True):
            found = tokeniser_ranges([repair(token, tokeniser) for token in tokens], own)
            if found is None:
                what = (
                    "its links cannot be converted, because the tokeniser changes characters of"
                    f" the {side}: {' '.join(tokens)[:60]!r}"
                )
                remedy = "give tokenised text and set data.tokeniser=space, or remove the pair"
                raise InputError(what, remedy, file=file, line=number)
            ranges.append(found)
        return list(chain.from_iterable(project(links, *ranges)))


def read_chunks(
    texts: Iterable[tuple[ParallelText, TextReport]], links: Sequence[str | Path], cleaner: Cleaner
) -> Iterator[Chunk]:
    """Cuts all texts into chunks, and notes warnings in their reports. links: none, or one file for
    each text.

    Raises InputError as the texts do, if links seem to count from 1, and if a file of links has
    more or fewer lines than its text has pairs.
    """
    remedy = "give one line of links for each pair, and an empty line for a pair without links"
    for number, (text, report) in enumerate(texts):
        file, first = str(links[number]) if links else "", 1
        lines = text.pairs(report.warnings)
        pairs: Iterator[tuple[LinePair, str]] = ((pair, "") for pair in lines)
        if file:
            pairs = in_step(lines, read_link_lines(file), (text.name, file), remedy)
        link_words: LinkWords | Literal[""] = ""
        while taken := list(islice(pairs, PAIRS)):
            if file and first == 1:
                link_words = cleaner.recognise(taken, file)
            yield Chunk(number, first, taken, file, link_words)
            first += len(taken)


def clean(
    chunks: Iterator[Chunk],
    cleaner: Cleaner,
    work: Path,
    workers: int,
    report: PreparationReport,
    progress: Progress,
) -> dict[Side, Counter[str]]:
    """Writes the blocks and digests of the kept pairs and the list of the dropped ones into the
    folder `work`, and fills the report. Returns the frequencies of the words of both sides."""
    report.dropped = [
        Dropped(reason, setting and f"data.{setting}")
        for reason, setting in REASONS.items()
        if not setting or getattr(cleaner.settings, setting)
    ]
    counts: dict[Side, Counter[str]] = {side: Counter() for side in SIDES}
    met: set[int] = set()
    random = np.random.default_rng([cleaner.settings.seed % 2**32, 0, 2])
    samples: list[tuple[float, ShownPair]] = []
    beginning = list(islice(chunks, _FIRST_CHUNKS))
    processes = workers if len(beginning) == _FIRST_CHUNKS else 1
    with (
        (work / BLOCKS).open("wb") as blocks,
        (work / DIGESTS_FILE).open("wb") as kept,
        (work / DROPPED).open("wb") as raw,
        # No name or time in the gzip header: the same text gives the same bytes.
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as dropped,
    ):
        dropped.write(b"text\tpair\treason\n")
        for chunk, (reasons, block, digests, repairs) in ordered_map(
            cleaner, chain(beginning, chunks), processes
        ):
            if cleaner.settings.drop_duplicates:
                fresh = _without_duplicates(reasons, digests.tolist(), met)
                block, digests = block.take(fresh), digests[fresh]
            digests.tofile(kept)
            append_arrays(blocks, block.arrays())
            text = report.texts[chunk.text_index]
            text.link_words = chunk.link_words
            text.repairs = dict(Counter(text.repairs) + repairs)
            dropped.write("".join(_tallied(report, chunk, reasons)).encode("utf-8"))
            for side, part in zip(SIDES, block[1:3], strict=True):
                count_words(getattr(report, side), part, text.repeat, counts[side])
            draws = random.random(len(reasons))
            lowest = (place for place in draws.argsort().tolist() if not reasons[place])
            samples += (
                (draws[place], _shown(text, chunk, place)) for place in islice(lowest, SAMPLES)
            )
            samples = sorted(samples)[:SAMPLES]
            progress("tokenising", report.pairs_read, None)
    report.samples = [pair for _, pair in samples]
    _check_not_empty(report)
    return counts


def _without_duplicates(reasons: list[str], digests: list[int], met: set[int]) -> Integers:
    """Notes in `reasons` which kept pairs were met before. Returns the places of the others among
    the kept pairs."""
    kept = [place for place, reason in enumerate(reasons) if not reason]
    fresh = []
    for number, (place, one) in enumerate(zip(kept, digests, strict=True)):
        if one in met:
            reasons[place] = "duplicate"
        else:
            fresh.append(number)
        met.add(one)
    return np.array(fresh, np.int64)


def _tallied(report: PreparationReport, chunk: Chunk, reasons: list[str]) -> Iterator[str]:
    """Counts the pairs of a chunk in the report. Yields the lines of `DROPPED`: text, number,
    reason."""
    text, kept = report.texts[chunk.text_index], reasons.count("")
    tallies = {tally.reason: tally for tally in report.dropped}
    text.pairs_read += len(reasons)
    text.pairs_kept += kept
    report.pairs_read += len(reasons)
    report.pairs_kept += kept
    report.pairs_used += kept * text.repeat
    for place, reason in enumerate(reasons):
        if reason:
            tallies[reason].add(shown := _shown(text, chunk, place))
            yield f"{shown.text}\t{shown.number}\t{reason}\n"


def _shown(text: TextReport, chunk: Chunk, place: int) -> ShownPair:
    (source, target), _ = chunk.pairs[place]
    return ShownPair(text.name, chunk.first + place, source, target)


def count_words(report: SideReport, block: SideBlock, repeat: int, counts: Counter[str]) -> None:
    """Adds the words of a block, as often as it is used, to the report and to their frequencies."""
    words, (values, lengths) = block.words, block.sentences
    times = zip(words, np.bincount(values, minlength=len(words)) * repeat, strict=True)
    counts.update({word: int(count) for word, count in times if count})
    report.sentences += repeat * len(lengths)
    report.words += repeat * len(values)
    report.distinct_words = len(counts)
    report.longest = max(report.longest, int(lengths.max(initial=0)))


def append_arrays(file: BinaryIO, arrays: Sequence[Integers]) -> None:
    """Writes a line of JSON with the types and lengths of the arrays, and then their numbers."""
    about = [(array.dtype.str, len(array)) for array in arrays]
    file.write(f"{json.dumps(about)}\n".encode())
    file.writelines(array.data for array in arrays)


def stored_arrays(path: Path) -> Iterator[list[Integers]]:
    """Yields the arrays of each call of `append_arrays`. Raises InputError for a file with anything
    else."""
    with path.open("rb") as file:
        while line := file.readline():
            try:
                yield [
                    np.frombuffer(file.read(np.dtype(kind).itemsize * length), kind)
                    for kind, length in parse_json(line)
                ]
            except (TypeError, ValueError):
                what = "was changed by another program during the preparation"
                remedy = "prepare again, in a folder in which no one else writes"
                raise InputError(what, remedy, file=path) from None


def _check_not_empty(report: PreparationReport) -> None:
    names = ", ".join(text.name for text in report.texts)
    if not report.pairs_read:
        raise InputError(f"{names}: the texts are empty", "give files with one sentence per line")
    if not report.pairs_used:
        reasons = ", ".join(
            f"{tally.reason}: {tally.pairs:,}" for tally in report.dropped if tally.pairs
        )
        remedy = "check the files and the [data] settings"
        raise InputError(f"all pairs of {names} were dropped ({reasons})", remedy)
