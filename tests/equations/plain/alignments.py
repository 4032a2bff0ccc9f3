"""Alignment models a (Sec. 3.1; A.1.2; A.2.2), weights (Eq. 6) and context (Eq. 5): one query s_{i−1}, one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from plain.vectors import Matrix, Vector, add, dot, product, softmax, tanh, zeros


class AlignmentModel(Protocol):
    def begin(self, h: list[Vector]) -> Any:
        """What it remembers before the first word."""

    def energies(self, s: Vector, h: list[Vector], memory: Any) -> tuple[Vector, Any]:
        """(e_i1 … e_iTx, what it remembers for the next word)."""


class Forgetful:
    def begin(self, h: list[Vector]) -> None:
        return None


@dataclass(frozen=True)
class Additive(Forgetful):
    """e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j) (A.1.2)."""

    v_a: Vector
    W_a: Matrix
    U_a: Matrix

    def energies(self, s: Vector, h: list[Vector], memory: None) -> tuple[Vector, None]:
        return [dot(self.v_a, tanh(add(product(self.W_a, s), product(self.U_a, h_j)))) for h_j in h], None


@dataclass(frozen=True)
class Dot(Forgetful):
    """e_ij = s_{i−1}ᵀ h_j (Luong et al. 2015)."""

    def energies(self, s: Vector, h: list[Vector], memory: None) -> tuple[Vector, None]:
        return [dot(s, h_j) for h_j in h], None


@dataclass(frozen=True)
class General(Forgetful):
    """e_ij = s_{i−1}ᵀ W h_j (Luong et al. 2015)."""

    W: Matrix

    def energies(self, s: Vector, h: list[Vector], memory: None) -> tuple[Vector, None]:
        return [dot(s, product(self.W, h_j)) for h_j in h], None


@dataclass(frozen=True)
class Window:
    """Graves 2013 (Sec. 6.1): φ(i, j) = Σ_m α_m exp(−β_m (κ_m − j)²); positions j count from 1, κ moves to the right only.

    α_m = exp(α̂_m), β_m = exp(β̂_m), κ_m = κ_m of the word before + exp(κ̂_m), (α̂, β̂, κ̂) = W s_{i−1} + b; weights are φ over its sum.
    """

    W: Matrix
    b: Vector

    def begin(self, h: list[Vector]) -> Vector:
        return zeros(len(self.b) // 3)

    def energies(self, s: Vector, h: list[Vector], before: Vector) -> tuple[Vector, Vector]:
        gaussians = len(before)
        raw = add(product(self.W, s), self.b)
        alpha = [math.exp(value) for value in raw[:gaussians]]
        beta = [math.exp(value) for value in raw[gaussians : 2 * gaussians]]
        kappa = [before[m] + math.exp(raw[2 * gaussians + m]) for m in range(gaussians)]
        energies = []
        for j in range(1, len(h) + 1):
            phi = 0.0
            for m in range(gaussians):
                phi += alpha[m] * math.exp(-beta[m] * (kappa[m] - j) ** 2)
            energies.append(math.log(phi))
        return energies, kappa


@dataclass(frozen=True)
class Fixed(Forgetful):
    """c_i = h_Tx for every i (A.2.2: with →h_Tx the model becomes RNN Encoder-Decoder)."""

    def energies(self, s: Vector, h: list[Vector], memory: None) -> tuple[Vector, None]:
        return [-math.inf] * (len(h) - 1) + [0.0], None


def context_of(weights: Vector, h: list[Vector]) -> Vector:
    """c_i = Σ_j α_ij h_j (Eq. 5)."""
    c = zeros(len(h[0]))
    for j in range(len(h)):
        for k in range(len(c)):
            c[k] += weights[j] * h[j][k]
    return c


def attend(model: AlignmentModel, s: Vector, h: list[Vector], memory: Any) -> tuple[Vector, Vector, Any]:
    """(α_i, c_i, memory): α_ij = exp(e_ij) / Σ_k exp(e_ik) (Eq. 6)."""
    energies, memory = model.energies(s, h, memory)
    weights = softmax(energies)
    return weights, context_of(weights, h), memory
