"""The first pass of `prepare`: tokenises the lines, selects the pairs to keep, and counts their words.

Worker processes clean a few thousand pairs at a time. Their blocks of words go to a temporary file.
"""

from __future__ import annotations

import gzip
import hashlib
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES, Side, side_repair, side_tokeniser
from rnnsearch.text.dataset import Integers
from rnnsearch.text.formats.lines import in_step, plain_line
from rnnsearch.text.formats.readers import LinePair, ParallelText, read_link_lines
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
from rnnsearch.text.tokens import UNSPACED, base
from rnnsearch.word_links import parse_links

Mask = Bool[NDArray[np.bool_], " _"]

DROPPED = "dropped.tsv.gz"
PAIRS = 10_000
"""A chunk has at most this many pairs."""

DIGEST = 8
"""Bytes of a digest. The probability that any two of 10^8 different pairs share one is 3 × 10^-4."""

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

SidesWords = tuple[Sequence[str], Sequence[str]]
"""The words of both sides of a pair."""


def drop_reason(words: SidesWords, settings: DataSettings) -> str:
    """Returns why a pair is dropped, "" if it is kept; duplicates are found later.

    A sentence without words has no translation to learn. Too long are mostly lines that were never cut into
    sentences. With more than `max_ratio` times the words on one side, a line is shifted or half translated.
    Identical sides are mostly text that was never translated, but numbers and names as well.
    """
    if not all(words):
        return "empty side"
    shorter, longer = sorted(lengths(words, settings))
    if longer > settings.max_words:
        return "too long"
    if settings.max_ratio and longer > settings.max_ratio * shorter:
        return "length ratio"
    return "identical sides" if settings.drop_identical and words[0] == words[1] else ""


def lengths(words: SidesWords, settings: DataSettings) -> list[float]:
    """Returns the number of words of each side; of text without spaces, an estimate by its characters."""
    unspaced = UNSPACED if settings.tokeniser == "moses" else {}
    languages = base(settings.source_language), base(settings.target_language)
    return [
        sum(map(len, side)) / unspaced[language] if language in unspaced else len(side)
        for side, language in zip(words, languages, strict=True)
    ]


class Ragged(NamedTuple):
    """Concatenated rows of different lengths: row i is values[offsets[i] : offsets[i + 1]]."""

    values: Integers
    lengths: Integers

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Concatenates rows, their values in 16 or 32 bits."""
        values = np.fromiter(chain.from_iterable(rows), np.uint32)
        small = not (values >> 16).any()
        return cls(values.astype(np.uint16) if small else values, np.fromiter(map(len, rows), np.int32))

    def select(self, keep: Mask) -> Ragged:
        """Returns the rows that `keep` marks."""
        return Ragged(self.values[np.repeat(keep, self.lengths)], self.lengths[keep])


class SideBlock(NamedTuple):
    """One side of some pairs. spelt: the different words with spaces between them; sentences: rows of places
    in `words`."""

    spelt: str
    sentences: Ragged

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> SideBlock:
        """Returns the block of these sentences."""
        places = {word: place for place, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)))}
        return cls(" ".join(places), Ragged.of([[places[word] for word in each] for each in sentences]))

    @property
    def words(self) -> list[str]:
        return self.spelt.split(" ") if self.spelt else []


class Block(NamedTuple):
    """The kept pairs of a chunk. text: place of their text among all. links: rows of positions in source and
    target words, alternating; None without links."""

    text: int
    source: SideBlock
    target: SideBlock
    links: Ragged | None

    def select(self, keep: Mask) -> Block:
        """Returns the block with only some of its pairs."""
        source, target = (SideBlock(side.spelt, side.sentences.select(keep)) for side in self[1:3])
        return Block(self.text, source, target, self.links and self.links.select(keep))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive pairs of one text.

    text: place of the text among all. first: number of the first pair, 1-based. pairs: each with its line of
    word links, which is empty without links. links_file: where the links come from. link_words: the words
    that they refer to, empty without links.
    """

    text: int
    first: int
    pairs: list[tuple[LinePair, str]]
    links_file: str
    link_words: LinkWords | Literal[""]


class CleanedChunk(NamedTuple):
    """The kept pairs of a chunk. reasons: for each pair of the chunk, why it is dropped, or "". digests: of
    the kept pairs; none if duplicates are kept. repairs: number of changes of each kind."""

    reasons: list[str]
    block: Block
    digests: list[int]
    repairs: Counter[str]


