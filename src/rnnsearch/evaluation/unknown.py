"""Pairs without unknown words: the second column of the paper's Table 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

Knows = Callable[[str], bool]
"""Whether every word of a line has a place in a shortlist."""


def without_unknown(pairs: Iterable[tuple[str, str]], knows: Iterable[tuple[Knows, Knows]]) -> NDArray[np.bool_]:
    """Which pairs have no word outside the shortlist, in the source or in the reference: one truth value each.

    knows: what the source and the target shortlist of every model know. Those of several models must all know a pair's words, so that
    all of them are measured on the same sentences.
    """
    shortlists = list(knows)
    return np.array(
        [all(knows_source(source) and knows_target(reference) for knows_source, knows_target in shortlists) for source, reference in pairs],
        dtype=np.bool_,
    )
