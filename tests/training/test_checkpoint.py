"""What a checkpoint holds is compared with what a training would have written, before anything of it is
used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small import sentences, small_network
from torch import Tensor

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.system.tensors import load_tensors, save_tensors
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, read_progress, save_checkpoint
from rnnsearch.training.trainer import Trainer

PROGRESS = TrainingProgress(corpus_pairs=3, update=1, pairs=3, validations=[{"update": 1, "dev_nll": 2.5}])
OPTIMISERS = ["adadelta", "adam", "adamw", "sgd"]

Change = Callable[[dict[str, Tensor], dict[str, Any]], object]


def trained(optimiser: str = "adadelta", average: float = 0.9) -> Trainer:
    settings = TrainingSettings(optimiser=optimiser, average_decay=average)
    trainer = Trainer(small_network(torch.float32), settings, 0)
    trainer.update([Batch(*sentences())], 1)
    return trainer


def saved(path: Path, trainer: Trainer) -> Path:
    save_checkpoint(path, trainer, PROGRESS)
    return path


@pytest.fixture(scope="module")
def adadelta() -> Trainer:
    torch.manual_seed(1)
    return trained()


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_what_is_written_is_read(tmp_path: Path, optimiser: str) -> None:
    path, other = saved(tmp_path / "last", trained(optimiser)), trained(optimiser)
    assert load_checkpoint(path, other) == read_progress(path) == PROGRESS
    again = saved(tmp_path / "again", other)
    one, two = load_tensors(path, "")[0], load_tensors(again, "")[0]
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_before_the_first_update_there_is_no_state(tmp_path: Path) -> None:
    trainer = Trainer(small_network(torch.float32), TrainingSettings(), 0)
    save_checkpoint(tmp_path / "last", trainer, TrainingProgress())
    assert load_checkpoint(tmp_path / "last", trainer).update == 0


def test_a_parameter_that_no_loss_depends_on_has_no_state(tmp_path: Path) -> None:
    """As in a scorer of one's own that does not use all it has."""
    trainer = trained("adam")
    trainer.optimiser.state.pop(trainer.parameters[2])
    assert load_checkpoint(saved(tmp_path / "last", trainer), trained("adam")) == PROGRESS


def without(start: str) -> Change:
    return lambda tensors, notes: [tensors.pop(name) for name in list(tensors) if name.startswith(start)]


def instead(name: str, tensor: Tensor) -> Change:
    return lambda tensors, notes: tensors.update({name: tensor})


def noted(key: str, value: Any) -> Change:
    return lambda tensors, notes: notes["progress"].update({key: value})


# what became of a checkpoint, and what the line says
DAMAGE: list[tuple[Change, str]] = [
    (without("optimiser.2."), "Adadelta's state of parameters: there is no tensor 2.square_avg"),
    (without("optimiser."), "there is no tensor 0.square_avg"),
    (without("optimiser.0.step"), "there is no tensor 0.step"),
    (instead("optimiser.1.exp_avg", torch.zeros(4)), "there is an unexpected tensor 1.exp_avg"),
    (instead("optimiser.0.updates", torch.zeros(1)), "the shape of 0.updates is [1]"),
    (instead("optimiser.1.acc_delta", torch.zeros(4, 4).int()), "of 1.acc_delta is"),
    (instead("optimiser.x.acc_delta", torch.zeros(4)), "there is an unexpected tensor x.acc_delta"),
    (without("network.output.bias"), "there is no tensor output.bias"),
    (instead("network.output.bias", torch.zeros(7)), "the shape of output.bias is [7], and [6] is expected"),
    (without("average.output.bias"), "there is no tensor output.bias"),
    (instead("what", torch.zeros(1)), "there is a tensor what, which does not belong to a checkpoint"),
    (instead("random.cpu", torch.zeros(8, dtype=torch.uint8)), "does not fit"),
    (noted("update", -1), "is damaged: progress: update: Input should be greater than or equal to 0"),
    (noted("pairs", "many"), "is damaged: progress: pairs: Input should be a valid integer"),
    (noted("speed", 3), "is damaged: progress: speed: Unexpected keyword argument"),
    (noted("validations", [{"dev_nll": 1.0}]), "is damaged: progress: a validation without its update"),
    (noted("best_update", 5), "is damaged: progress: a best update that is yet to come"),
    (noted("skipped", 5), "is damaged: progress: more updates skipped than there were"),
    (lambda tensors, notes: notes.pop("progress"), "is damaged: progress: Input should be"),
]


@pytest.mark.parametrize(("change", "said"), DAMAGE)
def test_a_checkpoint_that_no_training_wrote_is_refused(
    adadelta: Trainer, tmp_path: Path, change: Change, said: str
) -> None:
    path = saved(tmp_path / "last", adadelta)
    tensors, notes = load_tensors(path, "")
    change(tensors, notes)
    save_tensors(path, tensors, notes)
    with pytest.raises(InputError) as refused:
        load_checkpoint(path, adadelta)
    assert str(refused.value).startswith(f"{path}: ")
    assert said in str(refused.value)


def test_of_another_optimiser(adadelta: Trainer, tmp_path: Path) -> None:
    path = saved(tmp_path / "last", trained("adam"))
    said = r"does not fit the settings of this run: Adadelta's .* no tensor 0\.square_avg"
    with pytest.raises(InputError, match=said):
        load_checkpoint(path, adadelta)
