"""The first pass of `prepare`: tokenises the lines and selects the pairs to keep.

Worker processes clean a few thousand pairs at a time. Their blocks of words go to a working folder. Digests
of the pairs reveal duplicates.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES, side_repair, side_tokeniser
from rnnsearch.text.formats.lines import RawInputWarnings, in_step, plain_line
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
from rnnsearch.text.preparing.blocks import Block, Mask, Rows, Sentences, append, appended
from rnnsearch.text.preparing.filters import TokenisedPair, active_filters, governing_setting, reason
from rnnsearch.text.preparing.preparation_report import EXAMPLES, Dropped, PreparationReport, TextReport
from rnnsearch.word_links import parse_links

PAIRS = 10_000
CHARACTERS = 8_000_000
"""A chunk has at most this many pairs, and hardly more than this many characters."""

DIGEST = 12
"""Bytes of a digest. The probability that any two of 10^9 different pairs share one is 10^-11."""

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


class CleanedChunk(NamedTuple):
    """The kept pairs of a chunk, and statistics of the others.

    examples: (number of the filter that dropped it, place in the chunk) of the first pairs. digests: those of
    the kept pairs, concatenated; empty if duplicates are kept. repairs: number of changes of each kind.
    """

    block: Block
    examples: list[tuple[int, int]]
    digests: bytes
    repairs: Counter[str]


def chunks(texts: Sequence[ParallelText], links: Sequence[str | Path]) -> Iterator[Chunk]:
    """Cuts all texts into chunks. links: none, or one file for each text.

    Raises InputError as the texts do, and if a file of links has more or fewer lines than its text has pairs.
    """
    for number, text in enumerate(texts):
        file, first = str(links[number]) if links else "", 1
        pairs = _linked(text, file) if file else ((pair, "") for pair in text.pairs())
        while taken := list(_some(pairs)):
            lines, linked = [pair for pair, _ in taken], [line for _, line in taken]
            yield Chunk(number, first, lines, linked if file else None, file)
            first += len(taken)


def _some(pairs: Iterator[tuple[LinePair, str]]) -> Iterator[tuple[LinePair, str]]:
    characters = 0
    for number, (pair, links) in enumerate(pairs, 1):
        yield pair, links
        characters += len(pair[0]) + len(pair[1])
        if number == PAIRS or characters > CHARACTERS:
            return


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
        self.filters = active_filters(settings)
        self.repairs = [side_repair(side, settings) for side in SIDES]
        self.tokenisers = [side_tokeniser(side, settings) for side in SIDES]

    def __call__(self, chunk: Chunk) -> CleanedChunk:
        """Tokenises and filters the pairs of a chunk."""
        source, target, links = Sentences(), Sentences(), Rows()
        reasons = np.zeros(len(chunk.pairs), dtype=np.uint8)
        digests, repairs = bytearray(), Counter[str]()
        for place, lines in enumerate(chunk.pairs):
            pair = self._tokenised(lines, repairs)
            reasons[place] = dropped_by = self._reason(pair)
            found = self._links(chunk, place, pair, dropped_by) if chunk.links is not None else []
            if dropped_by:
                continue
            source.add(pair.source_words)
            target.add(pair.target_words)
            links.add(found)
            if self.settings.drop_duplicates:
                digests += digest(pair.source_line, pair.target_line)
        examples = [
            (number, place)
            for number in range(1, len(self.filters) + 1)
            for place in np.flatnonzero(reasons == number)[:EXAMPLES].tolist()
        ]
        linked = None if chunk.links is None else links.ragged()
        block = Block(chunk.text, chunk.first, reasons, source.block(), target.block(), linked)
        return CleanedChunk(block, examples, bytes(digests), repairs)

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
            pair = self._tokenised(lines)
            yield PairWordCounts(
                parse_links(links, chunk.links_file, number, swapped=self.swapped),
                (len(self.tokenisers[0].link_words(lines[0])), len(self.tokenisers[1].link_words(lines[1]))),
                (len(self._linked(pair)[0]), len(self._linked(pair)[1])),
            )

    def _tokenised(self, lines: LinePair, repairs: Counter[str] | None = None) -> TokenisedPair:
        source, target = (repair(line, repairs) for repair, line in zip(self.repairs, lines, strict=True))
        return TokenisedPair(
            source, target, self.tokenisers[0].words(source), self.tokenisers[1].words(target)
        )

    def _linked(self, pair: TokenisedPair) -> list[Sequence[str]]:
        """Returns the words of both sides between which links are stored."""
        return [
            tokeniser.link_words(line) if tokeniser.unspaced else words
            for tokeniser, line, words in zip(self.tokenisers, pair[:2], pair[2:], strict=True)
        ]

    def _reason(self, pair: TokenisedPair) -> int:
        """Returns the number of the first filter that drops the pair; 0 for none."""
        return next((i for i, drops in enumerate(self.filters, 1) if drops(pair, self.settings)), 0)

    def _links(self, chunk: Chunk, place: int, pair: TokenisedPair, dropped_by: int) -> list[int]:
        """Returns the links of a pair between the tokeniser's words, as positions of source and target
        alternating. The links of a dropped pair are only checked."""
        assert chunk.links is not None
        file, number = chunk.links_file, chunk.first + place
        links = parse_links(chunk.links[place], file, number, swapped=self.swapped)
        words = given = self._linked(pair)
        if chunk.link_words == "given":
            given = [
                side.link_words(line) for side, line in zip(self.tokenisers, chunk.pairs[place], strict=True)
            ]
        check_links(links, list(map(len, given)), file, number, chunk.link_words)
        if dropped_by:
            return []
        if chunk.link_words == "tokenised" or not links:
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


def digest(source: str, target: str) -> bytes:
    """Returns a digest that tells a pair of lines from others. Neither line may hold a line feed."""
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=DIGEST).digest()


class CleanedCorpus(NamedTuple):
    """The blocks of the first pass in a file.

    duplicate: the number of the reason for duplicates. repeated: mask of duplicates among the pairs that no
    filter dropped; None if they are kept.
    """

    file: Path
    duplicate: int
    repeated: Mask | None

    def marked(self) -> Iterator[tuple[Block, Mask]]:
        """Yields the blocks after the filters, and a mask of their pairs that are no duplicates."""
        start = 0
        for (block,) in appended(self.file):
            left = int((block.reasons == 0).sum())
            every = np.ones(left, dtype=bool)
            yield block, every if self.repeated is None else ~self.repeated[start : start + left]
            start += left

    def blocks(self) -> Iterator[Block]:
        """Yields the blocks of the kept pairs."""
        for block, keep in self.marked():
            yield block if keep.all() else block.select(keep, self.duplicate)


def clean(
    texts: Sequence[ParallelText],
    links: Sequence[str | Path],
    cleaner: Cleaner,
    work: Path,
    workers: int,
    report: PreparationReport,
    progress: Progress,
) -> CleanedCorpus:
    """Writes the blocks of the kept pairs into the folder `work`, and counts kept and dropped pairs in the
    report."""
    report.dropped = [Dropped(reason(drops), governing_setting(drops)) for drops in cleaner.filters]
    if cleaner.settings.drop_control_characters:  # the filter needs them
        for text in texts:
            text.warnings = RawInputWarnings(), RawInputWarnings()
    digests: list[bytes] = []
    given = cleaner.recognised(chunks(texts, links))
    beginning = list(islice(given, _FIRST_CHUNKS))
    processes = workers if len(beginning) == _FIRST_CHUNKS else 1
    (work / "blocks").touch()
    for chunk, cleaned in ordered_map(cleaner, chain(beginning, given), processes):
        append(work / "blocks", cleaned.block)
        digests.append(cleaned.digests)
        text_report = report.texts[chunk.text]
        text_report.link_words = chunk.link_words if links else ""
        text_report.repairs = dict(Counter(text_report.repairs) + cleaned.repairs)
        _tally(report, text_report, cleaned.block.reasons)
        for number, place in cleaned.examples:
            lines = map(plain_line, chunk.pairs[place])
            report.dropped[number - 1].show(text_report.name, chunk.first + place, *lines)
        progress("tokenising", report.pairs_read, None)
    for text_report, text in zip(report.texts, texts, strict=True):  # the texts may be read again
        text_report.source_warnings, text_report.target_warnings = deepcopy(text.warnings)
    repeated = repetitions(digests) if cleaner.settings.drop_duplicates else None
    corpus = CleanedCorpus(work / "blocks", len(report.dropped) + 1, repeated)
    if repeated is not None:
        _drop_duplicates(corpus, report)
    report.pairs_kept = sum(text.pairs_kept for text in report.texts)
    report.pairs_used = sum(text.pairs_kept * text.repeat for text in report.texts)
    _check_not_empty(report)
    return corpus


def _tally(report: PreparationReport, text: TextReport, reasons: NDArray[np.uint8]) -> None:
    kept, *dropped = np.bincount(reasons, minlength=len(report.dropped) + 1).tolist()
    report.pairs_read += len(reasons)
    text.pairs_read += len(reasons)
    text.pairs_kept += kept
    for tally, pairs in zip(report.dropped, dropped, strict=True):
        tally.pairs += pairs


def _drop_duplicates(corpus: CleanedCorpus, report: PreparationReport) -> None:
    """Counts the duplicates in the report, with the first ones as examples."""
    dropped = Dropped("duplicate", "data.drop_duplicates")
    report.dropped.append(dropped)
    for block, keep in corpus.marked():
        text, places = report.texts[block.text], np.flatnonzero(block.reasons == 0)
        dropped.pairs += int((~keep).sum())
        text.pairs_kept -= int((~keep).sum())
        for place in np.flatnonzero(~keep)[:EXAMPLES].tolist():
            sides = block.source.line(place), block.target.line(place)
            dropped.show(text.name, block.first + int(places[place]), *sides)


def _check_not_empty(report: PreparationReport) -> None:
    names = ", ".join(text.name for text in report.texts)
    if not report.pairs_read:
        raise InputError(f"{names}: the texts are empty", remedy="give files with one sentence per line")
    if not report.pairs_used:
        reasons = ", ".join(f"{tally.reason}: {tally.pairs:,}" for tally in report.dropped if tally.pairs)
        remedy = "check the files and the [data] settings"
        raise InputError(f"all pairs of {names} were dropped ({reasons})", remedy=remedy)


def repetitions(digests: Sequence[bytes]) -> Mask:
    """Returns a mask of the pairs that occurred before. digests: of all pairs in order, end to end."""
    pairs = np.frombuffer(b"".join(digests), dtype=f"S{DIGEST}")
    repeated = np.ones(len(pairs), dtype=bool)
    repeated[np.unique(pairs, return_index=True)[1]] = False
    return repeated
