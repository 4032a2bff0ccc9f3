"""The decoder with the paper's cell and alignment model on a CPU, for which a whole target sentence
is one autograd function.

It computes the steps of `model/cells.py` and `model/decoder.py`. The inputs of a step are adjacent
in memory: one product gives the pre-activations of both gates, another, with r∘s instead of s, that
of the candidate. The inputs are [r∘s | c | e | s] with [U | C | W] and [C | W | U], and the
gradients of the matrices are computed once for all steps. States, gates and energies have the
network's dtype, products that of the conversion. Gradients are of first order only; `of_x` is the
gradient of x.

An energy is e_ij = v_aᵀ tanh(q_i + k_j) with q_i = W_a s_{i−1} and k_j = U_a h_j. The intermediate
tensor is n' times as large as the energies (1,000 at the paper's size), so it is made for a few
sentences at a time, which fit a core's cache, and backward makes it again. With σ = σ(2 (q_i +
k_j)), an energy is 2 vᵀσ − Σ v and its derivative 4 v∘(σ − σ²): two passes suffice, and the factor
v_a is applied once after the sum over time.

Autograd gives gradients only to tensors among the arguments of a function's `forward`, so these
have more arguments than others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnsearch.kernels.products import Precision
from rnnsearch.model.alignment.additive import AdditiveAlignment
from rnnsearch.model.alignment.base import Keys
from rnnsearch.model.cells import GatedCell
from rnnsearch.model.decoder import WIRINGS, Decoder, DecoderState, Source


class FastDecoder(Decoder):
    """A decoder that teacher-forces a whole target at once, if it has a gated cell and the paper's
    alignment model and learns on a CPU."""

    precision: Precision
    WHAT = "the decoder is computed"
    EQUALS = (
        "model.layers:tanh",
        "model.layers:_Tanh.forward",
        "model.layers:_Tanh.backward",
        "model.layers:Linear.forward",
        "model.cells:GatedCell.__init__",
        "model.cells:GatedCell.project",
        "model.cells:GatedCell.forward",
        "model.cells:GatedCell.hidden",
        "model.alignment.additive:AdditiveAlignment.__init__",
        "model.alignment.additive:AdditiveAlignment.energies",
        "model.alignment.additive:AdditiveAlignment.attended",
        "model.decoder:Source.context",
        "model.decoder:Decoder.first_attended",
        "model.decoder:Decoder.teacher_force",
        "model.decoder:Decoder.predicting_states",
        "model.decoder:Decoder.step",
        "model.decoder:Decoder.attend",
        "model.decoder:Decoder.advance",
        "model.decoder:eq4",
        "model.decoder:appendix",
        "model.decoder:released",
    )

    def teacher_force(
        self,
        previous: Float[Tensor, "batch target embedding"],
        start: DecoderState,
        source: Source,
        known: Float[Tensor, "batch target source"] | None,
    ) -> DecoderState:
        """Computes the same as `Decoder.teacher_force`.

        All decoder variants have the same steps: c from s, then s from y, c and s. They differ in
        the first word and in the state from which p(y_i) is read.
        """
        cell, alignment = self.cell, self.alignment
        if not torch.is_grad_enabled():
            return _in_place(
                self.predicting_states(previous, start, source, known), previous.shape[1]
            )
        if (
            type(cell) is not GatedCell
            or type(alignment) is not AdditiveAlignment
            or WIRINGS[self.wiring].__name__ != self.wiring
            or previous.device.type != "cpu"
        ):
            return super().teacher_force(previous, start, source, known)
        positions = previous.shape[1]
        words, contexts = {
            "eq4": (previous, positions),
            "appendix": (previous[:, :-1], positions - 1),
            "released": (previous[:, 1:], positions),
        }[self.wiring]
        found: tuple[Tensor, ...] = _TeacherForce.apply(  # type: ignore[no-untyped-call]
            words,
            start.cell.squeeze(1),
            source,
            source.annotations,
            source.keys,
            None if known is None else known[:, self.first_attended :],
            contexts,
            self.precision.of(cell.U.weight),
            alignment.W_a.weight,
            alignment.v_a.weight,
            *_matrices(cell),
        )
        states, context, weights = (each.transpose(0, 1) for each in found)
        if self.wiring == "eq4":
            states = states[:, 1:]
        elif self.wiring == "appendix":
            context = torch.cat((start.context, context), 1)
            weights = torch.cat((start.weights, weights), 1)
        return DecoderState(states, context, weights, None)


GRADIENT_ROWS = 1024
"""Rows of one product in `weight_gradient`."""


def weight_gradient(
    deltas: Float[Tensor, "rows out"], inputs: Float[Tensor, "rows in"], dtype: torch.dtype
) -> Float[Tensor, "out in"]:
    """Returns deltasᵀ inputs, computed in blocks of rows that fit a core's cache."""
    whole = len(deltas) // GRADIENT_ROWS * GRADIENT_ROWS
    left, right = (rows[:whole].unflatten(0, (-1, GRADIENT_ROWS)) for rows in (deltas, inputs))
    gradient = (deltas[whole:].t() @ inputs[whole:]).to(dtype)
    for part in torch.bmm(left.mT, right) if whole else ():
        gradient += part
    return gradient


