"""Word links of whole corpora: tokenised, aligned in both directions, symmetrised, written line for line with the pairs."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import written_whole
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, side_tokeniser
from rnnsearch.text.formats.entities import resolve_entities
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.links.eflomal import LONGEST, require_eflomal, run_eflomal
from rnnsearch.text.links.symmetrise import DEFAULT, symmetrise
from rnnsearch.text.links.words import LinkWords, Range, given_words, project_back, tokeniser_ranges
from rnnsearch.word_links import Link, format_links, parse_links

NONE = "none"
"""In place of a method: the two directions stay apart, in <out>.forward and <out>.reverse."""

_EVERY = 1000  # pairs between two signs of progress


class DirectionFile(NamedTuple):
    """A Pharaoh file of one direction. swapped: it is written target-source."""

    path: str | Path
    swapped: bool = False


@dataclass(slots=True)
class LinkReport:
    """How many pairs and links there were. too_long: pairs that the aligner leaves out; both: links that both directions have."""

    method: str
    pairs: int = 0
    too_long: int = 0
    forward: int = 0
    reverse: int = 0
    both: int = 0
    written: int = 0
    without: int = 0

    def text(self) -> str:
        long = f", {self.too_long:,} of them too long for the aligner" if self.too_long else ""
        written = "the directions written separately" if self.method == NONE else f"{self.written:,} written ({self.method})"
        agreement = 200 * self.both / max(self.forward + self.reverse, 1)
        return (
            f"pairs    {self.pairs:,}, {self.without:,} without links{long}\n"
            f"links    {self.forward:,} forward, {self.reverse:,} reverse, {self.both:,} in both (agreement {agreement:.1f} %); {written}\n"
        )


def link_texts(
    texts: Sequence[ParallelText],
    outs: Sequence[Path],
    *,
    settings: DataSettings,
    method: str = DEFAULT,
    words: LinkWords = "tokenised",
    progress: Progress = lambda text, done, total: None,
) -> LinkReport:
    """Runs eflomal over all the texts together and writes a Pharaoh file for each, a line for a pair, whole or not at all.

    words: what the links count; `prepare` understands both. method: one of METHODS, or NONE. settings: the tokeniser's, as in `prepare`.
    Raises InputError without eflomal, for texts that cannot be read or have no words, and, if the given words are to be counted, for a line
    whose letters the tokeniser changes.
    """
    if len(outs) != len(texts):
        raise InputError(f"{len(outs)} output file(s) given for {len(texts)} corpora", remedy="give one for each corpus, in the same order")
    require_eflomal()
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as name:
        work = Path(name)
        sizes = _tokenise(texts, work, settings, progress, keep=words == "given")
        if not sum(sizes):
            raise InputError(
                f"{', '.join(text.name for text in texts)}: the texts are empty", remedy="give files with one sentence per line"
            )
        progress("aligning words in both directions", 0, None)
        run_eflomal(work / "source", work / "target", work / "forward", work / "reverse")
        pairs = _pairs(DirectionFile(work / "forward"), DirectionFile(work / "reverse"))
        return _write(pairs, outs, sizes, method, _counted(work, settings, words), progress)


def link_files(
    forward: DirectionFile, reverse: DirectionFile, out: Path, *, method: str = DEFAULT, progress: Progress = lambda text, done, total: None
) -> LinkReport:
    """Symmetrises the Pharaoh files of any aligner. Raises InputError for what is no link, and if one file has more lines."""
    return _write(_pairs(forward, reverse), [out], [None], method, None, progress)


def _tokenise(texts: Sequence[ParallelText], work: Path, settings: DataSettings, progress: Progress, keep: bool) -> list[int]:
    """Writes words between spaces; the number of pairs of each text. keep: the given lines too."""
    tokenisers = [side_tokeniser(side, settings).words for side in SIDES]
    sizes: list[int] = []
    some = False
    with ExitStack() as stack:
        files = [stack.enter_context(_new(work / side)) for side in SIDES]
        raw = [stack.enter_context(_new(work / f"given.{side}")) for side in SIDES]
        for text in texts:
            before = sum(sizes)
            number = 0
            for number, pair in enumerate(text.pairs(), 1):
                for line, tokenise, file, given in zip(pair, tokenisers, files, raw, strict=True):
                    found = tokenise(resolve_entities(line) if settings.entities == "resolve" else line)
                    some = some or bool(found)
                    print(" ".join(found), file=file)
                    if keep:
                        print(line, file=given)
                if number % _EVERY == 0:
                    progress("tokenising", before + number, None)
            sizes.append(number)
    if sum(sizes) and not some:
        raise InputError(f"{', '.join(text.name for text in texts)}: all lines are empty", remedy="is this the right file?")
    return sizes


def _pairs(forward: DirectionFile, reverse: DirectionFile) -> Iterator[tuple[list[Link], list[Link]]]:
    """The links of both directions, pair by pair."""
    files = [enumerate(read_lines(direction.path), 1) for direction in (forward, reverse)]
    for lines in itertools.zip_longest(*files):
        found = []
        for direction, other, line in zip((forward, reverse), (reverse, forward), lines, strict=True):
            if line is None:
                raise InputError(f"has fewer lines than {other.path}", file=direction.path, remedy="give one line for each pair")
            found.append(parse_links(line[1], direction.path, line[0], swapped=direction.swapped))
        yield found[0], found[1]


class _Counted(NamedTuple):
    """How the links of the tokeniser's words become those of what was asked for. words: of the pair, on either side."""

    words: tuple[int, int]
    ranges: tuple[list[Range], list[Range]] | None


