"""The first pass of `prepare`: lines to tokenised pairs, and which of them stay.

Worker processes clean a few thousand pairs at a time. Their blocks of words go to a working folder, and the
digests of the pairs show which of them are repetitions.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import SIDES, Side, side_repair, side_tokeniser
from rnnsearch.text.formats.lines import RawInputWarnings, plain
from rnnsearch.text.formats.readers import ParallelText, read_link_lines
from rnnsearch.text.links.words import (
    LinkWords,
    PairWordCounts,
    check_links,
    given_words,
    project,
    recognise,
    tokeniser_ranges,
)
from rnnsearch.text.preparing.filters import TokenisedPair, active_filters, governing_setting, reason
from rnnsearch.text.preparing.preparation_report import EXAMPLES, Dropped, TextReport
from rnnsearch.text.store.blocks import (
    FilterOutcomes,
    Mask,
    RowCollector,
    SideBlock,
    SideCollector,
    pack,
    read_blocks,
    read_outcomes,
)
from rnnsearch.word_links import Link, parse_links

PAIRS = 10_000
CHARACTERS = 8_000_000
"""A chunk holds at most this many pairs, and hardly more characters than that."""

DIGEST = 16
"""Bytes of a digest. The probability that any two of 10^9 different pairs share one is 10^-21."""

RECOGNISED = 1000
"""Number of first pairs of a text whose links show which words the links of this text refer to."""

_FIRST_CHUNKS = 3  # a text with fewer is cleaned before worker processes would have started

_PARTS = 64  # of the digests; each is sorted on its own
_RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("number", "<i8")])


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive pairs of one text, each side's lines with line feeds between them.

    text: place of the text among all. first: number of the first pair, 1-based. links: lines of word links,
    None without; they come from `links_file`, and refer to `link_words`.
    """

    text: int
    first: int
    pairs: int
    sources: str
    targets: str
    links: str | None = None
    links_file: str = ""
    link_words: LinkWords = "given"


class DroppedPair(NamedTuple):
    """A pair that a filter dropped. number: of the pair in its text, 1-based. reason: the place of the
    filter among the active ones."""

    number: int
    reason: int
    source: str
    target: str


@dataclass(slots=True)
class CleanedChunk:
    """The pairs of a chunk that stay, and numbers about the others.

    packed: blocks by the name of the file they go to. dropped: pairs dropped by each filter; examples: the
    first few of them. digests: of the pairs that stay, end to end; empty if nobody asks for them. repairs:
    number of changes of each kind.
    """

    pairs: int
    packed: dict[str, bytes]
    dropped: list[int]
    examples: list[DroppedPair] = field(default_factory=list)
    digests: bytes = b""
    repairs: Counter[str] = field(default_factory=Counter)


def chunks(texts: Sequence[ParallelText], links: Sequence[str | Path]) -> Iterator[Chunk]:
    """Cuts all texts into chunks. links: none, or one file for each text.

    Raises InputError as the texts do, and for a file of links that has not as many lines as its text has
    pairs.
    """
    for number, text in enumerate(texts):
        file = links[number] if links else None
        lines = None if file is None else read_link_lines(file)
        first = 1
        pairs = text.pairs()
        while taken := list(_some(pairs)):
            sources, targets = zip(*taken, strict=True)
            linked = None if lines is None else list(itertools.islice(lines, len(taken)))
            if linked is not None and len(linked) < len(taken):
                every = first - 1 + len(taken) + sum(1 for _ in pairs)
                raise _unequal(file, first - 1 + len(linked), text, every)
            sides = "\n".join(sources), "\n".join(targets)
            together = None if linked is None else "\n".join(linked)
            yield Chunk(number, first, len(taken), *sides, together, str(file or ""))
            first += len(taken)
        if lines is not None and (more := sum(1 for _ in lines)):
            raise _unequal(file, first - 1 + more, text, first - 1)


