"""What a training writes down: TensorBoard curves, and learning statistics as in the paper's Table 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch.run import Run
from rnnsearch.system.files import write_text
from rnnsearch.system.machine import hardware
from rnnsearch.system.version import package_version
from rnnsearch.training.progress import TrainingProgress
from rnnsearch.training.trainer import Update
from rnnsearch.training.validation import Validation

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Log:
    """Writes into RUN/log. What an interrupted session wrote after its last checkpoint is purged when it is resumed.

    A disk that refuses costs curves or statistics, never the training: `warn` is told, once for the curves.
    """

    def __init__(self, run: Run, progress: TrainingProgress, warn: Callable[[str], None]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.run, self.warn = run, warn
        self.writer: SummaryWriter | None = SummaryWriter(str(run.log_path), purge_step=progress.update + 1 if progress.update else None)

    def update(self, update: Update, progress: TrainingProgress, tokens_per_second: float) -> None:
        if not update.applied:
            return
        scalars = {"train/nll_per_word": update.nll / update.target_tokens, "train/gradient_norm": update.gradient_norm}
        scalars |= {"train/learning_rate": update.learning_rate, "train/target_tokens_per_second": tokens_per_second}
        scalars |= {"train/alignment_loss": update.alignment_loss / update.linked_rows} if update.linked_rows else {}
        self._curves(scalars, {}, progress.update)

    def validation(self, validation: Validation, progress: TrainingProgress) -> None:
        scalars = {"dev/nll": validation.nll} | ({} if validation.bleu is None else {"dev/bleu": validation.bleu})
        lines = (f"{source}  \n{reference}  \n**{translation}**" for source, reference, translation in validation.samples)
        self._curves(scalars, {f"dev/sample_{number}": text for number, text in enumerate(lines)}, progress.update)

    def statistics(self, progress: TrainingProgress) -> None:
        try:
            write_text(self.run.log_path / "statistics.json", json.dumps(statistics(self.run, progress), indent=2) + "\n")
        except OSError as error:
            self.warn(f"warning: {self.run.log_path / 'statistics.json'}: {error.strerror or error}; training goes on")

    def close(self) -> None:
        self._curves({}, {}, 0, last=True)

    def _curves(self, scalars: dict[str, float], texts: dict[str, str], step: int, last: bool = False) -> None:
        if self.writer is None:
            return
        try:
            for name, value in scalars.items():
                self.writer.add_scalar(name, value, step)
            for name, text in texts.items():
                self.writer.add_text(name, text, step)
            if last:
                self.writer.close()
        except OSError as error:
            self.writer = None
            self.warn(f"warning: {self.run.log_path}: {error.strerror or error}; no more curves for TensorBoard, training goes on")


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


def read_statistics(run: Path) -> dict[str, Any]:
    """Of a run folder; empty if it has none yet."""
    path = run / "log" / "statistics.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
