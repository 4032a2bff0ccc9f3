"""The first pass of `prepare`: tokenises the lines, selects the pairs to keep, and counts their words.

Worker processes clean a few thousand pairs at a time. Their blocks of words go to a temporary file.
"""

from __future__ import annotations

import gzip
import hashlib
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
from rnnsearch.text.preparing.preparation_report import (
    SAMPLES,
    Dropped,
    PreparationReport,
    ShownPair,
    SideReport,
    TextReport,
)
from rnnsearch.text.store.corpus import Integers
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


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive pairs of one text.

    text: place of the text among all. first: number of the first pair, 1-based. links: lines of word links,
    None without; they come from `links_file`, and refer to `link_words`.
    """

    text: int
    first: int
    pairs: list[LinePair]
    links: list[str] | None = None
    links_file: str = ""
    link_words: LinkWords = "given"


class TokenisedPair(NamedTuple):
    """A pair that may become a training pair: its lines as they are tokenised, and their words."""

    lines: tuple[str, str]
    words: tuple[Sequence[str], Sequence[str]]


Filter = Callable[[TokenisedPair, DataSettings], bool]
"""(pair, settings) → whether it is dropped. A plain function, so that it can be sent to another process."""


def lengths(pair: TokenisedPair, settings: DataSettings) -> list[float]:
    """Returns the number of words of each side; of text without spaces, an estimate by its characters."""
    sides = zip(pair.words, (settings.source_language, settings.target_language), strict=True)
    return [
        sum(map(len, words)) / UNSPACED[base(language)]
        if settings.tokeniser == "moses" and base(language) in UNSPACED
        else len(words)
        for words, language in sides
    ]


def empty_side(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops a sentence without words: it has no translation to learn."""
    return not all(pair.words)


