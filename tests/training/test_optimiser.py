"""One update: Adadelta as Zeiler writes it, schedules as a table, clipping, and the average of the weights, all by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.training.optimiser import WeightAverage, clip, gradient_norm, learning_rate, make_optimiser, total_updates

START = [0.5, -2.0, 0.0]
GRADIENTS = [[1.0, -0.1, 0.0], [0.3, 4.0, -1e-4], [-2.0, 0.0, 1e-4], [0.5, 0.5, 0.5]]
"""Of four updates: signs change, one number's gradient is 0 at first, sizes differ by orders."""


def updated(**settings: Any) -> list[list[float]]:
    """The parameter after each update, in float64."""
    parameter = nn.Parameter(torch.tensor(START, dtype=torch.float64))
    optimiser = make_optimiser([parameter], TrainingSettings(**settings))
    path = []
    for gradient in GRADIENTS:
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        optimiser.step()
        path.append(parameter.tolist())
    return path


def assert_path(found: list[list[float]], expected: list[list[float]]) -> None:
    for after, wanted in zip(found, expected, strict=True):
        assert after == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.95, 1e-6), (0.5, 1e-2)])
def test_adadelta(rho: float, epsilon: float) -> None:
    """Zeiler 2012, Algorithm 1: E[g²] and E[Δx²] begin at 0; Δx = −RMS[Δx]/RMS[g] · g, RMS[y] = √(E[y²] + ε)."""
    expected, x, squares, steps = [], list(START), [0.0] * 3, [0.0] * 3
    for gradient in GRADIENTS:
        for k, g in enumerate(gradient):
            squares[k] = rho * squares[k] + (1 - rho) * g**2
            step = -math.sqrt(steps[k] + epsilon) / math.sqrt(squares[k] + epsilon) * g
            steps[k] = rho * steps[k] + (1 - rho) * step**2
            x[k] += step
        expected.append(list(x))
    assert_path(updated(rho=rho, epsilon=epsilon), expected)


def test_paper_settings_are_the_default() -> None:
    """B.2: ρ = 0.95, ε = 1e-6, no learning rate."""
    assert_path(updated(), updated(optimiser="adadelta", rho=0.95, epsilon=1e-6, learning_rate=1.0, weight_decay=0.0))


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("optimiser", ["adam", "adamw"])
def test_adam(optimiser: str, decay: float) -> None:
    """Kingma & Ba 2015; adam adds weight decay to the gradient, adamw shrinks the weights by themselves (Loshchilov & Hutter 2019)."""
    rate, (b1, b2), epsilon = 0.01, (0.8, 0.99), 1e-6
    expected, x, first, second = [], list(START), [0.0] * 3, [0.0] * 3
    for t, gradient in enumerate(GRADIENTS, 1):
        for k, given in enumerate(gradient):
            g = given + decay * x[k] if optimiser == "adam" else given
            if optimiser == "adamw":
                x[k] -= rate * decay * x[k]
            first[k] = b1 * first[k] + (1 - b1) * g
            second[k] = b2 * second[k] + (1 - b2) * g**2
            x[k] -= rate * (first[k] / (1 - b1**t)) / (math.sqrt(second[k] / (1 - b2**t)) + epsilon)
        expected.append(list(x))
    found = updated(optimiser=optimiser, learning_rate=rate, betas=(b1, b2), epsilon=epsilon, weight_decay=decay)
    assert_path(found, expected)


def test_sgd() -> None:
    expected, x = [], list(START)
    for gradient in GRADIENTS:
        x = [value - 0.1 * (g + 0.2 * value) for value, g in zip(x, gradient, strict=True)]
        expected.append(x)
    assert_path(updated(optimiser="sgd", learning_rate=0.1, weight_decay=0.2), expected)


@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        # learning rates of updates 1, 2, 4, 5, 8, 12 of 12, the peak being 2
        ("constant", 0, [2, 2, 2, 2, 2, 2]),
        ("constant", 4, [0.5, 1, 2, 2, 2, 2]),
        ("inverse_sqrt", 0, [2, 2 / 2**0.5, 1, 2 / 5**0.5, 2 / 8**0.5, 2 / 12**0.5]),
        ("inverse_sqrt", 4, [0.5, 1, 2, 2 * (4 / 5) ** 0.5, 2 * 0.5**0.5, 2 * (4 / 12) ** 0.5]),
        ("linear", 0, [2 * 11 / 12, 2 * 10 / 12, 2 * 8 / 12, 2 * 7 / 12, 2 * 4 / 12, 0]),
        ("linear", 4, [0.5, 1, 2, 2 * 7 / 8, 1, 0]),
        ("cosine", 4, [0.5, 1, 2, 1 + math.cos(math.pi / 8), 1, 0]),
        ("cosine", 0, [1 + math.cos(math.pi * u / 12) for u in (1, 2, 4, 5, 8, 12)]),
    ],
)
def test_schedules(schedule: str, warmup: int, expected: list[float]) -> None:
    settings = TrainingSettings.model_validate({"schedule": schedule, "warmup": warmup, "learning_rate": 2.0})
    found = [learning_rate(settings, update, 12) for update in (1, 2, 4, 5, 8, 12)]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt", "linear", "cosine"])
