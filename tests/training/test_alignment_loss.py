"""Smoothed links, saturated losses, the loss's weight over time, and sentences drawn for forcing.

The losses by their definitions, which row a link supervises, and gradients: tests/model/test_known_alignment.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from rnnsearch.settings import KnownAlignmentSettings
from rnnsearch.training.loss import (
    LOSSES,
    alignment_loss,
    alignment_weight,
    rows_to_force,
    smoothed,
)


@pytest.mark.parametrize("mass", [0.0, 0.3])
def test_smoothed_rows_by_a_plain_loop(mass: float) -> None:
    known = torch.tensor(
        [
            [[0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
        ],
        dtype=torch.float64,
    )
    found, lengths = smoothed(known, torch.tensor([3, 4]), mass), [3, 4]
    for b, i, j in itertools.product(range(2), range(3), range(4)):
        a, linked = float(known[b, i, j]), sum(known[b, i].tolist()) > 0
        uniform = 1 / lengths[b] if j < lengths[b] else 0.0
        assert float(found[b, i, j]) == pytest.approx(
            (1 - mass) * a + mass * uniform if linked else 0.0
        )


@pytest.mark.parametrize("form", LOSSES)
def test_a_saturated_softmax_is_no_infinity(form: str) -> None:
    """In float32 the softmax of far energies is exactly 0: the loss and its gradient stay finite."""
    energies = torch.tensor([[[200.0, 0.0, -50.0]]], requires_grad=True)
    weights = torch.softmax(energies, -1)
    assert weights[0, 0, 1] == 0
    loss, _ = alignment_loss(weights, torch.tensor([[[0.0, 1.0, 0.0]]]), form)
    (gradient,) = torch.autograd.grad(loss, energies)
    assert bool(loss.isfinite())
    assert bool(gradient.isfinite().all())


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"weight": 0.3}, {1: 0.3, 10_000: 0.3}),
        (
            {"weight": 2.0, "annealing": 10},
            {1: 2.0, 2: 1.8, 6: 1.0, 11: 0.0, 12: 0.0, 99: 0.0},
        ),
        (
            {"weight": 0.0, "annealing": 2, "final_weight": 1.0},
            {1: 0.0, 2: 0.5, 3: 1.0, 4: 1.0},
        ),
    ],
    ids=str,
)
def test_the_weight_over_time(changed: dict[str, Any], expected: dict[int, float]) -> None:
    settings = KnownAlignmentSettings.model_validate(changed)
    assert {update: alignment_weight(settings, update) for update in expected} == pytest.approx(
        expected
    )


def test_sentences_are_drawn_whole_for_forcing() -> None:
    known = torch.softmax(torch.randn(4000, 3, 2), -1)
    random = torch.linspace(0, 1, len(known) + 1)[:-1]
    assert rows_to_force(known, KnownAlignmentSettings(), random) is None
    everywhere = rows_to_force(known, KnownAlignmentSettings(forcing="known"), random)
    assert everywhere is not None
    assert torch.equal(everywhere, known)
    mixed = KnownAlignmentSettings(forcing="mixed", forcing_probability=0.3)
    drawn = rows_to_force(known, mixed, random)
    assert drawn is not None
    chosen = drawn.flatten(1).any(1)
    assert torch.equal(
        drawn[chosen], known[chosen]
    )  # whole sentences as they are; the others keep their own α in every row
    assert torch.equal(chosen, random < 0.3)
