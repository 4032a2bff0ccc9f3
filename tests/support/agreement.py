"""Checks of whole networks: against the equations in plain loops, and of searches against teacher forcing."""

from __future__ import annotations

import numpy as np
import torch
from plain.network import WIRINGS as BY_HAND
from plain.parameters import Parameters, whole_network
from small import Sentences, assert_by_hand, teacher_forced

from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.beam import beam_search
from rnnsearch.search.step import NetworkState, ensemble, network_step
from rnnsearch.settings import ModelSettings, SearchSettings

SEARCH = SearchSettings(beam=4, nbest=3, min_length_ratio=1.0, normalise="length")


@torch.no_grad()
def assert_as_by_hand(
    network: TranslationNetwork, settings: ModelSettings, batch: Sentences
) -> None:
    """Of each sentence: log p of every word, and α of every step."""
    log_p, weights = teacher_forced(network, batch)
    parameters = Parameters(network.state_dict())
    by_hand = whole_network(parameters, settings)
    assert not parameters.unused, "parameters that no equation names"
    for b in range(len(batch.source)):
        J, I = int(batch.lengths[b]), int(batch.target_lengths[b])  # noqa: E741
        rows = BY_HAND[settings.wiring](
            by_hand, batch.source[b, :J].tolist(), batch.target[b, :I].tolist()
        )
        assert_by_hand(log_p[b, :I], [row for row, _ in rows], 1e-11)
        assert_by_hand(weights[b, :I, :J], [row for _, row in rows], 1e-11)
        assert weights[b, :I, J:].count_nonzero() == 0


@torch.no_grad()
def assert_search_as_teacher_forced(networks: list[TranslationNetwork], batch: Sentences) -> None:
    """Each hypothesis of an ensemble's search, whose networks are changed to write longer sentences, has the means that it has as the only, given translation: of p,
    and of α where a context was read."""
    for network in networks:
        network.output.bias[0] -= 2.5  # fewer ends of sentence, so that searches take some steps
    states = [NetworkState(*network.encode(*batch[:2])) for network in networks]
    step, state = ensemble([network_step(network) for network in networks], states)
    found = beam_search(step, state, batch.lengths, SEARCH)
    longest = 0
    for b, hypotheses in enumerate(found):
        length = batch.lengths[b : b + 1]
        for hypothesis in hypotheses:
            target = torch.tensor([hypothesis.ids])
            alone = Sentences(
                batch.source[b : b + 1, : int(length)],
                length,
                target,
                torch.tensor([target.shape[1]]),
            )
            forced = [teacher_forced(network, alone) for network in networks]
            p = torch.stack([log_p[0].gather(1, target.T)[:, 0].exp() for log_p, _ in forced]).mean(
                0
            )
            every = torch.stack([rows[0] for _, rows in forced]).unbind(
                1
            )  # per word (networks, source); zeros: read no context
            weights = torch.stack(
                [rows[rows.any(-1)].mean(0) if rows.any() else rows[0] for rows in every]
            )
            np.testing.assert_allclose(np.exp(hypothesis.log_probabilities), p, rtol=0, atol=1e-5)
            np.testing.assert_allclose(hypothesis.weights, weights, rtol=0, atol=1e-5)
            longest = max(longest, len(hypothesis.ids))
    assert longest > 3  # long enough for the memories of different hypotheses to differ
