"""Word links of whole corpora: one line for each pair.

eflomal (Östling & Tiedemann 2016) aligns them in both directions, and the links are symmetrised."""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path

from rnnsearch.arguments import in_step
from rnnsearch.errors import InputError, InputWarning
from rnnsearch.lab.dictionary import LinkedPair
from rnnsearch.lab.gold_checks import EXCHANGE
from rnnsearch.settings import DataSettings
from rnnsearch.system.files import reading, written_whole
from rnnsearch.system.progress import Progress, silent
from rnnsearch.text.codec import SIDES, Side, side_tokeniser
from rnnsearch.text.formats.lines import raw_lines
from rnnsearch.text.formats.links import parse_links, read_link_lines
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.language_codes import base
from rnnsearch.text.links import DEFAULT, Clauses, LinkWords, symmetrise
from rnnsearch.text.repairs import repair
from rnnsearch.text.tokens import given_words
from rnnsearch.word_links import Link, format_links

LONGEST_SIDE = 1023
"""Maximum number of words on a side of a pair that eflomal aligns."""
BARE = ("ro",)
"""Languages that are often written without diacritics: for word links, all their text is."""
KEPT_LETTERS = 4
"""Letters of a word that eflomal reads, so that its inflected forms count together (Fraser & Marcu
2005). Chosen from 3 to 6 on Czech and Spanish development sentences."""
_LONG_WORD = re.compile(rf"(?<!\S)([A-Za-zÀ-ɏͰ-ӿḀ-ỿ][^\s\d]{{{KEPT_LETTERS - 1}}})[^\s\d]+(?!\S)")
"""A word of more than KEPT_LETTERS Latin, Greek or Cyrillic letters. Numbers are read whole."""
VOTES = (0.65, 0.4, 0.15)
"""Smallest probability of a link in `vote` if none, one or both of the aligner's directions have
it. Chosen on the 37 development sentences of the Hansards."""
LEARNED_VOTES = (0.65, 0.1, 0.0)
"""The same for networks that learned from the text itself. They overlook links where it is small,
so those of both directions need no probability. Chosen on German and Romanian development
sentences."""
RANDOM_DEVICE = b"/dev/urandom\0"
_PROGRESS_EVERY = 1000  # pairs between two progress reports


def require_eflomal() -> None:
    """Raises InputError if eflomal is not installed, before the corpus is read."""
    if find_spec("eflomal") is None:
        remedy = (
            "pip install 'rnnsearch[align]', which needs a C compiler; or give another aligner's"
            " files with --forward and --reverse"
        )
        raise InputError("aligning words needs the package eflomal", remedy=remedy)


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
            how = (
                f"signal {-error.returncode}"
                if error.returncode < 0
                else f"exit code {error.returncode}"
            )
            remedy = (
                "check the free disk space and memory; eflomal holds the whole corpus in memory"
            )
            raise InputError(f"eflomal ended with {how}", remedy=remedy) from None


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


def align_texts(
    texts: Sequence[ParallelText],
    directions: tuple[Path, Path],
    *,
    settings: DataSettings,
    words: LinkWords = "tokenised",
    progress: Progress = silent,
) -> list[int]:
    """Runs eflomal on all texts together and writes its link files of both directions (forward,
    reverse).
    Returns the number of pairs of each text.

    words: the words that are aligned: those of the tokeniser with these settings, or those between
    spaces in the lines. eflomal reads only the beginnings of words. Text without spaces is aligned
    by characters. Issues an InputWarning for pairs that eflomal leaves out. Raises InputError
    without eflomal, and for texts that cannot be read, have no words, or are not split into words
    that could be given.
    """
    require_eflomal()
    sizes = [0] * len(texts)
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as work:
        paths = Path(work) / "source", Path(work) / "target"
        with ExitStack() as stack:
            files = [
                stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
                for path in paths
            ]
            splits = [_split(side, settings, words) for side in SIDES]
            languages = settings.source_language, settings.target_language
            clauses = [Clauses(side, side_tokeniser(side, settings)) for side in SIDES]
            for place, text in enumerate(texts):
                long = []
                for pair in text.pairs():
                    sides = [split(line) for line, split in zip(pair, splits, strict=True)]
                    for side, file, language in zip(sides, files, languages, strict=True):
                        print(beginnings(bare(" ".join(side), language)), file=file)
                    sizes[place] += 1
                    for found, seen in zip(sides, clauses, strict=True):
                        seen.look(found, text.name, sizes[place])
                    if max(map(len, sides)) > LONGEST_SIDE:
                        long.append(sizes[place])
                    if sizes[place] % _PROGRESS_EVERY == 0:
                        progress("tokenising", sum(sizes), None)
                _warn_of_long_pairs(text.name, long)
        for seen in clauses:
            seen.check(sum(sizes), "leave out --words given")
        if all(path.stat().st_size == sum(sizes) for path in paths):  # line feeds alone
            names = ", ".join(text.name for text in texts)
            raise InputError(
                f"{names}: there are no words", remedy="give files with one sentence per line"
            )
        progress("aligning words in both directions", 0, None)
        run_eflomal(*paths, *directions, settings.seed)
    return sizes


def _warn_of_long_pairs(name: str, numbers: Sequence[int]) -> None:
    """Issues an InputWarning for pairs with these numbers, if there are any."""
    if numbers:
        first = f"{', '.join(map(str, numbers[:5]))}{', …' * (len(numbers) > 5)}"
        which = (
            f"line {first} gets" if len(numbers) == 1 else f"{len(numbers):,} lines ({first}) get"
        )
        reason = f"eflomal aligns at most {LONGEST_SIDE:,} words on a side"
        text = f"{name}: {which} no links: {reason} (write one sentence per line)"
        warnings.warn(text, InputWarning, stacklevel=3)


