"""What a training writes down: TensorBoard curves, and learning statistics as in the paper's Table 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch.files import write_text
from rnnsearch.run import Run, package_version
from rnnsearch.training.checkpoint import Progress
from rnnsearch.training.processor import hardware
from rnnsearch.training.trainer import Update
from rnnsearch.training.validation import Validation

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Log:
    """Writes into RUN/log. What an interrupted session wrote after its last checkpoint is purged when it is resumed."""

    def __init__(self, run: Run, progress: Progress) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.run = run
        self.writer: SummaryWriter = SummaryWriter(str(run.log_path), purge_step=progress.update + 1 if progress.update else None)

    def update(self, update: Update, progress: Progress, tokens_per_second: float) -> None:
        if not update.applied:
            return
        self.writer.add_scalar("train/nll_per_word", update.nll / update.target_tokens, progress.update)
        self.writer.add_scalar("train/gradient_norm", update.gradient_norm, progress.update)
        self.writer.add_scalar("train/learning_rate", update.learning_rate, progress.update)
        if tokens_per_second:
            self.writer.add_scalar("train/target_tokens_per_second", tokens_per_second, progress.update)

    def validation(self, validation: Validation, progress: Progress) -> None:
        self.writer.add_scalar("dev/nll", validation.nll, progress.update)
        if validation.bleu is not None:
            self.writer.add_scalar("dev/bleu", validation.bleu, progress.update)
        for number, (source, reference, translation) in enumerate(validation.samples):
            self.writer.add_text(f"dev/sample_{number}", f"{source}  \n{reference}  \n**{translation}**", progress.update)

    def statistics(self, progress: Progress) -> None:
        write_text(self.run.log_path / "statistics.json", json.dumps(statistics(self.run, progress), indent=2) + "\n")

    def close(self) -> None:
        self.writer.close()


def statistics(run: Run, progress: Progress) -> dict[str, Any]:
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
