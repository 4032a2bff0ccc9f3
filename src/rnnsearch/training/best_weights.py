"""The weights of the best validation so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from rnnsearch.errors import InputError
from rnnsearch.system.tensors import save_tensors
from rnnsearch.training.progress import TrainingProgress


class _Waiting(NamedTuple):
    """What the disk has not taken yet. score: None without a development set."""

    tensors: dict[str, Tensor]
    notes: dict[str, Any]
    score: float | None
    update: int


class BestWeights:
    """They are the best, in `progress` too, once they are saved. What the disk refuses is held in memory, and tried again later."""

    def __init__(self, path: Path, progress: TrainingProgress) -> None:
        self.path, self.progress = path, progress
        self._waiting: _Waiting | None = None
        self._refused = ""

    def offer(self, network: nn.Module, score: float | None, notes: dict[str, Any], warn: Callable[[str], None]) -> bool:
        """Takes the weights if they are the best so far, which is the value. score: higher is better; None: the latest are the best."""
        best = self.progress.best_score if self.path.exists() else None
        before = self._waiting.score if self._waiting else best
        better = score is None or before is None or score > before
        if better:
            self._waiting = _Waiting(network.state_dict(), notes, score, self.progress.update)
            self.progress.validations_since_best = 0
            self.save(warn)
            if self._waiting is not None:  # training goes on and changes the weights
                self._waiting = self._waiting._replace(tensors={name: tensor.clone() for name, tensor in self._waiting.tensors.items()})
        else:
            self.progress.validations_since_best += 1
        return better

    def is_missing(self) -> bool:
        """Whether the weights at hand should be offered once more: an earlier session could not save them, or nothing at all."""
        return self._waiting is None and (self.progress.unsaved_update == self.progress.update or not self.path.exists())

    def save(self, warn: Callable[[str], None]) -> None:
        """Saves what waits, if anything does."""
        if self._waiting is None:
            return
        waiting, progress = self._waiting, self.progress
        progress.unsaved_update = waiting.update
        try:
            save_tensors(self.path, waiting.tensors, waiting.notes)
        except OSError as error:
            self._refused = error.strerror or str(error)
            warn(f"warning: {self._unsaved()}; they stay in memory until the next checkpoint, training goes on")
            return
        progress.best_score, progress.best_update, progress.unsaved_update = waiting.score, waiting.update, 0
        self._waiting = None

    def must_be_saved(self) -> None:
        """Raises InputError if weights still wait: with the end of the training they are lost."""
        if self._waiting is None:
            return
        there = f"it holds those of update {self.progress.best_update}" if self.progress.best_update else "there is no model"
        raise InputError(f"{self._unsaved()}; {there}", file=self.path, remedy="free some space and go on with --resume")

    def _unsaved(self) -> str:
        assert self._waiting is not None
        return f"the best weights, of update {self._waiting.update}, could not be saved: {self._refused}"
