"""An alignment as a small HTML table for notebooks: a row for each target word, a column for each source word, darker where α is larger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rnnsearch.drawing.characters import printable
from rnnsearch.drawing.page import render
from rnnsearch.drawing.palette import SERIES


def alignment_table(source_tokens: Sequence[str], target_tokens: Sequence[str], weights: NDArray[np.floating], title: str) -> str:
    """The element, with nothing that reaches outside it; whatever the words hold is escaped.

    weights: (target, source), each in [0, 1]; each cell names its value. title: a line above the table.
    """
    source, target = [printable(word) for word in source_tokens], [printable(word) for word in target_tokens]
    shades = np.clip(np.nan_to_num(weights), 0.0, 1.0)
    rows = [
        (word, [(f"{word} – {source[column]} {weight:.2f}", f"{SERIES[0]}{round(255 * weight):02x}") for column, weight in enumerate(row)])
        for word, row in zip(target, shades.tolist(), strict=True)
    ]
    return render("alignment_table.html", title=printable(title), source=source, rows=rows)