def too_long(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs longer than `max_words` on either side: mostly lines that were never cut into sentences."""
    return max(lengths(pair, settings)) > settings.max_words


def length_ratio(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs with more than `max_ratio` times the words on one side: shifted or half-translated
    lines."""
    shorter, longer = sorted(lengths(pair, settings))
    return longer > settings.max_ratio * shorter


def identical_sides(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs with the same words on both sides: mostly text that was never translated, but numbers and
    names as well."""
    return list(pair.words[0]) == list(pair.words[1])


FILTERS: dict[str, tuple[str, Filter]] = {
    "empty side": ("", empty_side),
    "too long": ("max_words", too_long),
    "length ratio": ("max_ratio", length_ratio),
    "identical sides": ("drop_identical", identical_sides),
}
"""Name of a filter in reports → (setting of `[data]` that governs it, "" = always on; filter), in the order
of application. The first filter that returns True is the reason."""


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


class CleanedChunk(NamedTuple):
    """The kept pairs of a chunk. reasons: for each pair of the chunk, 0 if it is kept, else the number of the
    filter that drops it. digests: of the kept pairs; none if duplicates are kept. repairs: number of changes
    of each kind."""

    reasons: NDArray[np.uint8]
    block: Block
    digests: list[int]
    repairs: Counter[str]


def chunks(texts: Sequence[ParallelText], links: Sequence[str | Path]) -> Iterator[Chunk]:
    """Cuts all texts into chunks. links: none, or one file for each text.

    Raises InputError as the texts do, and if a file of links has more or fewer lines than its text has pairs.
    """
    for number, text in enumerate(texts):
        file, first = str(links[number]) if links else "", 1
        pairs = _linked(text, file) if file else ((pair, "") for pair in text.pairs())
        while taken := list(islice(pairs, PAIRS)):
            lines, linked = [pair for pair, _ in taken], [line for _, line in taken]
            yield Chunk(number, first, lines, linked if file else None, file)
            first += len(taken)


def _linked(text: ParallelText, file: str) -> Iterator[tuple[LinePair, str]]:
    """Yields the pairs with their lines of links."""

    def unequal(pairs: int, lines: int) -> InputError:
        what = f"has {lines:,} lines of links, but {text.name} has {pairs:,} pairs"
        remedy = "give one line for each pair, and an empty line for a pair without links"
        return InputError(what, file=file, remedy=remedy)

    return in_step(text.pairs(), read_link_lines(file), unequal)


class Cleaner:
    """Cleans chunks; it can be sent to another process.

    swapped: whether links are written target-source. link_words: the words that links refer to; for "auto",
    `recognised` decides.
    """

    def __init__(
        self, settings: DataSettings, swapped: bool = False, link_words: LinkWords | Literal["auto"] = "auto"
    ) -> None:
        self.settings, self.swapped, self.link_words = settings, swapped, link_words
        self.filters = {
            name: drops
            for name, (setting, drops) in FILTERS.items()
            if not setting or getattr(settings, setting)
        }
        self.repairs = [side_repair(side, settings) for side in SIDES]
        self.tokenisers = [side_tokeniser(side, settings) for side in SIDES]

    def __call__(self, chunk: Chunk) -> CleanedChunk:
        """Tokenises and filters the pairs of a chunk."""
        kept: list[TokenisedPair] = []
        links: list[list[int]] = []
        reasons, repairs = np.zeros(len(chunk.pairs), dtype=np.uint8), Counter[str]()
        for place, lines in enumerate(chunk.pairs):
            pair = self._tokenised(lines, repairs)
            reasons[place] = dropped_by = next(
                (i for i, drops in enumerate(self.filters.values(), 1) if drops(pair, self.settings)), 0
            )
            found = self._links(chunk, place, pair, bool(dropped_by)) if chunk.links is not None else []
            if not dropped_by:
                kept.append(pair)
                links.append(found)
        digests = [digest(pair) for pair in kept] if self.settings.drop_duplicates else []
        source, target = (SideBlock.of([pair.words[side] for pair in kept]) for side in (0, 1))
        block = Block(chunk.text, source, target, None if chunk.links is None else Ragged.of(links))
        return CleanedChunk(reasons, block, digests, repairs)

    def recognised(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yields the chunks with their `link_words` set: to the given value, or to that recognised from each
        text's first pairs."""
        refer_to: LinkWords = "given"
        for chunk in chunks:
            if self.link_words != "auto":
                refer_to = self.link_words
            elif chunk.first == 1 and chunk.links is not None:
                counts = list(self._word_counts(chunk))
                if count_from_one(counts):
                    what = "its links seem to count words from 1: none has position 0, and some are too large"
                    raise InputError(what, file=chunk.links_file, remedy=f"count from 0: {FROM_ZERO}")
                refer_to = recognise(counts)
            yield replace(chunk, link_words=refer_to)

    def _word_counts(self, chunk: Chunk) -> Iterator[PairWordCounts]:
        for number, (lines, links) in enumerate(zip(chunk.pairs, chunk.links or (), strict=True), 1):
            if number > RECOGNISED:
                return
            yield PairWordCounts(
                parse_links(links, chunk.links_file, number, swapped=self.swapped),
                tuple(map(len, self._given(lines))),  # type: ignore[arg-type]
                tuple(map(len, self._tokenised(lines).words)),  # type: ignore[arg-type]
            )

    def _tokenised(self, lines: LinePair, repairs: Counter[str] | None = None) -> TokenisedPair:
        source, target = (repair(line, repairs) for repair, line in zip(self.repairs, lines, strict=True))
        words = self.tokenisers[0].words(source), self.tokenisers[1].words(target)
        return TokenisedPair((source, target), words)

    def _given(self, lines: LinePair) -> list[Sequence[str]]:
        """Returns the words that links refer to if they refer to given words."""
        return [side.link_words(line) for side, line in zip(self.tokenisers, lines, strict=True)]

    def _links(self, chunk: Chunk, place: int, pair: TokenisedPair, dropped: bool) -> list[int]:
        """Returns the links of a pair between the tokeniser's words, as positions of source and target
        alternating. The links of a dropped pair are only checked."""
        assert chunk.links is not None
        file, number = chunk.links_file, chunk.first + place
        links = parse_links(chunk.links[place], file, number, swapped=self.swapped)
        given = self._given(chunk.pairs[place]) if chunk.link_words == "given" else pair.words
        check_links(links, list(map(len, given)), file, number, chunk.link_words)
        if dropped:
            return []
        if chunk.link_words == "tokenised" or not links:
            return list(chain.from_iterable(sorted(set(links))))
        ranges = []
        for side, tokens, own, repair in zip(SIDES, given, pair.words, self.repairs, strict=True):
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


def digest(pair: TokenisedPair) -> int:
    """Returns a number that tells a pair of lines from others. Neither line may hold a line feed."""
    text = "\n".join(pair.lines).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=DIGEST).digest(), "big")


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
        Dropped(name, FILTERS[name][0] and f"data.{FILTERS[name][0]}") for name in cleaner.filters
    ]
    if cleaner.settings.drop_duplicates:
        report.dropped.append(Dropped("duplicate", "data.drop_duplicates"))
    counts: dict[Side, Counter[str]] = {side: Counter() for side in SIDES}
    met: set[int] = set()
    samples: list[tuple[float, ShownPair]] = []
    random = np.random.default_rng([cleaner.settings.seed % 2**32, 0, 2])
    given = cleaner.recognised(given)
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
                fresh = np.array([not (one in met or met.add(one)) for one in digests])  # type: ignore[func-returns-value]
                reasons[np.flatnonzero(reasons == 0)[~fresh]] = len(report.dropped)
                block = block.select(fresh)
            pickle.dump(block, blocks)
            text = report.texts[chunk.text]
            text.link_words = "" if chunk.links is None else chunk.link_words
            text.repairs = dict(Counter(text.repairs) + repairs)
            dropped.write(_tallied(report, text, chunk, reasons.tolist()).encode("utf-8"))
            for side, part in zip(SIDES, block[1:3], strict=True):
                _count(report, side, part, text.repeat, counts[side])
            draws = zip(random.random(len(reasons)).tolist(), range(len(reasons)), strict=True)
            found = ((draw, _shown(text, chunk, i)) for draw, i in sorted(draws) if not reasons[i])
            samples = sorted([*samples, *islice(found, SAMPLES)], key=lambda sample: sample[0])[:SAMPLES]
            progress("tokenising", report.pairs_read, None)
    report.samples = [pair for _, pair in samples]
    _check_not_empty(report)
    return counts


