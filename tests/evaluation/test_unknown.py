"""Which pairs have no unknown word on either side."""

from __future__ import annotations

from rnnsearch.evaluation.unknown import without_unknown


def knows(*words: str):
    return lambda line: all(word in words for word in line.split())


PAIRS = [("a b", "x"), ("a c", "x"), ("a", "x y"), ("", ""), ("c", "y")]


def test_both_sides_must_be_known() -> None:
    assert without_unknown(PAIRS, [(knows("a", "b"), knows("x"))]).tolist() == [True, False, False, True, False]


def test_every_model_must_know_them() -> None:
    both = without_unknown(PAIRS, [(knows("a", "b"), knows("x", "y")), (knows("a", "c"), knows("x", "y"))])
    assert both.tolist() == [False, False, True, True, False]
    assert without_unknown([], [(knows(), knows())]).shape == (0,)
