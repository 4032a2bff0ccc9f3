"""One update: Adadelta as Zeiler writes it, against torch's own, and with rows left alone; schedules as a
table, clipping, and the average of the weights, all by hand."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refusal
from torch import Tensor, nn

from rnnsearch.batch import Batch
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import ModelSettings, OptimiserSettings, StoppingSettings
from rnnsearch.training import optimiser as module
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.optimiser import (
    Adadelta,
    WeightAverage,
    clip,
    gradient_norm,
    learning_rate,
    make_optimiser,
    total_updates,
)
from rnnsearch.training.trainer import BatchLoss, Trainer

BETAS = {"betas": (0.8, 0.99)}
START = [0.5, -2.0, 0.0]
GRADIENTS = [[1.0, -0.1, 0.0], [0.3, 4.0, -1e-4], [-2.0, 0.0, 1e-4], [0.5, 0.5, 0.5]]
"""Of four updates: signs change, one number's gradient is 0 at first, sizes differ by orders."""


def path_of(make: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> list[list[float]]:
    """The parameter after each update, in float64."""
    parameter = nn.Parameter(torch.tensor(START, dtype=torch.float64))
    optimiser, path = make([parameter]), []
    for gradient in GRADIENTS:
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        optimiser.step()
        path.append(parameter.tolist())
    return path


def updated(**settings: Any) -> list[list[float]]:
    return path_of(lambda parameters: make_optimiser(parameters, OptimiserSettings(**settings)))


def assert_path(found: list[list[float]], expected: list[list[float]]) -> None:
    for after, wanted in zip(found, expected, strict=True):
        assert after == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("rho", "epsilon", "chunk"), [(0.95, 1e-6, 1 << 15), (0.5, 1e-2, 2)])
def test_adadelta(rho: float, epsilon: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeiler 2012, Algorithm 1: E[g²] and E[Δx²] begin at 0; Δx = −RMS[Δx]/RMS[g] · g, RMS[y] = √(E[y²] +
    ε)."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    expected, x, squares, steps = [], list(START), [0.0] * 3, [0.0] * 3
    for gradient in GRADIENTS:
        for k, g in enumerate(gradient):
            squares[k] = rho * squares[k] + (1 - rho) * g**2
            step = -math.sqrt(steps[k] + epsilon) / math.sqrt(squares[k] + epsilon) * g
            steps[k] = rho * steps[k] + (1 - rho) * step**2
            x[k] += step
        expected.append(list(x))
    assert_path(updated(rho=rho, epsilon=epsilon), expected)


@pytest.mark.parametrize(
    ("kind", "settings", "named"),
    [
        (torch.optim.Adam, BETAS | {"epsilon": 1e-6}, BETAS | {"eps": 1e-6}),
        (torch.optim.AdamW, BETAS | {"epsilon": 1e-6}, BETAS | {"eps": 1e-6}),
        (torch.optim.SGD, {}, {}),
    ],
)
def test_others_are_torchs(kind: Any, settings: dict[str, Any], named: dict[str, Any]) -> None:
    path = path_of(partial(kind, lr=0.01, weight_decay=0.1, **named))
    own = {"method": kind.__name__.lower(), "learning_rate": 0.01, "weight_decay": 0.1}
    assert_path(updated(**own, **settings), path)


@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        # learning rates of updates 1, 2, 4, 5, 8, 12 of 12, the peak being 2
        ("constant", 4, [0.5, 1, 2, 2, 2, 2]),
        ("inverse_sqrt", 4, [0.5, 1, 2, 2 * (4 / 5) ** 0.5, 2 * 0.5**0.5, 2 * (4 / 12) ** 0.5]),
        ("linear", 4, [0.5, 1, 2, 2 * 7 / 8, 1, 0]),
        ("cosine", 4, [0.5, 1, 2, 1 + math.cos(math.pi / 8), 1, 0]),
        ("cosine", 0, [1 + math.cos(math.pi * u / 12) for u in (1, 2, 4, 5, 8, 12)]),
    ],
)
def test_schedules(schedule: str, warmup: int, expected: list[float]) -> None:
    settings = OptimiserSettings.model_validate(
        {"schedule": schedule, "warmup": warmup, "learning_rate": 2.0}
    )
    found = [learning_rate(settings, update, 12) for update in (1, 2, 4, 5, 8, 12)]
    assert found == pytest.approx(expected, abs=1e-12)