def _in_place(states: Iterable[DecoderState], positions: int) -> DecoderState:
    """Joins the states of `positions` words. Rows kept apart would fragment the memory between the
    energies' intermediate tensors, which then grows by gigabytes for long sentences."""
    parts: list[Tensor] = []
    for i, state in enumerate(states):
        rows = state.cell, state.context, state.weights
        parts = parts or [row.new_empty(len(row), positions, row.shape[2]) for row in rows]
        for part, row in zip(parts, rows, strict=True):
            part[:, i : i + 1] = row
    cell, context, weights = parts
    return DecoderState(cell, context, weights, None)


def _matrices(cell: GatedCell) -> tuple[Tensor, Tensor, Tensor | None]:
    """Returns ([U | C | W], [C | W | U] of both gates, b)."""
    assert cell.C is not None
    C, C_zr = cell.C.weight.split((cell.hidden_size, 2 * cell.hidden_size))
    gates = torch.cat((C_zr, cell.W_zr.weight, cell.U_zr.weight), 1)
    return torch.cat((cell.U.weight, C, cell.W.weight), 1), gates, cell.W.bias


class _Steps:
    """The steps of a gated cell, forward and backward. words: e, (batch, steps, m). keep: dropout
    mask of s.
    matrices: as `_matrices` returns them."""

    def __init__(
        self,
        words: Tensor,
        context_size: int,
        keep: Tensor | None,
        dtype: torch.dtype,
        matrices: Iterable[Tensor],
    ) -> None:
        batch, steps, m = words.shape
        self.inner, self.gates, self.bias = (each.to(dtype) for each in matrices)
        self.n, self.context, self.keep = len(self.inner), context_size, keep
        # [r∘s | c | e | s]
        self.rows = self.inner.new_empty(steps, batch, 2 * self.n + context_size + m)
        self.rows[..., self.n + context_size : -self.n] = words.transpose(0, 1)
        self.zr = words.new_empty(steps, batch, 2 * self.n)
        self.candidates = words.new_empty(steps, batch, self.n)

    def advance(self, k: int, state: Tensor, context: Tensor, out: Tensor) -> None:
        """Writes f(e_k, s, c) to `out`."""
        rows, zr, candidate = self.rows[k], self.zr[k], self.candidates[k]
        kept = state if self.keep is None else state * self.keep
        rows[:, -self.n :] = kept
        rows[:, self.n : self.n + self.context] = context
        zr.copy_(rows[:, self.n :] @ self.gates.t()).sigmoid_()
        z, r = zr.chunk(2, -1)
        torch.mul(r, kept, out=candidate)
        rows[:, : self.n] = candidate
        candidate.copy_(torch.addmm(self.bias, rows[:, : -self.n], self.inner.t()))
        candidate.add_(candidate).sigmoid_().mul_(2.0).sub_(1.0)  # tanh x = 2 σ(2x) − 1
        torch.lerp(state, candidate, z, out=out)

    def begin_backward(self) -> None:
        """Makes room for the gradients."""
        steps, batch, _ = self.candidates.shape
        self.deltas = self.rows.new_empty(steps, batch, 3 * self.n)  # of the sums of s̃, z and r
        self.of_words = self.zr.new_empty(batch, steps, self.inner.shape[1] - self.n - self.context)
        self.of_bias = self.zr.new_zeros(self.n)

    def step_backward(self, k: int, gradient: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the gradients of s and c at step k, given that of the new state."""
        n, deltas, candidate = self.n, self.deltas[k], self.candidates[k]
        z, r = self.zr[k].chunk(2, -1)
        kept = state if self.keep is None else state * self.keep
        of_candidate = gradient * z
        of_state = gradient - of_candidate
        of_sum = torch.ops.aten.tanh_backward(of_candidate, candidate)
        self.of_bias += of_sum.sum(0)
        deltas[:, :n] = of_sum
        of_rows = (deltas[:, :n] @ self.inner).to(state.dtype)  # [r∘s | c | e]
        deltas[:, n : 2 * n] = torch.ops.aten.sigmoid_backward(
            (candidate - state).mul_(gradient), z
        )
        deltas[:, 2 * n :] = torch.ops.aten.sigmoid_backward(of_rows[:, :n] * kept, r)
        of_gates = (deltas[:, n:] @ self.gates).to(state.dtype)  # [c | e | s]
        of_kept = of_gates[:, -n:].addcmul_(of_rows[:, :n], r)
        of_state += of_kept if self.keep is None else of_kept.mul_(self.keep)
        of_rest = of_rows[:, n:].add_(of_gates[:, :-n])
        self.of_words[:, k] = of_rest[:, self.context :]
        return of_state, of_rest[:, : self.context]

    def gradients(self) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the gradients of [U | C | W], [C | W | U] and b."""
        deltas, rows, n = self.deltas.flatten(0, 1), self.rows.flatten(0, 1), self.n
        dtype = self.zr.dtype
        return (
            weight_gradient(deltas[:, :n], rows[:, :-n], dtype),
            weight_gradient(deltas[:, n:], rows[:, n:], dtype),
            self.of_bias,
        )


class _TeacherForce(torch.autograd.Function):
    """`teacher_force` with a gradient. Returns states, s_0 included, contexts and weights, (steps,
    batch, …).

    first: s_0. known: row k is for the context of step k. contexts: their number; after the last
    one there may be no new state.
    """

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        first: Tensor,
        source: Source,
        annotations: Tensor,
        keys: Tensor,
        known: Tensor | None,
        contexts: int,
        dtype: torch.dtype,
        W_a: Tensor,
        v_a: Tensor,
        *matrices: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch, steps, _ = words.shape
        keep = None if source.keep is None else source.keep.squeeze(1)
        ctx.cell = cell = _Steps(words, annotations.shape[2], keep, dtype, matrices)
        # Keys have the dtype of the products.
        low, twice_keys = W_a.to(dtype), (keys + keys).to(dtype)
        padding = ~source.mask.squeeze(1)
        states = first.new_empty(steps + 1, *first.shape)
        context = first.new_empty(contexts, batch, annotations.shape[2])
        queries = first.new_empty(contexts, batch, len(W_a))  # 2 W_a s
        weights, attended = first.new_empty(2, contexts, batch, annotations.shape[1]).unbind()
        forced = None if known is None else known.any(-1, keepdim=True)  # (batch, contexts, 1)
        states[0] = first
        for k in range(contexts):
            torch.mul((states[k].to(dtype) @ low.t()).to(v_a.dtype), 2.0, out=queries[k])
            energies = energies_of(queries[k], twice_keys, v_a).masked_fill_(padding, -torch.inf)
            torch.softmax(energies, -1, out=weights[k])  # Eq. 6
            attended[k] = weights[k]
            if known is not None and forced is not None:
                attended[k] = torch.where(forced[:, k], known[:, k], weights[k])
            torch.bmm(attended[k].unsqueeze(1), annotations, out=context[k].unsqueeze(1))  # Eq. 5
            if k < steps:
                cell.advance(k, states[k], context[k], states[k + 1])
        ctx.save_for_backward(
            annotations, twice_keys, low, v_a, queries, states, weights, attended, forced
        )
        return states, context, weights

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_states: Tensor, of_contexts: Tensor, of_weights: Tensor
    ) -> tuple[Tensor | None, ...]:
        annotations, twice_keys, W_a, v_a, queries, states, weights, attended, forced = (
            ctx.saved_tensors
        )
        cell: _Steps = ctx.cell
        cell.begin_backward()
        steps, contexts = len(states) - 1, len(weights)
        of_keys, of_v = torch.zeros_like(twice_keys, dtype=v_a.dtype), torch.zeros_like(v_a)
        of_queries = W_a.new_empty(contexts, len(states[0]), len(W_a))
        of_context = of_contexts.clone(memory_format=torch.contiguous_format)
        of_state = torch.zeros_like(states[0])
        for k in reversed(range(contexts)):
            if k < steps:
                of_state += of_states[k + 1]
                of_state, of_c = cell.step_backward(k, of_state, states[k])
                of_context[k] += of_c
            of_alpha = torch.bmm(of_context[k].unsqueeze(1), annotations.mT).squeeze(1)
            if forced is not None:
                of_alpha.masked_fill_(forced[:, k], 0.0)
            of_alpha += of_weights[k]
            of_energies = torch._softmax_backward_data(of_alpha, weights[k], -1, weights.dtype)
            of_queries[k] = add_gradients(queries[k], twice_keys, v_a, of_energies, of_keys, of_v)
            of_state += of_queries[k] @ W_a
        of_state += of_states[0]
        of_annotations = torch.bmm(attended.permute(1, 2, 0), of_context.transpose(0, 1))
        asking_states = states[:contexts].to(W_a.dtype).flatten(0, 1)
        return (
            cell.of_words,
            of_state,
            None,
            of_annotations,
            of_keys.mul_(4.0 * v_a[0]),
            None,
            None,
            None,
            weight_gradient(of_queries.flatten(0, 1), asking_states, v_a.dtype),
            of_v,
            *cell.gradients(),
        )


