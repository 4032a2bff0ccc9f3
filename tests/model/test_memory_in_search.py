"""Scorers that remember, in beam search and in ensembles: what is remembered follows its hypothesis."""

from __future__ import annotations

import pytest
import torch
from agreement import assert_search_as_teacher_forced
from small import WIRINGS, sentences, small_network

from rnnsearch.model.network import TranslationNetwork

SCORERS = ("window", "recurrent", "recurrent-scalar", "coverage", "coverage-neural")


def network_of(alignment: str, encoder: str, wiring: str) -> TranslationNetwork:
    network = small_network(torch.float32, alignment=alignment, encoder=encoder, wiring=wiring)
    with torch.no_grad():
        network.output.bias[0] -= 2.5  # fewer ends of sentence, so that searches take some steps
    return network


@pytest.mark.parametrize(
    ("encoder", "wiring"), [("bidirectional", "eq4"), ("embedding", "appendix"), ("forward", "released")]
)
@pytest.mark.parametrize("alignment", SCORERS)
def test_beam_search_equals_teacher_forcing(alignment: str, encoder: str, wiring: str) -> None:
    assert_search_as_teacher_forced([network_of(alignment, encoder, wiring)], sentences())


def test_an_ensemble_of_different_scorers() -> None:
    networks = [
        network_of(alignment, "bidirectional", WIRINGS[k % 3])
        for k, alignment in enumerate(("additive", *SCORERS))
    ]
    assert_search_as_teacher_forced(networks, sentences())