@pytest.mark.parametrize(("warmup", "total"), [(0, 10), (10, 10), (12, 10), (3, 10)])
def test_schedules_stay_in_bounds(schedule: str, warmup: int, total: int) -> None:
    """Never negative, never above the peak, never rising after the warm-up, also where the warm-up is longer than training."""
    settings = TrainingSettings.model_validate({"schedule": schedule, "warmup": warmup, "learning_rate": 0.5})
    rates = [learning_rate(settings, update, total) for update in range(1, total + 5)]
    assert all(0 <= rate <= 0.5 for rate in rates)
    after = rates[max(0, warmup - 1) :]
    assert all(later <= earlier for earlier, later in itertools.pairwise(after))


@pytest.mark.parametrize(
    ("changed", "updates_per_epoch", "expected"),
    [
        ({}, 100, 0),
        ({"max_updates": 70}, 100, 70),
        ({"max_epochs": 2}, 100, 200),
        ({"max_epochs": 0.5}, 25, 13),  # 12.5 updates: the thirteenth is still made
        ({"max_epochs": 2}, 33.5, 67),
        ({"max_epochs": 0.07}, 100, 7),  # 0.07 · 100 is a little more than 7 in floating point
        ({"max_epochs": 2, "max_updates": 150}, 100, 150),
        ({"max_epochs": 1, "max_updates": 150}, 100, 100),
        ({"max_minutes": 3, "patience": 2}, 100, 0),
        ({"schedule": "cosine", "max_updates": 70}, 100, 70),
        ({"schedule": "linear", "max_epochs": 2}, 100, 200),
        ({"schedule": "inverse_sqrt", "max_minutes": 5}, 100, 0),
    ],
    ids=str,
)
def test_total_updates(changed: dict[str, Any], updates_per_epoch: float, expected: int) -> None:
    assert total_updates(TrainingSettings(**changed), updates_per_epoch) == expected


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
@pytest.mark.parametrize("changed", [{}, {"max_minutes": 5.0}, {"patience": 3}], ids=str)
def test_schedule_without_an_end(schedule: str, changed: dict[str, Any]) -> None:
    settings = TrainingSettings.model_validate({"schedule": schedule, **changed})
    with pytest.raises(InputError, match=rf"{schedule}.*max_updates or training.max_epochs"):
        total_updates(settings, 100)


def with_gradients(*gradients: list[float]) -> list[nn.Parameter]:
    parameters = [nn.Parameter(torch.zeros(len(gradient), dtype=torch.float64)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
    return parameters


@pytest.mark.parametrize(
    ("threshold", "factor"),
    [(1.0, 1 / 13), (6.5, 1 / 2), (13.5, 1.0), (100.0, 1.0), (0.0, 1.0)],
)
def test_clip(threshold: float, factor: float) -> None:
    """The norm is that of all parameters together: √(3² + 4² + 12²) = 13; 0 never clips (B.2 has 1)."""
    parameters = [*with_gradients([3.0, 0.0], [-4.0, 12.0]), nn.Parameter(torch.zeros(2))]  # the last has no gradient
    assert float(gradient_norm(parameters)) == pytest.approx(13.0)
    clip(parameters, 13.0, threshold)
    for parameter, whole in zip(parameters[:2], ([3.0, 0.0], [-4.0, 12.0]), strict=True):
        assert parameter.grad is not None
        assert parameter.grad.tolist() == pytest.approx([factor * value for value in whole], rel=1e-6)
    assert parameters[2].grad is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_norm_tells_of_gradients_that_are_not_finite(bad: float) -> None:
    assert not math.isfinite(gradient_norm(with_gradients([1.0, bad], [2.0])))


class Tied(nn.Module):
    """Two names for one matrix, as with model.tie_output."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
        self.two = self.one
        self.other = nn.Parameter(torch.tensor([-3.0], dtype=torch.float64))


@pytest.mark.parametrize("decay", [0.5, 0.999])
def test_weight_average(decay: float) -> None:
    """a ← d a + (1 − d) θ, d = min(decay, (1 + u)/(10 + u)) after update u; a begins at the first weights; shared weights stay equal."""
    network = Tied()
    average = WeightAverage(network, decay)
    expected = [1.0, 2.0, -3.0]
    for update in range(1, 30):
        with torch.no_grad():
            network.one.add_(torch.tensor([0.1, -0.3]))
            network.other.mul_(-1.1)
        average.update(network, update)
        d = min(decay, (1 + update) / (10 + update))
        weights = [*network.one.tolist(), *network.other.tolist()]
        expected = [d * a + (1 - d) * weight for a, weight in zip(expected, weights, strict=True)]
    assert average.weights["one"].tolist() == pytest.approx(expected[:2], rel=1e-12)
    assert average.weights["two"].tolist() == pytest.approx(expected[:2], rel=1e-12)
    assert average.weights["other"].tolist() == pytest.approx(expected[2:], rel=1e-12)


def test_weight_average_is_a_copy() -> None:
    """The network's own weights are never touched, nor are the averages by them."""
    network = Tied()
    average = WeightAverage(network, 0.9)
    before: Tensor = network.one.detach().clone()
    average.update(network, 1)
    assert torch.equal(network.one, before)
    with torch.no_grad():
        network.one.zero_()
    assert average.weights["one"].tolist() == [1.0, 2.0]
    assert not any(tensor.requires_grad for tensor in average.weights.values())
