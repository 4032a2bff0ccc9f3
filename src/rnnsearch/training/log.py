"""What a training writes down: TensorBoard curves, and learning statistics as in the paper's Table 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError, one_line
from rnnsearch.run import Run
from rnnsearch.system.files import write_text
from rnnsearch.system.machine import hardware
from rnnsearch.system.parsing import read_json
from rnnsearch.system.version import package_version
from rnnsearch.training.curves import Curves
from rnnsearch.training.progress import TrainingProgress
from rnnsearch.training.trainer import Update
from rnnsearch.training.validation import Validation


class Log:
    """Writes into RUN/log. What an interrupted session wrote after its last checkpoint is purged when it is resumed.

    Whatever goes wrong costs curves or statistics, never the training: `warn` is told, once for the curves.
    """

    def __init__(self, run: Run, progress: TrainingProgress, warn: Callable[[str], None]) -> None:
        self.run, self.warn = run, warn
        self._purge_from = progress.update + 1 if progress.update else None
        self._curves: Curves | None = None
        self._refused = False

    def update(self, update: Update, progress: TrainingProgress, tokens_per_second: float) -> None:
        if not update.applied:
            return
        scalars = {"train/nll_per_word": update.nll / update.target_tokens, "train/gradient_norm": update.gradient_norm}
        scalars |= {"train/learning_rate": update.learning_rate, "train/target_tokens_per_second": tokens_per_second}
        scalars |= {"train/alignment_loss": update.alignment_loss / update.linked_rows} if update.linked_rows else {}
        self._draw(lambda curves: curves.scalars(scalars, progress.update))

    def validation(self, validation: Validation, progress: TrainingProgress) -> None:
        scalars = {"dev/nll": validation.nll} | ({} if validation.bleu is None else {"dev/bleu": validation.bleu})
        lines = (f"{source}  \n{reference}  \n**{translation}**" for source, reference, translation in validation.samples)
        texts = {f"dev/sample_{number}": text for number, text in enumerate(lines)}
        self._draw(lambda curves: curves.scalars(scalars, progress.update))
        self._draw(lambda curves: curves.texts(texts, progress.update))

    def statistics(self, progress: TrainingProgress) -> None:
        try:
            write_text(self.run.log_path / "statistics.json", json.dumps(statistics(self.run, progress), indent=2) + "\n")
        except Exception as error:
            self.warn(one_line(f"warning: {self.run.log_path / 'statistics.json'}: {_reason(error)}; training goes on"))

    def close(self) -> None:
        if self._curves is not None:
            self._draw(lambda curves: curves.close())

    def _draw(self, what: Callable[[Curves], None]) -> None:
        if self._refused:
            return
        try:
            self._curves = self._curves or Curves(self.run.log_path, self._purge_from)
            what(self._curves)
        except Exception as error:
            self._refused = True
            self.warn(one_line(f"warning: {self.run.log_path}: {_reason(error)}; no more curves for TensorBoard, training goes on"))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def statistics(run: Run, progress: TrainingProgress) -> dict[str, Any]:
    """The columns of Table 2 and how they came about. NLL: mean −log p(y | x) of a sentence, in nats."""
    best = next((row for row in progress.validations if row["update"] == progress.best_update), None)
    last = progress.validations[-1] if progress.validations else None
    return {
        "updates": progress.update,
        "epochs": round(progress.epochs, 3),
        "hours": round(progress.seconds / 3600, 4),
        "hardware": hardware(run.settings.training.device),
        "train_nll": last and last["train_nll"],
        "dev_nll": best and best.get("dev_nll"),
        "dev_bleu": best and best.get("dev_bleu"),
        "best_update": progress.best_update,
        "pairs_seen": progress.pairs,
        "target_tokens_seen": progress.target_tokens,
        "skipped_updates": progress.skipped,
        "ended_because": progress.finished,
        "seed": run.settings.training.seed,
        "rnnsearch": package_version(),
        "validations": progress.validations,
    }


def read_statistics(run: str | Path) -> dict[str, Any]:
    """Of a run folder; empty if it has none yet."""
    path = Path(run) / "log" / "statistics.json"
    try:
        found: dict[str, Any] = read_json(path) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise InputError(f"is damaged: {error}", file=path, remedy="remove it: the next checkpoint writes it again") from None
    return found
