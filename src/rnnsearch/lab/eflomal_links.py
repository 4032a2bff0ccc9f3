"""Word links of whole corpora: one line for each pair.

eflomal (Östling & Tiedemann 2016) aligns them in both directions, and the links are symmetrised;
or it does so several times, each time with other beginnings of the words, and the links vote."""

from __future__ import annotations

import hashlib
import math
import re
import subprocess
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from rnnsearch.errors import InputError, InputWarning
from rnnsearch.lab.dictionary import LinkedPair
from rnnsearch.lab.link_files import VOTE, Directions, link_files
from rnnsearch.settings import DataSettings
from rnnsearch.system.progress import Progress, silent
from rnnsearch.text.codec import SIDES, Side, side_tokeniser
from rnnsearch.text.formats.links import parse_links, read_link_lines
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.language_codes import base
from rnnsearch.text.links import Clauses, LinkWords
from rnnsearch.text.repairs import repair
from rnnsearch.text.tokens import given_words

LONGEST_SIDE = 1023
"""Maximum number of words on a side of a pair that eflomal aligns."""
BARE = ("ro",)
"""Languages that are often written without diacritics: for word links, all their text is."""
RUN_LETTERS = (3, 4, 6)
"""Letters of a word that eflomal reads, in each of the runs that vote, so that its inflected forms
count together (Fraser & Marcu 2005). Chosen on German and Romanian development sentences."""
ONE_RUN = (4,)
"""The same for a run alone. Chosen from 3 to 6 on Czech and Spanish development sentences."""
RANDOM_DEVICE = b"/dev/urandom\0"
_PROGRESS_EVERY = 1000  # pairs between two progress reports


def require_eflomal() -> None:
    """Raises InputError if eflomal is not installed, before the corpus is read."""
    if find_spec("eflomal") is None:
        remedy = (
            "pip install 'rnnsearch[align]', which needs a C compiler; or give another aligner's"
            " files with --forward and --reverse"
        )
        raise InputError("aligning words needs the package eflomal", remedy)


