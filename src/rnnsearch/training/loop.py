"""The training loop: updates, validations, checkpoints and stopping criteria."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rnnsearch.config import Settings, TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.extras import need
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.store.order import ChosenPairs, Position
from rnnsearch.training.beginning import Begun, TrainingTask, begun, may_be_slow
from rnnsearch.training.checkpoint import TrainingProgress, save_checkpoint
from rnnsearch.training.display import Display
from rnnsearch.training.launch import (
    Interrupt,
    TrainingInterrupted,
    interruptible,
    joined,
    launch_of_environment,
    launched,
)
from rnnsearch.training.log import Log, statistics
from rnnsearch.training.processes import Processes, pairs_checksum, share_of, updates_from
from rnnsearch.training.threads import Threads
from rnnsearch.training.validation import BestWeights, validate

SKIPS_IN_A_ROW = 10
"""Number of successive non-finite gradients that end training."""
SPEED_OVER = 20
"""Number of updates over which the displayed speed is averaged."""


def train(
    settings: Settings,
    corpus: Corpus,
    path: str | Path,
    *,
    resume: bool = False,
    begin_from: str | Path = "",
    display: Display | None = None,
) -> Run:
    """Trains a network on `corpus` into the folder `path`, until a limit of the settings, patience or Ctrl-C
    ends it.

    resume: continue the run in `path`, or begin one if there is none. On a CPU with the same number of
    threads, the result is bit-identical to that of uninterrupted training. begin_from: a run or the name of a
    model with the same network and vocabularies; training begins with its weights and a new optimiser.
    display: shows the progress, by default on stderr. Raises InputError for settings, corpus, run or weights
    that do not match, and after ten non-finite gradients in a row.
    """
    try:
        task = TrainingTask(settings, Path(path), resume, str(begin_from))
        return train_to_the_end(task, corpus, display)
    except TrainingInterrupted as ended:
        return ended.run


def go_on(settings: Settings, corpus: Corpus, path: Path, display: Display | None = None) -> None:
    """Trains, or continues a training, for commands that are repeated after Ctrl-C. Raises
    TrainingInterrupted after Ctrl-C."""
    task = TrainingTask(settings, path, resume=True, resume_hint="the same command goes on")
    train_to_the_end(task, corpus, display)


def train_to_the_end(task: TrainingTask, corpus: Corpus, display: Display | None = None) -> Run:
    """Trains as `train` does, but raises TrainingInterrupted after Ctrl-C.

    It starts `training.processes` processes. In a process of a launcher such as torchrun, it trains as one
    rank, and resumes if the launcher has restarted it.
    """
    need("train")
    launch, training = launch_of_environment(), task.settings.training
    if launch is not None or training.processes == 1:
        task = task._replace(resume=task.resume or (launch is not None and launch.restarts > 0))
        signal_number = run_session(task, corpus, display)
    elif training.device != "cpu":
        raise InputError(
            f'training.processes = {training.processes} needs training.device = "cpu"',
            remedy="several GPUs: torchrun --nproc-per-node N -m rnnsearch train …",
        )
    else:
        quiet = None if display is None else display.console.quiet
        signal_number = launched(training.processes, train_as_rank, task, corpus.path, quiet)
    run = task.run(corpus)
    if signal_number:
        raise TrainingInterrupted(run, signal_number)
    return run


def train_as_rank(task: TrainingTask, store: Path, quiet: bool | None) -> int:
    """Trains in each of the `training.processes` processes. Returns what `run_session` returns."""
    return run_session(task, Corpus.open(store), Display(quiet=quiet))


def run_session(task: TrainingTask, corpus: Corpus, display: Display | None) -> int:
    """Trains in this process, which may be one of several. Returns the number of the signal that ended it; 0
    if it is finished."""
    launch, training = launch_of_environment(), task.settings.training
    with (
        interruptible(insisting=launch is None) as interrupt,
        joined(launch, training, interrupt) as processes,
        display or Display() if processes.is_first else Display(quiet=True) as shown,
    ):
        threads = Threads(task.settings, launch.on_host if launch else 1, shown.say)
        with begun(task, corpus, processes) as begin:
            session = Session(begin, corpus, processes, interrupt, threads, shown)
            try:
                start = Position(begin.progress.epoch, begin.progress.batch)
                for chosen, position in updates_from(begin.order, start, corpus.train, training):
                    if session.is_over(chosen):
                        break
                    session.update(chosen, position)
                    if session.progress.update % training.validate_every == 0:
                        session.validate()
                    if session.progress.update % training.save_every == 0:
                        session.save()
                session.end(task.resume_hint)
            finally:
                session.log.close()
    return 0 if session.progress.finished else session.signal


@dataclass
class Session:
    """One training from its start, or from resuming, to its end. Every process has one.

    Only the first process validates, saves and displays; the others wait. signal: the number of the signal
    that asked a process to end; 0 if there was none.
    window: (seconds, target tokens, NLL) of the last updates, for display.
    """

    begin: Begun
    corpus: Corpus
    processes: Processes
    interrupt: Interrupt
    threads: Threads
    shown: Display
    signal: int = 0
    window: deque[tuple[float, int, float]] = field(default_factory=lambda: deque(maxlen=SPEED_OVER))

    def __post_init__(self) -> None:
        self.run, self.order, self.trainer, self.progress = self.begin
        self.training: TrainingSettings = self.run.settings.training
        self.begun_at = self.saved_update = self.progress.update
        self.log = Log(self.run, self.progress, self.shown.say)
        self.best = BestWeights(self.run.model_path, self.progress, self.shown.say)
        self.shown.begin(self.trainer.total_updates, self.progress.update)
        if self.corpus.dev is None:
            self.shown.say(
                "warning: the corpus has no development set: the latest weights are saved, and "
                "training.patience has no effect"
            )
        if may_be_slow(self.training):
            self.shown.say(
                'bfloat16 may be slower than float32 on this CPU: try training.precision = "float32"'
            )
        if self.processes.is_first:
            self.threads.begin(self.progress.threads)
        self.clock = time.monotonic()

    def is_over(self, chosen: list[ChosenPairs]) -> bool:
        """Tells whether training ends before the update of these pairs. All processes decide alike.

        Raises InputError if they have read different pairs.
        """
        progress = self.progress
        own = (pairs_checksum(chosen), self.interrupt.signal, progress.seconds, self.threads.chosen)
        checks, signals, seconds, threads = zip(*self.processes.gather(own), strict=True)
        if len(set(checks)) > 1:
            what = f"the ranks have read different pairs for update {progress.update + 1}"
            raise InputError(what, remedy="prepare the data once, and copy it")
        self.threads.use(threads[0])
        self.signal, progress.seconds, progress.threads = max(signals), seconds[0], threads[0]
        progress.finished = reason_to_stop(self.training, progress)
        return bool(progress.finished or self.signal)

    def update(self, chosen: list[ChosenPairs], position: Position) -> None:
        """Does one update with these pairs, counts it and displays it."""
        progress, begun_at = self.progress, time.monotonic()
        batches = share_of(self.corpus.train, chosen, self.training, self.processes)
        pairs = sum(len(one.indices) for one in chosen)
        update = self.trainer.update(batches, progress.update + 1, pairs)
        self.window.append((time.monotonic() - begun_at, update.target_tokens, update.nll))
        progress.count(update, position, len(self.order))
        self._tick()
        if not update.applied:
            self.shown.say(f"update {progress.update}: the gradient is not finite; the update is skipped")
            if progress.skipped_in_a_row >= SKIPS_IN_A_ROW:
                what = f"{SKIPS_IN_A_ROW} gradients in a row were not finite (update {progress.update})"
                remedy = "train in a new folder with a lower training.learning_rate"
                raise InputError(what, file=self.run.path, remedy=remedy)
        if self.processes.is_first:
            seconds, tokens, nll = map(sum, zip(*self.window, strict=True))
            self.log.update(update, tokens / seconds)
            self.shown.update(progress.update, progress.epochs, nll / tokens, tokens / seconds)
            self.threads.look(tokens / seconds, progress.target_tokens / progress.seconds)

    def validate(self) -> None:
        """Validates the network, keeps its weights if they are the best so far, and logs the statistics; once
        per update at most. All processes get the first one's result."""
        vars(self.progress).update(self.processes.from_first(self._validate))

    def _validate(self) -> dict[str, Any]:
        progress = self.progress
        again = bool(progress.validations) and progress.validations[-1]["update"] == progress.update
        if again and not self.best.is_missing():
            return vars(progress)
        with self.trainer.for_use() as network:
            result = validate(network, self.corpus, self.run.settings)
            notes: dict[str, object] = {"update": progress.update}
            if result is not None:
                notes |= {"dev_nll": result.nll, "dev_bleu": result.bleu}
            score = None if result is None else result.score(self.training.select_by)
            better = self.best.offer(network, score, notes)
        self._tick()
        if again:  # only the best weights have to be saved
            return vars(progress)
        row = progress.since_last_validation()
        if result is not None:
            row |= {"dev_nll": result.nll, "dev_nll_per_word": result.nll_per_word}
            row |= {} if result.bleu is None else {"dev_bleu": result.bleu}
            self.log.validation(result)
        progress.validations.append(row)
        self.log.statistics()
        self.shown.say(describe(row, better))
        self.shown.samples([] if result is None else result.samples)
        return vars(progress)

    def save(self, must: bool = False) -> None:
        """Saves a checkpoint. If the disk is full, the previous one remains; only with `must` does the error
        end training."""
        self.processes.from_first(lambda: self._save(must))

    def _save(self, must: bool) -> None:
        if not must and self.saved_update == self.progress.update:
            return
        self._tick()
        self.best.save()
        path, update = self.run.checkpoint_path, self.progress.update
        try:
            save_checkpoint(path, self.trainer, self.progress)
            self.log.statistics()
            self.saved_update = update
        except OSError as error:
            what = f"no checkpoint at update {update}: {error.strerror or error}"
            if must:
                remedy = f"free some space and go on with --resume from update {self.saved_update}"
                raise InputError(what, file=path, remedy=remedy) from None
            self.shown.say(f"warning: {what}; the previous one is kept, training goes on")

    def end(self, resume_hint: str) -> None:
        """Validates if training is finished, saves, and prints a summary."""
        if self.progress.finished:
            self.validate()
        elif self.processes.is_first and self.progress.update and not self.run.model_path.exists():
            # An interrupted run can be used too. Its first validation replaces these weights.
            with self.trainer.for_use() as network:
                self.best.offer(network, None, {"update": self.progress.update})
        self.save(must=True)
        if self.processes.is_first:
            self.best.must_be_saved()
            self.shown.say(self.closing_words(resume_hint))

    def closing_words(self, resume_hint: str) -> str:
        """Returns the last line of a session."""
        progress = self.progress
        done = f"{progress.update} updates, {progress.epochs:.2f} epochs, {progress.seconds / 60:.1f} minutes"
        if not progress.finished:
            unmeasured = "; its weights can be used, and are not measured yet"
            shown = unmeasured if progress.update and not progress.validations else ""
            return f"interrupted after {done}{shown}; {resume_hint}"
        best, score = statistics(self.run, progress), ""
        if best["dev_nll"] is not None:
            score = f"; best at update {progress.best_update}: development NLL {best['dev_nll']:.2f}"
        if best["dev_bleu"] is not None:
            score += f", BLEU {best['dev_bleu']:.2f}"
        if progress.update == self.begun_at:
            score += (
                "; nothing was left to do: limits count from the run's beginning, so raise this one to go on"
            )
        return f"{progress.finished}: {done}{score}"

    def _tick(self) -> None:
        now = time.monotonic()
        self.progress.seconds += now - self.clock
        self.clock = now


