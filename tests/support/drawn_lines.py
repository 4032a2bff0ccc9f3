"""Lines of a few French words, drawn at random."""

from __future__ import annotations

import numpy as np

WORDS = [
    "le",
    "la",
    "un",
    "une",
    "homme",
    "femme",
    "chien",
    "voit",
    "mange",
    "dort",
    "petit",
    "grand",
    ",",
    ".",
]


def drawn_lines(random: np.random.Generator) -> list[str]:
    return [" ".join(random.choice(WORDS, size=size)) for size in random.integers(3, 15, size=40)]