ENERGIES_AT_ONCE = 1 << 18
"""Elements worked on at a time."""

OneQuery = Float[Tensor, "batch key"]
EnergiesOfStep = Float[Tensor, "batch source"]
V = Float[Tensor, "1 key"]


def energies_of(twice_query: OneQuery, twice_keys: Keys, v: V) -> EnergiesOfStep:
    """Returns e_ij of one step of training, given 2 W_a s_{i−1} and 2 U_a h_j."""
    twice_v, total = 2.0 * v[0], v.sum()
    energies = twice_query.new_empty(twice_keys.shape[:2])
    for rows, sigmoid in _sigmoids(twice_query, twice_keys):
        torch.matmul(sigmoid, twice_v, out=energies[rows])
    return energies.sub_(total)


def add_gradients(
    twice_query: OneQuery, twice_keys: Keys, v: V, gradient: EnergiesOfStep, of_keys: Keys, of_v: V
) -> OneQuery:
    """Returns the gradient of W_a s_{i−1}, given that of the energies. Adds to `of_v` the gradient
    of v, and to `of_keys` that of the keys without its factor 4 v."""
    of_query = torch.empty_like(twice_query)
    for rows, sigmoid in _sigmoids(twice_query, twice_keys):
        g = gradient[rows].unsqueeze(-1)  # (rows, source, 1)
        torch.addmm(of_v, g.reshape(1, -1), sigmoid.flatten(0, -2), alpha=2.0, out=of_v)
        slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1.0)
        torch.matmul(g.mT, slope, out=of_query[rows].unsqueeze(1))
        of_keys[rows].addcmul_(slope, g)
    of_v -= gradient.sum()
    return of_query.mul_(4.0 * v)


def _sigmoids(
    twice_query: OneQuery, twice_keys: Keys
) -> Iterator[tuple[slice, Float[Tensor, "rows source key"]]]:
    """Yields a few sentences at a time, and their σ(2 (q + k)) in the same memory for all: new
    memory would not be in the cache."""
    of_sentence = twice_keys.shape[1:]
    size = max(1, ENERGIES_AT_ONCE // max(1, math.prod(of_sentence)))
    buffer = twice_query.new_empty(min(size, len(twice_query)), *of_sentence)
    for start in range(0, len(twice_query), size):
        rows = slice(start, start + size)
        sums = buffer[: len(twice_query) - start].copy_(twice_keys[rows])
        yield rows, sums.add_(twice_query[rows].unsqueeze(1)).sigmoid_()
