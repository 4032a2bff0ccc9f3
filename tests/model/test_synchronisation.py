"""Nothing between the first and the last time step waits for a GPU: no value of a tensor is asked for. An update waits once, at its end.

On the meta device tensors have shapes and no values at all, so whatever asks for one raises. Padding is whatever the lengths say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from small import ALIGNMENTS, CELLS, ENCODERS, WIRINGS, sentences, small_network
from torch import Tensor

from rnnsearch.config import load_config
from rnnsearch.model.alignment import GeneralAlignment
from rnnsearch.model.dropout import Dropout
from rnnsearch.model.linear import LinearCache
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import Batch
from rnnsearch.training import trainer as training
from rnnsearch.translation.network_step import begin_search

EVERYWHERE = ["training.dropout_embedding=0.2", "training.dropout_recurrent=0.2", "training.dropout_readout=0.2"]
NO_VALUES = r"[Mm]eta"
"""What torch says then."""


def without_values(**model: Any) -> TranslationNetwork:
    return small_network(torch.float32, **model).to("meta")


def batch() -> Batch:
    source, lengths, target, target_lengths = sentences()
    known = torch.zeros(*target.shape, source.shape[1])
    return Batch(source, lengths, target, target_lengths, known).to("meta")


def forward_and_backward(network: TranslationNetwork) -> None:
    given = batch()
    known = given.known_alignment
    every = network.teacher_forced(given.source, given.source_lengths, given.target, Dropout(0.2, 0.2, 0.2), known, given.target_lengths)
    torch.stack([decoded.features.sum() + decoded.weights.square().sum() for decoded in every]).sum().backward()
    assert all(parameter.grad is not None for name, parameter in network.named_parameters() if "output" not in name)


@pytest.mark.parametrize(("wiring", "alignment"), list(itertools.product(WIRINGS, ALIGNMENTS)))
def test_alignments_in_every_wiring(wiring: str, alignment: str) -> None:
    forward_and_backward(without_values(wiring=wiring, alignment=alignment))


@pytest.mark.parametrize(("cell", "encoder"), list(itertools.product(CELLS, ENCODERS)))
def test_cells_in_every_encoder(cell: str, encoder: str) -> None:
    forward_and_backward(without_values(cell=cell, encoder=encoder))


@pytest.mark.parametrize("decoder", ["backward", "bidirectional"])
def test_directions(decoder: str) -> None:
    forward_and_backward(without_values(decoder=decoder))


@pytest.mark.parametrize(
    "look",
    [
        lambda state: state.max().item(),
        lambda state: bool(state.any()),
        lambda state: float(state.sum()),
        lambda state: state.tolist(),
        lambda state: state.nonzero(),
        lambda state: state[state > 0],
        lambda state: state.masked_select(state > 0),
        lambda state: state.cpu(),
    ],
    ids=["item", "bool", "float", "tolist", "nonzero", "mask as index", "masked_select", "cpu"],
)
def test_a_scorer_that_looks_is_found_out(look: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    honest = GeneralAlignment.energies

    def curious(self: GeneralAlignment, state: Tensor, keys: Tensor, memory: Tensor | None) -> Any:
        look(state)
        return honest(self, state, keys, memory)

    network = without_values(alignment="general")
    forward_and_backward(network)
    monkeypatch.setattr(GeneralAlignment, "energies", curious)
    with pytest.raises((RuntimeError, NotImplementedError), match=NO_VALUES):
        forward_and_backward(network)


@torch.no_grad()
@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_a_step_of_search_and_the_choice_of_its_rows(alignment: str) -> None:
    """Search itself looks, once a step, at what it has chosen (`beam.candidates`); what it calls does not."""
    network, given = without_values(alignment=alignment), batch()
    (reader,) = begin_search([network], [LinearCache()], given.source, given.source_lengths)
    result = reader.step(None, reader.state)
    hypotheses = torch.zeros(2, 4, dtype=torch.int64, device="meta")
    for stay in (torch.zeros(2, dtype=torch.int64, device="meta"), None):  # one sentence leaves; then none does
        result = reader.step(hypotheses, result.state.select(stay, hypotheses))
    assert result.log_probabilities.shape == (2, 4, 6)


@pytest.mark.parametrize(
    "changes",
    [
        ["training.optimiser=adadelta"],
        ["training.optimiser=sgd", "training.average_decay=0.9", "training.label_smoothing=0.1", "training.precision=bfloat16"],
        ["training.optimiser=sgd", "training.alignment_loss=cross-entropy", "training.alignment_forcing=mixed"],
        ["training.optimiser=sgd", "model.decoder=bidirectional", "training.alignment_loss=product", "model.wiring=appendix"],
    ],
    ids=["Adadelta", "averages and smoothing", "links", "both directions"],
)
def test_an_update_looks_once(changes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """At the norm of the gradient, the loss that is shown, and counts; of an update from two batches too."""
    settings = load_config(overrides=["training.device=meta", *EVERYWHERE, *changes])
    network = without_values(decoder=settings.model.decoder, wiring=settings.model.wiring)
    trainer = training.Trainer(network, settings.training, 0)
    with pytest.raises((RuntimeError, NotImplementedError), match=NO_VALUES):
        trainer.update([batch()], 1)
    looks: list[Tensor] = []

    def look(numbers: Tensor) -> list[float]:
        looks.append(numbers)
        return [30.0, 9.0, 2.0, 4.0, 7.0]

    monkeypatch.setattr(training, "numbers_here", look)
    update = trainer.update([batch(), batch()], 1)
    assert len(looks) == 1
    assert looks[0].shape == (5,)
    assert (update.nll, update.target_tokens, update.alignment_loss, update.linked_rows, update.gradient_norm) == (30.0, 9, 2.0, 4, 7.0)
    assert update.applied
