"""Alignment models a (Sec. 3.1; A.1.2; A.2.2), weights (Eq. 6) and context (Eq. 5): one query s_{i−1}, one
sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from plain.vectors import Matrix, Vector, add, dot, product, sigmoid, softmax, tanh, times, zeros


class AlignmentModel(Protocol):
    def begin(self, h: list[Vector]) -> Any:
        """What it remembers before the first word."""

    def energies(self, s: Vector, h: list[Vector], memory: Any) -> tuple[Vector, Any]:
        """(e_i1 … e_iTx, what it remembers of them)."""

    def attended(self, s: Vector, h: list[Vector], memory: Any, alpha: Vector) -> Any:
        """What it remembers for the next word, now that α_i is known."""


class BlindToWeights:
    def attended(self, s: Vector, h: list[Vector], memory: Any, alpha: Vector) -> Any:
        return memory


class Forgetful(BlindToWeights):
    def begin(self, h: list[Vector]) -> None:
        return None


@dataclass(frozen=True)
class Additive(Forgetful):
    """e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j) (A.1.2)."""

    v_a: Vector
    W_a: Matrix
    U_a: Matrix

    def energies(self, s: Vector, h: list[Vector], memory: None) -> tuple[Vector, None]:
        return [
            dot(self.v_a, tanh(add(product(self.W_a, s), product(self.U_a, h_j)))) for h_j in h
        ], None


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
class Window(BlindToWeights):
    """Graves 2013 (Sec. 6.1): φ(i, j) = Σ_m α_m exp(−β_m (κ_m − j)²); positions j count from 1, κ moves to
    the right only.

    α_m = exp(α̂_m), β_m = exp(β̂_m), κ_m = κ_m of the word before + exp(κ̂_m), (α̂, β̂, κ̂) = W s_{i−1} + b;
    weights are φ over its sum.
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


@dataclass(frozen=True)
class GatedPosition:
    """The proposal, part 2, for one position j: from v_{i−1,j} and the sums of everything else to v_ij."""

    U: Matrix
    U_z: Matrix
    U_r: Matrix

    def next(self, v: Vector, sum_v: Vector, sum_z: Vector, sum_r: Vector) -> Vector:
        z = sigmoid(add(sum_z, product(self.U_z, v)))
        r = sigmoid(add(sum_r, product(self.U_r, v)))
        candidate = tanh(add(sum_v, product(self.U, times(r, v))))
        return [(1.0 - z[k]) * v[k] + z[k] * candidate[k] for k in range(len(v))]


@dataclass(frozen=True)
class Recurrent(BlindToWeights):
    """The proposal, part 2: v_ij from W s_{i−1} + Q h_j (and W_z, Q_z, W_r, Q_r for the gates), v_0j = 0.

    With v_a: e_ij = v_aᵀ tanh(v_ij). Without: v_ij is one number, and e_ij = tanh(v_ij).
    """

    W: tuple[Matrix, Matrix, Matrix]
    Q: tuple[Matrix, Matrix, Matrix]
    unit: GatedPosition
    v_a: Vector | None

    def begin(self, h: list[Vector]) -> list[Vector]:
        return [zeros(len(self.unit.U)) for _ in h]

    def energies(
        self, s: Vector, h: list[Vector], before: list[Vector]
    ) -> tuple[Vector, list[Vector]]:
        energies, after = [], []
        for h_j, v_j in zip(h, before, strict=True):
            sum_v, sum_z, sum_r = (
                add(product(W, s), product(Q, h_j)) for W, Q in zip(self.W, self.Q, strict=True)
            )
            v = self.unit.next(v_j, sum_v, sum_z, sum_r)
            energies.append(math.tanh(v[0]) if self.v_a is None else dot(self.v_a, tanh(v)))
            after.append(v)
        return energies, after


@dataclass(frozen=True)
class Coverage:
    """Tu et al. 2016: e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j + V_a C_{i−1,j}), C_0j = 0."""

    v_a: Vector
    W_a: Matrix
    U_a: Matrix
    V_a: Matrix

    def begin(self, h: list[Vector]) -> list[Vector]:
        return [zeros(len(self.V_a[0])) for _ in h]

    def energies(
        self, s: Vector, h: list[Vector], coverage: list[Vector]
    ) -> tuple[Vector, list[Vector]]:
        energies = []
        for h_j, C_j in zip(h, coverage, strict=True):
            energies.append(
                dot(
                    self.v_a,
                    tanh(add(product(self.W_a, s), product(self.U_a, h_j), product(self.V_a, C_j))),
                )
            )
        return energies, coverage


@dataclass(frozen=True)
class LinguisticCoverage(Coverage):
    """C_ij = C_{i−1,j} + α_ij / Φ_j, Φ_j = N σ(U_f h_j), N = 2."""

    U_f: Matrix

    def attended(
        self, s: Vector, h: list[Vector], coverage: list[Vector], alpha: Vector
    ) -> list[Vector]:
        after = []
        for j in range(len(h)):
            (sigma,) = sigmoid(product(self.U_f, h[j]))
            after.append([coverage[j][0] + alpha[j] / (2.0 * sigma)])
        return after


@dataclass(frozen=True)
class NeuralCoverage(Coverage):
    """C_ij by a gated unit that reads α_ij, h_j and s_{i−1}."""

    A: tuple[Matrix, Matrix, Matrix]
    Q: tuple[Matrix, Matrix, Matrix]
    W: tuple[Matrix, Matrix, Matrix]
    unit: GatedPosition

    def attended(
        self, s: Vector, h: list[Vector], coverage: list[Vector], alpha: Vector
    ) -> list[Vector]:
        after = []
        for j in range(len(h)):
            sums = [
                add(product(A, [alpha[j]]), product(Q, h[j]), product(W, s))
                for A, Q, W in zip(self.A, self.Q, self.W, strict=True)
            ]
            after.append(self.unit.next(coverage[j], *sums))
        return after


def context_of(weights: Vector, h: list[Vector]) -> Vector:
    """c_i = Σ_j α_ij h_j (Eq. 5)."""
    c = zeros(len(h[0]))
    for j in range(len(h)):
        for k in range(len(c)):
            c[k] += weights[j] * h[j][k]
    return c


def attend(
    model: AlignmentModel, s: Vector, h: list[Vector], memory: Any
) -> tuple[Vector, Vector, Any]:
    """(α_i, c_i, memory): α_ij = exp(e_ij) / Σ_k exp(e_ik) (Eq. 6)."""
    energies, memory = model.energies(s, h, memory)
    weights = softmax(energies)
    return weights, context_of(weights, h), model.attended(s, h, memory, weights)