def _some(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    characters = 0
    for number, (source, target) in enumerate(pairs, 1):
        yield source, target
        characters += len(source) + len(target)
        if number == PAIRS or characters > CHARACTERS:
            return


def _unequal(file: str | Path | None, lines: int, text: ParallelText, pairs: int) -> InputError:
    what = f"has {lines:,} lines of links, but {text.name} has {pairs:,} pairs"
    remedy = "give one line for each pair, and an empty line for a pair without links"
    return InputError(what, file=file, remedy=remedy)


class Cleaner:
    """Cleans chunks; it can be sent to another process.

    swapped: links are written target-source. link_words: the words that they refer to; for "auto",
    `recognised` finds it out.
    """

    def __init__(
        self,
        settings: DataSettings,
        swapped: bool = False,
        link_words: LinkWords | Literal["auto"] = "auto",
    ) -> None:
        self.settings, self.swapped, self.link_words = settings, swapped, link_words
        self.filters = active_filters(settings)
        self.repairs = [side_repair(side, settings) for side in SIDES]
        self.tokenisers = [side_tokeniser(side, settings) for side in SIDES]

    def __call__(self, chunk: Chunk) -> CleanedChunk:
        """Tokenises and filters the pairs of a chunk."""
        source, target, linked = SideCollector(), SideCollector(), RowCollector()
        reasons = np.zeros(chunk.pairs, dtype=np.uint8)
        done = CleanedChunk(chunk.pairs, {}, [0] * len(self.filters))
        digests: list[bytes] = []
        for place, (lines, links) in enumerate(_pairs_of(chunk)):
            pair = self._tokenised(lines, done.repairs)
            dropped_by = next((i for i, drops in enumerate(self.filters) if drops(pair, self.settings)), None)
            if links is not None:
                found = self._links(chunk, place, links, lines, pair, dropped_by is None)
                if dropped_by is None:
                    linked.add([position for link in found for position in link])
            if dropped_by is None:
                source.add(pair.source_words)
                target.add(pair.target_words)
                if self.settings.drop_duplicates:
                    digests.append(digest(pair.source_line, pair.target_line))
                continue
            reasons[place] = dropped_by + 1
            done.dropped[dropped_by] += 1
            if done.dropped[dropped_by] <= EXAMPLES:
                done.examples.append(DroppedPair(chunk.first + place, dropped_by, *map(plain, lines)))
        outcomes = pack(chunk.text, chunk.first, reasons)
        done.packed = {"source": source.packed(), "target": target.packed(), "outcomes": outcomes}
        if chunk.links is not None:
            done.packed["links"] = linked.packed()
        done.digests = b"".join(digests)
        return done

    def recognised(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yields the chunks with the words that their links refer to: as given, or as each text's first pairs
        show."""
        refer_to: LinkWords = "given"
        for chunk in chunks:
            if chunk.first == 1 and chunk.links is not None:
                first = itertools.islice(enumerate(_pairs_of(chunk), 1), RECOGNISED)
                if self.link_words == "auto":
                    refer_to = recognise(self._word_counts(chunk, *each) for each in first)
                else:
                    refer_to = self.link_words
            yield replace(chunk, link_words=refer_to)

    def _word_counts(
        self, chunk: Chunk, number: int, pair: tuple[tuple[str, str], str | None]
    ) -> PairWordCounts:
        lines, links = pair
        tokenised = self._tokenised(lines)
        return PairWordCounts(
            parse_links(links or "", chunk.links_file, number, swapped=self.swapped),
            (len(given_words(lines[0])), len(given_words(lines[1]))),
            (len(tokenised.source_words), len(tokenised.target_words)),
        )

    def _tokenised(self, lines: tuple[str, str], repairs: Counter[str] | None = None) -> TokenisedPair:
        source, target = (repair(line, repairs) for repair, line in zip(self.repairs, lines, strict=True))
        return TokenisedPair(
            source, target, self.tokenisers[0].words(source), self.tokenisers[1].words(target)
        )

    def _links(
        self,
        chunk: Chunk,
        place: int,
        line: str,
        lines: tuple[str, str],
        pair: TokenisedPair,
        stays: bool,
    ) -> Sequence[Link]:
        """Returns the links of a pair between the tokeniser's words. The links of a dropped pair are only
        checked."""
        file, number = chunk.links_file, chunk.first + place
        links = parse_links(line, file, number, swapped=self.swapped)
        words = pair.source_words, pair.target_words
        if chunk.link_words == "tokenised":
            check_links(links, len(words[0]), len(words[1]), file, number, "tokenised")
            return sorted(set(links)) if stays else []
        given = [given_words(side) for side in lines]
        check_links(links, len(given[0]), len(given[1]), file, number)
        if not links or not stays:
            return []
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
        return project(links, *ranges)


def _pairs_of(chunk: Chunk) -> Iterator[tuple[tuple[str, str], str | None]]:
    """Yields the two lines of each pair and its line of links."""
    sources, targets = chunk.sources.split("\n"), chunk.targets.split("\n")
    links = [None] * chunk.pairs if chunk.links is None else chunk.links.split("\n")
    if not len(sources) == len(targets) == chunk.pairs:
        last = chunk.first + chunk.pairs - 1
        raise ValueError(f"a line of text {chunk.text} has a line feed, in pairs {chunk.first} to {last}")
    yield from zip(zip(sources, targets, strict=True), links, strict=True)


def digest(source: str, target: str) -> bytes:
    """Returns a digest that tells a pair of lines from others. Neither line may hold a line feed."""
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=DIGEST).digest()


@dataclass(frozen=True, slots=True)
class CleanedCorpus:
    """The result of the first pass, whose blocks lie in the folder `work`.

    repeated: marks the repetitions among the pairs that no filter dropped; None if repetitions are kept.
    """

    work: Path
    texts: list[TextReport]
    dropped: list[Dropped]
    repeated: Mask | None

    @property
    def pairs(self) -> int:
        """Counts the pairs that stay, each as often as it is used."""
        return sum(text.pairs_kept * text.repeat for text in self.texts)

    def outcomes(self) -> Iterator[tuple[FilterOutcomes, Mask]]:
        """Yields the filters' decisions about each block, and a mask of the pairs that they left: True for
        a new one."""
        start = 0
        for outcomes in read_outcomes(self.work / "outcomes"):
            left = int((outcomes.reasons == 0).sum())
            if self.repeated is None:
                yield outcomes, np.ones(left, dtype=bool)
            else:
                yield outcomes, ~self.repeated[start : start + left]
            start += left

    def blocks(self, side: Side) -> Iterator[SideBlock]:
        """Yields the blocks of the pairs that stay, each as often as its text is repeated."""
        for block, (outcomes, keep) in zip(read_blocks(self.work / side), self.outcomes(), strict=True):
            staying = block if keep.all() else block.select(keep)
            yield from itertools.repeat(staying, self.texts[outcomes.text].repeat)


def clean(
    texts: Sequence[ParallelText],
    links: Sequence[str | Path],
    links_are: tuple[bool, LinkWords | Literal["auto"]],
    repeat: Sequence[int],
    settings: DataSettings,
    work: Path,
    workers: int,
    progress: Progress,
) -> CleanedCorpus:
    """Writes the blocks of the pairs that stay, and counts the others.

    links_are: (True if they are written target-source, the words that they refer to). repeat: how often the
    pairs of each text are used.
    """
    cleaner = Cleaner(settings, *links_are)
    dropped = [Dropped(reason(drops), governing_setting(drops)) for drops in cleaner.filters]
    reports = [TextReport(text.name, repeat=times) for text, times in zip(texts, repeat, strict=True)]
    if settings.drop_control_characters:  # the filter has to see them
        for text in texts:
            text.source_warnings, text.target_warnings = RawInputWarnings(), RawInputWarnings()
    with ExitStack() as stack:
        names = [*SIDES, "outcomes", *(["links"] if links else [])]
        files = {name: stack.enter_context((work / name).open("wb")) for name in names}
        duplicates = stack.enter_context(Duplicates(work)) if settings.drop_duplicates else None
        done = 0
        for chunk, cleaned in _cleaned(cleaner.recognised(chunks(texts, links)), cleaner, workers):
            for name, packed in cleaned.packed.items():
                files[name].write(packed)
            if duplicates is not None:
                duplicates.add(cleaned.digests)
            report = reports[chunk.text]
            _tally(cleaned, report, dropped)
            report.link_words = chunk.link_words if links else ""
            done += cleaned.pairs
            progress("tokenising", done, None)
        repeated = None if duplicates is None else duplicates.repetitions()
    for report, text in zip(reports, texts, strict=True):  # the texts may be read again
        report.source_warnings, report.target_warnings = (
            deepcopy(text.source_warnings),
            deepcopy(text.target_warnings),
        )
    corpus = CleanedCorpus(work, reports, dropped, repeated)
    if repeated is not None:
        dropped.append(Dropped("duplicate", "data.drop_duplicates", int(repeated.sum())))
        for outcomes, keep in corpus.outcomes():
            reports[outcomes.text].pairs_kept -= int((~keep).sum())
    _check_not_empty(corpus)
    return corpus


def _cleaned(given: Iterator[Chunk], cleaner: Cleaner, workers: int) -> Iterator[tuple[Chunk, CleanedChunk]]:
    beginning = list(itertools.islice(given, _FIRST_CHUNKS))
    processes = workers if len(beginning) == _FIRST_CHUNKS else 1
    return ordered_map(cleaner, itertools.chain(beginning, given), processes)


def _tally(cleaned: CleanedChunk, report: TextReport, dropped: list[Dropped]) -> None:
    report.pairs_read += cleaned.pairs
    report.pairs_kept += cleaned.pairs - sum(cleaned.dropped)
    report.repairs = dict(Counter(report.repairs) + cleaned.repairs)
    for tally, pairs in zip(dropped, cleaned.dropped, strict=True):
        tally.pairs += pairs
    for pair in cleaned.examples:
        dropped[pair.reason].show(report.name, pair.number, pair.source, pair.target)


def _check_not_empty(corpus: CleanedCorpus) -> None:
    names = ", ".join(text.name for text in corpus.texts)
    if not any(text.pairs_read for text in corpus.texts):
        raise InputError(f"{names}: the texts are empty", remedy="give files with one sentence per line")
    if not corpus.pairs:
        reasons = ", ".join(f"{tally.reason}: {tally.pairs:,}" for tally in corpus.dropped if tally.pairs)
        remedy = "check the files and the [data] settings"
        raise InputError(f"all pairs of {names} were dropped ({reasons})", remedy=remedy)


class Duplicates:
    """Takes the digests of all pairs in their order, and finds the repetitions among them.

    On the disk it holds 24 bytes per pair, in 64 files. In memory it holds one of these files, while that is
    sorted, and one byte per pair for the answer.
    """

    def __init__(self, folder: Path) -> None:
        self.paths = [folder / f"digests.{part:02d}" for part in range(_PARTS)]
        self.pairs = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._files = [self._stack.enter_context(path.open("wb")) for path in self.paths]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, digests: bytes) -> None:
        """Adds the digests of the next pairs, end to end."""
        halves = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
        records = np.empty(len(halves), dtype=_RECORD)
        records["high"], records["low"] = halves.T
        records["number"] = np.arange(self.pairs, self.pairs + len(halves))
        self.pairs += len(halves)
        parts = (records["high"] % _PARTS).astype(np.intp)
        by_part = np.argsort(parts, kind="stable")
        starts = np.searchsorted(parts[by_part], np.arange(_PARTS + 1))
        for part, file in enumerate(self._files):
            if starts[part] < starts[part + 1]:
                file.write(records[by_part[starts[part] : starts[part + 1]]].tobytes())

    def repetitions(self) -> Mask:
        """Returns a mask of the pairs that occurred before, and removes the files."""
        for file in self._files:
            file.flush()
        repeated = np.zeros(self.pairs, dtype=bool)
        for path in self.paths:
            records = np.fromfile(path, dtype=_RECORD)
            order = np.lexsort((records["low"], records["high"]))  # stable: the first occurrence comes first
            later, earlier = records[order[1:]], records[order[:-1]]
            same = (later["high"] == earlier["high"]) & (later["low"] == earlier["low"])
            repeated[later["number"][same]] = True
            path.unlink()
        return repeated
