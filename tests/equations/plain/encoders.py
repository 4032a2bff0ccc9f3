"""The encoder (Sec. 3.2; A.2.1; Eq. 7): embedded words of one sentence → (annotations h_1 … h_Tx, what s_0 is
made of)."""

from __future__ import annotations

import math

from plain.cells import Unit
from plain.vectors import Vector

Encoded = tuple[list[Vector], Vector]


def states(unit: Unit, words: list[Vector]) -> list[Vector]:
    """The hidden states of a recurrent network that reads the words in the order given, from the zero state
    (A.2.1: h_0 = 0)."""
    state, hidden = unit.zero(), []
    for word in words:
        state = unit.next(word, state, None)
        hidden.append(unit.hidden(state))
    return hidden


def bidirectional(forwards: Unit, backwards: Unit, words: list[Vector]) -> Encoded:
    """h_j = [→h_j; ←h_j] (Eq. 7); s_0 is made of ←h_1 (A.2.2)."""
    left_to_right = states(forwards, words)
    right_to_left = states(backwards, words[::-1])[::-1]
    annotations = [left_to_right[j] + right_to_left[j] for j in range(len(words))]
    return annotations, right_to_left[0]


def forward(forwards: Unit, words: list[Vector]) -> Encoded:
    """h_j = →h_j, and s_0 of →h_Tx: the encoder of RNNencdec (Sec. 2.1)."""
    annotations = states(forwards, words)
    return annotations, annotations[-1]


def embedding(words: list[Vector]) -> Encoded:
    """No hidden units: h_j = e(x_j) (the proposal, part 4); s_0 of their mean."""
    size = len(words[0])
    mean = [sum(word[k] for word in words) / len(words) for k in range(size)]
    return words, mean


def embedding_position(scale: float, words: list[Vector]) -> Encoded:
    """h_j = e(x_j) + λ p_j, p_j the sinusoids of Vaswani et al. 2017: all sines, then all cosines; the first
    word is at 0."""
    size = len(words[0])
    half = math.ceil(size / 2)
    placed = []
    for j, word in enumerate(words):
        sines = [math.sin(j / 10_000 ** (k / half)) for k in range(half)]
        cosines = [math.cos(j / 10_000 ** (k / half)) for k in range(size - half)]
        placed.append([value + scale * p for value, p in zip(word, sines + cosines, strict=True)])
    return embedding(placed)