def bare(line: str, language: str) -> str:
    """Returns the line, its letters without diacritics if the language is one of BARE."""
    if line.isascii() or base(language) not in BARE:
        return line
    return re.sub("(?<=[A-Za-z])[\u0300-\u036f]+", "", unicodedata.normalize("NFD", line))


def beginnings(line: str) -> str:
    """Returns the line with the first KEPT_LETTERS letters of each word."""
    return _LONG_WORD.sub(r"\1", line)


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
    method: str = DEFAULT,
    words: LinkWords = "tokenised",
    progress: Progress = silent,
) -> str:
    """Runs eflomal on all texts together, as `align_texts`, and writes a Pharaoh file for each, as
    `link_files`. Returns a report."""
    if len(set(outs)) != len(texts):
        what = f"{len(set(outs))} output file(s) given for {len(texts)} corpora"
        raise InputError(what, remedy="give one for each corpus, in the same order")
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as work:
        directions = Path(work) / "forward", Path(work) / "reverse"
        sizes = align_texts(texts, directions, settings=settings, words=words, progress=progress)
        report = link_files(*directions, outs, sizes=sizes, method=method)
    sides = (side_tokeniser(side, settings) for side in SIDES)
    for language in (side.language for side in sides if side.unspaced and words != "given"):
        report += (
            f"words    {language} has no spaces: links count characters, Latin words and numbers\n"
        )
    return report


def link_files(
    forward: str | Path,
    reverse: str | Path,
    outs: Sequence[Path],
    *,
    sizes: Sequence[int | None] = (None,),
    method: str = DEFAULT,
) -> str:
    """Symmetrises the link files (source-target) of any aligner and writes a Pharaoh file with one
    line per pair for each text, completely or not at all. Returns a report.

    sizes: pairs of each text; None: all. method: one of METHODS. Raises InputError for an invalid
    link, if one file has more lines, if both have fewer than `sizes` say, and if both are empty.
    """
    pairs, counts = _pairs(forward, reverse), Counter[str]()
    with ExitStack() as stack:
        for out, size in zip(outs, sizes, strict=True):
            expected = counts["pairs"] + (size or 0)
            whole = stack.enter_context(written_whole(out))
            file = stack.enter_context(whole.open("w", encoding="utf-8", newline="\n"))
            for one, other in islice(pairs, size):
                links, both = symmetrise(one, other, method), set(one) & set(other)
                print(format_links(links), file=file)
                counts.update(pairs=1, forward=len(one), reverse=len(other), both=len(both))
                counts.update(exchanged=len(set(one).intersection(link[::-1] for link in other)))
                counts.update(written=len(links), without=not (one or other))
            if counts["pairs"] < expected:
                what = f"ends after {counts['pairs']:,} of {expected:,} lines"
                raise InputError(what, file=forward, remedy="check the free disk space")
        if not counts["pairs"]:
            raise InputError(
                "is empty", file=forward, remedy="give files with one line for each pair"
            )
    agreement, exchanged = (
        200 * counts[found] / max(counts["forward"] + counts["reverse"], 1)
        for found in ("both", "exchanged")
    )
    if exchanged > max(2 * agreement, agreement + 20):
        what = f"{forward} and {reverse} have {agreement:.1f} % of their links in common, but "
        what += f"{exchanged:.1f} % with source and target exchanged in one. If one lists "
        what += f"target-source: {EXCHANGE}"
        warnings.warn(what, InputWarning, stacklevel=2)
    return (
        f"pairs    {counts['pairs']:,}, {counts['without']:,} without links\nlinks   "
        f" {counts['forward']:,} forward, {counts['reverse']:,} reverse, {counts['both']:,} in both"
        f" (agreement {agreement:.1f} %); {counts['written']:,} written ({method})\n"
    )


def vote(
    probabilities: Mapping[Link, float],
    forward: Iterable[Link],
    reverse: Iterable[Link],
    least: Sequence[float] = VOTES,
) -> list[Link]:
    """Returns those links, sorted, that networks find probable enough given the votes of another
    aligner.

    probabilities: of links (source, target), √(p→ p←) of networks of both directions; 0 for others.
    forward, reverse: the links of the aligner's two directions, also as (source, target). least:
    VOTES or LEARNED_VOTES.
    """
    votes = Counter(chain(set(forward), set(reverse)))
    return sorted(
        link
        for link in {*probabilities, *votes}
        if probabilities.get(link, 0.0) >= least[votes[link]]
    )


def vote_files(
    networks: Path, forward: Path, reverse: Path, out: Path, least: Sequence[float]
) -> None:
    """Writes the links that `vote` accepts.

    networks: lines of `align --format jsonl`. forward, reverse: link files of another aligner.
    least: as in `vote`. Raises InputError for an invalid link, and if the files differ in length.
    """
    remedy = f"delete {networks.parent}, and begin again"
    pairs = in_step(raw_lines(networks), _pairs(forward, reverse), (networks, forward), remedy)
    with written_whole(out) as whole, whole.open("w", encoding="utf-8", newline="\n") as file:
        for line, directions in pairs:
            with reading(networks, "delete it, and give the same command", "is damaged"):
                found = json.loads(line)
                probable = dict(
                    zip(map(tuple, found["links"]), found["probabilities"], strict=True)
                )
            print(format_links(vote(probable, *directions, least)), file=file)


def _pairs(forward: str | Path, reverse: str | Path) -> Iterator[tuple[list[Link], list[Link]]]:
    """Yields the links of both directions of each pair."""
    files = read_link_lines(forward), read_link_lines(reverse)
    lines = in_step(*files, (forward, reverse), "give one line for each pair")
    for number, (one, other) in enumerate(lines, 1):
        yield parse_links(one, forward, number), parse_links(other, reverse, number)
