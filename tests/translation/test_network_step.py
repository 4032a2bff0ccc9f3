"""What follows the hypotheses and what does not: the source of a sentence is never copied for them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.translation.beam import beam_search
from rnnsearch.translation.network_step import NetworkState, network_step

SIZES = {f"{name}_size": 8 for name in ("embedding", "hidden", "alignment", "maxout")}


def begun(lengths: list[int], **model: str) -> tuple[TranslationNetwork, NetworkState]:
    network = TranslationNetwork(ModelSettings.model_validate(SIZES | model), 9, 11)
    torch.nn.init.normal_(network.output.bias)
    with torch.no_grad():
        return network, NetworkState(
            *network.encode(torch.randint(2, 9, (len(lengths), max(lengths))), torch.tensor(lengths))
        )


def test_a_search_copies_the_source_only_when_sentences_leave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row a sentence at every step, whatever the beam, and the same memory as long as the same sentences
    are searched."""
    network, state = begun([6, 2, 4])
    sources: list[torch.Tensor] = []
    step = TranslationNetwork.step

    def watched(network: TranslationNetwork, previous: Any, state: Any, source: Any, *others: Any) -> Any:
        sources.append(source.annotations)
        return step(network, previous, state, source, *others)

    monkeypatch.setattr(TranslationNetwork, "step", watched)
    settings = SearchSettings(beam=5, min_length_ratio=1.0, max_length_ratio=1.0)
    beam_search(network_step(network), state, torch.tensor([6, 2, 4]), settings)
    rows = [len(source) for source in sources]
    assert rows == [3, 3, 2, 2, 1, 1]  # |x| words and a look for the end of sentence: 6, 2 and 4 steps
    places = {source.data_ptr() for source in sources}
    assert len(places) == len(set(rows))


@pytest.mark.parametrize("wiring", ["eq4", "appendix", "released"])
@torch.no_grad()
def test_a_word_that_looks_elsewhere_reads_what_a_known_alignment_makes_it_read(wiring: str) -> None:
    """The same as teacher forcing along the written words with the changed rows known."""
    network, state = begun([4], wiring=wiring)
    where = {1: torch.eye(4)[2], 3: torch.tensor([0.0, 1, 1, 0])}
    step, target = network_step(network, factors=where), torch.tensor([[5, 3, 7, 2, 0]])
    results = [step(None, state)]
    for i in range(4):
        results.append(step(target[:, i : i + 1], results[-1].state))
    weights = torch.cat([result.weights for result in results], 1)
    assert torch.equal(weights[0, 1], where[1])
    assert weights[0, 3, 1:3].sum() == pytest.approx(1)
    known = torch.zeros_like(weights)
    for i in where:
        known[:, i] = weights[:, i]
    network.begin = lambda *_: [(state.source, state.decoder)]  # type: ignore[method-assign]
    forced = network.teacher_forced(
        torch.zeros(1, 4, dtype=torch.long), torch.tensor([4]), target, known=known
    )[0]
    log_p = torch.log_softmax(forced.features @ network.output.weight.T + network.output.bias, -1)
    stepped = torch.cat([result.log_probabilities for result in results], 1)
    torch.testing.assert_close(stepped, log_p)
