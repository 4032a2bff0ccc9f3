"""Two drivers, one step: teacher forcing, word-by-word search, and beam search with several hypotheses per
sentence say the same; of ensembles too."""

from __future__ import annotations

import pytest
import torch
from agreement import assert_search_as_teacher_forced
from small import ALIGNMENTS, CELLS, ENCODERS, WIRINGS, Sentences, sentences, small_network, teacher_forced
from torch import Tensor

from rnnsearch.model.network import TranslationNetwork

Steps = tuple[Tensor, Tensor]
"""(log p (batch, target, K), weights (batch, target, source))."""


def stepwise(network: TranslationNetwork, batch: Sentences) -> Steps:
    """The given target words, one `network.step` a word."""
    source, state = network.encode(batch.source, batch.lengths)
    log_p, weights = [], []
    for i in range(batch.target.shape[1]):
        previous = batch.target[:, i - 1 : i] if i else None
        row, seen, state = network.step(previous, state, source)
        log_p.append(row)
        weights.append(seen.weights)
    return torch.cat(log_p, 1), torch.cat(weights, 1)


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("cell", CELLS)
@torch.no_grad()
def test_teacher_forcing_equals_steps(cell: str, encoder: str, wiring: str) -> None:
    for k, alignment in enumerate(ALIGNMENTS):
        readout = ("maxout", "tanh")[k % 2]
        network = small_network(
            cell=cell,
            encoder=encoder,
            alignment=alignment,
            wiring=wiring,
            readout=readout,
            factored_output=k > 2,
        )
        torch.testing.assert_close(
            stepwise(network, sentences()), teacher_forced(network, sentences()), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize(
    ("encoder", "wiring", "cell"),
    [
        ("bidirectional", "eq4", "gated"),
        ("embedding", "appendix", "tanh"),
        ("forward", "released", "lstm"),
    ],
)
@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_beam_search_equals_teacher_forcing(alignment: str, encoder: str, wiring: str, cell: str) -> None:
    """The beam branches, reorders, repeats and drops: each hypothesis is what it is alone, and what a scorer
    remembers follows it."""
    network = network_of(alignment=alignment, encoder=encoder, wiring=wiring, cell=cell)
    assert_search_as_teacher_forced([network], sentences())


def test_an_ensemble_of_different_scorers() -> None:
    networks = [network_of(alignment=name, wiring=WIRINGS[k % 3]) for k, name in enumerate(ALIGNMENTS)]
    assert_search_as_teacher_forced(networks, sentences())


def network_of(**changed: str) -> TranslationNetwork:
    network = small_network(torch.float32, **changed)
    with torch.no_grad():
        network.output.bias[0] -= 2.5  # fewer ends of sentence, so that searches take some steps
    return network
