"""Adadelta (Zeiler 2012, Algorithm 1) in one pass over memory. In an embedding, it updates only the rows that
a batch uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

CHUNK = 1 << 15
"""Number of elements that each thread processes at a time: few enough to stay in the cache."""

ROWS_TOGETHER = 64
"""Rows of a sparse gradient are processed in multiples of this number, so that the rounding of a row does not
depend on the size of a chunk."""


class Adadelta(torch.optim.Optimizer):
    """E[g²] ← ρ E[g²] + (1 − ρ) g²; Δx = −√(E[Δx²] + ε) / √(E[g²] + ε) · g; E[Δx²] ← ρ E[Δx²] + (1 − ρ) Δx²;
    x ← x + lr · Δx.

    A row that is not in a sparse gradient has g = 0: x does not change, and both averages are multiplied by
    ρ. This is done only when the row is next used, k updates later, as one product with ρ^k.

    state: square_avg and acc_delta, like the parameter. For sparse gradients, also the number of updates, and
    the last update of each row (`step`). `match_gradients` turns one form into the other.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float = 1.0,
        rho: float = 0.95,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ):
        super().__init__(parameters, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Updates every parameter that has a gradient. Raises ValueError for weight decay with a sparse
        gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if "square_avg" not in state:
                    state["square_avg"], state["acc_delta"] = (
                        torch.zeros_like(parameter),
                        torch.zeros_like(parameter),
                    )
                if parameter.grad.is_sparse:
                    _step_rows(parameter, state, group)
                else:
                    _step_whole(parameter, state, group)

    @torch.no_grad()
    def match_gradients(self, sparse: Collection[nn.Parameter]) -> None:
        """Converts every state to the form that later gradients need, whichever form it was saved in.

        sparse: the parameters whose gradients will be sparse. To become dense, each row is multiplied by ρ^k
        for the k updates that it missed. To become sparse, updates are counted from now on. Only the products
        with ρ^k are rounded.
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state.get(parameter)
                if state and "step" in state and parameter not in sparse:
                    missed = (
                        state.pop("updates").to(parameter.device) - state.pop("step").to(parameter.device)
                    ).to(parameter.dtype)
                    for average in (state["square_avg"], state["acc_delta"]):
                        average.mul_(_decay(missed, average, group))
                elif state and "step" not in state and parameter in sparse:
                    _count_updates(parameter, state)


def _step_whole(parameter: nn.Parameter, state: dict[str, Tensor], group: dict[str, Any]) -> None:
    assert parameter.grad is not None
    if "step" in state:
        raise ValueError("a parameter whose gradients were sparse has got a dense one")
    # On a GPU every chunk would cost a dozen kernel launches.
    chunk = CHUNK * torch.get_num_threads() if parameter.device.type == "cpu" else max(1, parameter.numel())
    flat = (tensor.view(-1).split(chunk) for tensor in (parameter, state["square_avg"], state["acc_delta"]))
    for x, square, delta, g in zip(*flat, parameter.grad.reshape(-1).split(chunk), strict=True):
        if group["weight_decay"]:
            g = g + group["weight_decay"] * x
        x.add_(_change(g, square, delta, group))


def _step_rows(parameter: nn.Parameter, state: dict[str, Tensor], group: dict[str, Any]) -> None:
    assert parameter.grad is not None
    if group["weight_decay"]:
        raise ValueError("weight decay touches every row: it needs dense gradients")
    if "step" not in state:
        _count_updates(parameter, state)
    state["updates"] += 1
    now = int(state["updates"])
    gradient = parameter.grad.coalesce()
    rows_of_chunk = (
        CHUNK * torch.get_num_threads() // math.prod(parameter.shape[1:])
    )  # gradients are sparse only on a CPU
    at_once = max(ROWS_TOGETHER, rows_of_chunk - rows_of_chunk % ROWS_TOGETHER)
    for rows, g in zip(gradient.indices()[0].split(at_once), gradient.values().split(at_once), strict=True):
        past = _decay((now - 1 - state["step"][rows]).to(g.dtype), g, group)
        square, delta = (state[slot].index_select(0, rows).mul_(past) for slot in ("square_avg", "acc_delta"))
        parameter.index_add_(0, rows, _change(g, square, delta, group))
        state["square_avg"][rows], state["acc_delta"][rows], state["step"][rows] = square, delta, now


def _count_updates(parameter: nn.Parameter, state: dict[str, Tensor]) -> None:
    state["updates"] = torch.zeros((), dtype=parameter.dtype)
    state["step"] = torch.zeros(len(parameter), dtype=torch.int64, device=parameter.device)


def _decay(
    missed: Float[Tensor, " rows"], average: Float[Tensor, "rows ..."], group: dict[str, Any]
) -> Float[Tensor, "rows ..."]:
    """Returns ρ^(missed updates) of each row, in a shape that broadcasts to the average."""
    return torch.pow(group["rho"], missed).view(-1, *[1] * (average.dim() - 1))


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