def _tallied(report: PreparationReport, text: TextReport, chunk: Chunk, reasons: list[int]) -> str:
    """Counts the pairs of a chunk in the report. Returns the lines of `DROPPED`: text, number, reason."""
    report.pairs_read += len(reasons)
    text.pairs_read += len(reasons)
    text.pairs_kept += (kept := reasons.count(0))
    report.pairs_kept += kept
    report.pairs_used += kept * text.repeat
    lines = []
    for place, number in enumerate(reasons):
        if number:
            report.dropped[number - 1].add(_shown(text, chunk, place))
            lines.append(f"{text.name}\t{chunk.first + place}\t{report.dropped[number - 1].reason}\n")
    return "".join(lines)


def _shown(text: TextReport, chunk: Chunk, place: int) -> ShownPair:
    return ShownPair(text.name, chunk.first + place, *map(plain_line, chunk.pairs[place]))


def _count(
    report: PreparationReport, side: Side, block: SideBlock, repeat: int, counts: Counter[str]
) -> None:
    """Counts the words of a block, as often as it is used."""
    words, (values, lengths) = block.words, block.sentences
    times = np.bincount(values, minlength=len(words)) * repeat
    counts.update({word: count for word, count in zip(words, times.tolist(), strict=True) if count})
    of_side: SideReport = getattr(report, side)
    of_side.sentences += repeat * len(lengths)
    of_side.words += repeat * len(values)
    of_side.distinct_words = len(counts)
    of_side.longest = max(of_side.longest, *lengths.tolist(), 0)


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
