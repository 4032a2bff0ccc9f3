"""An alignment as a small HTML table for notebooks: a row for each target word, a column for each source word, darker where α is larger."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from rnnsearch.drawing.characters import printable


def alignment_table(source_tokens: Sequence[str], target_tokens: Sequence[str], weights: NDArray[np.floating], title: str) -> str:
    """The element, with nothing that reaches outside it; whatever the words hold is escaped.

    weights: (target, source), each in [0, 1]; each cell names its value. title: a line above the table.
    """
    from jinja2 import Environment, StrictUndefined

    source, target = [printable(word) for word in source_tokens], [printable(word) for word in target_tokens]
    shades = np.clip(np.nan_to_num(weights), 0.0, 1.0)
    names = [[f"{word} – {other}" for other in source] for word in target]
    rows = [(word, list(zip(row, its_names, strict=True))) for word, row, its_names in zip(target, shades.tolist(), names, strict=True)]
    text = (resources.files("rnnsearch.drawing") / "alignment_table.html").read_text(encoding="utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(text)
    return template.render(title=printable(title), source=source, rows=rows)
