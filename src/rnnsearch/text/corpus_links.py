"""Word links of whole corpora: one line for each pair.

eflomal (Östling & Tiedemann 2016) aligns them in both directions, and the links are symmetrised."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple, TextIO, cast

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import reading, written_whole
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, Side, side_repair, side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import ParallelText, read_link_lines
from rnnsearch.text.links import (
    DEFAULT,
    LinkWords,
    Range,
    project_back,
    symmetrise,
    tokeniser_ranges,
    vote,
)
from rnnsearch.word_links import Link, format_links, parse_links

LONGEST = 1023
"""Maximum number of words of a side: eflomal makes no links for a longer pair."""


def require_eflomal() -> None:
    """Raises InputError if eflomal is not installed, before the corpus is read."""
    if find_spec("eflomal") is None:
        remedy = (
            "pip install 'rnnsearch[align]', which needs a C compiler; or give another aligner's files with "
            "--forward and --reverse"
        )
        raise InputError("aligning words needs the package eflomal", remedy=remedy)


def run_eflomal(source: Path, target: Path, forward: Path, reverse: Path) -> None:
    """Aligns two files of words between spaces, line by line, and writes Pharaoh files (source-target) of
    both directions.

    forward: every target word has one source word or none. reverse: every source word has one target word or
    none. eflomal ignores case and uses all threads unless OMP_NUM_THREADS is set. It takes its random seed
    from the system, so no two runs give quite the same links. Raises InputError if it is not installed or
    fails.
    """
    require_eflomal()
    from eflomal import Aligner

    links = {"links_filename_fwd": str(forward), "links_filename_rev": str(reverse)}
    with _opened(source, "r") as sources, _opened(target, "r") as targets:
        try:
            Aligner().align(sources, targets, **links)
        except subprocess.CalledProcessError as error:
            how = f"signal {-error.returncode}" if error.returncode < 0 else f"exit code {error.returncode}"
            remedy = "check the free disk space and memory; eflomal holds the whole corpus in memory"
            raise InputError(f"eflomal ended with {how}", remedy=remedy) from None


NONE = "none"
"""Used instead of a method: the two directions are written separately, to <out>.forward and <out>.reverse."""

_PROGRESS_EVERY = 1000  # pairs between two progress reports


_FILES = ("source", "target", "given.source", "given.target")
"""Files of the words of both sides, and of their lines."""


class DirectionFile(NamedTuple):
    """A link file of one direction. swapped: whether it lists target-source."""

    path: str | Path
    swapped: bool = False


@dataclass(slots=True)
class LinkReport:
    """Numbers of pairs and links. too_long: pairs that are too long for the aligner. both: links that both
    directions have. unspaced: languages whose characters the links count."""

    method: str
    pairs: int = 0
    too_long: int = 0
    forward: int = 0
    reverse: int = 0
    both: int = 0
    written: int = 0
    without: int = 0
    unspaced: str = ""

    def add(self, forward: list[Link], reverse: list[Link], too_long: bool) -> None:
        """Counts a pair."""
        self.pairs += 1
        self.too_long += too_long
        self.forward += len(forward)
        self.reverse += len(reverse)
        self.both += len(set(forward) & set(reverse))
        self.without += not (forward or reverse)

    def text(self) -> str:
        """Returns the report for a person to read."""
        long = f", {self.too_long:,} of them too long for the aligner" if self.too_long else ""
        written = f"{self.written:,} written ({self.method})"
        if self.method == NONE:
            written = "the directions written separately"
        agreement = 200 * self.both / max(self.forward + self.reverse, 1)
        return (
            f"pairs    {self.pairs:,}, {self.without:,} without links{long}\n"
            f"links    {self.forward:,} forward, {self.reverse:,} reverse, {self.both:,} in both "
            f"(agreement {agreement:.1f} %); {written}\n"
            + f"words    {self.unspaced} has no spaces: links count characters, Latin words and numbers\n"
            * bool(self.unspaced)
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
    """Runs eflomal on all texts together and writes a Pharaoh file for each, with one line per pair. Each
    file is written completely or not at all.

    words: the words that the links refer to; `prepare` understands both. method: one of METHODS, or NONE.
    settings: the tokeniser's, as in `prepare`. Raises InputError without eflomal, for texts that cannot be
    read or have no words, and, if links refer to the given words, for a line whose letters the tokeniser
    changes.
    """
    if len(outs) != len(texts):
        what = f"{len(outs)} output file(s) given for {len(texts)} corpora"
        raise InputError(what, remedy="give one for each corpus, in the same order")
    require_eflomal()
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as name:
        work = Path(name)
        sizes = _tokenise(texts, work, settings, progress)
        progress("aligning words in both directions", 0, None)
        run_eflomal(work / "source", work / "target", work / "forward", work / "reverse")
        pairs = _pairs(DirectionFile(work / "forward"), DirectionFile(work / "reverse"))
        aligned = _aligned(pairs, work, settings if words == "given" else None)
        report = _write(aligned, outs, sizes, method, progress)
    sides = [side_tokeniser(side, settings) for side in SIDES]
    report.unspaced = " and ".join(side.language for side in sides if side.unspaced)
    return report


def link_files(
    forward: DirectionFile,
    reverse: DirectionFile,
    out: Path,
    *,
    method: str = DEFAULT,
    progress: Progress = lambda text, done, total: None,
) -> LinkReport:
    """Symmetrises the link files of any aligner.

    Raises InputError for an invalid link, if one file has more lines, and if both are empty.
    """
    return _write(_pairs(forward, reverse), [out], [None], method, progress)


def vote_files(networks: Path, forward: Path, reverse: Path, out: Path) -> None:
    """Writes the links of networks that `vote` accepts.

    networks: lines of `align --links-format jsonl`. forward, reverse: link files of another aligner. Raises
    InputError for an invalid link, and if the files differ in length.
    """
    pairs = zip_longest(read_lines(networks), _pairs(DirectionFile(forward), DirectionFile(reverse)))
    with written_whole(out) as temporary, _opened(temporary, "w") as file:
        for line, pair in pairs:
            if line is None or pair is None:
                remedy = f"delete {networks.parent}, and begin again"
                raise InputError(f"has another number of lines than {forward}", file=networks, remedy=remedy)
            with reading(networks, "delete it, and give the same command", "is damaged"):
                found = json.loads(line)
                probable = dict(zip(map(tuple, found["links"]), found["probabilities"], strict=True))
            print(format_links(vote(probable, pair.forward, pair.reverse)), file=file)


def _tokenise(
    texts: Sequence[ParallelText], work: Path, settings: DataSettings, progress: Progress
) -> list[int]:
    """Writes the words of both sides, and the given lines, and returns the number of pairs of each text."""
    sizes: list[int] = []
    words = 0
    with ExitStack() as stack:
        files = [stack.enter_context(_opened(work / name, "w")) for name in _FILES]
        repairs = [side_repair(side, settings) for side in SIDES]
        # Text without spaces is linked by characters.
        tokenisers = [replace(side_tokeniser(side, settings), runs=False) for side in SIDES]
        for text in texts:
            number = 0
            for number, pair in enumerate(text.pairs(), 1):
                for place, line in enumerate(pair):
                    found = tokenisers[place].words(repairs[place](line))
                    words += len(found)
                    print(" ".join(found), file=files[place])
                    print(line, file=files[place + 2])
                if number % _PROGRESS_EVERY == 0:
                    progress("tokenising", sum(sizes) + number, None)
            sizes.append(number)
    names = ", ".join(text.name for text in texts)
    if not sum(sizes):
        raise InputError(f"{names}: the texts are empty", remedy="give files with one sentence per line")
    if not words:
        raise InputError(f"{names}: all lines are empty", remedy="is this the right file?")
    return sizes


class _Pair(NamedTuple):
    """The links of a pair in both directions. ranges: for each given word of both sides, the tokeniser's
    words that it became; None unless links are to refer to the given words."""

    forward: list[Link]
    reverse: list[Link]
    too_long: bool = False
    ranges: list[list[Range]] | None = None


def _pairs(forward: DirectionFile, reverse: DirectionFile) -> Iterator[_Pair]:
    number = 0
    lines = zip_longest(*map(read_link_lines, (forward.path, reverse.path)))
    for number, pair in enumerate(lines, 1):
        found = []
        for file, other, line in zip((forward, reverse), (reverse, forward), pair, strict=True):
            if line is None:
                what = f"has fewer lines than {other.path}"
                raise InputError(what, file=file.path, remedy="give one line for each pair")
            found.append(parse_links(line, file.path, number, swapped=file.swapped))
        yield _Pair(found[0], found[1])
    if not number:
        raise InputError("is empty", file=forward.path, remedy="give files with one line for each pair")


def _aligned(pairs: Iterator[_Pair], work: Path, settings: DataSettings | None) -> Iterator[_Pair]:
    """Yields the pairs with the word ranges that follow from the files of `_tokenise`. settings: None for
    links between the tokeniser's words."""
    lines = zip(*(read_lines(work / name) for name in _FILES), strict=True)
    for number, (pair, (source, target, *given)) in enumerate(zip(pairs, lines, strict=True), 1):
        words = source.split(), target.split()
        ranges = None
        if settings is not None:
            sides = zip(SIDES, given, words, strict=True)
            ranges = [_ranges(side, line, own, number, settings) for side, line, own in sides]
        yield pair._replace(too_long=max(map(len, words)) > LONGEST, ranges=ranges)


