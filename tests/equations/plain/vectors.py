"""Vectors and matrices as lists of floats."""

from __future__ import annotations

import math

Vector = list[float]
Matrix = list[list[float]]
"""Rows of a matrix: M[a][b] is row a, column b, so that M x has one entry per row."""


def product(M: Matrix, x: Vector) -> Vector:
    """(M x)_a = Σ_b M_ab x_b."""
    result = []
    for row in M:
        total = 0.0
        for m, value in zip(row, x, strict=True):
            total += m * value
        result.append(total)
    return result


def dot(x: Vector, y: Vector) -> float:
    """xᵀ y."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += a * b
    return total


def add(*vectors: Vector) -> Vector:
    return [math.fsum(entries) for entries in zip(*vectors, strict=True)]


def times(x: Vector, y: Vector) -> Vector:
    """x ∘ y, element by element."""
    return [a * b for a, b in zip(x, y, strict=True)]


def sigmoid(x: Vector) -> Vector:
    return [1.0 / (1.0 + math.exp(-value)) for value in x]


def tanh(x: Vector) -> Vector:
    return [math.tanh(value) for value in x]


def softmax(x: Vector) -> Vector:
    """exp(x_j) / Σ_k exp(x_k); −∞ gives 0."""
    total = 0.0
    for value in x:
        total += math.exp(value)
    return [math.exp(value) / total for value in x]


def zeros(size: int) -> Vector:
    return [0.0] * size
