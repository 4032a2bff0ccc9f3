"""Parts of a parameter update: gradient clipping, optimiser, learning rate, averaged weights (B.2).

Adadelta (Zeiler 2012, Algorithm 1) is computed in one pass over memory. In an embedding, it updates
only the rows that a batch uses.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.optimizer import StateDict

from rnnsearch.errors import InputError
from rnnsearch.model.layers import WordEmbedding
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import OptimiserSettings, StoppingSettings

Parameters = Iterable[nn.Parameter]
OptimiserState = dict[str, Tensor]
"""What an optimiser keeps of a parameter."""
CHUNK = 1 << 15
"""Number of elements that each thread processes at a time: few enough to stay in the cache."""

SLOTS = "square_avg", "acc_delta"
"""Names of Adadelta's averages in an optimiser's state: E[g²] and E[Δx²]."""
SPARSE_ROWS = 64
"""Rows of a sparse gradient are processed in multiples of this number, so that the rounding of a
row does not depend on the size of a chunk."""


def make_optimiser(parameters: Parameters, settings: OptimiserSettings) -> torch.optim.Optimizer:
    """Returns the optimiser of the settings; the default is Adadelta (Zeiler 2012; ρ = 0.95, ε =
    1e-6, learning rate 1), as in B.2."""
    how: dict[str, Any] = {"lr": settings.learning_rate, "weight_decay": settings.weight_decay}
    betas, eps = settings.betas, settings.epsilon
    match settings.method:
        case "adadelta":
            return Adadelta(parameters, rho=settings.rho, eps=eps, **how)
        case "adam":
            return torch.optim.Adam(parameters, betas=betas, eps=eps, fused=True, **how)
        case "adamw":
            return torch.optim.AdamW(parameters, betas=betas, eps=eps, fused=True, **how)
        case "sgd":
            return torch.optim.SGD(parameters, **how)


def choose_gradients(network: TranslationNetwork, settings: OptimiserSettings) -> None:
    """Decides which embeddings have sparse gradients, with only the rows of a batch's words.

    Adadelta can leave out the rows of unseen words exactly, without weight decay; Adam changes
    every row at every update, and a GPU is faster with dense gradients. A matrix that is also W_o
    has dense ones.
    """
    on_cpu = network.source_embedding.weight.is_cpu
    sparse = settings.method == "adadelta" and not settings.weight_decay and on_cpu
    network.source_embedding.sparse_gradient = sparse
    network.target_embedding.sparse_gradient = sparse and not network.tied


def sparse_parameters(network: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters with sparse gradients."""
    embeddings = (module for module in network.modules() if isinstance(module, WordEmbedding))
    sparse = [embedding.weight for embedding in embeddings if embedding.sparse_gradient]
    return [weight for weight in sparse if weight.requires_grad]


def learning_rate(settings: OptimiserSettings, update: int, total: int) -> float:
    """Returns the learning rate of update 1, 2, …: it rises linearly over `warmup` updates, then
    follows the schedule; cosine and linear reach 0 at update `total`."""
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


def total_updates(stopping: StoppingSettings, schedule: str, updates_per_epoch: int | float) -> int:
    """Returns the number of updates after which the settings end training; 0 if only time or
    patience ends it.

    Raises InputError for a schedule that needs this number if it is 0.
    """
    limits = [stopping.max_updates, math.ceil(stopping.max_epochs * updates_per_epoch - 1e-6)]
    total = min((limit for limit in limits if limit), default=0)
    if not total and schedule in ("cosine", "linear"):
        remedy = "set stopping.max_updates or stopping.max_epochs"
        what = f'optimiser.schedule = "{schedule}" needs a fixed number of updates'
        raise InputError(what, remedy)
    return total


def gradient_norm(parameters: Parameters) -> Float[Tensor, ""]:
    """Returns the L2 norm of all gradients together, on their device."""
    return nn.utils.get_total_norm(
        [_numbers(parameter) for parameter in parameters if parameter.grad is not None]
    )


def clip(parameters: Parameters, norm: float, threshold: float) -> None:
    """Rescales a gradient of L2 norm `norm` to norm `threshold` if it is larger (B.2; Pascanu et
    al. 2013). 0 never clips."""
    if threshold and norm > threshold:
        torch._foreach_mul_(
            [_numbers(one) for one in parameters if one.grad is not None], threshold / norm
        )


def _numbers(parameter: nn.Parameter) -> Float[Tensor, ...]:
    """Returns the values of the gradient; for a sparse one, its coalesced rows."""
    assert parameter.grad is not None
    if not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad.values()


