"""The activation f (A.1.1; A.2.1; A.2.2): the gated hidden unit, and the two alternatives that A.1.1 names.

`word` is e(y_{i−1}), or None where there is no word before: its terms are then zero, the bias stays.
`context` is c_i, or None in the
encoder (footnote 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from plain.vectors import Matrix, Vector, add, product, sigmoid, tanh, times, zeros


class Unit(Protocol):
    """A state is whatever the unit makes it; `hidden` is the part that the rest of the network sees."""

    def zero(self) -> Any: ...
    def begin(self, hidden: Vector) -> Any: ...
    def hidden(self, state: Any) -> Vector: ...
    def next(self, word: Vector | None, state: Any, context: Vector | None) -> Any: ...


def term(M: Matrix, x: Vector | None) -> Vector:
    """M x, or the zero vector if there is no x."""
    return zeros(len(M)) if x is None else product(M, x)


@dataclass(frozen=True)
class GatedUnit:
    """A.1.1 with the candidate's bias b, which the paper omits. C, C_z, C_r are empty in the encoder."""

    W: Matrix
    W_z: Matrix
    W_r: Matrix
    U: Matrix
    U_z: Matrix
    U_r: Matrix
    C: Matrix
    C_z: Matrix
    C_r: Matrix
    b: Vector

    def zero(self) -> Vector:
        return zeros(len(self.U))

    def begin(self, hidden: Vector) -> Vector:
        return hidden

    def hidden(self, state: Vector) -> Vector:
        return state

    def next(self, word: Vector | None, s: Vector, c: Vector | None) -> Vector:
        def context(M: Matrix) -> Vector:
            return zeros(len(s)) if c is None else product(M, c)

        # z_i = σ(W_z e(y_{i−1}) + U_z s_{i−1} + C_z c_i)
        z = sigmoid(add(term(self.W_z, word), product(self.U_z, s), context(self.C_z)))
        # r_i = σ(W_r e(y_{i−1}) + U_r s_{i−1} + C_r c_i)
        r = sigmoid(add(term(self.W_r, word), product(self.U_r, s), context(self.C_r)))
        # s̃_i = tanh(W e(y_{i−1}) + U [r_i ∘ s_{i−1}] + C c_i)
        candidate = tanh(
            add(term(self.W, word), product(self.U, times(r, s)), context(self.C), self.b)
        )
        # s_i = (1 − z_i) ∘ s_{i−1} + z_i ∘ s̃_i
        return [(1.0 - z[k]) * s[k] + z[k] * candidate[k] for k in range(len(s))]


@dataclass(frozen=True)
class Gate:
    """The sum W e + U h + C c + b of one gate, or of the inner input, of an LSTM."""

    W: Matrix
    U: Matrix
    C: Matrix
    b: Vector

    def sum(self, word: Vector | None, h: Vector, c: Vector | None) -> Vector:
        return add(
            term(self.W, word),
            product(self.U, h),
            zeros(len(h)) if c is None else product(self.C, c),
            self.b,
        )


@dataclass(frozen=True)
class LSTMUnit:
    """Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000. State: (hidden, memory)."""

    input: Gate
    forget: Gate
    output: Gate
    inner: Gate

    def zero(self) -> tuple[Vector, Vector]:
        return zeros(len(self.input.U)), zeros(len(self.input.U))

    def begin(self, hidden: Vector) -> tuple[Vector, Vector]:
        return hidden, zeros(len(hidden))

    def hidden(self, state: tuple[Vector, Vector]) -> Vector:
        return state[0]

    def next(
        self, word: Vector | None, state: tuple[Vector, Vector], c: Vector | None
    ) -> tuple[Vector, Vector]:
        h, m = state
        i = sigmoid(self.input.sum(word, h, c))
        f = sigmoid(self.forget.sum(word, h, c))
        o = sigmoid(self.output.sum(word, h, c))
        g = tanh(self.inner.sum(word, h, c))
        memory = [f[k] * m[k] + i[k] * g[k] for k in range(len(m))]
        return times(o, tanh(memory)), memory


@dataclass(frozen=True)
class TanhUnit:
    """The "conventional simple unit" of A.1.1: s_i = tanh(W e(y_{i−1}) + U s_{i−1} + C c_i + b)."""

    W: Matrix
    U: Matrix
    C: Matrix
    b: Vector

    def zero(self) -> Vector:
        return zeros(len(self.U))

    def begin(self, hidden: Vector) -> Vector:
        return hidden

    def hidden(self, state: Vector) -> Vector:
        return state

    def next(self, word: Vector | None, s: Vector, c: Vector | None) -> Vector:
        return tanh(
            add(
                term(self.W, word),
                product(self.U, s),
                zeros(len(s)) if c is None else product(self.C, c),
                self.b,
            )
        )