def run_eflomal(source: Path, target: Path, forward: Path, reverse: Path, seed: int) -> None:
    """Writes Pharaoh files (source-target) of both directions for two files of words between
    spaces.

    forward: every target word has one source word or none. reverse: every source word has one
    target word or none. A pair with more than LONGEST_SIDE words on a side has no links. eflomal
    ignores case, uses two threads unless OMP_NUM_THREADS is set, and has its usual iterations:
    5,000 / √pairs. Raises InputError if it fails.
    """
    import eflomal

    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as work:
        ids = Path(work) / "source", Path(work) / "target"
        with (
            source.open(encoding="utf-8", newline="\n") as left,
            target.open(encoding="utf-8", newline="\n") as right,
            ids[0].open("wb") as source_ids,
            ids[1].open("wb") as target_ids,
        ):
            eflomal.Aligner().prepare_files(left, source_ids, right, target_ids, None, None)
        with ids[0].open("rb") as file:
            pairs = int(file.readline().split()[0])
        program = seeded(Path(eflomal.__file__).parent / "bin" / "eflomal", Path(work), seed)
        most = max(2, round(5000 / math.sqrt(pairs)))
        options = {"m": 3, "s": ids[0], "t": ids[1], "n": 3, "N": 0.2}
        # the program has another folder
        options |= {"f": forward.absolute(), "r": reverse.absolute()}
        options |= {"1": max(2, most // 4), "2": max(1, most // 4), "3": most}
        words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        try:
            subprocess.run([program, "-q", *words], check=True, cwd=work)
        except subprocess.CalledProcessError as error:
            code = error.returncode
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            remedy = (
                "check the free disk space and memory; eflomal holds the whole corpus in memory"
            )
            raise InputError(f"eflomal ended with {how}", remedy) from None


def seeded(program: Path, folder: Path, seed: int) -> Path:
    """Returns a copy of eflomal in the folder, where it must be started, that takes its random
    numbers from the seed; eflomal itself reads RANDOM_DEVICE, and has no option for it.

    Issues an InputWarning and returns the program itself if that is not possible.
    """
    code = program.read_bytes()
    if sys.platform != "linux" or code.count(RANDOM_DEVICE) != 1:
        what = (
            "this eflomal takes its random seed from the system, so that each run gives other links"
        )
        warnings.warn(f"{what} (keep the file)", InputWarning, stacklevel=2)
        return program
    numbers = "random.bytes"  # as long as the path that it replaces
    (folder / numbers).write_bytes(hashlib.sha256(str(seed).encode()).digest())
    copy = folder / "eflomal"
    copy.write_bytes(code.replace(RANDOM_DEVICE, f"{numbers}\0".encode()))
    copy.chmod(0o700)
    return copy


def run_files(folder: Path, letters: Sequence[int] = RUN_LETTERS) -> list[Directions]:
    """Returns the link files that `align_texts` writes: of both directions of each run."""
    return [
        (folder / f"links.{number}.forward", folder / f"links.{number}.reverse")
        for number in letters
    ]


def align_texts(
    texts: Sequence[ParallelText],
    folder: Path,
    *,
    settings: DataSettings,
    letters: Sequence[int] = RUN_LETTERS,
    words: LinkWords = "tokenised",
    progress: Progress = silent,
) -> list[int]:
    """Runs eflomal on all texts together and writes its link files, `run_files`, into the folder.
    Returns the number of pairs of each text.

    letters: for each run, how many letters of a word eflomal reads. words: the words that are
    aligned: those of the tokeniser with these settings, or those between spaces in the lines. Text
    without spaces is aligned by characters. Issues an InputWarning for pairs that eflomal leaves
    out. Raises InputError without eflomal, and for texts that cannot be read, have no words, or are
    not split into words that could be given.
    """
    require_eflomal()
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as work:
        paths = Path(work) / "source", Path(work) / "target"
        sizes = _write_words(texts, paths, settings, words, progress)
        if all(path.stat().st_size == sum(sizes) for path in paths):  # line feeds alone
            names = ", ".join(text.name for text in texts)
            raise InputError(
                f"{names}: there are no words", "give files with one sentence per line"
            )
        runs = zip(letters, run_files(folder, letters), strict=True)
        for run, (number, directions) in enumerate(runs):
            progress("aligning words in both directions", run, len(letters))
            source, target = (_write_beginnings(path, number) for path in paths)
            run_eflomal(source, target, *directions, settings.seed)
    return sizes


def _write_words(
    texts: Sequence[ParallelText],
    paths: tuple[Path, Path],
    settings: DataSettings,
    words: LinkWords,
    progress: Progress,
) -> list[int]:
    """Writes the words of all texts, a file for each side. Returns the number of pairs of each
    text."""
    sizes = [0] * len(texts)
    splits = [_split(side, settings, words) for side in SIDES]
    languages = settings.source_language, settings.target_language
    clauses = [Clauses(side, side_tokeniser(side, settings)) for side in SIDES]
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("w", encoding="utf-8")) for path in paths]
        sides = list(zip(splits, clauses, languages, files, strict=True))
        for place, text in enumerate(texts):
            long = []
            for pair in text.pairs():
                sizes[place] += 1
                lengths = []
                for line, (split, seen, language, file) in zip(pair, sides, strict=True):
                    found = split(line)
                    lengths.append(len(found))
                    print(bare(" ".join(found), language), file=file)
                    seen.look(found, text.name, sizes[place])
                if max(lengths) > LONGEST_SIDE:
                    long.append(sizes[place])
                if sizes[place] % _PROGRESS_EVERY == 0:
                    progress("tokenising", sum(sizes), None)
            _warn_of_long_pairs(text.name, long)
    for seen in clauses:
        seen.check(sum(sizes), "leave out --words given")
    return sizes


