"""Alignment error rate of word links, with readers of gold links, and measures that need none:
entropy, coverage, monotone jumps, agreement of two directions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError, InputWarning
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.text.formats.links import parse_gold_links, read_link_lines
from rnnsearch.text.links import EXCHANGE, FROM_ZERO, PairWordCounts, count_from_one
from rnnsearch.text.tokens import given_words
from rnnsearch.word_links import GoldLinks, Link, given_links

_POSITION = "([0-9]{1,9})"
_NAACL_LINE = re.compile(
    rf"{_POSITION}\s+{_POSITION}\s+{_POSITION}(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?"
)

LEFT_OUT, TOO_OFTEN = 0.2, 2.5
"""A source word with `coverage` below the first is left out (under-translated); one with coverage
above the second is attended to too often (over-translated). If two words are translated by one,
each has 0.5; if one is translated by two, it has 2: neither is a fault."""

Behaviour = dict[str, tuple[float, float]]
"""Measure → (count, total), of one sentence or summed over several."""


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
    links, gold = list(links), list(gold)
    if len(links) != len(gold):
        raise InputError(
            f"there are {len(links)} sentences of links but {len(gold)} of gold links",
            remedy="line n of the links must belong to sentence n of the gold file",
        )
    if not gold:
        raise InputError("no sentence to score", remedy="the links and the gold links are empty")
    found, in_sure, in_possible, sure, possible = _counts(links, gold).sum(axis=0).tolist()
    return AlignmentScore(
        precision=_quotient(in_possible, found),
        recall=_quotient(in_sure, sure),
        aer=1.0 - _quotient(in_sure + in_possible, found + sure),
        links=found,
        sure=sure,
        possible=possible,
    )


def alignment_statistics(
    links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]
) -> dict[str, SufficientStatistics]:
    """Returns the statistics of AER, precision and recall, defined as in `alignment_error`, for
    intervals and tests of significance."""
    found, in_sure, in_possible, sure, _ = _counts(links, gold).T
    errors = found + sure - in_sure - in_possible
    return {
        "AER": ratio("AER", "", errors, found + sure, empty=0.0),
        "precision": ratio("precision", "", in_possible, found, empty=1.0),
        "recall": ratio("recall", "", in_sure, sure, empty=1.0),
    }


def warn_if_exchanged(
    links: Sequence[Collection[Link]], gold: Sequence[GoldLinks], file: str | Path, option: str = ""
) -> None:
    """Issues an InputWarning if exchanging source and target in all links halves their error, and
    lowers it by ten points at least. file: the one that may list target-source; option: the one
    that reads it so."""
    given = alignment_error(links, gold).aer
    exchanged = alignment_error([{link[::-1] for link in each} for each in links], gold).aer
    if exchanged < min(given / 2, given - 0.1):
        rates = (
            f"AER is {100 * exchanged:.2f} with source and target exchanged, {100 * given:.2f}"
            " without"
        )
        remedy = f"{option}{' or: ' if option else ''}{EXCHANGE}"
        text = f"{file}: {rates}. If the file lists target-source: {remedy}"
        warnings.warn(text, InputWarning, stacklevel=2)


def _counts(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> NDArray[np.int64]:
    """Returns |A|, |A∩S|, |A∩P|, |S| and |P| of each sentence: (sentences, 5)."""
    counts = []
    for number, (each, reference) in enumerate(zip(links, gold, strict=True), 1):
        found = given_links(each, f"sentence {number} of links")
        if not isinstance(reference, GoldLinks):
            what = f"sentence {number} of gold is {type(reference).__name__}, not GoldLinks"
            raise InputError(what, remedy="write GoldLinks(frozenset(sure), frozenset(possible))")
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
    Raises InputError with file and line for a malformed link, and for a NAACL file that leaves out
    a sentence: the n-th entry must belong to the n-th line of the text.
    """
    lines = list(read_link_lines(path))
    if not _is_naacl(lines, path):
        numbered = enumerate(lines, 1)
        found = [
            parse_gold_links(line, path, number, first=first or 0) for number, line in numbered
        ]
        if first is None and count_from_one(_word_counts(found, pairs)):
            raise from_one(path)
        return found
    sentences = _parse_naacl(lines, path, first)
    for expected, number in enumerate(sorted(sentences), start=1):
        if number != expected:
            raise InputError(
                f"there is no line for sentence {expected}, but one for sentence {number}",
                file=path,
                remedy=(
                    f"number the sentences from 1; write a sentence without links as '{expected}"
                    " 0 0'"
                ),
            )
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
    return InputError(
        what, file=path, remedy="add --gold-from 1, or --gold-from 0 if they count from 0"
    )


def require_same_start(
    gold: Sequence[GoldLinks], path: str | Path, links: Sequence[set[Link]]
) -> None:
    """Raises InputError if links have position 0 and the gold links have not, so that they seem to
    count from 1, or the other way round. path: of the gold links."""
    ours = {position for sentence in links for link in sentence for position in link}
    theirs = {position for sentence in gold for link in sentence.possible for position in link}
    if ours and theirs and (0 in ours) != (0 in theirs):
        if 0 in ours:
            raise from_one(path)
        remedy = f"count from 0: {FROM_ZERO}; add --gold-from 0 if they do"
        raise InputError("the links seem to count words from 1: none has position 0", remedy=remedy)


