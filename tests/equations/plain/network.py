"""The whole network over one sentence pair, in the three readings of which states meet in the readout (Sec.
3.1, A.2.2, released).

Indices follow the paper: i = 1 … Ty; y_0 does not exist, and its term is zero wherever it would stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plain.alignments import AlignmentModel, attend
from plain.cells import Unit
from plain.encoders import Encoded
from plain.readouts import DeepOutput
from plain.vectors import Matrix, Vector, add, product, tanh, zeros

Row = tuple[Vector, Vector]
"""Of one target word: (log p of every word of the vocabulary, weights over the source positions)."""


@dataclass(frozen=True)
class Network:
    source_embedding: list[Vector]
    """e(x) of every source word."""
    target_embedding: list[Vector]
    encode: Callable[[list[Vector]], Encoded]
    W_s: Matrix
    b_s: Vector
    unit: Unit
    alignment: AlignmentModel
    output: DeepOutput

    def begin(self, source: list[int]) -> tuple[list[Vector], Vector]:
        """(h_1 … h_Tx, s_0): s_0 = tanh(W_s ←h_1 + b_s) (A.2.2)."""
        h, summary = self.encode([self.source_embedding[x] for x in source])
        return h, tanh(add(product(self.W_s, summary), self.b_s))

    def word(self, target: list[int], i: int) -> Vector | None:
        """e(y_i), i from 1; None for y_0."""
        return self.target_embedding[target[i - 1]] if i >= 1 else None


def eq4(network: Network, source: list[int], target: list[int]) -> list[Row]:
    """Sec. 3.1: c_i from s_{i−1}; s_i = f(s_{i−1}, y_{i−1}, c_i); p(y_i) = g(y_{i−1}, s_i, c_i) (Eq. 4, Fig.
    1)."""
    h, s_0 = network.begin(source)
    s, memory, rows = network.unit.begin(s_0), network.alignment.begin(h), []
    for i in range(1, len(target) + 1):
        y_before = network.word(target, i - 1)
        alpha, c, memory = attend(network.alignment, network.unit.hidden(s), h, memory)
        s = network.unit.next(y_before, s, c)
        rows.append((network.output.log_probabilities(network.unit.hidden(s), y_before, c), alpha))
    return rows


def appendix(network: Network, source: list[int], target: list[int]) -> list[Row]:
    """A.2.2 to the letter: t̃_i = U_o s_{i−1} + V_o E y_{i−1} + C_o c_{i−1}, c_0 = 0; s_i = f(s_{i−1},
    y_{i−1}, c_i).

    The row of weights of y_i is α_{i−1}, with which the context c_{i−1} of its readout was made; before y_1
    nothing was: zeros, which
    is no alignment.
    """
    h, s_0 = network.begin(source)
    s = {0: network.unit.begin(s_0)}
    c = {0: zeros(len(h[0]))}
    alpha = {0: [0.0] * len(source)}
    memory, rows = network.alignment.begin(h), []
    for i in range(1, len(target) + 1):
        alpha[i], c[i], memory = attend(network.alignment, network.unit.hidden(s[i - 1]), h, memory)
        s[i] = network.unit.next(network.word(target, i - 1), s[i - 1], c[i])
        log_p = network.output.log_probabilities(
            network.unit.hidden(s[i - 1]), network.word(target, i - 1), c[i - 1]
        )
        rows.append((log_p, alpha[i - 1]))
    return rows


def released(network: Network, source: list[int], target: list[int]) -> list[Row]:
    """The authors' implementation: c_i from s_{i−1}; s_i = f(s_{i−1}, y_i, c_i); p(y_i) from s_{i−1},
    y_{i−1}, c_i.

    "Initial state prepended, last one dropped": the recurrence reads the unshifted target, the readout the
    shifted states.
    """
    h, s_0 = network.begin(source)
    s = {0: network.unit.begin(s_0)}
    memory, rows = network.alignment.begin(h), []
    for i in range(1, len(target) + 1):
        alpha, c, memory = attend(network.alignment, network.unit.hidden(s[i - 1]), h, memory)
        log_p = network.output.log_probabilities(
            network.unit.hidden(s[i - 1]), network.word(target, i - 1), c
        )
        s[i] = network.unit.next(network.word(target, i), s[i - 1], c)
        rows.append((log_p, alpha))
    return rows


WIRINGS = {"eq4": eq4, "appendix": appendix, "released": released}