class Cleaner:
    """Cleans chunks; it can be sent to another process. swapped: whether links are written target-source."""

    def __init__(self, settings: DataSettings, swapped: bool = False) -> None:
        self.settings, self.swapped = settings, swapped
        self.repairs = [side_repair(side, settings) for side in SIDES]
        self.tokenisers = [side_tokeniser(side, settings) for side in SIDES]

    def __call__(self, chunk: Chunk) -> CleanedChunk:
        """Tokenises and filters the pairs of a chunk."""
        kept: list[SidesWords] = []
        links: list[list[int]] = []
        reasons: list[str] = []
        digests: list[int] = []
        repairs = Counter[str]()
        for number, (lines, _) in enumerate(chunk.pairs, chunk.first):
            repaired, words = self._tokenised(lines, repairs)
            reasons.append(reason := drop_reason(words, self.settings))
            found = self._links(chunk, number, words, bool(reason)) if chunk.link_words else []
            if not reason:
                kept.append(words)
                links.append(found)
                if self.settings.drop_duplicates:
                    digests.append(digest(repaired))
        source, target = (SideBlock.of([words[side] for words in kept]) for side in (0, 1))
        block = Block(chunk.text, source, target, Ragged.of(links) if chunk.link_words else None)
        return CleanedChunk(reasons, block, digests, repairs)

    def recognise(self, pairs: Sequence[tuple[LinePair, str]], file: str) -> LinkWords:
        """Returns the words that the links of a text refer to, recognised from its first pairs. Raises
        InputError if the links seem to count from 1."""
        counts = [
            PairWordCounts(
                parse_links(links, file, number, swapped=self.swapped),
                list(map(len, self._given(lines))),
                list(map(len, self._tokenised(lines)[1])),
            )
            for number, (lines, links) in enumerate(pairs[:RECOGNISED], 1)
        ]
        if count_from_one(counts):
            what = "its links seem to count words from 1: none has position 0, and some are too large"
            raise InputError(what, file=file, remedy=f"count from 0: {FROM_ZERO}")
        return recognise(counts)

    def _tokenised(
        self, lines: LinePair, repairs: Counter[str] | None = None
    ) -> tuple[list[str], SidesWords]:
        """Returns the repaired lines and their words."""
        repaired = [repair(line, repairs) for repair, line in zip(self.repairs, lines, strict=True)]
        return repaired, (self.tokenisers[0].words(repaired[0]), self.tokenisers[1].words(repaired[1]))

    def _given(self, lines: LinePair) -> list[Sequence[str]]:
        """Returns the words that links refer to if they refer to given words."""
        return [side.link_words(line) for side, line in zip(self.tokenisers, lines, strict=True)]

    def _links(self, chunk: Chunk, number: int, words: SidesWords, dropped: bool) -> list[int]:
        """Returns the links of a pair between the tokeniser's words, as positions of source and target
        alternating. The links of a dropped pair are only checked."""
        file, (lines, line) = chunk.links_file, chunk.pairs[number - chunk.first]
        links = parse_links(line, file, number, swapped=self.swapped)
        given = self._given(lines) if chunk.link_words == "given" else words
        check_links(links, list(map(len, given)), file, number, chunk.link_words)
        if dropped or not links:
            return []
        if chunk.link_words == "tokenised":
            return list(chain.from_iterable(sorted(set(links))))
        ranges = []
        for side, tokens, own, repair in zip(SIDES, given, words, self.repairs, strict=True):
            found = tokeniser_ranges(tokens, own, repair)
            if found is None:
                what = (
                    "its links cannot be converted, because the tokeniser changes characters of the "
                    f"{side}: {' '.join(tokens)[:60]!r}"
                )
                remedy = "give tokenised text and set data.tokeniser=space, or remove the pair"
                raise InputError(what, file=file, line=number, remedy=remedy)
            ranges.append(found)
        return list(chain.from_iterable(project(links, *ranges)))


def digest(lines: Sequence[str]) -> int:
    """Returns a number that tells a pair of lines from others. Neither line may hold a line feed."""
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=DIGEST).digest(), "big")


def chunks(texts: Sequence[ParallelText], links: Sequence[str | Path], cleaner: Cleaner) -> Iterator[Chunk]:
    """Cuts all texts into chunks. links: none, or one file for each text.

    Raises InputError as the texts do, if links seem to count from 1, and if a file of links has more or fewer
    lines than its text has pairs.
    """
    for number, text in enumerate(texts):
        file, first = str(links[number]) if links else "", 1
        pairs = _linked(text, file) if file else ((pair, "") for pair in text.pairs())
        link_words: LinkWords | Literal[""] = ""
        while taken := list(islice(pairs, PAIRS)):
            if file and first == 1:
                link_words = cleaner.recognise(taken, file)
            yield Chunk(number, first, taken, file, link_words)
            first += len(taken)


