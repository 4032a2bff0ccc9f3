"""Words left out and words written again, against cases counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rnnsearch.evaluation.alignment_behaviour import Behaviour
from rnnsearch.records import Translation
from rnnsearch.report.attention import left_out, longest_gap, too_often, written_again


def translation(source: str, target: str, weights: list[list[float]]) -> Translation:
    return Translation(target, target.split(), [*source.split(), "</s>"], 0.0, [], np.array(weights, dtype=np.float32))


def test_words_left_out_and_words_attended_to_too_often() -> None:
    found = translation("old men , see", "x x x", [[0.9, 0.0, 0.0, 0.1, 0.0]] * 3)
    assert left_out(found) == [1]  # the comma is not missed, and `see` has 0.3
    assert too_often(found) == [0]
    assert Behaviour.of(found.alignment, found.links()).shares()["over_translated"] == 1 / 4  # one definition, in `rnnsearch align` too
    assert Behaviour.of(found.alignment, found.links()).shares()["under_translated"] == 2 / 4  # there the comma counts


def test_nothing_written_leaves_everything_out() -> None:
    empty = Translation("", [], ["a", "b", "</s>"], 0.0, [], np.zeros((0, 3), dtype=np.float32))
    assert left_out(empty) == [0, 1]
    assert written_again(empty) == []


@pytest.mark.parametrize(("positions", "expected"), [([], 0), ([4], 1), ([0, 1, 2, 5, 6], 3), ([1, 3, 5], 1), ([0, 4, 5], 2)])
def test_the_longest_gap(positions: list[int], expected: int) -> None:
    assert longest_gap(positions) == expected


def test_a_word_is_written_again_only_from_the_same_source_word() -> None:
    on_a, on_b = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]
    assert written_again(translation("a b", "le le LE", [on_a, on_b, on_a])) == [2]
    assert written_again(translation("a b", ", , le", [on_a, on_a, on_a])) == []  # punctuation may repeat
