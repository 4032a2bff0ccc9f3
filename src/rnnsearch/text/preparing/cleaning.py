"""Lines to tokenised pairs, and which of them stay: what the worker processes of `prepare` do, a few thousand pairs at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.codec import SIDES, side_tokeniser
from rnnsearch.text.formats.entities import resolve_entities
from rnnsearch.text.formats.lines import plain, read_lines
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.links.words import LinkWords, PairWordCounts, check_links, given_words, project, recognise, tokeniser_ranges
from rnnsearch.text.preparing.duplicates import digest
from rnnsearch.text.preparing.filters import Filter, TokenisedPair, active_filters
from rnnsearch.text.preparing.preparation_report import EXAMPLES
from rnnsearch.text.store.blocks import LinksCollector, SideCollector, pack
from rnnsearch.word_links import parse_links

PAIRS = 10_000
CHARACTERS = 8_000_000
"""Of a chunk, at most: one of the two is reached first."""

RECOGNISED = 1000
"""Pairs from whose links it is told what they count."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive pairs of one text, each side's lines with line feeds between them. first: number of the first pair, 1-based.

    links: their lines of word links, None without; they come from `links_file`, and count `link_words`.
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
    """number: of the pair in its text, 1-based. reason: the place of the filter among the active ones."""

    number: int
    reason: int
    source: str
    target: str


@dataclass(slots=True)
class CleanedChunk:
    """What became of a chunk. packed: its blocks by the name of the file they go to. dropped: pairs dropped by each filter.

    examples: the first few pairs that each filter dropped. digests: of the pairs that stay, end to end; empty if nobody asks for them.
    """

    pairs: int
    kept: int
    packed: dict[str, bytes]
    dropped: list[int]
    examples: list[DroppedPair] = field(default_factory=list)
    digests: bytes = b""


def chunks(texts: Sequence[ParallelText], links: Sequence[str | Path]) -> Iterator[Chunk]:
    """All texts, cut. links: none, or one file for each text.

    Raises InputError as the texts do, and for a file of links that has not as many lines as its text has pairs.
    """
    for number, text in enumerate(texts):
        file = links[number] if links else None
        lines = None if file is None else read_lines(file)
        first = 1
        pairs = text.pairs()
        while taken := list(_some(pairs)):
            sources, targets = zip(*taken, strict=True)
            linked = None if lines is None else list(itertools.islice(lines, len(taken)))
            if linked is not None and len(linked) < len(taken):
                _refuse_links(file, first - 1 + len(linked), text, first - 1 + len(taken) + sum(1 for _ in pairs))
            yield Chunk(
                text=number,
                first=first,
                pairs=len(taken),
                sources="\n".join(sources),
                targets="\n".join(targets),
                links=None if linked is None else "\n".join(linked),
                links_file=str(file or ""),
            )
            first += len(taken)
        if lines is not None and (more := sum(1 for _ in lines)):
            _refuse_links(file, first - 1 + more, text, first - 1)


