"""e_ij = v_aᵀ tanh(q_i + k_j) on a CPU: for a few sentences at a time, which fit a core's cache; their
gradient without saved intermediate results. q_i is W_a s_{i−1}, k_j is U_a h_j.

The intermediate tensor is n' times as large as the energies (1,000 at the paper's size), so backward
recomputes it. With σ = σ(2 (q_i + k_j)), an energy is 2 vᵀσ − Σ v and its derivative 4 v∘(σ − σ²): two passes
suffice, and the factor v_a is applied once after the sum over time. The gradients of the keys and of v_a are
summed over all steps in place: exact, first order only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from rnnsearch.model.alignment.base import Energies, Keys

CHUNK_ELEMENTS = 1 << 18
"""Elements worked on at a time."""

Query = Float[Tensor, "batch hypotheses key"]
V = Float[Tensor, "1 key"]


def energies_of(twice_query: Query, twice_keys: Keys, v: V) -> Energies:
    """Returns e_ij of one step of training, given 2 W_a s_{i−1} and 2 U_a h_j."""
    twice_v, total = 2.0 * v[0], v.sum()
    energies = twice_query.new_empty(*twice_query.shape[:2], twice_keys.shape[1])
    for rows, sigmoid in _sigmoids(twice_query, twice_keys):
        torch.matmul(sigmoid, twice_v, out=energies[rows])
    return energies.sub_(total)


def add_gradients(
    twice_query: Query, twice_keys: Keys, v: V, gradient: Energies, of_keys: Keys, of_v: V
) -> Query:
    """Returns the gradient of W_a s_{i−1}, given that of the energies. Adds to `of_v` the gradient of v, and
    to `of_keys` that of the keys without its factor 4 v."""
    of_query = torch.empty_like(twice_query)
    for rows, sigmoid in _sigmoids(twice_query, twice_keys):
        g = gradient[rows].unsqueeze(-1)  # (rows, hypotheses, source, 1)
        torch.addmm(of_v, g.reshape(1, -1), sigmoid.flatten(0, -2), alpha=2.0, out=of_v)
        slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1.0)
        torch.matmul(g.mT, slope, out=of_query[rows].unsqueeze(2))
        for hypothesis in range(gradient.shape[1]):
            of_keys[rows].addcmul_(slope[:, hypothesis], g[:, hypothesis])
    of_v -= gradient.sum()
    return of_query.mul_(4.0 * v)


def _sigmoids(
    twice_query: Query, twice_keys: Keys
) -> Iterator[tuple[slice, Float[Tensor, "rows hypotheses source key"]]]:
    """Yields a few sentences at a time, and their σ(2 (q + k)) in the same memory for all: new memory would
    not be in the cache."""
    of_sentence = twice_query.shape[1], *twice_keys.shape[1:]
    size = max(1, CHUNK_ELEMENTS // max(1, math.prod(of_sentence)))
    buffer = twice_query.new_empty(min(size, len(twice_query)), *of_sentence)
    for start in range(0, len(twice_query), size):
        rows = slice(start, start + size)
        sums = buffer[: len(twice_query) - start].copy_(twice_keys[rows].unsqueeze(1))
        yield rows, sums.add_(twice_query[rows].unsqueeze(2)).sigmoid_()