def require_words(
    gold: Sequence[GoldLinks], words: Iterable[Sequence[Sequence[str]]], file: str | Path
) -> None:
    """Raises InputError for a gold link to a word that its sentence does not have. words: those of
    both sides of each sentence, which are in a line of `file`; nothing is said of a sentence
    without any."""
    for number, (sentence, sides) in enumerate(zip(gold, words, strict=False), 1):
        for link in sorted(sentence.possible):
            for side, position, have in zip(("source", "target"), link, sides, strict=False):
                if position >= len(have):
                    what = (
                        f"the gold link {link[0]}-{link[1]} (counted from 0) needs {position + 1}"
                        f" {side}"
                    )
                    what += f" words, but the sentence has {len(have)} here"
                    remedy = (
                        "align the words that the gold links count: --align.words given or"
                        " tokenised"
                    )
                    raise InputError(what, file=file, line=number, remedy=remedy)


def _is_named_naacl(path: str | Path) -> bool:
    return str(path).removesuffix(".gz").endswith(".wa")


def _is_naacl(lines: Sequence[str], path: str | Path) -> bool:
    if _is_named_naacl(path):
        return True
    first = next((line for line in lines if line.strip()), "")
    return _NAACL_LINE.fullmatch(first.strip()) is not None


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
            remedy = (
                "write a line as: sentence source_position target_position [S|P], counted from 1"
            )
            if _is_named_naacl(path):
                remedy += "; if these are Pharaoh links, rename the file: .wa says NAACL"
            raise InputError(what, file=path, line=line_number, remedy=remedy)
        sentence, source, target = int(match[1]), int(match[2]), int(match[3])
        links = found.setdefault(sentence, (set(), set()))[match[4] == "P"]
        if source >= start and target >= start:
            links.add((source - start, target - start))
        elif not source + target:
            without.add(sentence)
    for sentence in sorted(without) if first is None else ():
        if any(found[sentence]):
            what = (
                f"its links seem to count words from 0: sentence {sentence} has '{sentence} 0 0'"
                " and others"
            )
            remedy = "add --gold-from 0, or --gold-from 1 if 0 is the empty word"
            raise InputError(what, file=path, remedy=remedy)
    return {sentence: GoldLinks(*map(frozenset, sides)) for sentence, sides in found.items()}


def entropy(weights: NDArray[np.floating]) -> float:
    """Returns the mean over the rows of −Σ_j α_ij ln α_ij, in nats: 0 for hard alignments, ln J for
    uniform ones over J source words.

    weights: (target, source), rows sum to 1 (Eq. 6); 0 ln 0 is 0. Without rows the mean is 0.
    """
    if weights.size == 0:
        return 0.0
    α = weights.astype(np.float64)
    # Where α is 0, ln 1 makes the product 0, which is the limit. Adding 0.0 turns −0.0
    # into 0.0.
    return float(-(α * np.log(np.where(α > 0, α, 1.0))).sum(axis=1).mean()) + 0.0


def _quotient(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def coverage(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns the sum of the attention on each source word, Σ_i α_ij (Tu et al. 2016; GNMT's
    penalty): about 1 if it was translated once.

    weights: (target, source), rows sum to 1 (Eq. 6). Returns (source,). The end of sentence is a
    word if `weights` has its column.
    """
    total: NDArray[np.float64] = np.asarray(weights, dtype=np.float64).sum(axis=0)
    return total


def monotone(links: Collection[Link]) -> tuple[int, int]:
    """Returns (number of jumps that do not go back, number of all jumps). A jump is the move of the
    source position from one linked target word to the next; a word with several links has their
    mean position."""
    sources: dict[int, list[int]] = {}
    for source, target in set(links):
        sources.setdefault(target, []).append(source)
    places = [sum(sources[target]) / len(sources[target]) for target in sorted(sources)]
    moves = [later >= earlier for earlier, later in pairwise(places)]
    return sum(moves), len(moves)


def agreement(one: Collection[Link], other: Collection[Link]) -> tuple[int, int]:
    """Returns (2 |A∩B|, |A| + |B|) of the links A of one direction and B of the other."""
    return 2 * len(set(one) & set(other)), len(set(one)) + len(set(other))


def behaviour(
    weights: NDArray[np.floating], links: Collection[Link], reverse: Collection[Link] | None = None
) -> Behaviour:
    """Returns the counts of one sentence: entropy of target words in nats, under- and
    over-translated source words, monotone jumps, links that both directions share.

    weights: (target, source) with the end of the source sentence as the last column. links: those
    made from the weights. reverse: links (source, target) of the reverse run.
    """
    covered = coverage(weights[:, :-1])
    counts: Behaviour = {
        "entropy": (entropy(weights) * len(weights), len(weights)),
        "under_translated": (int((covered < LEFT_OUT).sum()), len(covered)),
        "over_translated": (int((covered > TOO_OFTEN).sum()), len(covered)),
        "monotone": monotone(links),
    }
    return counts if reverse is None else counts | {"agreement": agreement(links, reverse)}


def link_errors(links: Collection[Link], gold: GoldLinks) -> Behaviour:
    """Returns the counts behind AER, precision and recall of one sentence, as in
    `alignment_error`."""
    found, in_sure, in_possible, sure, _ = _counts([links], [gold])[0].tolist()
    errors = found + sure - in_sure - in_possible
    return {
        "aer": (errors, found + sure),
        "precision": (in_possible, found),
        "recall": (in_sure, sure),
    }


def summed(sentences: Iterable[Behaviour]) -> Behaviour:
    """Returns the sums of the counts over all sentences; long ones weigh more."""
    total: Behaviour = {}
    for sentence in sentences:
        for name, (part, of) in sentence.items():
            before = total.get(name, (0.0, 0.0))
            total[name] = before[0] + part, before[1] + of
    return total


def shares(counts: Behaviour) -> dict[str, float]:
    """Returns measure → count / total. If a total is 0, precision, recall and the share of monotone
    jumps are 1, agreement is left out, and the others are 0."""
    return {
        name: part / of if of else float(name in ("monotone", "precision", "recall"))
        for name, (part, of) in counts.items()
        if of or name != "agreement"
    }
