"""Scorers that remember, in beam search and in ensembles: what is remembered follows its hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small import WIRINGS, Sentences, sentences, small_network, teacher_forced

from rnnsearch.config import SearchSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Hypothesis
from rnnsearch.translation.beam import beam_search
from rnnsearch.translation.ensemble import ensemble
from rnnsearch.translation.network_step import NetworkState, network_step

SCORERS = ("window", "recurrent", "recurrent-scalar", "coverage", "coverage-neural")
SEARCH = SearchSettings(beam=4, nbest=3, min_length_ratio=1.0, normalise="length")


def network_of(alignment: str, encoder: str, wiring: str) -> TranslationNetwork:
    network = small_network(torch.float32, alignment=alignment, encoder=encoder, wiring=wiring)
    with torch.no_grad():
        network.output.bias[0] -= 2.5  # fewer ends of sentence, so that searches take some steps
    return network


@torch.no_grad()
def search(networks: list[TranslationNetwork], batch: Sentences) -> list[list[Hypothesis]]:
    step, start = ensemble([network_step(network) for network in networks])
    return beam_search(step, start([NetworkState(*network.encode(*batch[:2])) for network in networks]), batch.lengths, SEARCH)


@torch.no_grad()
def assert_as_teacher_forced(networks: list[TranslationNetwork], batch: Sentences, found: list[list[Hypothesis]]) -> None:
    """Each hypothesis has the means that it has as the only, given translation: of p, and of α where a context was read."""
    longest = 0
    for b, hypotheses in enumerate(found):
        length = batch.lengths[b : b + 1]
        for hypothesis in hypotheses:
            target = torch.tensor([hypothesis.ids])
            alone = Sentences(batch.source[b : b + 1, : int(length)], length, target, torch.tensor([target.shape[1]]))
            forced = [teacher_forced(network, alone) for network in networks]
            p = torch.stack([log_p[0].gather(1, target.T)[:, 0].exp() for log_p, _ in forced]).mean(0)
            every = torch.stack([rows[0] for _, rows in forced]).unbind(1)  # per word (networks, source); zeros: read no context
            weights = torch.stack([rows[rows.any(-1)].mean(0) if rows.any() else rows[0] for rows in every])
            np.testing.assert_allclose(np.exp(hypothesis.log_probabilities), p, rtol=0, atol=1e-5)
            np.testing.assert_allclose(hypothesis.weights, weights, rtol=0, atol=1e-5)
            longest = max(longest, len(hypothesis.ids))
    assert longest > 3  # long enough for the memories of different hypotheses to differ


@pytest.mark.parametrize(("encoder", "wiring"), [("bidirectional", "eq4"), ("embedding", "appendix"), ("forward", "released")])
@pytest.mark.parametrize("alignment", SCORERS)
def test_beam_search_equals_teacher_forcing(alignment: str, encoder: str, wiring: str) -> None:
    networks = [network_of(alignment, encoder, wiring)]
    assert_as_teacher_forced(networks, sentences(), search(networks, sentences()))


def test_an_ensemble_of_different_scorers() -> None:
    networks = [network_of(alignment, "bidirectional", WIRINGS[k % 3]) for k, alignment in enumerate(("additive", *SCORERS))]
    assert_as_teacher_forced(networks, sentences(), search(networks, sentences()))
