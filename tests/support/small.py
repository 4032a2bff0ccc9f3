"""Small networks whose every parameter is random, biases and v_a too, and a batch of sentences of unequal
lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import ModelSettings
from rnnsearch.text.batches import known_alignment
from rnnsearch.training.setup import trainer_of
from rnnsearch.training.trainer import Trainer

SOURCE_WORDS, TARGET_WORDS = 7, 6

CELLS = ("gated", "lstm", "tanh")
ENCODERS = ("bidirectional", "forward", "embedding", "embedding-position")
ALIGNMENTS = (
    "additive",
    "dot",
    "general",
    "window",
    "fixed",
    "recurrent",
    "recurrent-scalar",
    "coverage",
    "coverage-neural",
)
WIRINGS = ("eq4", "appendix", "released")


def assert_by_hand(found: Tensor, expected: Sequence[Any], within: float = 1e-13) -> None:
    """Compares numbers in double precision with those of plain loops."""
    torch.testing.assert_close(
        found, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=within
    )


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def small_settings(**changed: Any) -> ModelSettings:
    """Sizes that differ wherever they may (`dot` needs annotations of the decoder's size), so that no two can
    be mistaken."""
    sizes: dict[str, Any] = {
        "embedding_size": 5,
        "hidden_size": 4,
        "encoder_size": 3,
        "alignment_size": 6,
        "maxout_size": 2,
    }
    if changed.get("alignment") == "dot":
        encoder = changed.get("encoder", "bidirectional")
        sizes |= {"bidirectional": {"encoder_size": 2}, "forward": {"encoder_size": 4}}.get(
            encoder, {"embedding_size": 4}
        )
    if changed.get("tie_output") and not changed.get("factored_output"):
        sizes["maxout_size"] = sizes["embedding_size"]
    return ModelSettings(**(sizes | changed))


def randomised(module: nn.Module, seed: int = 1, deviation: float = 0.7) -> None:
    """Draws every parameter anew, large enough that no term of an equation is small."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(
                deviation * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            )


def small_network(
    dtype: torch.dtype = torch.float64, trust_code: bool = False, **changed: Any
) -> TranslationNetwork:
    network = TranslationNetwork(
        small_settings(**changed), SOURCE_WORDS, TARGET_WORDS, trust_code=trust_code
    ).to(dtype)
    randomised(network)
    return network


class Sentences(NamedTuple):
    """Ids and real lengths (end of sentence, id 0, included). The padding is not 0: only lengths say what is
    real."""

    source: Tensor
    lengths: Tensor
    target: Tensor
    target_lengths: Tensor


def sentences() -> Sentences:
    """Three pairs: a middling one, one of a single word a side, and one that fills the batch; words and
    positions repeat."""
    return Sentences(
        torch.tensor([[3, 1, 4, 0, 6, 5], [2, 0, 6, 6, 1, 3], [5, 2, 6, 5, 3, 0]]),
        torch.tensor([4, 2, 6]),
        torch.tensor([[2, 5, 0, 1, 4], [0, 3, 3, 2, 5], [4, 1, 1, 3, 0]]),
        torch.tensor([3, 1, 5]),
    )


def linked_batch(links: list[list[tuple[int, int]]] | None = None) -> Batch:
    """The `sentences` with known alignments made of (source, target) links of each pair."""
    given = sentences()
    if links is None:
        return Batch(*given)
    rows = [np.array(pair, dtype=np.uint32).reshape(-1, 2) for pair in links]
    return Batch(*given, known_alignment(rows, given.lengths, given.target_lengths).double())


def teacher_forced(network: TranslationNetwork, batch: Sentences) -> tuple[Tensor, Tensor]:
    """(log p of every word (batch, target, K), weights (batch, target, source)) by the training forward
    pass."""
    decoded = network.teacher_forced(batch.source, batch.lengths, batch.target)[0]
    logits = F.linear(decoded.features, network.output.weight, network.output.bias)
    return torch.log_softmax(logits, -1), decoded.weights


def nll(network: TranslationNetwork, batch: Sentences) -> Tensor:
    """−log p of the target words, and a multiple of the weights so that these have a gradient of their own;
    real positions only."""
    log_p, weights = teacher_forced(network, batch)
    loss = log_p.new_zeros(())
    for b in range(len(batch.source)):
        rows, columns = int(batch.target_lengths[b]), int(batch.lengths[b])
        loss = loss - log_p[b, :rows].gather(1, batch.target[b, :rows, None]).sum()
        loss = loss + (weights[b, :rows, :columns] * torch.arange(columns)).sum()
    return loss


def gradients(network: TranslationNetwork, loss: Tensor, **options: Any) -> dict[str, Tensor]:
    """Of every parameter; zeros where the loss does not depend on it."""
    named = dict(network.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), materialize_grads=True, **options)
    return dict(zip(named, found, strict=True))


def assert_as_finite_differences(
    network: TranslationNetwork, loss: Callable[[], Tensor], **options: Any
) -> None:
    """The gradient with respect to every parameter; with fast_mode each along a random direction."""
    names = [f"network.{name}" for name, _ in network.named_parameters()]

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self) -> Tensor:
            return loss()

    def with_parameters(*values: Tensor) -> Tensor:
        return torch.func.functional_call(Loss(), dict(zip(names, values, strict=True)), ())  # type: ignore[no-any-return]

    values = tuple(
        parameter.detach().clone().requires_grad_() for parameter in network.parameters()
    )
    assert torch.autograd.gradcheck(with_parameters, values, atol=1e-6, **options)


def small_trainer(network: TranslationNetwork, *overrides: str) -> Trainer:
    """Trains in plain PyTorch, unless an override says otherwise."""
    return trainer_of(network, load_config(overrides=["training.kernels=false", *overrides]))


def movement(
    network: TranslationNetwork, *batches: Batch, overrides: Sequence[str] = ()
) -> dict[str, Tensor]:
    """What one step of plain gradient descent changes: minus the gradient."""
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    plain = "optimiser.method=sgd", "optimiser.clip_norm=0"
    small_trainer(network, *plain, *overrides).update(batches, 1)
    return {name: tensor - before[name] for name, tensor in network.state_dict().items()}
