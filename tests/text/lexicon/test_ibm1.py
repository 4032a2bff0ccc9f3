"""IBM Model 1 on arrays against plain loops, and what it learns of a corpus whose dictionary is known."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from rnnsearch import InputError
from rnnsearch.text.lexicon import ibm1
from rnnsearch.text.lexicon.ibm1 import Pruning, estimate
from rnnsearch.text.lexicon.table import LexicalTable
from rnnsearch.text.store.corpus import Pairs, SentenceIds
from rnnsearch.text.vocabulary import EOS, UNK

Sentence = list[int]
Table = dict[tuple[int, int], float]

EVERYTHING = Pruning(count=0.0, width=10**9)


def pairs_of(sources: list[Sentence], targets: list[Sentence]) -> Pairs:
    return Pairs(SentenceIds.of([*sentence, EOS] for sentence in sources), SentenceIds.of([*sentence, EOS] for sentence in targets))


def plain_ibm1(sources: list[Sentence], targets: list[Sentence], iterations: int) -> Table:
    """Brown et al. 1993, Sec. 4.2, with loops and dictionaries; EOS is the empty word."""
    t: Table = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        for source, target in zip(sources, targets, strict=True):
            for y in target:
                whole = sum(t[x, y] for x in [*source, EOS])
                for x in [*source, EOS]:
                    counts[x, y] += t[x, y] / whole
                    totals[x] += t[x, y] / whole
        t = {(x, y): count / totals[x] for (x, y), count in counts.items()}
    return t


def table_of(lexicon: LexicalTable) -> Table:
    sources = np.repeat(np.arange(len(lexicon.offsets) - 1), np.diff(lexicon.offsets)).tolist()
    return dict(zip(zip(sources, lexicon.targets.tolist(), strict=True), lexicon.probabilities.tolist(), strict=True))


def random_corpus(seed: int) -> tuple[list[Sentence], list[Sentence]]:
    """Twenty pairs over five words a side: words that come twice in a sentence, empty sentences, unknown words."""
    random = np.random.default_rng(seed)
    return tuple([random.integers(UNK, 6, size=random.integers(0, 7)).tolist() for _ in range(20)] for _ in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("dense", "cells"), [(ibm1.DENSE, ibm1.CELLS), (12, 5), (1, 1)])
def test_equals_plain_loops(seed: int, dense: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the words are grouped, and their occurrences cut."""
    monkeypatch.setattr(ibm1, "DENSE", dense)
    monkeypatch.setattr(ibm1, "CELLS", cells)
    sources, targets = random_corpus(seed)
    found = table_of(estimate(pairs_of(sources, targets), 6, 7, iterations=4, pruning=EVERYTHING))
    expected = {entry: t for entry, t in plain_ibm1(sources, targets, 4).items() if entry[1] != UNK}
    assert found == pytest.approx(expected, abs=1e-6)


def test_learns_a_dictionary() -> None:
    """Word x becomes x + 10; a word without a counterpart, 30, is NULL's."""
    random = np.random.default_rng(3)
    sources = [random.permutation(np.arange(2, 12))[:4].tolist() for _ in range(300)]
    targets = [[30, *(word + 10 for word in reversed(source))] for source in sources]
    lexicon = estimate(pairs_of(sources, targets), 12, 31, iterations=10)
    assert [lexicon.best(np.array([word]), 1).tolist() for word in range(2, 12)] == [[word + 10] for word in range(2, 12)]
    assert lexicon.best(np.array([EOS]), 1).tolist() == [30]


def test_pruning_leaves_the_best_and_all_of_null() -> None:
    sources, targets = random_corpus(1)
    pairs = pairs_of(sources, targets)
    whole = table_of(estimate(pairs, 6, 7, iterations=1, pruning=EVERYTHING))
    found = estimate(pairs, 6, 7, iterations=1, pruning=Pruning(count=0.0, width=2))
    pruned = table_of(found)
    # UNK is counted among the two, but is the translation of no word
    assert all(1 <= sum(entry[0] == word for entry in pruned) <= 2 for word in range(UNK, 6))
    assert {entry for entry in pruned if entry[0] == EOS} == {entry for entry in whole if entry[0] == EOS}
    again = table_of(estimate(pairs, 6, 7, iterations=5, pruning=Pruning(count=0.0, width=1)))
    assert all(np.isfinite(t) for t in again.values())


def test_reads_no_more_pairs_than_asked_for() -> None:
    sources, targets = random_corpus(2)
    found = table_of(estimate(pairs_of(sources, targets), 6, 7, most_pairs=7, iterations=3, pruning=EVERYTHING))
    expected = plain_ibm1(sources[:7], targets[:7], 3)
    assert found == pytest.approx({entry: t for entry, t in expected.items() if entry[1] != UNK}, abs=1e-6)


def test_without_pairs_there_is_no_table() -> None:
    with pytest.raises(InputError, match="no training pairs"):
        estimate(pairs_of([], []), 6, 6)


def test_says_how_far_it_is() -> None:
    said: list[tuple[int, int | None]] = []
    sources, targets = random_corpus(4)
    estimate(pairs_of(sources, targets), 6, 7, iterations=2, progress=lambda _, done, total: said.append((done, total)))
    assert said == sorted(said)
    assert said[-1][0] == said[-1][1]