def _some(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    characters = 0
    for number, (source, target) in enumerate(pairs, 1):
        yield source, target
        characters += len(source) + len(target)
        if number == PAIRS or characters > CHARACTERS:
            return


def _refuse_links(file: str | Path | None, lines: int, text: ParallelText, pairs: int) -> None:
    what = f"has {lines:,} lines of links, but {text.name} has {pairs:,} pairs"
    raise InputError(what, file=file, remedy="give one line for each pair, and an empty line for a pair without links")


@dataclass(frozen=True, slots=True)
class Cleaner:
    """What is done to a chunk: a plain value that can be sent to another process.

    swapped: links are written target-source. link_words: what they count; "auto" is for `recognised` to replace.
    """

    settings: DataSettings
    swapped: bool = False
    link_words: LinkWords | Literal["auto"] = "auto"

    def __call__(self, chunk: Chunk) -> CleanedChunk:
        return _Cleaning(self.settings, self.swapped, chunk).run()

    def recognised(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The chunks with what their links count: as it was said, or as the first pairs of each text show."""
        count: LinkWords = "given"
        for chunk in chunks:
            if chunk.first == 1 and chunk.links is not None:
                count = self._recognise(chunk) if self.link_words == "auto" else self.link_words
            yield replace(chunk, link_words=count)

    def _recognise(self, chunk: Chunk) -> LinkWords:
        lines = zip(chunk.sources.split("\n"), chunk.targets.split("\n"), (chunk.links or "").split("\n"), strict=True)
        words = [side_tokeniser(side, self.settings).words for side in SIDES]
        resolves = self.settings.entities == "resolve"

        def counted() -> Iterator[PairWordCounts]:
            for number, (*sides, line) in enumerate(itertools.islice(lines, RECOGNISED), 1):
                links = parse_links(line, chunk.links_file, number, swapped=self.swapped)
                cut = [tokenise(resolve_entities(side) if resolves else side) for tokenise, side in zip(words, sides, strict=True)]
                source, target = sides
                yield PairWordCounts(links, (len(given_words(source)), len(given_words(target))), (len(cut[0]), len(cut[1])))

        return recognise(counted())


class _Cleaning:
    """The work on one chunk."""

    def __init__(self, settings: DataSettings, swapped: bool, chunk: Chunk) -> None:
        self.settings, self.swapped, self.chunk = settings, swapped, chunk
        self.filters: list[Filter] = active_filters(settings)
        self.source, self.target, self.links = SideCollector(), SideCollector(), LinksCollector()
        self.reasons = np.zeros(chunk.pairs, dtype=np.uint8)
        self.dropped = [0] * len(self.filters)
        self.examples: list[DroppedPair] = []
        self.digests: list[bytes] = []

    def run(self) -> CleanedChunk:
        chunk, settings = self.chunk, self.settings
        source_words, target_words = (side_tokeniser(side, settings).words for side in ("source", "target"))
        resolves = settings.entities == "resolve"
        sources, targets = chunk.sources.split("\n"), chunk.targets.split("\n")
        if not len(sources) == len(targets) == chunk.pairs:
            raise ValueError(
                f"a line of text {chunk.text} holds a line feed, between pair {chunk.first} and {chunk.first + chunk.pairs - 1}"
            )
        links = itertools.repeat(None) if chunk.links is None else chunk.links.split("\n")
        for place, (given_source, given_target, line) in enumerate(zip(sources, targets, links)):  # noqa: B905 (links may repeat)
            source, target = (resolve_entities(given_source), resolve_entities(given_target)) if resolves else (given_source, given_target)
            pair = TokenisedPair(source, target, source_words(source), target_words(target))
            reason = self._reason(pair)
            linked = None if line is None else self._links(place, line, given_source, given_target, pair, reason is None)
            if reason is None:
                self._keep(pair, linked)
            else:
                self._drop(place, reason, given_source, given_target)
        packed = {"source": self.source.packed(), "target": self.target.packed(), "outcomes": pack(chunk.text, chunk.first, self.reasons)}
        if chunk.links is not None:
            packed["links"] = self.links.packed()
        kept = chunk.pairs - sum(self.dropped)
        return CleanedChunk(chunk.pairs, kept, packed, self.dropped, self.examples, b"".join(self.digests))

    def _reason(self, pair: TokenisedPair) -> int | None:
        for place, drops in enumerate(self.filters):
            if drops(pair, self.settings):
                return place
        return None

    def _keep(self, pair: TokenisedPair, links: list[tuple[int, int]] | None) -> None:
        self.source.add(pair.source_words)
        self.target.add(pair.target_words)
        if links is not None:
            self.links.add(links)
        if self.settings.drop_duplicates:
            self.digests.append(digest(pair.source_line, pair.target_line))

    def _drop(self, place: int, reason: int, source: str, target: str) -> None:
        self.reasons[place] = reason + 1
        self.dropped[reason] += 1
        if self.dropped[reason] <= EXAMPLES:
            self.examples.append(DroppedPair(self.chunk.first + place, reason, plain(source), plain(target)))

    def _links(self, place: int, line: str, source: str, target: str, pair: TokenisedPair, stays: bool) -> list[tuple[int, int]]:
        """The links of a pair, between the tokeniser's words; only checked, if the pair does not stay."""
        file, number = self.chunk.links_file, self.chunk.first + place
        links = parse_links(line, file, number, swapped=self.swapped)
        if self.chunk.link_words == "tokenised":
            check_links(links, len(pair.source_words), len(pair.target_words), file, number, "tokenised")
            return sorted(set(links)) if stays else []
        given = given_words(source), given_words(target)
        check_links(links, len(given[0]), len(given[1]), file, number)
        if not links or not stays:
            return []
        ranges = []
        for side, tokens, words in (("source", given[0], pair.source_words), ("target", given[1], pair.target_words)):
            found = tokeniser_ranges(tokens, words, self.settings.entities == "resolve")
            if found is None:
                what = f"its links cannot be converted, because the tokeniser changes characters of the {side}: {' '.join(tokens)[:60]!r}"
                raise InputError(
                    what, file=file, line=number, remedy="give tokenised text and set data.tokeniser=space, or remove the pair"
                )
            ranges.append(found)
        return project(links, *ranges)