def _ranges(side: Side, line: str, words: list[str], number: int, settings: DataSettings) -> list[Range]:
    ranges = tokeniser_ranges(
        side_tokeniser(side, settings).link_words(line), words, side_repair(side, settings)
    )
    if ranges is None:
        what = (
            f"pair {number}: links cannot refer to the given words, as the tokeniser changes characters of "
            f"the {side}: {line[:60]!r}"
        )
        raise InputError(what, remedy="remove the pair, or use --words tokenised")
    return ranges


def _write(
    pairs: Iterator[_Pair],
    outs: Sequence[Path],
    sizes: Sequence[int | None],
    method: str,
    progress: Progress,
) -> LinkReport:
    """Writes the links of all pairs. sizes: pairs of each file to write; None: all."""
    report = LinkReport(method)
    total = sum(filter(None, sizes)) or None
    ways = [".forward", ".reverse"] if method == NONE else [""]
    with ExitStack() as stack:
        for out, size in zip(outs, sizes, strict=True):
            wholes = [stack.enter_context(written_whole(out.with_name(out.name + way))) for way in ways]
            files = [stack.enter_context(_opened(path, "w")) for path in wholes]
            for forward, reverse, too_long, ranges in islice(pairs, size):
                report.add(forward, reverse, too_long)
                if method == NONE:
                    chosen = [sorted(forward), sorted(reverse)]
                else:
                    chosen = [symmetrise(forward, reverse, method)]
                for file, links in zip(files, chosen, strict=True):
                    if ranges is not None:
                        links = project_back(links, *ranges)
                    report.written += len(links)
                    print(format_links(links), file=file)
                if report.pairs % _PROGRESS_EVERY == 0:
                    progress("symmetrising", report.pairs, total)
            for file in files:
                file.flush()
    return report


def _opened(path: Path, mode: str) -> TextIO:
    return cast(TextIO, path.open(mode, encoding="utf-8", newline="\n"))
