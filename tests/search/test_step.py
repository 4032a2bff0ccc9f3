"""What follows the hypotheses and what does not: the source of a sentence is never copied for them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.beam import beam_search
from rnnsearch.search.step import NetworkState, network_step
from rnnsearch.settings import ModelSettings, SearchSettings

SIZES = {f"{name}_size": 8 for name in ("embedding", "hidden", "alignment", "maxout")}


def begun(lengths: list[int], **model: str) -> tuple[TranslationNetwork, NetworkState]:
    network = TranslationNetwork(ModelSettings.model_validate(SIZES | model), 9, 11)
    torch.nn.init.normal_(network.output.bias)
    with torch.no_grad():
        return network, NetworkState(
            *network.encode(
                torch.randint(2, 9, (len(lengths), max(lengths))), torch.tensor(lengths)
            )
        )


def test_a_search_copies_the_source_only_when_sentences_leave_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One row a sentence at every step, whatever the beam, and the same memory as long as the same sentences
    are searched."""
    network, state = begun([6, 2, 4])
    sources: list[torch.Tensor] = []
    step = TranslationNetwork.step

    def watched(
        network: TranslationNetwork, previous: Any, state: Any, source: Any, *others: Any
    ) -> Any:
        sources.append(source.annotations)
        return step(network, previous, state, source, *others)

    monkeypatch.setattr(TranslationNetwork, "step", watched)
    settings = SearchSettings(beam=5, min_length_ratio=1.0, max_length_ratio=1.0)
    beam_search(network_step(network), state, torch.tensor([6, 2, 4]), settings)
    rows = [len(source) for source in sources]
    # |x| words and a look for the end of sentence: 6, 2 and 4 steps
    assert rows == [3, 3, 2, 2, 1, 1]
    places = {source.data_ptr() for source in sources}
    assert len(places) == len(set(rows))
