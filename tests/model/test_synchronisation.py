"""An update on a GPU waits once, at its end.

On the meta device tensors have shapes and no values at all, so whatever asks for one raises.
"""

from __future__ import annotations

import pytest
import torch
from small import sentences, small_network
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.training import trainer as training
from rnnsearch.training.setup import trainer_of

EVERYWHERE = [f"dropout.{part}=0.2" for part in ("embedding", "recurrent", "readout")]
SGD = "optimiser.method=sgd"
NO_VALUES = r"[Mm]eta"
"""What torch says then."""


def batch() -> Batch:
    source, lengths, target, target_lengths = sentences()
    known = torch.zeros(*target.shape, source.shape[1])
    return Batch(source, lengths, target, target_lengths, known).to("meta")


@pytest.mark.parametrize(
    "changes",
    [
        ["optimiser.method=adadelta"],
        [
            "optimiser.average_decay=0.9",
            "dropout.label_smoothing=0.1",
            "training.precision=bfloat16",
            SGD,
        ],
        ["known_alignments.loss=cross-entropy", "known_alignments.forcing=mixed", SGD],
        [
            "model.decoder=bidirectional",
            "known_alignments.loss=product",
            "model.wiring=appendix",
            SGD,
        ],
    ],
    ids=["Adadelta", "averages and smoothing", "links", "both directions"],
)
def test_an_update_looks_once(changes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """At the norm of the gradient, the loss that is shown, and counts; of an update from two batches too."""
    settings = load_config(overrides=["training.device=meta", *EVERYWHERE, *changes])
    model = settings.model
    network = small_network(torch.float32, decoder=model.decoder, wiring=model.wiring).to("meta")
    trainer = trainer_of(network, settings)
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
    assert (update.nll, update.target_tokens, update.gradient_norm) == (30.0, 9, 7.0)
    assert (update.alignment_loss, update.linked_rows) == (2.0, 4)
    assert update.applied