class WeightAverage:
    """Exponential average of the weights: a ← d·a + (1 − d)·θ. d increases to `decay`, so that the
    first weights have little influence."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {
            name: parameter.detach().clone() for name, parameter in network.state_dict().items()
        }

    @torch.no_grad()
    def update(self, network: nn.Module, update: int) -> None:
        """Adds the weights after update 1, 2, … to the average."""
        rate = 1.0 - min(self.decay, (1 + update) / (10 + update))
        tensors = network.state_dict()
        floats = [name for name, tensor in tensors.items() if tensor.is_floating_point()]
        torch._foreach_lerp_(
            [self.weights[name] for name in floats], [tensors[name] for name in floats], rate
        )
        for name in tensors.keys() - floats:  # a buffer that counts, say
            self.weights[name].copy_(tensors[name])


class Adadelta(torch.optim.Optimizer):
    """E[g²] ← ρ E[g²] + (1 − ρ) g²; Δx = −√(E[Δx²] + ε) / √(E[g²] + ε) · g; E[Δx²] ← ρ E[Δx²] + (1
    − ρ) Δx²; x ← x + lr · Δx.

    A row that is not in a sparse gradient has g = 0: x does not change, and both averages are
    multiplied by ρ. This is done only when the row is next used, k updates later, as one product
    with ρ^k.

    state: square_avg and acc_delta, like the parameter. For sparse gradients, also the number of
    updates, and the last update of each row (`step`). `match_gradients` turns one form into the
    other.
    """

    def __init__(
        self,
        parameters: Parameters,
        lr: float = 1.0,
        rho: float = 0.95,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ):
        super().__init__(
            parameters, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        )

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Loads a state that `state_dict` has returned."""
        super().load_state_dict(state_dict)
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        for index, state in state_dict["state"].items():
            if "updates" in state:  # torch has made it a float32, in which counting stops at 2^24
                self.state[parameters[index]]["updates"] = state["updates"].long()

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Updates every parameter that has a gradient. Weight decay touches every row, so it needs
        dense gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if (gradient := parameter.grad) is None:
                    continue
                state = self.state[parameter]
                if "square_avg" not in state:
                    state |= {slot: torch.zeros_like(parameter) for slot in SLOTS}
                step = _step_rows if gradient.is_sparse else _step_whole
                step(parameter, gradient, state, group)

    @torch.no_grad()
    def match_gradients(self, sparse: Collection[nn.Parameter]) -> None:
        """Converts every state to the form that later gradients need, whichever form it was saved
        in.

        sparse: the parameters whose gradients will be sparse. To become dense, each row is
        multiplied by ρ^k for the k updates that it missed. To become sparse, updates are counted
        from now on. Only the products with ρ^k are rounded.
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state.get(parameter)
                if state and "step" in state and parameter not in sparse:
                    missed = state.pop("updates") - state.pop("step").to(parameter.device)
                    decay = group["rho"] ** missed.to(parameter.dtype).unsqueeze(1)
                    for slot in SLOTS:
                        state[slot].mul_(decay)
                elif state and "step" not in state and parameter in sparse:
                    _count_updates(parameter, state)


def _step_whole(
    parameter: nn.Parameter, gradient: Tensor, state: OptimiserState, group: dict[str, Any]
) -> None:
    """Updates a parameter by a dense gradient, a chunk at a time."""
    # On a GPU every chunk would cost a dozen kernel launches.
    chunk = CHUNK * torch.get_num_threads() if parameter.is_cpu else max(1, parameter.numel())
    tensors = parameter, *(state[slot] for slot in SLOTS)
    flat = (tensor.view(-1).split(chunk) for tensor in tensors)
    for x, square, delta, g in zip(*flat, gradient.reshape(-1).split(chunk), strict=True):
        if group["weight_decay"]:
            g = g + group["weight_decay"] * x
        x.add_(_change(g, square, delta, group))


def _step_rows(
    parameter: nn.Parameter, gradient: Tensor, state: OptimiserState, group: dict[str, Any]
) -> None:
    """Updates the rows of a parameter that are in a sparse gradient."""
    if "step" not in state:
        _count_updates(parameter, state)
    state["updates"] += 1
    now = int(state["updates"])
    gradient = gradient.coalesce()
    of_chunk = CHUNK * torch.get_num_threads() // parameter.shape[1]  # only a CPU has sparse ones
    at_once = max(SPARSE_ROWS, of_chunk - of_chunk % SPARSE_ROWS)
    for rows, g in zip(
        gradient.indices()[0].split(at_once), gradient.values().split(at_once), strict=True
    ):
        missed = (now - 1 - state["step"][rows]).to(g.dtype).unsqueeze(1)
        decay = group["rho"] ** missed
        square, delta = (state[slot].index_select(0, rows).mul_(decay) for slot in SLOTS)
        parameter.index_add_(0, rows, _change(g, square, delta, group))
        state["square_avg"][rows], state["acc_delta"][rows] = square, delta
        state["step"][rows] = now


def _count_updates(parameter: nn.Parameter, state: OptimiserState) -> None:
    state["updates"] = torch.zeros((), dtype=torch.int64)
    state["step"] = torch.zeros(len(parameter), dtype=torch.int64, device=parameter.device)


def _change(
    g: Float[Tensor, "*shape"],
    square: Float[Tensor, "*shape"],
    delta: Float[Tensor, "*shape"],
    group: dict[str, Any],
) -> Float[Tensor, "*shape"]:
    """Returns lr · Δx. Updates E[g²] and E[Δx²] in place."""
    rho, epsilon = float(group["rho"]), float(group["eps"])
    square.mul_(rho).addcmul_(g, g, value=1 - rho)
    change = (delta + epsilon).div_(square + epsilon).sqrt_().mul_(g).neg_()
    delta.mul_(rho).addcmul_(change, change, value=1 - rho)
    return change.mul_(group["lr"])
