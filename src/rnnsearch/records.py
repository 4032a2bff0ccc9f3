"""Plain data that crosses rooms: no torch here, no behaviour beyond reading what is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rnnsearch.word_links import Link, hard_links

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What search returns for one sentence: ids, never words.

    ids: the target ids, with the end of sentence as the last one if `finished`.
    score: what the hypotheses of a sentence are ranked by (after length normalisation and penalties).
    log_probabilities: log p(y_i | y_<i, x) of every id; they sum to log p(y | x). Of a decoder that reads from right to left the condition
        is what follows y_i; of one that reads from both ends they are the mean of both.
    weights: (len(ids), source length) float32, row i is α_i (Eq. 6), the end of the source sentence included; rows sum to 1, or are 0
        where the word read no context (the first one of the decoder variant `appendix`).
    finished: False if the length limit cut it off.
    """

    ids: tuple[int, ...]
    score: float
    log_probabilities: tuple[float, ...]
    weights: NDArray[np.float32]
    finished: bool


@dataclass(frozen=True, slots=True)
class Translation:
    """One translated sentence, in words.

    text: detokenised target text. tokens: target words, without the end of sentence.
    source_tokens: source words **with** the end of sentence (`</s>`), which the model can attend to.
    score: the model's score of the translation (log p(y|x), normalised if the search was told to; of a bidirectional decoder the mean
        of both directions' log p).
    log_probabilities: one per target token of the model (subwords count singly), the end of sentence last if it was reached.
    alignment: (len(tokens), len(source_tokens)) float32, the α of Eq. 6 at word level; rows sum to 1. Only the first word of the decoder
        variant `appendix`, which reads no context, has a row of zeros, and no link.
    finished: False if the length limit cut it off. alternatives: the n-best list without this one, best first.
    """

    text: str
    tokens: list[str]
    source_tokens: list[str]
    score: float
    log_probabilities: list[float]
    alignment: NDArray[np.float32]
    finished: bool = True
    alternatives: list[Translation] = field(default_factory=list)

    def links(self) -> list[Link]:
        """Hard word links: every target word to its strongest source word, unless that is the end of sentence."""
        return hard_links(self.alignment)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draws the alignment as the paper's Figure 3 does; written to `path` (PNG, SVG or PDF) if one is given."""
        from rnnsearch.drawing.alignment_figure import alignment_figure

        return alignment_figure(self.source_tokens, self.tokens, self.alignment, path)
