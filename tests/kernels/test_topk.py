"""The largest sums, found by blocks: those of a stable sort, whatever the blocks are and whichever sums are
equal."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rnnsearch.kernels import topk
from rnnsearch.search import beam

VALUES = {
    "equal ones": lambda random, shape: random.integers(0, 4, shape),
    "different ones": lambda random, shape: random.random(shape),
    "equal by rounding": lambda random, shape: random.random(shape) - 2.0**20,
}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", VALUES)
def test_best_sums_are_those_of_a_stable_sort(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the last block is not whole, a hypothesis or a word is impossible, and fewer are left than
    asked for."""
    random = np.random.default_rng(seed)
    monkeypatch.setattr(topk, "SCORE_BLOCK", int(random.integers(2, 12)))
    before = torch.from_numpy(random.integers(-3, 0, size=(5, 4)).astype(np.float32))
    after = torch.from_numpy(VALUES[kind](random, (5, 4, 50)).astype(np.float32))
    before[0, 1] = before[3] = after[:, :, seed % 2] = -torch.inf
    for count in (1, 5, 60, 199, 300):
        plain, places = beam.best_sums(before, after, count)
        found, indices = topk.fast_best_sums(before, after, count)
        assert torch.equal(found, plain)
        real = plain > -torch.inf  # which of the impossible ones are returned does not matter
        assert torch.equal(indices[real], places[real])


def test_nan_does_not_disturb_the_order_of_equal_ones() -> None:
    """torch.topk takes NaN for the highest."""
    scores = torch.tensor([[1.0, torch.nan, 1.0, torch.nan, 1.0, 1.0]])
    values, indices = topk.fast_best_sums(torch.zeros(1, 1), scores[None], 4)
    assert sorted(indices[0].tolist()) == [0, 1, 2, 3]
    assert values[0].isnan().sum() == 2
