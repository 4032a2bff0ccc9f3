"""Adadelta against torch's own on whole gradients, and rows left alone against rows with gradient 0."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from rnnsearch.config import ModelSettings, TrainingSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import Batch
from rnnsearch.training import adadelta as module
from rnnsearch.training.adadelta import Adadelta
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.trainer import Trainer


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 15])
def test_as_torch(chunk: int, decay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of odd sizes, a gradient that is a transposed view, and chunks that do not divide them."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    ours, theirs = (
        [nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in ((5, 3), (11,), (2, 4))]
        for _ in range(2)
    )
    for mine, other in zip(ours, theirs, strict=True):
        mine.data.copy_(other.data)
    settings = {"lr": 0.7, "rho": 0.9, "eps": 1e-4, "weight_decay": decay}
    pair = Adadelta(ours, **settings), torch.optim.Adadelta(theirs, **settings)
    for _ in range(5):
        for mine, other in zip(ours, theirs, strict=True):
            turned = torch.randn(mine.shape[::-1], dtype=torch.float64)
            mine.grad = turned.mT if mine.dim() == 2 else turned
            other.grad = mine.grad.clone()
        for optimiser in pair:
            optimiser.step()
        torch.testing.assert_close(ours, theirs)


def rows_of(gradient: Tensor, rows: list[int]) -> Tensor:
    """A sparse gradient with these rows, the first of them in two parts."""
    parts = torch.cat((gradient[rows], gradient[rows[:1]]))
    parts[0] *= 0.25
    parts[-1] *= 0.75
    return torch.sparse_coo_tensor(
        torch.tensor([[*rows, rows[0]]]), parts, gradient.shape, check_invariants=True
    )


def test_rows_left_alone() -> None:
    """Rows come and go: some every time, some after long gaps, one never, one for the first time at the
    end."""
    sparse, whole = (nn.Parameter(torch.ones(5, 3, dtype=torch.float64)) for _ in range(2))
    ours, reference = Adadelta([sparse], rho=0.8), torch.optim.Adadelta([whole], rho=0.8)
    for rows in ([0, 1], [0], [2, 0], [0], [0], [0, 1], [1, 2], [0, 3]):
        gradient = torch.randn(5, 3, dtype=torch.float64)
        sparse.grad = rows_of(gradient, rows)
        whole.grad = torch.zeros_like(gradient)
        whole.grad[rows] = gradient[rows]
        ours.step()
        reference.step()
        torch.testing.assert_close(sparse, whole)
    assert torch.equal(sparse[4], torch.ones(3, dtype=torch.float64))


def trained(
    sparse: bool, monkeypatch: pytest.MonkeyPatch, first: int, last: int, checkpoint: Path | None = None
) -> Trainer:
    """Updates `first` to `last` of a small network in float64, from the checkpoint if there is one. sparse:
    the embeddings' gradients."""
    torch.manual_seed(2)
    sizes = {"embedding_size": 6, "hidden_size": 5, "alignment_size": 4, "maxout_size": 6}
    with monkeypatch.context() as patch:
        patch.setattr("rnnsearch.training.optimiser.takes_sparse_gradients", lambda settings: sparse)
        trainer = Trainer(
            TranslationNetwork(ModelSettings.model_validate(sizes), 12, 12).double(),
            TrainingSettings(rho=0.8),
            0,
        )
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
            dict(last.optimiser.state[found]), dict(whole.optimiser.state[expected]), rtol=1e-12, atol=1e-15
        )
