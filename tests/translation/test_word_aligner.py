"""Links of forced decoding: thresholds, two directions, given words; with matrices that are known in place of
a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import shares, summed
from rnnsearch.records import Translation
from rnnsearch.report.alignment_page import measure_pair, measures_of_pairs
from rnnsearch.text.codec import Codec
from rnnsearch.text.links import DEFAULT
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.aligner import Aligner, counted_by, in_given_words
from rnnsearch.word_links import GoldLinks

Pair = tuple[str, str]
WEIGHTS = np.array([[0.6, 0.4, 0.0, 0.0], [0.3, 0.3, 0.4, 0.0], [0.1, 0.1, 0.1, 0.7]], dtype=np.float32)
"""Three target words over three source words and the end of sentence."""


def side(kind: str) -> Codec:
    return Codec(Tokeniser(kind, "en"), Vocabulary([]))  # type: ignore[arg-type]


class Known:
    """A translator whose alignment of a pair is known."""

    def __init__(self, weights: dict[Pair, np.ndarray[Any, Any]], kind: str = "space") -> None:
        self.weights, self.source, self.target = weights, side(kind), side(kind)

    def force(self, pairs: Iterable[Pair], batch_size: int, **options: bool) -> Iterator[Translation]:
        for source, target in pairs:
            words, tokens = self.source.tokeniser.words(source), self.target.tokeniser.words(target)
            yield Translation(
                target, tokens, [*words, "</s>"], -6.0, [], self.weights[source, target].astype(np.float32)
            )


FORWARD = Known({("a b c", "x y z"): WEIGHTS, ("a", ""): np.zeros((0, 2))})
# Source words as targets: a → x, b → z (0.5), c → y; the end of the target sentence is the last column.
REVERSE = Known(
    {
        ("x y z", "a b c"): np.array([[0.9, 0.1, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0], [0.0, 0.8, 0.2, 0.0]]),
        ("", "a"): np.array([[1.0]]),
    }
)
PAIRS = [("a b c", "x y z"), ("a", "")]


def aligner(**options: Any) -> Aligner:
    return Aligner(FORWARD, **{"method": DEFAULT, **options})  # type: ignore[arg-type]


STRONGEST = [(0, 0), (2, 1)]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (None, STRONGEST),
        (0.0, [(i, j) for i in range(3) for j in range(3)]),
        (0.3, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]),
        (0.4, [(0, 0), (1, 0), (2, 1)]),
        (0.7, []),  # the end of sentence is no word
    ],
)
def test_one_direction(threshold: float | None, expected: list[tuple[int, int]]) -> None:
    """A word has its strongest link, or with a threshold any number of them."""
    first, second = aligner().align(PAIRS, threshold=threshold)
    assert first.links == first.forward_links == expected
    assert (first.reverse, first.reverse_links, second.links) == (None, None, [])


@pytest.mark.parametrize(
    ("method", "threshold", "links"),
    [
        ("forward", None, STRONGEST),
        ("reverse", None, [(0, 0), (1, 2), (2, 1)]),
        ("intersection", None, STRONGEST),
        ("union", None, [(0, 0), (1, 2), (2, 1)]),
        ("grow-diag-final-and", None, [(0, 0), (1, 2), (2, 1)]),  # 1-2 touches 2-1 at a corner
        ("grow", None, STRONGEST),
        # √(0.6·0.9) = 0.73, √(0.4·0.2) = 0.28, √(0.3·0.1) = 0.17, √(0.3·0.3) = 0.3, √(0.4·0.8) = 0.57,
        # √(0.1·0.5) = 0.22
        ("product", None, STRONGEST),
        ("product", 0.25, [(0, 0), (1, 0), (1, 1), (2, 1)]),
    ],
)
def test_two_directions(method: str, threshold: float | None, links: list[tuple[int, int]]) -> None:
    first, second = aligner(reverse=REVERSE, method=method).align(PAIRS, threshold=threshold)
    assert (first.links, second.links) == (links, [])
    assert first.forward_links == STRONGEST
    if method != "product" or threshold is None:
        assert first.reverse_links == [(0, 0), (1, 2), (2, 1)]


class Every(dict[Pair, Any]):
    """The same weights for all pairs."""

    def __missing__(self, pair: Pair) -> Any:
        return WEIGHTS


def test_runs_that_cut_into_other_words_are_refused() -> None:
    other = (
        Known({("a.", "x"): np.array([[0.5, 0.5, 0.0]])}, "moses"),
        Known({("x", "a."): np.array([[0.5, 0.5]])}, "space"),
    )
    with pytest.raises(InputError, match=r"pair 1: .* different words \(use --words given\)"):
        Aligner(*other).align([("a.", "x")])  # type: ignore[arg-type]
    (found,) = Aligner(*other, words="given").align([("a.", "x")])  # type: ignore[arg-type]
    assert found.links == found.reverse_links == [(0, 0)]
    assert found.result.source_tokens == ["a.", "</s>"]


def test_given_words_take_the_weights_of_their_parts() -> None:
    """Source `c.` is `c` and `.`; target `y!` is `y` and `!`; the tokeniser sees nothing of the soft
    hyphen."""
    source, target = "b c.", "x y! \xad"
    result = Translation(target, ["x", "y", "!"], ["b", "c", ".", "</s>"], -1.0, [], WEIGHTS)
    found = in_given_words(result, source.split(" "), target.split(" "), 1)
    assert (found.source_tokens, found.tokens) == (["b", "c.", "</s>"], ["x", "y!", "\xad"])
    np.testing.assert_allclose(
        found.alignment, [[0.6, 0.4, 0.0], [0.2, 0.45, 0.35], [0.0, 0.0, 1.0]], atol=1e-6
    )
    assert found.score == result.score


def test_a_word_of_several_given_words_shares_its_weight_among_them() -> None:
    weights = np.array([[0.8, 0.2]], dtype=np.float32)
    one, changed = (Translation("x", ["x"], [word, "</s>"], -1.0, [], weights) for word in ("ab", "q"))
    np.testing.assert_allclose(
        in_given_words(one, ["a", "b"], ["x"], 1).alignment, [[0.4, 0.4, 0.2]], atol=1e-6
    )
    with pytest.raises(InputError, match=r"pair 7: the tokeniser changes its characters: 'a b'"):
        in_given_words(changed, ["a", "b"], ["x"], 7)


def test_what_gold_links_count() -> None:
    sides = side("moses"), side("moses")
    pairs = [("It stops.", "Stop."), ("No", "Non")]

    def gold(*links: tuple[int, int]) -> list[GoldLinks]:
        return [GoldLinks(frozenset(links)), GoldLinks(frozenset())]

    assert counted_by(gold((0, 0), (1, 0)), pairs, sides) == "given"
    assert counted_by(gold((0, 0), (2, 1)), pairs, sides) == "tokenised"
    assert counted_by(gold((0, 0), (9, 9)), pairs, sides) == "given"  # it fits neither, and is refused there


def test_measures_of_pairs_and_of_all() -> None:
    gold = [GoldLinks(frozenset([(0, 0), (1, 2)])), GoldLinks(frozenset())]
    found = list(map(measure_pair, aligner(reverse=REVERSE).align(PAIRS), gold))
    of_first = {"source_words": 3, "target_words": 3}
    of_first |= {"log_probability": -6 / 4}  # the end of sentence is one more
    of_first |= {"under_translated": 0}  # coverage 1.0, 0.8, 0.5
    of_first |= {"agreement": 2 * 2 / 5, "monotone": 1}  # of the links of this direction alone: 0 → 2
    of_first |= {"aer": 1 - 4 / 5, "precision": 2 / 3, "recall": 1}  # |A| 3 of which two are among the |S| 2
    of_all = {"log_probability": -12 / 5, "under_translated": 1 / 4}  # nothing was made of a word
    for values, expected in ((shares(found[0]), of_first), (shares(summed(found)), of_all)):
        assert {name: values[name] for name in expected} == pytest.approx(expected)
    lines = [line.split("\t") for line in measures_of_pairs(found)]
    assert [line[0] for line in lines] == ["pair", "1", "2", "all"]
    assert len({len(line) for line in lines}) == 1
    assert lines[1][lines[0].index("aer")] == "0.2"
