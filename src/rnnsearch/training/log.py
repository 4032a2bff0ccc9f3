"""Logs of training: TensorBoard curves, and learning statistics as in the paper's Table 2."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count, starmap
from pathlib import Path
from typing import Any

from rnnsearch.errors import one_line
from rnnsearch.run import Run
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import write_text
from rnnsearch.system.machine import hardware
from rnnsearch.system.parsing import read_json, reading
from rnnsearch.training.checkpoint import TrainingProgress
from rnnsearch.training.trainer import Update
from rnnsearch.training.validation import Validation

_numbers = count()


class Log:
    """The folder RUN/log. On resuming, entries that an interrupted session wrote after its last checkpoint
    are purged.

    Errors lose curves or statistics, but never end the training. `warn` is called with a message, for the
    curves only once.
    """

    def __init__(self, run: Run, progress: TrainingProgress, warn: Callable[[str], None]) -> None:
        self.run, self.progress, self.warn = run, progress, warn
        self._purge_from = progress.update + 1 if progress.update else None
        self._curves: Curves | None = None
        self._refused = False

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
        self._draw(lambda curves: curves.draw(self.progress.update, scalars, {}))

    def validation(self, validation: Validation) -> None:
        """Logs a validation, and saves the sources of its samples, which a page offers as examples."""
        scalars = {"dev/nll": validation.nll}
        scalars |= {} if validation.bleu is None else {"dev/bleu": validation.bleu}
        texts = {
            f"dev/sample_{number}": f"{source}  \n{reference}  \n**{translation}**"
            for number, (source, reference, translation) in enumerate(validation.samples)
        }
        self._draw(lambda curves: curves.draw(self.progress.update, scalars, texts))
        examples = json.dumps([source for source, _, _ in validation.samples], ensure_ascii=False)
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
            lost = "no more curves for TensorBoard, training goes on"
            self.warn(one_line(f"warning: {self.run.log_path}: {_reason(error)}; {lost}"))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def statistics(run: Run, progress: TrainingProgress) -> dict[str, Any]:
    """Returns the columns of Table 2 and the conditions of training. NLL is the mean −log p(y | x) of a
    sentence, in nats."""
    best = next((row for row in progress.validations if row["update"] == progress.best_update), None)
    last = progress.validations[-1] if progress.validations else None
    return {
        "updates": progress.update,
        "epochs": round(progress.epochs, 3),
        "hours": round(progress.seconds / 3600, 8),
        "hardware": hardware(run.settings.training.device),
        "train_nll": last and last["train_nll"],
        "dev_nll": best and best.get("dev_nll"),
        "dev_bleu": best and best.get("dev_bleu"),
        "best_update": progress.best_update,
        "pairs_seen": progress.pairs,
        "target_tokens_seen": progress.target_tokens,
        "skipped_updates": progress.skipped,
        "ended_because": progress.finished,
        "begun_from": progress.begun_from,
        "seed": run.settings.training.seed,
        "rnnsearch": package_version(),
        "validations": progress.validations,
    }


def read_statistics(run: str | Path) -> dict[str, Any]:
    """Reads the statistics of a run folder; empty if it has none yet."""
    path = Path(run) / "log" / "statistics.json"
    with reading(path, "remove it: the next checkpoint writes it again", "is damaged"):
        found: dict[str, Any] = read_json(path) if path.exists() else {}
    return found


class Curves:
    """TensorBoard's event file in `folder`. purge_from: TensorBoard hides entries of earlier files from this
    update on.

    torch's SummaryWriter is not used: when the disk is full, its thread dies with a traceback, unnoticed by
    training. Here, the constructor and every method raise OSError if the file cannot be written.
    """

    def __init__(self, folder: Path, purge_from: int | None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event: Any = Event
        of_process = f"{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        name = f"events.out.tfevents.{int(time.time()):010d}.{of_process}"
        self._records = RecordWriter((folder / name).open("ab", buffering=0))
        self._add(file_version="brain.Event:2")
        if purge_from is not None:
            self._add(step=purge_from, session_log=SessionLog(status=SessionLog.START))

    def draw(self, step: int, scalars: dict[str, float], texts: dict[str, str]) -> None:
        """Adds numbers, and texts in Markdown, by name."""
        from torch.utils.tensorboard.summary import scalar, text

        for summary in [*starmap(scalar, scalars.items()), *starmap(text, texts.items())]:
            self._add(step=step, summary=summary)

    def close(self) -> None:
        """Closes the file."""
        self._records.close()

    def _add(self, **content: Any) -> None:
        self._records.write(self._event(wall_time=time.time(), **content).SerializeToString())
