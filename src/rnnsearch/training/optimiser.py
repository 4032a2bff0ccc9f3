"""Parts of a parameter update: gradient clipping, optimiser, learning rate, averaged weights (B.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.model.layers import WordEmbedding
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.readout import OutputLayer
from rnnsearch.training.adadelta import Adadelta

LIKE, ROWS, NUMBER = "like the parameter", "a number for each row", "one number"

SLOTS: dict[str, dict[str, str]] = {
    "adadelta": {"square_avg": LIKE, "acc_delta": LIKE},
    "adam": {"exp_avg": LIKE, "exp_avg_sq": LIKE, "step": NUMBER},
    "adamw": {"exp_avg": LIKE, "exp_avg_sq": LIKE, "step": NUMBER},
    "sgd": {},
}
"""Optimiser → its state for each parameter after an update."""

SPARSE_SLOTS: dict[str, dict[str, str]] = {"adadelta": {"step": ROWS, "updates": NUMBER}}
"""Optimiser → additional state for sparse gradients."""


def make_optimiser(parameters: Iterable[nn.Parameter], settings: TrainingSettings) -> torch.optim.Optimizer:
    """Returns the optimiser of the settings; the default is Adadelta (Zeiler 2012; ρ = 0.95, ε = 1e-6,
    learning rate 1), as in B.2."""
    rate, decay = settings.learning_rate, settings.weight_decay
    adam: dict[str, Any] = {
        "betas": settings.betas,
        "eps": settings.epsilon,
        "fused": True,
    }
    match settings.optimiser:
        case "adadelta":
            return Adadelta(parameters, lr=rate, rho=settings.rho, eps=settings.epsilon, weight_decay=decay)
        case "adam":
            return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, **adam)
        case "adamw":
            return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, **adam)
        case "sgd":
            return torch.optim.SGD(parameters, lr=rate, weight_decay=decay)


def takes_sparse_gradients(settings: TrainingSettings) -> bool:
    """Tells whether the optimiser should get sparse gradients, which skip the rows of unseen words.

    Adam changes every row at every update, and a GPU is faster with dense gradients. SGD uses sparse
    gradients only with a sampled softmax, where dense ones would cost more than all other work.
    """
    lazy = settings.optimiser == "adadelta" or (settings.optimiser == "sgd" and settings.sampled_softmax > 0)
    return lazy and not settings.weight_decay and settings.device == "cpu"


def choose_gradients(network: TranslationNetwork, settings: TrainingSettings) -> None:
    """Decides which parameters have sparse gradients, with only the rows of a batch's words: the embeddings,
    and with a sampled softmax W_o and b.

    A matrix that is both embedding and W_o has a sparse gradient if both of its uses have.
    """
    sparse, sampled = takes_sparse_gradients(settings), settings.sampled_softmax > 0
    network.source_embedding.sparse_gradient = sparse
    network.target_embedding.sparse_gradient = sparse and (sampled or not network.tied)
    for direction in network.directions:
        direction.output.sparse_gradient = sparse and sampled


def sparse_parameters(network: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters with sparse gradients."""
    modules = [
        module
        for module in network.modules()
        if isinstance(module, WordEmbedding | OutputLayer) and module.sparse_gradient
    ]
    found = [
        one
        for module in modules
        for one in ([module.weight, module.bias] if isinstance(module, OutputLayer) else [module.weight])
    ]
    return list(dict.fromkeys(found))  # W_o may be the embedding


def match_gradients(optimiser: torch.optim.Optimizer, network: nn.Module) -> None:
    """Converts a loaded state to the form, sparse or dense, of the network's gradients: a run may be resumed
    on another device."""
    if isinstance(optimiser, Adadelta):
        optimiser.match_gradients(set(sparse_parameters(network)))


