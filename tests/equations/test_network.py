"""Whole sentences, teacher-forced, against the three readings of the decoder in plain loops
(plain/network.py)."""

from __future__ import annotations

from typing import Any

import pytest
from agreement import assert_as_by_hand
from small import (
    ALIGNMENTS,
    CELLS,
    ENCODERS,
    WIRINGS,
    sentences,
    small_network,
    small_settings,
)

OUTPUTS: list[dict[str, Any]] = [{}, {"factored_output": True}, {"tie_output": True}]


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("cell", CELLS)
def test_every_alignment(cell: str, encoder: str, wiring: str) -> None:
    """All networks; readouts and output layers take turns: each pair of them meets each wiring."""
    number = CELLS.index(cell) * 12 + ENCODERS.index(encoder) * 3 + WIRINGS.index(wiring)
    for k, alignment in enumerate(ALIGNMENTS):
        parts = {"cell": cell, "encoder": encoder, "alignment": alignment, "wiring": wiring}
        parts |= {"readout": ("maxout", "tanh")[(number + k) % 2]} | OUTPUTS[(number + k) % 3]
        assert_as_by_hand(small_network(**parts), small_settings(**parts), sentences())
