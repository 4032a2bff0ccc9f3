"""The gated cell without gradients: the products of several matrices at once, and nothing for padding.

The inputs of a step are adjacent in memory, so that it has two products: [c | s] or [e | s] with the matrices
of both gates, then, with r∘s instead of s, those of the candidate. States and gates have the network's dtype,
products that of the open cache.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from rnnsearch.kernels.layers import once, open_cache, product_dtype, tanh_
from rnnsearch.model.cells import GatedCell
from rnnsearch.system.kernel_dispatch import reference

MULTIPLE = 32
"""Numbers of rows are rounded up to multiples of this: a CPU kernel is compiled for each new number."""


def step(
    cell: GatedCell,
    projected: Float[Tensor, "*rest projected"],
    state: Float[Tensor, "*rest state"],
    context: Float[Tensor, "*rest context"] | None = None,
    keep: Float[Tensor, "*#rest hidden"] | None = None,
) -> Float[Tensor, "*rest state"]:
    """Computes the same as `model.cells:GatedCell.forward`."""
    own = type(cell) is not GatedCell
    if own or context is None or keep is not None or not computes(state) or open_cache() is None:
        return reference(GatedCell.forward)(cell, projected, state, context, keep)
    n = cell.hidden_size
    gates, inner = once(cell.U.weight, lambda: _with_context(cell))
    rows = torch.cat((context, state), -1).to(gates.dtype)
    z, r = F.linear(rows, gates).to(state.dtype).add_(projected[..., n:]).sigmoid_().chunk(2, -1)
    rows[..., -n:] = r * state
    candidate = tanh_(F.linear(rows, inner).to(state.dtype).add_(projected[..., :n]))
    return torch.lerp(state, candidate, z)


def read(
    cell: GatedCell,
    embedded: Float[Tensor, "batch source embedding"],
    mask: Bool[Tensor, "batch source"],
    reverse: bool,
) -> Float[Tensor, "batch source hidden"]:
    """Computes the same as `model.encoder:read`. At each position only sentences that have a word there are
    computed."""
    batch, positions, m = embedded.shape
    gates, inner, bias = once(cell.W.weight, lambda: _with_words(cell))
    longest_first = mask.sum(1).argsort(descending=True, stable=True)
    words = embedded[longest_first].to(gates.dtype)
    rows = words.new_empty(batch, m + cell.hidden_size)
    state = embedded.new_zeros(batch, cell.hidden_size)
    states = embedded.new_empty(batch, positions, cell.hidden_size)
    counts = mask.sum(0).tolist()
    for j in reversed(range(positions)) if reverse else range(positions):
        left = min(batch, counts[j] + -counts[j] % MULTIPLE)
        some, old = rows[:left], state[:left]
        some[:, :m], some[:, m:] = words[:left, j], old
        z, r = F.linear(some, gates).to(state.dtype).sigmoid_().chunk(2, -1)
        z[counts[j] :] = 0.0  # padding
        some[:, m:] = r.mul_(old)
        candidate = tanh_(F.linear(some, inner, bias).to(state.dtype))
        torch.lerp(old, candidate, z, out=old)
        states[:, j] = state
    return torch.empty_like(states).index_copy_(0, longest_first, states)


def computes(state: Tensor) -> bool:
    """Tells whether these functions compute a step from this state: on a CPU, without gradients, and not in
    int8."""
    cache = open_cache()
    return state.device.type == "cpu" and not torch.is_grad_enabled() and not (cache and cache.int8)


def _with_context(cell: GatedCell) -> tuple[Float[Tensor, "gates inputs"], Float[Tensor, "hidden inputs"]]:
    """Returns [C | U] of both gates, and of the candidate."""
    assert cell.C is not None
    inner, gates = cell.C.weight.split((cell.hidden_size, 2 * cell.hidden_size))
    dtype = product_dtype(cell.U.weight)
    return torch.cat((gates, cell.U_zr.weight), 1).to(dtype), torch.cat((inner, cell.U.weight), 1).to(dtype)


def _with_words(
    cell: GatedCell,
) -> tuple[Float[Tensor, "gates inputs"], Float[Tensor, "hidden inputs"], Float[Tensor, " hidden"]]:
    """Returns [W | U] of both gates, and of the candidate, with its bias."""
    dtype, bias = product_dtype(cell.U.weight), cell.W.bias
    assert bias is not None
    gates = torch.cat((cell.W_zr.weight, cell.U_zr.weight), 1)
    return gates.to(dtype), torch.cat((cell.W.weight, cell.U.weight), 1).to(dtype), bias.to(dtype)
