"""Encoders against Sec. 3.2, A.2.1 and Eq. 7 in plain loops, in a batch of unequal lengths with arbitrary
padding."""

from __future__ import annotations

import pytest
import torch
from plain.parameters import Parameters, encoder
from small import CELLS, ENCODERS, assert_by_hand, drawn, randomised, small_settings

from rnnsearch.model.cells import CELLS as CELL_CLASSES
from rnnsearch.model.encoder import ENCODERS as ENCODER_CLASSES
from rnnsearch.model.network import source_mask


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("cell", CELLS)
def test_annotations_and_summary(name: str, cell: str) -> None:
    settings = small_settings(cell=cell, encoder=name)
    m, n = settings.embedding_size, settings.encoder_size
    assert n
    module = ENCODER_CLASSES[name](m, n, CELL_CLASSES[cell]).double()
    randomised(module)
    parameters = Parameters(module.state_dict())
    by_hand = encoder(parameters, settings, at="")
    assert not parameters.unused

    lengths = torch.tensor([3, 6, 1, 5])
    embedded = drawn(4, 6, m)
    annotations, summary = module(embedded, source_mask(lengths, 6))
    assert annotations.shape == (4, 6, module.annotation_size)
    assert summary.shape == (4, module.summary_size)
    for b, length in enumerate(lengths.tolist()):
        expected_annotations, expected_summary = by_hand(embedded[b, :length].tolist())
        assert_by_hand(annotations[b, :length], expected_annotations, 1e-14)
        assert_by_hand(summary[b], expected_summary, 1e-14)