def _write_beginnings(path: Path, letters: int) -> Path:
    """Writes beside a file the beginnings of its words."""
    short = path.with_suffix(".short")
    with (
        path.open(encoding="utf-8", newline="\n") as lines,
        short.open("w", encoding="utf-8") as file,
    ):
        file.writelines(beginnings(line, letters) for line in lines)
    return short


def _warn_of_long_pairs(name: str, numbers: Sequence[int]) -> None:
    """Issues an InputWarning for pairs with these numbers, if there are any."""
    if numbers:
        first = f"{', '.join(map(str, numbers[:5]))}{', …' * (len(numbers) > 5)}"
        which = (
            f"line {first} gets" if len(numbers) == 1 else f"{len(numbers):,} lines ({first}) get"
        )
        reason = f"eflomal aligns at most {LONGEST_SIDE:,} words on a side"
        text = f"{name}: {which} no links: {reason} (write one sentence per line)"
        warnings.warn(text, InputWarning, stacklevel=4)


def bare(line: str, language: str) -> str:
    """Returns the line, its letters without diacritics if the language is one of BARE."""
    if line.isascii() or base(language) not in BARE:
        return line
    return re.sub("(?<=[A-Za-z])[\u0300-\u036f]+", "", unicodedata.normalize("NFD", line))


def beginnings(line: str, letters: int) -> str:
    """Returns the line with so many letters of each Latin, Greek or Cyrillic word. Numbers stay
    whole."""
    first = rf"(?<!\S)([A-Za-zÀ-ɏͰ-ӿḀ-ỿ][^\s\d]{{{letters - 1}}})"
    return re.sub(rf"{first}[^\s\d]+(?!\S)", r"\1", line)


def _split(side: Side, settings: DataSettings, words: LinkWords) -> Callable[[str], Sequence[str]]:
    tokeniser = side_tokeniser(side, settings)
    if words == "given":  # eflomal would cut them at other kinds of spaces
        return lambda line: ["_".join(word.split()) or "_" for word in given_words(line)]
    return lambda line: tokeniser.link_words(repair(line, tokeniser))


def linked_words(
    texts: Sequence[ParallelText], links: Sequence[Path], settings: DataSettings, words: LinkWords
) -> Iterator[LinkedPair]:
    """Yields the words of every pair, and their links in files that `link_texts` wrote with these
    options."""
    splits = [_split(side, settings, words) for side in SIDES]
    for text, file in zip(texts, links, strict=True):
        for number, (pair, line) in enumerate(
            zip(text.pairs(), read_link_lines(file), strict=True), 1
        ):
            source, target = (split(side) for side, split in zip(pair, splits, strict=True))
            yield source, target, parse_links(line, file, number)


def link_texts(
    texts: Sequence[ParallelText],
    outs: Sequence[Path],
    *,
    settings: DataSettings,
    method: str = VOTE,
    words: LinkWords = "tokenised",
    progress: Progress = silent,
) -> str:
    """Runs eflomal on all texts together, as `align_texts`, and writes a Pharaoh file for each, as
    `link_files`: by VOTE of several runs, or by another method from one. Returns a report."""
    if not len(set(outs)) == len(outs) == len(texts):
        what = f"{len(set(outs))} output file(s) given for {len(texts)} corpora"
        raise InputError(what, "give one for each corpus, in the same order")
    letters = RUN_LETTERS if method == VOTE else ONE_RUN
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as work:
        sizes = align_texts(
            texts,
            Path(work),
            settings=settings,
            letters=letters,
            words=words,
            progress=progress,
        )
        report = link_files(run_files(Path(work), letters), outs, sizes=sizes, method=method)
    sides = (side_tokeniser(side, settings) for side in SIDES)
    for language in (side.language for side in sides if side.unspaced and words != "given"):
        report += (
            f"words    {language} has no spaces: links count characters, Latin words and numbers\n"
        )
    return report