def test_schedule_without_an_end() -> None:
    with refusal(r"cosine.*max_updates or stopping.max_epochs"):
        total_updates(StoppingSettings(max_minutes=5, patience=3), "cosine", 100)


@pytest.mark.parametrize(
    ("threshold", "factor"),
    [(1.0, 1 / 13), (6.5, 1 / 2), (13.5, 1.0), (100.0, 1.0), (0.0, 1.0)],
)
def test_clip(threshold: float, factor: float) -> None:
    """The norm is that of all parameters together: √(3² + 4² + 12²) = 13; 0 never clips (B.2 has 1)."""
    gradients = [3.0, 0.0], [-4.0, 12.0]
    parameters = [nn.Parameter(torch.zeros(2, dtype=torch.float64)) for _ in range(3)]
    for parameter, gradient in zip(parameters[:2], gradients, strict=True):  # the last has none
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
    assert float(gradient_norm(parameters)) == pytest.approx(13.0)
    clip(parameters, 13.0, threshold)
    for parameter, whole in zip(parameters[:2], gradients, strict=True):
        assert parameter.grad is not None
        assert parameter.grad.tolist() == pytest.approx(
            [factor * value for value in whole], rel=1e-6
        )
    assert parameters[2].grad is None


@pytest.mark.parametrize("decay", [0.5, 0.999])
def test_weight_average(decay: float) -> None:
    """a ← d a + (1 − d) θ, d = min(decay, (1 + u)/(10 + u)) after update u; a begins at the first weights."""
    network = nn.Linear(2, 1).double()
    average = WeightAverage(network, decay)
    expected = network.weight.tolist()[0]
    for update in range(1, 30):
        with torch.no_grad():
            network.weight.add_(torch.tensor([0.1, -0.3]))
        average.update(network, update)
        d = min(decay, (1 + update) / (10 + update))
        expected = [
            d * a + (1 - d) * x for a, x in zip(expected, network.weight.tolist()[0], strict=True)
        ]
    assert average.weights["weight"].tolist()[0] == pytest.approx(expected, rel=1e-12)


def test_a_buffer_that_counts_has_no_mean() -> None:
    network = nn.Linear(2, 1)
    network.register_buffer("seen", torch.tensor(0))
    average = WeightAverage(network, 0.9)
    network.seen += 7
    average.update(network, 1)
    assert average.weights["seen"] == 7


def rows_of(gradient: Tensor, rows: list[int]) -> Tensor:
    """A sparse gradient with these rows, the first of them in two parts."""
    parts = torch.cat((gradient[rows], gradient[rows[:1]]))
    parts[0] *= 0.25
    parts[-1] *= 0.75
    with torch.sparse.check_sparse_tensor_invariants():
        return torch.sparse_coo_tensor(torch.tensor([[*rows, rows[0]]]), parts, gradient.shape)


def step_both(ours: Adadelta, reference: torch.optim.Adadelta, rows: list[int]) -> None:
    """Ours by a sparse gradient of these rows, torch's by the same with zeros in the others."""
    (sparse,), (whole,) = (each.param_groups[0]["params"] for each in (ours, reference))
    gradient = torch.randn_like(whole)
    sparse.grad = rows_of(gradient, rows)
    whole.grad = torch.zeros_like(gradient)
    whole.grad[rows] = gradient[rows]
    ours.step()
    reference.step()


