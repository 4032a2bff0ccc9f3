"""Logs of training: TensorBoard curves, and learning statistics as in the paper's Table 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from rnnsearch.errors import one_line
from rnnsearch.installed import package_version
from rnnsearch.run import Run
from rnnsearch.system.files import write_text
from rnnsearch.system.machine import hardware
from rnnsearch.training.checkpoint import TrainingProgress
from rnnsearch.training.trainer import Update
from rnnsearch.training.validation import Sample

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Log:
    """The folder RUN/log. On resuming, entries that an interrupted session wrote after its last
    checkpoint are purged.

    Errors lose curves or statistics, but never end the training. `warn` is called with a message,
    for the curves only once.
    """

    def __init__(self, run: Run, progress: TrainingProgress, warn: Callable[[str], None]) -> None:
        self.run, self.progress, self.warn = run, progress, warn
        self._purge_from = progress.update + 1
        self._curves: SummaryWriter | None = None
        self._failed = False

    def update(self, update: Update, tokens_per_second: float) -> None:
        """Logs an update, unless it was skipped."""
        if not update.applied:
            return
        scalars = {
            "train/nll_per_word": update.nll / update.target_tokens,
            "train/gradient_norm": update.gradient_norm,
            "train/learning_rate": update.learning_rate,
            "train/target_tokens_per_second": tokens_per_second,
        }
        if update.linked_rows:
            scalars["train/alignment_loss"] = update.alignment_loss / update.linked_rows
        self._draw(scalars)

    def validation(self, scores: dict[str, float], samples: Sequence[Sample]) -> None:
        """Logs a validation, and saves the sources of its samples, which a page offers as
        examples."""
        self._draw({name.replace("dev_", "dev/"): score for name, score in scores.items()}, samples)
        examples = json.dumps([source for source, _, _ in samples], ensure_ascii=False)
        with suppress(Exception):
            write_text(self.run.log_path / "examples.json", examples + "\n")

    def statistics(self) -> None:
        """Writes the learning statistics so far."""
        path = self.run.log_path / "statistics.json"
        try:
            write_text(path, json.dumps(statistics(self.run, self.progress), indent=2) + "\n")
        except Exception as error:
            self.warn(one_line(f"warning: {path}: {_reason(error)}; training goes on"))

    def close(self) -> None:
        """Closes the event file, if there is one."""
        if self._curves:
            self._try(self._curves.close)

    def _draw(self, scalars: dict[str, float], samples: Sequence[Sample] = ()) -> None:
        self._try(partial(self._add, scalars, samples))

    def _add(self, scalars: dict[str, float], samples: Sequence[Sample]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        folder, update = str(self.run.log_path), self.progress.update
        self._curves = self._curves or SummaryWriter(folder, purge_step=self._purge_from)
        for name, value in scalars.items():
            self._curves.add_scalar(name, value, update)
        for number, texts in enumerate(samples):
            self._curves.add_text(f"dev/sample_{number}", "  \n".join(texts), update)

    def _try(self, draw: Callable[[], None]) -> None:
        if not self._failed:
            try:
                draw()
            except Exception as error:
                self._failed = True
                lost = "no more curves for TensorBoard, training goes on"
                self.warn(one_line(f"warning: {self.run.log_path}: {_reason(error)}; {lost}"))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def statistics(run: Run, progress: TrainingProgress) -> dict[str, Any]:
    """Returns the columns of Table 2 and the conditions of training. NLL is the mean −log p(y | x)
    of a sentence, in nats."""
    rows, best = progress.validations, progress.best_row
    return {
        "updates": progress.update,
        "epochs": round(progress.epochs, 3),
        "hours": round(progress.seconds / 3600, 8),
        "hardware": hardware(run.settings.training.device),
        "train_nll": rows[-1].get("train_nll") if rows else None,
        "dev_nll": best.get("dev_nll"),
        "dev_bleu": best.get("dev_bleu"),
        "best_update": progress.best_update,
        "pairs_seen": progress.pairs,
        "target_tokens_seen": progress.target_tokens,
        "skipped_updates": progress.skipped,
        "ended_because": progress.finished,
        "begun_from": progress.begun_from,
        "changes": progress.changes,
        "edited": progress.edited,
        "seed": run.settings.training.seed,
        "rnnsearch": package_version(),
        "validations": rows,
    }
