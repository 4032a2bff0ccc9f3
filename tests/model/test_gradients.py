"""Gradients of the whole network: against finite differences, against plain autograd, and however backward is
run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small import Sentences, nll, sentences, small_network
from torch import Tensor

from rnnsearch.model.network import TranslationNetwork

REPRESENTATIVE: list[dict[str, Any]] = [
    {},
    {"wiring": "eq4", "readout": "tanh"},
    {"wiring": "appendix", "factored_output": True},
    {"cell": "lstm", "alignment": "general", "tie_output": True},
    {"cell": "lstm", "wiring": "eq4", "encoder": "forward", "alignment": "fixed"},
    {"cell": "tanh", "alignment": "window", "encoder": "embedding-position"},
    {"cell": "tanh", "alignment": "dot", "wiring": "appendix", "encoder": "embedding"},
    {"alignment": "recurrent"},
    {"alignment": "recurrent-scalar", "encoder": "embedding", "wiring": "eq4"},
    {"alignment": "coverage", "wiring": "appendix"},
    {"alignment": "coverage-neural", "cell": "lstm"},
]


def with_parameters(network: TranslationNetwork, batch: Sentences, values: tuple[Tensor, ...]) -> Tensor:
    """The loss as a function of the parameters."""
    named = dict(zip(dict(network.named_parameters()), values, strict=True))

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self) -> Tensor:
            return nll(network, batch)

    result = torch.func.functional_call(
        Loss(), {f"network.{name}": value for name, value in named.items()}, ()
    )
    assert isinstance(result, Tensor)
    return result


@pytest.mark.parametrize("changed", REPRESENTATIVE, ids=str)
def test_finite_differences_in_random_directions(changed: dict[str, Any]) -> None:
    """Of the loss with respect to every parameter, each along a random direction."""
    network, batch = small_network(**changed), sentences()
    values = tuple(parameter.detach().clone().requires_grad_() for parameter in network.parameters())
    assert torch.autograd.gradcheck(
        lambda *given: with_parameters(network, batch, given), values, fast_mode=True, atol=1e-6
    )


def test_finite_differences_of_every_number() -> None:
    """The paper's network, one number of one parameter at a time."""
    network = small_network(embedding_size=2, hidden_size=2, encoder_size=1, alignment_size=2, maxout_size=1)
    batch = Sentences(
        *(
            tensor[1:2, :3].clamp(max=4) if tensor.dim() == 2 else tensor[:1].clamp(max=3)
            for tensor in sentences()
        )
    )
    values = tuple(parameter.detach().clone().requires_grad_() for parameter in network.parameters())
    assert torch.autograd.gradcheck(lambda *given: with_parameters(network, batch, given), values, atol=1e-6)


def gradients(network: TranslationNetwork, loss: Tensor, **options: Any) -> dict[str, Tensor | None]:
    named = dict(network.named_parameters())
    return dict(
        zip(named, torch.autograd.grad(loss, list(named.values()), allow_unused=True, **options), strict=True)
    )


def assert_same(
    found: dict[str, Tensor | None], expected: dict[str, Tensor | None], atol: float = 1e-12
) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=atol)


@pytest.mark.parametrize("changed", REPRESENTATIVE, ids=str)
def test_backward_twice_partly_and_never(changed: dict[str, Any]) -> None:
    network, batch = small_network(**changed), sentences()
    expected = gradients(network, nll(network, batch))
    nll(network, batch)  # its backward never runs
    loss = nll(network, batch)
    # towards the embeddings only: passes through every recurrence and stops short of the other matrices
    embedding = network.source_embedding.weight
    (partly,) = torch.autograd.grad(loss, embedding, retain_graph=True)
    torch.testing.assert_close(partly, expected["source_embedding.weight"])
    assert_same(gradients(network, loss, retain_graph=True), expected)
    assert_same(gradients(network, loss), expected)


@pytest.mark.parametrize("changed", REPRESENTATIVE, ids=str)
def test_bfloat16_products(changed: dict[str, Any]) -> None:
    """Products with 8 significant bits: the gradient of all parameters together within 3 % of float32's norm,
    and the loss within 1 %."""
    network, batch = small_network(torch.float32, **changed), sentences()
    with (
        torch.no_grad()
    ):  # of the size that parameters have in training; at 0.7 the units saturate and the maxout flips
        for parameter in network.parameters():
            parameter.mul_(0.4)
    loss = nll(network, batch)
    exact = gradients(network, loss)
    network.product_dtype = torch.bfloat16
    low_loss = nll(network, batch)
    low = gradients(network, low_loss)
    assert 0 < abs(low_loss.item() - loss.item()) < 0.01 * loss.item()
    difference = norm_of([found - gradient for found, gradient in _pairs(low, exact)])
    assert difference < 0.03 * norm_of([gradient for _, gradient in _pairs(low, exact)])
    assert all(found.dtype == torch.float32 for found, _ in _pairs(low, exact))


def _pairs(
    found: dict[str, Tensor | None], expected: dict[str, Tensor | None]
) -> list[tuple[Tensor, Tensor]]:
    assert {name for name, gradient in found.items() if gradient is None} == {
        name for name, g in expected.items() if g is None
    }
    return [
        (gradient, other)
        for name, gradient in found.items()
        if gradient is not None and (other := expected[name]) is not None
    ]


def norm_of(tensors: list[Tensor]) -> float:
    return float(torch.cat([tensor.flatten() for tensor in tensors]).norm())