def test_rows_left_alone() -> None:
    """Rows come and go: some every time, some after long gaps, one never, one for the first time at the
    end."""
    sparse, whole = (nn.Parameter(torch.ones(5, 3, dtype=torch.float64)) for _ in range(2))
    ours, reference = Adadelta([sparse], rho=0.8), torch.optim.Adadelta([whole], rho=0.8)
    for rows in ([0, 1], [0], [2, 0], [0], [0], [0, 1], [1, 2], [0, 3]):
        step_both(ours, reference, rows)
        torch.testing.assert_close(sparse, whole)
    assert torch.equal(sparse[4], torch.ones(3, dtype=torch.float64))


def trained(
    sparse: bool,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    last: int,
    checkpoint: Path | None = None,
) -> Trainer:
    """Updates `first` to `last` of a small network in float64, from the checkpoint if there is one. sparse:
    the embeddings' gradients."""
    torch.manual_seed(2)
    sizes = {"embedding_size": 6, "hidden_size": 5, "alignment_size": 4, "maxout_size": 6}
    with monkeypatch.context() as patch:
        network = TranslationNetwork(ModelSettings.model_validate(sizes), 12, 12).double()
        if not sparse:
            patch.setattr("rnnsearch.training.trainer.choose_gradients", lambda *_: None)
        trainer = Trainer(BatchLoss(network), OptimiserSettings(rho=0.8))
    if checkpoint is not None:
        load_checkpoint(checkpoint, trainer)
    for number in range(first, last + 1):
        # Words come and go: some at every update, some after long gaps, the last one only after the
        # checkpoint, 0 and 1 never.
        chosen = torch.tensor([2, 3 + number % 4, 11 if number > 4 else 4])
        ids = chosen[torch.randint(3, (2, 3, 4), generator=torch.Generator().manual_seed(number))]
        lengths = torch.tensor([4, 3, 1])
        trainer.update([Batch(ids[0], lengths, ids[1], lengths)], number)
    return trainer


@pytest.mark.parametrize("begun", [True, False], ids=["begun sparse", "begun dense"])
def test_a_run_is_resumed_with_gradients_of_the_other_form(
    begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a CPU to a GPU and back: parameters and averages are those of an uninterrupted run, up to the
    rounding of float64."""
    whole = trained(begun, monkeypatch, 1, 8)
    part = trained(begun, monkeypatch, 1, 4)
    save_checkpoint(tmp_path / "first", part, TrainingProgress())
    middle = trained(not begun, monkeypatch, 5, 6, tmp_path / "first")
    save_checkpoint(tmp_path / "second", middle, TrainingProgress())
    last = trained(begun, monkeypatch, 7, 8, tmp_path / "second")
    for name, parameter in last.network.named_parameters():
        torch.testing.assert_close(
            parameter, whole.network.get_parameter(name), rtol=1e-12, atol=1e-12, msg=name
        )
    for trainer in (whole, last):
        trainer.optimiser.match_gradients(set())  # type: ignore[attr-defined]
    for found, expected in zip(last.parameters, whole.parameters, strict=True):
        assert last.optimiser.state[found].keys() == {"square_avg", "acc_delta"}
        torch.testing.assert_close(
            dict(last.optimiser.state[found]),
            dict(whole.optimiser.state[expected]),
            rtol=1e-12,
            atol=1e-15,
        )


def test_updates_are_counted_beyond_the_integers_of_float32() -> None:
    """Two rows, of which the second is used 3 updates after the first, around update 2^24 = 16,777,216: its
    averages have decayed by ρ³. In float32, 2^24 + 1 = 2^24."""
    sparse, whole = (nn.Parameter(torch.ones(2, 3)) for _ in range(2))
    ours, reference = Adadelta([sparse], rho=0.5), torch.optim.Adadelta([whole], rho=0.5)
    for number, rows in enumerate(([0, 1], [0], [0], [0], [0, 1])):
        step_both(ours, reference, rows)
        state = ours.state[sparse]
        if number == 0:  # 2^24 - 2 updates more, none of them of these rows' concern
            state["updates"] += 2**24 - 2
            state["step"] += 2**24 - 2
        ours.load_state_dict(copy.deepcopy(ours.state_dict()))  # as a resumed training does
    torch.testing.assert_close(sparse, whole)
    assert int(ours.state[sparse]["updates"]) == 2**24 + 3
