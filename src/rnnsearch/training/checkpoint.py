"""Checkpoints: one file with weights, optimiser, average, random state and progress, from which
training resumes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field, TypeAdapter, ValidationError
from torch import Tensor

from rnnsearch.config import first_fault
from rnnsearch.errors import InputError
from rnnsearch.system.tensors import load_tensors, save_tensors
from rnnsearch.text.batches import Position
from rnnsearch.training.optimiser import Adadelta, sparse_parameters
from rnnsearch.training.trainer import LossSums, SavedCount, Trainer, Update

Total = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass
class TrainingCounts:
    """Counts of a training so far."""

    update: SavedCount = 0
    epochs: Total = 0.0
    """Passes over the corpus, with the fraction of the current one."""
    epoch: SavedCount = 0
    batch: SavedCount = 0
    """Finished batches of this epoch."""
    pairs: SavedCount = 0
    target_tokens: SavedCount = 0
    """Target tokens of all updates, with the ends of sentences."""
    seconds: Total = 0.0
    """Training time of all sessions, validation included."""
    skipped: SavedCount = 0
    """Number of updates skipped for a non-finite gradient."""
    since_validation: LossSums = field(default_factory=LossSums)
    """The losses of the updates since the last validation, without skipped ones."""

    def count(self, update: Update, position: Position, batches: int) -> None:
        """Counts an update. position: the position after it. batches: number of batches in an
        epoch."""
        self.update += 1
        self.epoch, self.batch = position
        self.epochs = position.epoch + position.batch / batches
        self.pairs += update.pairs
        self.target_tokens += update.target_tokens
        if update.applied:
            self.since_validation += update
        else:
            self.skipped += 1

    def begin_row(self) -> dict[str, float]:
        """Returns the row of a validation now, without its results, and sets the sums to 0."""
        sums, self.since_validation = self.since_validation, LossSums()
        row = {"update": self.update, "epochs": self.epochs, "seconds": self.seconds}
        if sums.pairs:
            row["train_nll"] = sums.nll / sums.pairs
            row["train_nll_per_word"] = sums.nll / sums.target_tokens
        if sums.linked_rows:
            row["train_alignment_loss"] = sums.alignment_loss / sums.linked_rows
        return row


@dataclass
class TrainingProgress(TrainingCounts):
    """The progress of a training, saved with every checkpoint, from which a resumed training
    continues exactly."""

    corpus_pairs: SavedCount = 0
    corpus_checksum: str = ""
    """`Corpus.checksum`; "" if unknown."""
    changes: list[dict[str, Any]] = field(default_factory=list)
    """Settings that were changed on resuming, or that a GPU could not follow: `update`, `setting`,
    `before` and `after` of each."""
    begun_from: str = ""
    """The run or model that gave the initial weights; "" for new weights."""
    edited: list[str] = field(default_factory=list)
    """A line for each equation that was edited in any session."""
    threads: SavedCount = 0
    """CPU threads of the last session; 0 if unknown."""
    best_update: SavedCount = 0
    """The update of the best weights so far; 0 if they are the initial weights, or before a
    validation."""
    finished: str = ""
    """The reason why training ended; "" if it did not."""
    validations: list[dict[str, int | float]] = field(default_factory=list)
    """One row for each validation, with at least `update`."""

    @property
    def best_row(self) -> dict[str, int | float]:
        """Returns the row of the validation of the best weights; empty if there was none."""
        return next((row for row in self.validations if row["update"] == self.best_update), {})


def checked_progress(notes: dict[str, Any], path: Path) -> TrainingProgress:
    """Returns the progress in a checkpoint's notes. Raises InputError if no training can have
    written it."""
    try:
        progress = TypeAdapter(TrainingProgress).validate_python(notes.get("progress"))
    except ValidationError as error:
        raise InputError(f"is damaged: progress: {first_fault(error)}", file=path) from None
    if any("update" not in row for row in progress.validations):
        raise InputError("is damaged: progress: a validation without its update", file=path)
    if max(progress.skipped, progress.best_update) > progress.update:
        raise InputError("is damaged: progress: more updates than there were", file=path)
    return progress


def save_checkpoint(path: Path, trainer: Trainer, progress: TrainingProgress) -> None:
    """Writes the state completely or not at all. Raises OSError if the disk is full; the previous
    checkpoint then remains."""
    state = trainer.optimiser.state_dict()["state"]
    parts = {
        "network": trainer.network.state_dict(),
        "average": trainer.average.weights if trainer.average else {},
        "optimiser": {
            f"{index}.{slot}": value for index, of in state.items() for slot, value in of.items()
        },
        "random": {"cpu": torch.get_rng_state()},
    }
    device = trainer.parameters[0].device
    if device.type == "cuda":  # elsewhere, reading its random state would start the driver
        parts["random"]["cuda"] = torch.cuda.get_rng_state(device)
    tensors = {
        f"{part}.{name}": tensor for part, named in parts.items() for name, tensor in named.items()
    }
    save_tensors(path, tensors, {"progress": asdict(progress)})


def load_checkpoint(path: Path, trainer: Trainer) -> TrainingProgress:
    """Restores, in every rank, the state that `save_checkpoint` wrote. Raises InputError if the
    file is missing, damaged or of other settings."""
    hint = "nothing to resume from: start again without --resume, in another folder"
    tensors, notes = trainer.ranks.from_first(lambda: load_tensors(path, hint))
    parts = {part: dict[str, Tensor]() for part in ("network", "average", "optimiser", "random")}
    state = defaultdict[int, dict[str, Tensor]](dict)
    try:
        for name, tensor in tensors.items():
            part, _, key = name.partition(".")
            parts[part][key] = tensor
        trainer.network.load_state_dict(parts["network"])
        for name, average in (trainer.average.weights if trainer.average else {}).items():
            average.copy_(parts["average"][name])
        for key, tensor in parts["optimiser"].items():
            index, slot = key.split(".")
            state[int(index)][slot] = tensor
        groups = trainer.optimiser.state_dict()["param_groups"]
        trainer.optimiser.load_state_dict({"state": state, "param_groups": groups})
        if isinstance(trainer.optimiser, Adadelta):  # it may be resumed on another device
            trainer.optimiser.match_gradients(set(sparse_parameters(trainer.network)))
        torch.set_rng_state(parts["random"]["cpu"])
        device = trainer.parameters[0].device
        if device.type == "cuda" and "cuda" in parts["random"]:
            torch.cuda.set_rng_state(parts["random"]["cuda"], device)
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"does not fit the settings of this run: {error}", file=path) from None
    return checked_progress(notes, path)
