"""Adadelta against torch's own on whole gradients, and rows left alone against rows with gradient 0."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from rnnsearch.config import ModelSettings, TrainingSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import Batch
from rnnsearch.training import adadelta as module
from rnnsearch.training.adadelta import Adadelta
from rnnsearch.training.trainer import Trainer


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 15])
def test_as_torch(chunk: int, decay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of odd sizes, a gradient that is a transposed view, and chunks that do not divide them."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    ours, theirs = ([nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in ((5, 3), (11,), (2, 4))] for _ in range(2))
    for mine, other in zip(ours, theirs, strict=True):
        mine.data.copy_(other.data)
    settings = {"lr": 0.7, "rho": 0.9, "eps": 1e-4, "weight_decay": decay}
    pair = Adadelta(ours, **settings), torch.optim.Adadelta(theirs, **settings)
    for _ in range(5):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape[::-1], dtype=torch.float64).mT if mine.dim() == 2 else torch.randn_like(mine)
            other.grad = mine.grad.clone()
        for optimiser in pair:
            optimiser.step()
        torch.testing.assert_close(ours, theirs)


def rows_of(gradient: Tensor, rows: list[int]) -> Tensor:
    """A sparse gradient with these rows, the first of them in two parts."""
    parts = torch.cat((gradient[rows], gradient[rows[:1]]))
    parts[0] *= 0.25
    parts[-1] *= 0.75
    return torch.sparse_coo_tensor(torch.tensor([[*rows, rows[0]]]), parts, gradient.shape, check_invariants=True)


def test_rows_left_alone() -> None:
    """Rows come and go: some every time, some after long gaps, one never, one for the first time at the end."""
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


def test_state_survives_a_checkpoint() -> None:
    """With float32 parameters torch casts what it loads; the counts of updates must stay exact."""
    parameter = nn.Parameter(torch.ones(4, 2))
    optimiser = Adadelta([parameter])
    for rows in ([0, 1], [2], [1]):
        parameter.grad = rows_of(torch.randn(4, 2), rows)
        optimiser.step()
    other = nn.Parameter(parameter.detach().clone())
    resumed = Adadelta([other])
    resumed.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    assert resumed.state[other]["step"].dtype == torch.int64
    parameter.grad = rows_of(torch.randn(4, 2), [0, 3])
    other.grad = parameter.grad.clone()
    optimiser.step()
    resumed.step()
    assert torch.equal(parameter, other)


@pytest.mark.parametrize("tied", [False, True])
def test_training_with_sparse_gradients_is_training(tied: bool) -> None:
    """Some updates of a small network, clipped and accumulated: the same with the embeddings' gradients whole."""
    networks = []
    for sparse in (True, False):
        torch.manual_seed(2)
        sizes = {"embedding_size": 6, "hidden_size": 5, "alignment_size": 4, "maxout_size": 6, "tie_output": tied}
        network = TranslationNetwork(ModelSettings.model_validate(sizes), 9, 8).double()
        trainer = Trainer(network, TrainingSettings(clip_norm=0.1), 0)
        assert network.source_embedding.sparse_gradient
        assert network.target_embedding.sparse_gradient is not tied
        if not sparse:
            network.source_embedding.sparse_gradient = network.target_embedding.sparse_gradient = False
        for number in range(1, 7):
            ids = torch.randint(2, 2 + number, (2, 2, 3, 4))  # the later words come in one by one
            lengths = torch.tensor([4, 3, 1])
            update = trainer.update([Batch(source, lengths, target, lengths) for source, target in ids], number)
            assert update.gradient_norm > 0.1
        networks.append(network)
    for name, parameter in networks[0].named_parameters():
        torch.testing.assert_close(parameter, networks[1].get_parameter(name), msg=name)
