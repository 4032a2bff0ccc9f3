"""The deep output (A.2.2): state, previous word and context → log p of every target word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from plain.cells import term
from plain.vectors import Matrix, Vector, add, dot, product, tanh


@dataclass(frozen=True)
class DeepOutput:
    """t̃_i = U_o s + V_o e(y_{i−1}) + C_o c + b_o; p(y_i) ∝ exp(y_iᵀ W_o t_i + b). F: the released factor l →
    m before W_o."""

    kind: Literal["maxout", "tanh"]
    U_o: Matrix
    V_o: Matrix
    C_o: Matrix
    b_o: Vector
    W_o: Matrix
    b: Vector
    F: Matrix | None = None

    def layer(self, s: Vector, word: Vector | None, c: Vector) -> Vector:
        """t_i = [max(t̃_{i,2j−1}, t̃_{i,2j})]_{j=1…l}, or tanh(t̃_i)."""
        inner = add(product(self.U_o, s), term(self.V_o, word), product(self.C_o, c), self.b_o)
        if self.kind == "tanh":
            return tanh(inner)
        t = []
        for j in range(1, len(inner) // 2 + 1):  # indices as in the paper, from 1
            t.append(max(inner[2 * j - 1 - 1], inner[2 * j - 1]))
        return t

    def log_probabilities(self, s: Vector, word: Vector | None, c: Vector) -> Vector:
        t = self.layer(s, word, c)
        if self.F is not None:
            t = product(self.F, t)
        logits = [dot(row, t) + b for row, b in zip(self.W_o, self.b, strict=True)]
        total = math.log(sum(math.exp(value) for value in logits))
        return [value - total for value in logits]