def _linked(text: ParallelText, file: str) -> Iterator[tuple[LinePair, str]]:
    """Yields the pairs with their lines of links."""

    def unequal(pairs: int, lines: int) -> InputError:
        what = f"has {lines:,} lines of links, but {text.name} has {pairs:,} pairs"
        remedy = "give one line for each pair, and an empty line for a pair without links"
        return InputError(what, file=file, remedy=remedy)

    return in_step(text.pairs(), read_link_lines(file), unequal)


def clean(
    given: Iterator[Chunk],
    cleaner: Cleaner,
    work: Path,
    workers: int,
    report: PreparationReport,
    progress: Progress,
) -> dict[Side, Counter[str]]:
    """Writes the blocks of the kept pairs and the list of the dropped ones into the folder `work`, and fills
    the report. Returns the frequencies of the words of both sides."""
    report.dropped = [
        Dropped(reason, setting and f"data.{setting}")
        for reason, setting in REASONS.items()
        if not setting or getattr(cleaner.settings, setting)
    ]
    counts: dict[Side, Counter[str]] = {side: Counter() for side in SIDES}
    met: set[int] = set()
    random = np.random.default_rng([cleaner.settings.seed % 2**32, 0, 2])
    samples: list[tuple[float, ShownPair]] = []
    beginning = list(islice(given, _FIRST_CHUNKS))
    processes = workers if len(beginning) == _FIRST_CHUNKS else 1
    with (
        (work / "blocks").open("wb") as blocks,
        (work / DROPPED).open("wb") as raw,
        # No name or time in the gzip header: the same text gives the same bytes.
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as dropped,
    ):
        dropped.write(b"text\tpair\treason\n")
        for chunk, (reasons, block, digests, repairs) in ordered_map(
            cleaner, chain(beginning, given), processes
        ):
            if digests:
                block = block.select(_without_duplicates(reasons, digests, met))
            pickle.dump(block, blocks)
            text = report.texts[chunk.text]
            text.link_words = chunk.link_words
            text.repairs = dict(Counter(text.repairs) + repairs)
            for line in _tallied(report, chunk, reasons):
                dropped.write(line.encode("utf-8"))
            for side, part in zip(SIDES, block[1:3], strict=True):
                count_words(getattr(report, side), part, text.repeat, counts[side])
            draws = zip(random.random(len(reasons)).tolist(), range(len(reasons)), strict=True)
            found = (
                (draw, _shown(text, chunk, place)) for draw, place in sorted(draws) if not reasons[place]
            )
            samples = sorted([*samples, *islice(found, SAMPLES)])[:SAMPLES]
            progress("tokenising", report.pairs_read, None)
    report.samples = [pair for _, pair in samples]
    _check_not_empty(report)
    return counts


def _without_duplicates(reasons: list[str], digests: list[int], met: set[int]) -> Mask:
    """Notes in `reasons` which kept pairs were met before. Returns a mask of the others."""
    kept = [place for place, reason in enumerate(reasons) if not reason]
    fresh = np.zeros(len(kept), np.bool_)
    for number, (place, one) in enumerate(zip(kept, digests, strict=True)):
        fresh[number] = one not in met
        if one in met:
            reasons[place] = "duplicate"
        met.add(one)
    return fresh


def _tallied(report: PreparationReport, chunk: Chunk, reasons: list[str]) -> Iterator[str]:
    """Counts the pairs of a chunk in the report. Yields the lines of `DROPPED`: text, number, reason."""
    text, kept = report.texts[chunk.text], reasons.count("")
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
    return ShownPair(text.name, chunk.first + place, plain_line(source), plain_line(target))


def count_words(report: SideReport, block: SideBlock, repeat: int, counts: Counter[str]) -> None:
    """Adds the words of a block, as often as it is used, to the report and to their frequencies."""
    words, (values, lengths) = block.words, block.sentences
    times = np.bincount(values, minlength=len(words)) * repeat
    counts.update({word: count for word, count in zip(words, times.tolist(), strict=True) if count})
    report.sentences += repeat * len(lengths)
    report.words += repeat * len(values)
    report.distinct_words = len(counts)
    report.longest = max(report.longest, int(lengths.max(initial=0)))


def unpickled(path: Path) -> Iterator[Any]:
    """Yields what was pickled to a file, one after another. This process must have written it itself."""
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)


def _check_not_empty(report: PreparationReport) -> None:
    names = ", ".join(text.name for text in report.texts)
    if not report.pairs_read:
        raise InputError(f"{names}: the texts are empty", remedy="give files with one sentence per line")
    if not report.pairs_used:
        reasons = ", ".join(f"{tally.reason}: {tally.pairs:,}" for tally in report.dropped if tally.pairs)
        remedy = "check the files and the [data] settings"
        raise InputError(f"all pairs of {names} were dropped ({reasons})", remedy=remedy)
