"""The activation f of a recurrent network (Sec. 3.1; A.1.1): (input, state, context) → state.

A cell's state is one tensor (..., state_size). Computation that depends on the input word alone is
outside the time loop: `project` maps the words of a whole sentence at once, and each step takes one
projected word.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.model.layers import Linear, orthogonal, tanh

Inputs = Float[Tensor, "*rest input"]
Projected = Float[Tensor, "*rest projected"]
State = Float[Tensor, "*rest state"]
Hidden = Float[Tensor, "*rest hidden"]
Context = Float[Tensor, "*rest context"]
Keep = Float[Tensor, "*#rest hidden"]


class Cell(nn.Module):
    """The interface of a cell. input_size: m; hidden_size: n; context_size: size of c, 0 for no
    context, as in the encoder (footnote 8); state_size: size of the state, n unless the cell has a
    memory."""

    input_size: int
    hidden_size: int
    context_size: int
    state_size: int

    def __init__(self, input_size: int, hidden_size: int, context_size: int = 0) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.context_size = input_size, hidden_size, context_size

    def project(self, inputs: Inputs) -> Projected:
        """Returns the part of the pre-activations that depends on the input word alone, with the
        bias."""
        raise NotImplementedError

    def forward(
        self,
        projected: Projected,
        state: State,
        context: Context | None = None,
        keep: Keep | None = None,
    ) -> State:
        """Computes one step. keep: dropout mask of the previous state in the recurrent products,
        the same for a whole sequence."""
        raise NotImplementedError

    def begin(self, hidden: Hidden) -> State:
        """Returns the state whose output is `hidden`."""
        return hidden

    def hidden(self, state: State) -> Hidden:
        """Returns the part of the state that the rest of the network reads."""
        return state


class GatedCell(Cell):
    """The gated hidden unit (A.1.1, A.2.2). z weighs the candidate, and the reset gate acts before
    U."""

    def __init__(self, input_size: int, hidden_size: int, context_size: int = 0) -> None:
        super().__init__(input_size, hidden_size, context_size)
        self.state_size = hidden_size
        self.W = Linear(input_size, hidden_size, bias=True)
        self.W_zr = Linear(input_size, 2 * hidden_size)
        self.U = Linear(hidden_size, hidden_size, init=orthogonal)
        self.U_zr = Linear(hidden_size, 2 * hidden_size, init=orthogonal)
        self.C = Linear(context_size, 3 * hidden_size) if context_size else None

    def project(self, inputs: Inputs) -> Projected:
        """Returns [W e + b; W_z e; W_r e]."""
        return torch.cat((self.W(inputs), self.W_zr(inputs)), -1)

    def forward(
        self,
        projected: Projected,
        state: State,
        context: Context | None = None,
        keep: Keep | None = None,
    ) -> State:
        """Computes s' = (1 − z)∘s + z∘s̃ with s̃ = tanh(W e + U[r∘s] + C c).

        z = σ(W_z e + U_z s + C_z c), r = σ(W_r e + U_r s + C_r c).
        """
        n = self.hidden_size
        if self.C is not None:
            projected = projected + self.C(context)
        inner, gates = projected.split((n, 2 * n), -1)
        kept = state if keep is None else state * keep
        z, r = torch.sigmoid(gates + self.U_zr(kept)).chunk(2, -1)
        candidate = tanh(inner + self.U(r * kept))
        return torch.lerp(state, candidate, z)  # (1 − z) ∘ s_{i−1} + z ∘ s̃_i


class LSTMCell(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al.
    2000).
    State: [hidden; memory]."""

    def __init__(self, input_size: int, hidden_size: int, context_size: int = 0) -> None:
        super().__init__(input_size, hidden_size, context_size)
        self.state_size = 2 * hidden_size
        self.W = Linear(input_size, 4 * hidden_size, bias=True)
        self.U = Linear(hidden_size, 4 * hidden_size, init=orthogonal)
        self.C = Linear(context_size, 4 * hidden_size) if context_size else None
        assert self.W.bias is not None
        with torch.no_grad():  # an open forget gate at the start, as Gers et al. advise
            self.W.bias[hidden_size : 2 * hidden_size] = 1.0

    def project(self, inputs: Inputs) -> Projected:
        """Returns W e + b of i, f, o and g."""
        return self.W(inputs)  # type: ignore[no-any-return]

    def forward(
        self,
        projected: Projected,
        state: State,
        context: Context | None = None,
        keep: Keep | None = None,
    ) -> State:
        """Computes m' = f∘m + i∘tanh(g), h' = o∘tanh(m'); gates i, f, o = σ(W e + U h + C c)."""
        hidden, memory = state.chunk(2, -1)
        kept = hidden if keep is None else hidden * keep
        sums = projected + self.U(kept)
        if self.C is not None:
            sums = sums + self.C(context)
        gates, inner = sums.split((3 * self.hidden_size, self.hidden_size), -1)
        i, f, o = torch.sigmoid(gates).chunk(3, -1)
        memory = f * memory + i * tanh(inner)
        return torch.cat((o * tanh(memory), memory), -1)

    def begin(self, hidden: Hidden) -> State:
        """Returns [hidden; 0]."""
        return torch.cat((hidden, torch.zeros_like(hidden)), -1)

    def hidden(self, state: State) -> Hidden:
        """Returns h of [h; m]."""
        return state[..., : self.hidden_size]


class TanhCell(Cell):
    """The simple unit: s' = tanh(W e + U s + C c)."""

    def __init__(self, input_size: int, hidden_size: int, context_size: int = 0) -> None:
        super().__init__(input_size, hidden_size, context_size)
        self.state_size = hidden_size
        self.W = Linear(input_size, hidden_size, bias=True)
        self.U = Linear(hidden_size, hidden_size, init=orthogonal)
        self.C = Linear(context_size, hidden_size) if context_size else None

    def project(self, inputs: Inputs) -> Projected:
        """Returns W e + b."""
        return self.W(inputs)  # type: ignore[no-any-return]

    def forward(
        self,
        projected: Projected,
        state: State,
        context: Context | None = None,
        keep: Keep | None = None,
    ) -> State:
        """Computes s' = tanh(W e + U s + C c)."""
        sums = projected + self.U(state if keep is None else state * keep)
        return tanh(sums if self.C is None else sums + self.C(context))


CELLS: dict[str, type[Cell]] = {"gated": GatedCell, "lstm": LSTMCell, "tanh": TanhCell}
