"""What follows the hypotheses and what does not: the source of a sentence is never copied for them."""

from __future__ import annotations

import pytest
import torch

from rnnsearch.config import ModelSettings, SearchSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.translation import network_step as module
from rnnsearch.translation.beam import beam_search
from rnnsearch.translation.network_step import NetworkState, network_step

SIZES = {f"{name}_size": 8 for name in ("embedding", "hidden", "alignment", "maxout")}


def begun(lengths: list[int]) -> tuple[TranslationNetwork, NetworkState]:
    network = TranslationNetwork(ModelSettings.model_validate(SIZES), 9, 11)
    torch.nn.init.normal_(network.output.bias)
    with torch.no_grad():
        return network, NetworkState(*network.encode(torch.randint(2, 9, (len(lengths), max(lengths))), torch.tensor(lengths)))


def test_selecting_hypotheses_leaves_the_source_where_it_is() -> None:
    network, state = begun([4, 3])
    result = network_step(network)(None, state)
    chosen = result.state.select(None, torch.tensor([[0, 0, 0], [0, 0, 0]]))
    assert chosen.source is state.source
    assert chosen.decoder.cell.shape[:2] == (2, 3)
    kept = chosen.select(torch.tensor([1]), torch.tensor([[2, 0]]))
    assert torch.equal(kept.source.annotations, state.source.annotations[1:])
    assert torch.equal(kept.source.keys, state.source.keys[1:])
    assert kept.decoder.cell.shape[:2] == (1, 2)


def test_a_search_copies_the_source_only_when_sentences_leave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row a sentence at every step, whatever the beam, and the same memory as long as the same sentences are searched."""
    network, state = begun([6, 2, 4])
    sources: list[torch.Tensor] = []
    reader = module.SourceReader

    def watched(source: module.Source) -> module.SourceReader:
        sources.append(source.annotations)
        return reader(source)

    monkeypatch.setattr(module, "SourceReader", watched)
    settings = SearchSettings(beam=5, min_length_ratio=1.0, max_length_ratio=1.0)
    beam_search(network_step(network), state, torch.tensor([6, 2, 4]), settings)
    rows = [len(source) for source in sources]
    assert rows == [3, 3, 2, 2, 1, 1]  # |x| words and a look for the end of sentence: 6, 2 and 4 steps
    places = {source.data_ptr() for source in sources}
    assert len(places) == len(set(rows))
