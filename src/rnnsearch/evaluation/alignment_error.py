"""Alignment error rate of word links, with readers of links and gold links."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnsearch.arguments import given_items, given_pairs, require_number
from rnnsearch.errors import InputError
from rnnsearch.text.formats.links import parse_gold_links, read_link_lines
from rnnsearch.text.links import PairWordCounts, count_from_one
from rnnsearch.text.tokens import given_words
from rnnsearch.word_links import GoldLinks, Link, given_links

_POSITION = "([0-9]{1,9})"
_NAACL_LINE = re.compile(
    rf"{_POSITION}\s+{_POSITION}\s+{_POSITION}(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?"
)


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """Precision, recall and alignment error rate, each from 0 to 1, with the corpus counts |A|, |S|
    and |P| behind them."""

    precision: float
    recall: float
    aer: float
    links: int
    sure: int
    possible: int

    def f_measure(self, alpha: float = 0.5) -> float:
        """Returns F_α = 1 / (α / precision + (1 − α) / recall) (Fraser & Marcu 2007, Eq. 4): 0.5 is
        balanced, a smaller α weighs recall more.

        Precision is that of possible links, recall that of sure links. 0 if either is 0.
        """
        require_number("alpha", alpha, 0, 1, whole=False)
        if not self.precision * self.recall:
            return 0.0
        return 1.0 / (alpha / self.precision + (1.0 - alpha) / self.recall)

    def __str__(self) -> str:
        aer, precision, recall, f = (
            f"{100 * rate:.2f}"
            for rate in (self.aer, self.precision, self.recall, self.f_measure())
        )
        counts = f"|A| = {self.links}, |S| = {self.sure}, |P| = {self.possible}"
        return f"AER {aer} (precision {precision}, recall {recall}, F {f}; {counts})"


def alignment_error(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> AlignmentScore:
    """Compares links A with gold links S ⊆ P (Och & Ney 2003), all counts summed over the corpus.

    precision = |A∩P| / |A|,  recall = |A∩S| / |S|,  AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|).

    If a denominator is 0, nothing can be wrong: without links precision is 1, without sure links
    recall is 1, without both AER is 0. A link that occurs twice in a sentence counts once.
    Raises InputError if links and gold links have different numbers of sentences, or none, and for
    what is no links.
    """
    links, gold = list(given_items(links, "links")), list(given_items(gold, "gold links"))
    if len(links) != len(gold):
        what = f"there are {len(links)} sentences of links but {len(gold)} of gold links"
        remedy = "line n of the links must belong to sentence n of the gold file"
        raise InputError(what, remedy)
    if not gold:
        raise InputError("no sentence to score", "the links and the gold links are empty")
    found, in_sure, in_possible, sure, possible = link_counts(links, gold).sum(axis=0).tolist()
    precision, recall = _quotient(in_possible, found), _quotient(in_sure, sure)
    aer = 1.0 - _quotient(in_sure + in_possible, found + sure)
    return AlignmentScore(precision, recall, aer, found, sure, possible)


def link_counts(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> NDArray[np.int64]:
    """Returns |A|, |A∩S|, |A∩P|, |S| and |P| of each sentence: (sentences, 5)."""
    counts = []
    for number, (each, reference) in enumerate(zip(links, gold, strict=True), 1):
        found = given_links(each, f"sentence {number} of links")
        if not isinstance(reference, GoldLinks):
            what = f"sentence {number} of gold is {type(reference).__name__}, not GoldLinks"
            raise InputError(what, "write GoldLinks(frozenset(sure), frozenset(possible))")
        sides = reference.sure, reference.possible
        counts.append((len(found), *(len(found & side) for side in sides), *map(len, sides)))
    return np.array(counts, dtype=np.int64)


def read_pharaoh(path: str | Path) -> list[set[Link]]:
    """Reads the links of a Pharaoh file, one sentence per line: `i-j`, source-target, 0-based. An
    empty line is a sentence without links. JSON lines are read as well (`parse_links`).

    Possible links, written `i?j` or `ipj` in gold files, count as links here; `read_gold` keeps
    them apart.
    Raises InputError with file and line for anything else.
    """
    lines = enumerate(read_link_lines(path), 1)
    return [set(parse_gold_links(line, path, number).possible) for number, line in lines]


def read_gold(
    path: str | Path, *, first: int | None = None, pairs: Sequence[tuple[str, str]] = ()
) -> list[GoldLinks]:
    """Reads gold links in sentence order, from a NAACL file (named .wa or .wa.gz, or recognised by
    its first line) or a file that `read_pharaoh` reads.

    first: the position of the first word, 0 or 1; if None, it is 1 in a NAACL file and 0 in others,
    and InputError is raised for links that seem to count otherwise. pairs: the text, if it is
    known, by which links of the second kind are judged.

    A NAACL line is `sentence source_position target_position [S|P] [confidence]`; sentences count
    from 1.
    Without a letter the link is sure. If words count from 1, position 0 is the empty word: such a
    line adds no link, but its sentence counts. Blank lines are skipped.
    Raises InputError with file and line for a malformed link, for a NAACL file that leaves out a
    sentence (the n-th entry must belong to the n-th line of the text), and for lines
    without any link.
    """
    if first is not None:
        require_number("first", first, 0, 1)
    pairs = list(given_pairs(pairs))
    lines = list(read_link_lines(path))
    beginning = next((line for line in lines if line.strip()), "").strip()
    if lines and not beginning:
        raise InputError("has no links", "write one sentence per line, as 0-0 1-2", file=path)
    if not (_is_named_naacl(path) or _NAACL_LINE.fullmatch(beginning)):
        found = [
            parse_gold_links(line, path, number, first=first or 0)
            for number, line in enumerate(lines, 1)
        ]
        if first is None and count_from_one(_word_counts(found, pairs)):
            raise from_one(path)
        return found
    sentences = _parse_naacl(lines, path, first)
    for expected, number in enumerate(sorted(sentences), start=1):
        if number != expected:
            what = f"there is no line for sentence {expected}, but one for sentence {number}"
            write = f"write a sentence without links as '{expected} 0 0'"
            raise InputError(what, f"number the sentences from 1; {write}", file=path)
    return [sentences[number] for number in sorted(sentences)]


def _word_counts(
    gold: Sequence[GoldLinks], pairs: Sequence[tuple[str, str]]
) -> Iterator[PairWordCounts]:
    for links, pair in zip(gold, pairs, strict=False):
        source, target = (len(given_words(line)) for line in pair)
        yield PairWordCounts(list(links.possible), (source, target), (source, target))


def from_one(path: str | Path) -> InputError:
    """Returns the error for gold links that seem to count words from 1."""
    what = "its gold links seem to count words from 1: none has position 0"
    remedy = "add --gold-from 1, or --gold-from 0 if they count from 0"
    return InputError(what, remedy, file=path)


def _is_named_naacl(path: str | Path) -> bool:
    return str(path).removesuffix(".gz").endswith(".wa")


def _parse_naacl(lines: Sequence[str], path: str | Path, first: int | None) -> dict[int, GoldLinks]:
    """Returns sentence → gold links. first: as in `read_gold`."""
    found: dict[int, tuple[set[Link], set[Link]]] = {}
    start, without = 1 if first is None else first, set[int]()
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _NAACL_LINE.fullmatch(line.strip())
        if match is None or int(match[1]) == 0:
            what = f"{line.strip()!r} is not a NAACL link"
            form = "sentence source_position target_position [S|P], counted from 1"
            hint = "; if these are Pharaoh links, rename the file: .wa says NAACL"
            remedy = f"write a line as: {form}{hint * _is_named_naacl(path)}"
            raise InputError(what, remedy, file=path, line=line_number)
        sentence, source, target = (int(match[group]) for group in (1, 2, 3))
        links = found.setdefault(sentence, (set(), set()))[match[4] == "P"]
        if source >= start and target >= start:
            links.add((source - start, target - start))
        elif not source + target:
            without.add(sentence)
    for sentence in sorted(without) if first is None else ():
        if any(found[sentence]):
            what = f"sentence {sentence} has '{sentence} 0 0' and others"
            remedy = "add --gold-from 0, or --gold-from 1 if 0 is the empty word"
            what = f"its links seem to count words from 0: {what}"
            raise InputError(what, remedy, file=path)
    return {sentence: GoldLinks(*map(frozenset, sides)) for sentence, sides in found.items()}


def _quotient(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
