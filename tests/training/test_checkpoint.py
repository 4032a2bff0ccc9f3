"""What a checkpoint holds is compared with what a training would have written, before anything of it is
used."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refusal
from small import sentences, small_network
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.settings import OptimiserSettings
from rnnsearch.system.tensors import load_tensors, save_tensors
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.trainer import BatchLoss, Trainer

PROGRESS = TrainingProgress(
    corpus_pairs=3, update=1, pairs=3, validations=[{"update": 1, "dev_nll": 2.5}]
)

Change = Callable[[dict[str, Tensor], dict[str, Any]], object]


def trained(optimiser: str = "adadelta", average: float = 0.9) -> Trainer:
    settings = OptimiserSettings.model_validate({"method": optimiser, "average_decay": average})
    trainer = Trainer(BatchLoss(small_network(torch.float32)), settings)
    trainer.update([Batch(*sentences())], 1)
    return trainer


def saved(path: Path, trainer: Trainer) -> Path:
    save_checkpoint(path, trainer, PROGRESS)
    return path


@pytest.fixture(scope="module")
def adadelta() -> Trainer:
    torch.manual_seed(1)
    return trained()


def without(start: str) -> Change:
    return lambda tensors, notes: [
        tensors.pop(name) for name in list(tensors) if name.startswith(start)
    ]


def instead(name: str, tensor: Tensor) -> Change:
    return lambda tensors, notes: tensors.update({name: tensor})


def noted(key: str, value: Any) -> Change:
    return lambda tensors, notes: notes["progress"].update({key: value})


# what became of a checkpoint, and what the line says
DAMAGE: list[tuple[Change, str]] = [
    (
        without("network.output.bias"),
        "does not fit the settings of this run: Error(s) in loading state_dict",
    ),
    (
        instead("network.output.bias", torch.zeros(7)),
        "does not fit the settings of this run: Error(s) in",
    ),
    (without("average.output.bias"), "does not fit the settings of this run: 'output.bias'"),
    (instead("what", torch.zeros(1)), "does not fit the settings of this run: 'what'"),
    (instead("random.cpu", torch.zeros(8, dtype=torch.uint8)), "does not fit"),
    (
        noted("update", -1),
        "is damaged: progress: update: Input should be greater than or equal to 0",
    ),
    (noted("pairs", "many"), "is damaged: progress: pairs: Input should be a valid integer"),
    (
        noted("since_validation", {"pairs": 10**400}),
        "is damaged: progress: since_validation.pairs: Input",
    ),
    (
        noted("validations", [{"dev_nll": 1.0}]),
        "is damaged: progress: a validation without its update",
    ),
    (lambda tensors, notes: notes.pop("progress"), "is damaged: progress: Input should be"),
]


def test_a_checkpoint_of_an_earlier_version_is_read(adadelta: Trainer, tmp_path: Path) -> None:
    """Its progress has other entries, and Adadelta's count of updates is a float32."""
    path = saved(tmp_path / "last", adadelta)
    tensors, notes = load_tensors(path, "")
    notes["progress"] |= {"best_score": -2.5, "nll_sum": 0.0}
    del notes["progress"]["since_validation"]
    counts = {name: tensor.float() for name, tensor in tensors.items() if name.endswith(".updates")}
    save_tensors(path, tensors | counts, notes | {"stateless": []})
    assert load_checkpoint(path, trained()) == PROGRESS
    assert counts


@pytest.mark.parametrize(("change", "said"), DAMAGE)
def test_a_checkpoint_that_no_training_wrote_is_refused(
    adadelta: Trainer, tmp_path: Path, change: Change, said: str
) -> None:
    path = saved(tmp_path / "last", adadelta)
    tensors, notes = load_tensors(path, "")
    change(tensors, notes)
    save_tensors(path, tensors, notes)
    with refusal(rf"^{path}: .*{re.escape(said)}"):
        load_checkpoint(path, adadelta)