def copies_in_memory(settings: TrainingSettings) -> int:
    """Returns the memory of training as a multiple of that of the parameters: parameters, gradients,
    optimiser state and average.

    With a sampled softmax, the gradients of the large matrices are sparse.
    """
    whole_gradients = not (settings.sampled_softmax and takes_sparse_gradients(settings))
    return (
        1
        + whole_gradients
        + sum(kind == LIKE for kind in SLOTS[settings.optimiser].values())
        + (settings.average_decay > 0)
    )


def learning_rate(settings: TrainingSettings, update: int, total: int) -> float:
    """Returns the learning rate of update 1, 2, …: it rises linearly over `warmup` updates, then follows the
    schedule; cosine and linear reach 0 at update `total`."""
    if update <= settings.warmup:
        return settings.learning_rate * update / settings.warmup
    share = min(1.0, (update - settings.warmup) / max(1, total - settings.warmup))
    match settings.schedule:
        case "constant":
            factor = 1.0
        case "inverse_sqrt":
            factor = math.sqrt(max(1, settings.warmup) / update)
        case "cosine":
            factor = 0.5 * (1.0 + math.cos(math.pi * share))
        case "linear":
            factor = 1.0 - share
    return settings.learning_rate * factor


def total_updates(settings: TrainingSettings, updates_per_epoch: int | float) -> int:
    """Returns the number of updates after which the settings end training; 0 if only time or patience ends
    it.

    Raises InputError for a schedule that needs this number if it is 0.
    """
    limits = [settings.max_updates, math.ceil(settings.max_epochs * updates_per_epoch - 1e-6)]
    total = min((limit for limit in limits if limit), default=0)
    if not total and settings.schedule in ("cosine", "linear"):
        remedy = "set training.max_updates or training.max_epochs"
        raise InputError(
            f'training.schedule = "{settings.schedule}" needs a fixed number of updates', remedy=remedy
        )
    return total


def gradient_norm(parameters: Iterable[nn.Parameter]) -> Float[Tensor, ""]:
    """Returns the L2 norm of all gradients together, on their device."""
    return nn.utils.get_total_norm(
        [_numbers(parameter) for parameter in parameters if parameter.grad is not None]
    )


def clip(parameters: Iterable[nn.Parameter], norm: float, threshold: float) -> None:
    """Rescales a gradient of L2 norm `norm` to norm `threshold` if it is larger (B.2; Pascanu et al. 2013). 0
    never clips."""
    if threshold and norm > threshold:
        torch._foreach_mul_([_numbers(one) for one in parameters if one.grad is not None], threshold / norm)


def _numbers(parameter: nn.Parameter) -> Float[Tensor, ...]:
    """Returns the values of the gradient; for a sparse one, its coalesced rows."""
    assert parameter.grad is not None
    if not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = coalesced(parameter.grad)
    return parameter.grad.values()


def coalesced(gradient: Float[Tensor, "rows ..."]) -> Float[Tensor, "rows ..."]:
    """Returns a sparse gradient in which every row occurs once, in ascending order. A gradient that is
    already so, as with a sampled softmax, is not copied."""
    indices = gradient._indices()
    if gradient.is_coalesced() or not bool((indices[0, 1:] > indices[0, :-1]).all()):
        return gradient.coalesce()
    return torch.sparse_coo_tensor(
        indices, gradient._values(), gradient.shape, is_coalesced=True, check_invariants=False
    )


class WeightAverage:
    """Exponential average of the weights: a ← d·a + (1 − d)·θ. d increases to `decay`, so that the first
    weights have little influence."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: parameter.detach().clone() for name, parameter in network.state_dict().items()}

    @torch.no_grad()
    def update(self, network: nn.Module, update: int) -> None:
        """Adds the weights after update 1, 2, … to the average."""
        rate = 1.0 - min(self.decay, (1 + update) / (10 + update))
        tensors = network.state_dict()
        torch._foreach_lerp_([self.weights[name] for name in tensors], list(tensors.values()), rate)