def _counted(work: Path, settings: DataSettings, words: LinkWords) -> Iterator[_Counted]:
    names = SIDES if words == "tokenised" else (*SIDES, *(f"given.{side}" for side in SIDES))
    for number, (source, target, *given) in enumerate(zip(*(read_lines(work / name) for name in names), strict=True), 1):
        cut = source.split(), target.split()
        yield _Counted((len(cut[0]), len(cut[1])), None if words == "tokenised" else _ranges(given, cut, number, settings))


def _ranges(
    given: Sequence[str], words: tuple[list[str], list[str]], number: int, settings: DataSettings
) -> tuple[list[Range], list[Range]]:
    found = []
    for side, line, cut in zip(SIDES, given, words, strict=True):
        ranges = tokeniser_ranges(given_words(line), cut, settings.entities == "resolve")
        if ranges is None:
            what = f"pair {number}: links cannot refer to the given words, as the tokeniser changes characters of the {side}: {line[:60]!r}"
            raise InputError(what, remedy="remove the pair, or use --words tokenised")
        found.append(ranges)
    return found[0], found[1]


def _write(
    pairs: Iterable[tuple[list[Link], list[Link]]],
    outs: Sequence[Path],
    sizes: Sequence[int | None],
    method: str,
    counted: Iterator[_Counted] | None,
    progress: Progress,
) -> LinkReport:
    """sizes: pairs of each file to write; None for the last: all the rest."""
    report, given = LinkReport(method), iter(pairs)
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with ExitStack() as stack:
        for out, size in zip(outs, sizes, strict=True):
            files = [stack.enter_context(_new(stack.enter_context(written_whole(path)))) for path in _names(out, method)]
            for forward, reverse in itertools.islice(given, size):
                count = None if counted is None else next(counted)
                _tally(report, forward, reverse, count)
                for file, links in zip(files, _chosen(forward, reverse, method), strict=True):
                    if count is not None and count.ranges is not None:
                        links = project_back(links, *count.ranges)
                    report.written += len(links)
                    print(format_links(links), file=file)
                if report.pairs % _EVERY == 0:
                    progress("symmetrising", report.pairs, total)
            for file in files:
                file.flush()
    return report


def _names(out: Path, method: str) -> list[Path]:
    return [out.with_name(f"{out.name}.{direction}") for direction in ("forward", "reverse")] if method == NONE else [out]


def _chosen(forward: list[Link], reverse: list[Link], method: str) -> list[list[Link]]:
    return [sorted(forward), sorted(reverse)] if method == NONE else [symmetrise(forward, reverse, method)]


def _tally(report: LinkReport, forward: list[Link], reverse: list[Link], count: _Counted | None) -> None:
    report.pairs += 1
    report.too_long += count is not None and max(count.words) > LONGEST
    report.forward += len(forward)
    report.reverse += len(reverse)
    report.both += len(set(forward) & set(reverse))
    report.without += not (forward or reverse)


def _new(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")
