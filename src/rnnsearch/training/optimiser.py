"""One update of the parameters: clipped gradient, optimiser, learning rate, averaged weights (B.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.model.embedding import WordEmbedding
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.readout import OutputLayer
from rnnsearch.training.adadelta import Adadelta


def make_optimiser(parameters: Iterable[nn.Parameter], settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adadelta (Zeiler 2012; ρ = 0.95, ε = 1e-6, no learning rate: it is 1) as in B.2, or what `settings` names."""
    rate, decay = settings.learning_rate, settings.weight_decay
    adam: dict[str, Any] = {"betas": settings.betas, "eps": settings.epsilon, "fused": True, "capturable": settings.capture}
    match settings.optimiser:
        case "adadelta":
            return Adadelta(parameters, lr=rate, rho=settings.rho, eps=settings.epsilon, weight_decay=decay)
        case "adam":
            return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, **adam)
        case "adamw":
            return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, **adam)
        case "sgd":  # only the fused one leaves a learning rate that is a tensor where it is
            return torch.optim.SGD(parameters, lr=rate, weight_decay=decay, fused=settings.capture)


def takes_sparse_gradients(settings: TrainingSettings) -> bool:
    """Whether the optimiser can leave the rows of unseen words alone. (Adam moves every row at every update; a GPU prefers whole ones.)

    SGD could do so always; it does with a sampled softmax, where whole gradients would cost more than all the rest.
    """
    lazy = settings.optimiser == "adadelta" or (settings.optimiser == "sgd" and settings.sampled_softmax > 0)
    return lazy and not settings.weight_decay and settings.device == "cpu" and not settings.capture


def choose_gradients(network: TranslationNetwork, settings: TrainingSettings) -> None:
    """Decides which gradients hold only the rows of a batch's words: those of the embeddings, and with a sampled softmax W_o's and b's.

    A matrix that is embedding and W_o at once has such a gradient if both of its uses have.
    """
    sparse, sampled = takes_sparse_gradients(settings), settings.sampled_softmax > 0
    network.source_embedding.sparse_gradient = sparse
    network.target_embedding.sparse_gradient = sparse and (sampled or not network.tied)
    for direction in network.directions:
        direction.output.sparse_gradient = sparse and sampled


def sparse_parameters(network: nn.Module) -> list[nn.Parameter]:
    """Those whose gradients hold only the rows of a batch's words."""
    modules = [module for module in network.modules() if isinstance(module, WordEmbedding | OutputLayer) and module.sparse_gradient]
    found = [one for module in modules for one in ([module.weight, module.bias] if isinstance(module, OutputLayer) else [module.weight])]
    return list(dict.fromkeys(found))  # W_o may be the embedding


def match_gradients(optimiser: torch.optim.Optimizer, network: nn.Module) -> None:
    """Gives a loaded state the form that the network's gradients need: a run may be resumed on a device with another form."""
    if isinstance(optimiser, Adadelta):
        optimiser.match_gradients(set(sparse_parameters(network)))


def learning_rate(settings: TrainingSettings, update: int, total: int) -> float:
    """Of update 1, 2, …: a linear rise over `warmup` updates, then the schedule; cosine and linear reach 0 at update `total`."""
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
    """Where training ends by its settings; 0 if nothing but time or patience ends it."""
    limits = [settings.max_updates, math.ceil(settings.max_epochs * updates_per_epoch - 1e-6)]
    total = min((limit for limit in limits if limit), default=0)
    if not total and settings.schedule in ("cosine", "linear"):
        remedy = "set training.max_updates or training.max_epochs"
        raise InputError(f'training.schedule = "{settings.schedule}" needs a fixed number of updates', remedy=remedy)
    return total


def gradient_norm(parameters: Iterable[nn.Parameter]) -> Float[Tensor, ""]:
    """The L2 norm of all gradients together, where they are."""
    return nn.utils.get_total_norm([_numbers(parameter) for parameter in parameters if parameter.grad is not None])


def clip(parameters: Iterable[nn.Parameter], norm: float, threshold: float) -> None:
    """Rescales a gradient of L2 norm `norm` to `threshold` when it exceeds that (B.2; Pascanu et al. 2013); 0 never clips."""
    if (factor := clip_factor(norm, threshold)) != 1.0:
        torch._foreach_mul_([_numbers(parameter) for parameter in parameters if parameter.grad is not None], factor)


def clip_factor(norm: float, threshold: float) -> float:
    """What `clip` multiplies a gradient of this norm with."""
    return threshold / norm if threshold and norm > threshold else 1.0


def _numbers(parameter: nn.Parameter) -> Float[Tensor, ...]:
    """The gradient, or what a sparse one holds after the rows that several words share have been summed."""
    assert parameter.grad is not None
    if not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = coalesced(parameter.grad)
    return parameter.grad.values()


def coalesced(gradient: Float[Tensor, "rows ..."]) -> Float[Tensor, "rows ..."]:
    """A sparse gradient in which every row occurs once, in ascending order: not copied if it is that already, as a sampled softmax's."""
    indices = gradient._indices()
    if gradient.is_coalesced() or not bool((indices[0, 1:] > indices[0, :-1]).all()):
        return gradient.coalesce()
    return torch.sparse_coo_tensor(indices, gradient._values(), gradient.shape, is_coalesced=True, check_invariants=False)


class WeightAverage:
    """Exponential average of the weights: a ← d·a + (1 − d)·θ, with d rising to `decay` so that the start is forgotten."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: parameter.detach().clone() for name, parameter in network.state_dict().items()}

    @torch.no_grad()
    def update(self, network: nn.Module, update: int, parameters: Iterable[nn.Parameter] | None = None) -> None:
        """After update 1, 2, …; `parameters`: only of these."""
        pairs = self._pairs(network, parameters)
        torch._foreach_lerp_([average for average, _ in pairs], [tensor for _, tensor in pairs], averaging_rate(self.decay, update))

    @torch.no_grad()
    def update_by(self, rate: Float[Tensor, ""], network: nn.Module, parameters: Iterable[nn.Parameter] | None = None) -> None:
        """As `update`, with an `averaging_rate` that is where the network is."""
        for average, tensor in self._pairs(network, parameters):
            average.lerp_(tensor, rate)

    def _pairs(self, network: nn.Module, parameters: Iterable[nn.Parameter] | None) -> list[tuple[Tensor, Tensor]]:
        chosen = {parameter.data_ptr() for parameter in (network.parameters() if parameters is None else parameters)}
        return [(self.weights[name], tensor) for name, tensor in network.state_dict().items() if tensor.data_ptr() in chosen]


def averaging_rate(decay: float, update: int) -> float:
    """1 − d after update 1, 2, …"""
    return 1.0 - min(decay, (1 + update) / (10 + update))
