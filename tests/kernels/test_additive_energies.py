"""Energies a few sentences at a time against the equation as written: values, gradients, borders of chunks,
passes that stop short."""

from __future__ import annotations

import pytest
import torch
from small import drawn
from torch import Tensor

from rnnsearch.kernels import additive_energies as module
from rnnsearch.kernels.additive_energies import AdditiveEnergies

SENTENCES, SOURCE, SIZE = 5, 4, 3


@pytest.fixture(params=[1, 2 * SOURCE * SIZE, 1 << 17], ids=["one sentence", "two", "all"], autouse=True)
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", request.param)


def inputs(hypotheses: int, steps: int = 3) -> tuple[Tensor, Tensor, list[Tensor]]:
    """keys, v, the queries of some steps."""
    torch.manual_seed(1)
    shapes = [(SENTENCES, SOURCE, SIZE), (1, SIZE), *[(SENTENCES, hypotheses, SIZE)] * steps]
    keys, v, *queries = (drawn(*shape).requires_grad_() for shape in shapes)
    return keys, v, queries


def as_written(keys: Tensor, v: Tensor, query: Tensor) -> Tensor:
    """vᵀ tanh(q + k)."""
    return torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)) @ v[0]


@pytest.mark.parametrize("hypotheses", [1, 2])
def test_as_the_equation(hypotheses: int) -> None:
    keys, v, queries = inputs(hypotheses)
    energies = AdditiveEnergies(keys, v)
    found, expected = (
        torch.stack([of(query) for query in queries])
        for of in (energies, lambda query: as_written(keys, v, query))
    )
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
    weights = torch.randn_like(expected)
    every = (keys, v, *queries)
    gradients = torch.autograd.grad((found * weights).sum(), every)
    torch.testing.assert_close(
        gradients, torch.autograd.grad((expected * weights).sum(), every), rtol=1e-12, atol=1e-12
    )


def test_backward_twice() -> None:
    keys, v, queries = inputs(1)
    energies = AdditiveEnergies(keys, v)
    loss = torch.stack([energies(query) for query in queries]).square().sum()
    first = torch.autograd.grad(loss, (keys, v, *queries), retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(loss, (keys, v, *queries)), first, rtol=0, atol=0)


def test_a_pass_that_stops_short_leaves_nothing_behind() -> None:
    """A gradient of a query alone never comes to the keys; what it has summed for them is not in the next
    pass."""
    keys, v, queries = inputs(1)
    energies = AdditiveEnergies(keys, v)
    loss = torch.stack([energies(query) for query in queries]).sum()
    expected = torch.autograd.grad(
        torch.stack([as_written(keys, v, query) for query in queries]).sum(), (keys, v)
    )
    torch.autograd.grad(loss, queries, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(loss, (keys, v)), expected, rtol=1e-12, atol=1e-12)


def test_no_second_derivative() -> None:
    keys, v, (query, *_) = inputs(1)
    loss = AdditiveEnergies(keys, v)(query).square().sum()
    with pytest.raises(RuntimeError):
        torch.autograd.grad(torch.autograd.grad(loss, keys, create_graph=True)[0].sum(), keys)