def reason_to_stop(training: TrainingSettings, progress: TrainingProgress) -> str:
    """Returns the reason why training should end; "" if it should continue."""
    if training.max_updates and progress.update >= training.max_updates:
        return f"reached training.max_updates = {training.max_updates}"
    if training.max_epochs and progress.epochs >= training.max_epochs:
        return f"reached training.max_epochs = {training.max_epochs:g}"
    if training.max_minutes and progress.seconds >= 60 * training.max_minutes:
        return f"reached training.max_minutes = {training.max_minutes:g}"
    if training.patience and progress.validations_since_best >= training.patience:
        return f"no better development score in {training.patience} validations"
    return ""


def describe(row: dict[str, float], better: bool) -> str:
    """Returns the row of a validation as a line for a person."""
    text = f"update {row['update']:.0f}  epoch {row['epochs']:.2f}  {row['seconds'] / 60:.1f} min"
    text += f"  train nll/word {row['train_nll_per_word']:.3f}"
    if "train_alignment_loss" in row:
        text += f"  alignment loss/word {row['train_alignment_loss']:.3f}"
    if "dev_nll" in row:
        text += f"  dev nll {row['dev_nll']:.2f}  nll/word {row['dev_nll_per_word']:.3f}"
        text += f"  BLEU {row['dev_bleu']:.2f}" if "dev_bleu" in row else ""
        text += "  (best so far)" if better else ""
    return text
