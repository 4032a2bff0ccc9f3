"""The training loop: updates, validations, checkpoints and stopping criteria."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rnnsearch.arguments import require
from rnnsearch.errors import InputError
from rnnsearch.installed import need
from rnnsearch.kernels import edited_equations, edited_functions
from rnnsearch.run import Run
from rnnsearch.settings import Settings, StoppingSettings
from rnnsearch.system.machine import usable_device
from rnnsearch.text.batches import PairNumbers, Position, collate
from rnnsearch.text.dataset import Corpus
from rnnsearch.training.checkpoint import TrainingProgress, save_checkpoint
from rnnsearch.training.ddp import connected_ranks, torchrun_value
from rnnsearch.training.display import Display
from rnnsearch.training.log import Log
from rnnsearch.training.loss import needs_links
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.setup import TrainingContext, open_training
from rnnsearch.training.threads import Threads
from rnnsearch.training.validation import BestWeights, validate

SKIPS_IN_A_ROW = 10
"""Number of successive non-finite gradients that end training."""
SPEED_OVER = 20
"""Number of updates over which the displayed speed is averaged."""


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""Ctrl-C, the end of a job or of its terminal, and a batch system's warning before it."""


class TrainingInterrupted(KeyboardInterrupt):
    """Training was ended by a signal, such as Ctrl-C, and has saved a checkpoint. run: the run so
    far. signal: the signal's number."""

    def __init__(self, run: Run, number: int) -> None:
        super().__init__()
        self.run: Run = run
        self.signal: int = number


def train(
    settings: Settings,
    corpus: Corpus,
    path: str | Path,
    *,
    resume: bool = False,
    begin_from: str | Path = "",
    display: Display | None = None,
) -> Run:
    """Trains a network on `corpus` into the folder `path`, until a limit of the settings or
    patience ends it.

    A process that torchrun has started trains as one of its ranks, and resumes if torchrun has
    restarted it.

    resume: continue the run in `path`, or begin one if there is none. On a CPU with the same number
    of threads, the result is bit-identical to that of uninterrupted training. begin_from: a run or
    the name of a model with the same network and vocabularies; training begins with its weights and
    a new optimiser.
    display: shows the progress, by default on stderr.

    Raises InputError for settings, corpus, run or weights that do not match, and after ten
    non-finite gradients in a row; TrainingInterrupted, with the run so far, after a signal of
    SIGNALS.
    """
    need("train")
    require("settings", settings, Settings)
    require("corpus", corpus, Corpus)
    require("path", path, str, Path)
    require("begin_from", begin_from, str, Path)
    usable_device(settings.training.device)
    resume = resume or torchrun_value("TORCHELASTIC_RESTART_COUNT", 0) > 0
    with (
        received_signals() as received,
        connected_ranks(settings.training.device) as ranks,
        (display or Display()) if ranks.is_first else Display(quiet=True) as display,
    ):
        threads = Threads(settings, torchrun_value("LOCAL_WORLD_SIZE", 1), display.say)
        with open_training(settings, corpus, Path(path), ranks, resume, str(begin_from)) as context:
            session = Session(context, corpus, ranks, received, threads, display)
            try:
                session.train()
            finally:
                session.log.close()
    if not session.progress.finished:
        raise TrainingInterrupted(session.run, session.signal)
    return session.run


class Session:
    """One training from its start, or from resuming, to its end. Every rank has one.

    Only rank 0 validates, saves and displays; the others wait. received: the signals that this rank
    has received. signal: one that any rank has received; 0 if there was none. skipped_in_a_row:
    number of the last updates that were skipped. window: (seconds, target tokens, NLL) of the last
    updates, for display.
    """

    def __init__(
        self,
        context: TrainingContext,
        corpus: Corpus,
        ranks: Ranks,
        received: list[int],
        threads: Threads,
        display: Display,
    ) -> None:
        self.run, self.order, self.trainer, self.progress, notes = context
        self.corpus, self.ranks, self.received = corpus, ranks, received
        self.threads, self.display = threads, display
        self.stopping: StoppingSettings = self.run.settings.stopping
        self.first_update = self.saved_update = self.progress.update
        self.signal = self.skipped_in_a_row = 0
        self.window: deque[tuple[float, int, float]] = deque(maxlen=SPEED_OVER)
        plain = [f"{name} is edited" for name in edited_functions()]
        edits = edited_equations() if self.run.settings.training.kernels else plain
        self.progress.edited = sorted({*self.progress.edited, *edits})
        self.log = Log(self.run, self.progress, display.say)
        self.best = BestWeights(
            self.run.model_path, self.progress, self.stopping.select_by, display.say
        )
        minutes = self.stopping.max_minutes or math.inf
        seconds = 60 * minutes - self.progress.seconds
        display.begin(self.trainer.total_updates, self.progress.update, seconds)
        for note in notes:
            display.say(note)
        if ranks.is_first:
            threads.begin(self.progress.threads)
        self.clock = time.monotonic()

    def train(self) -> None:
        """Trains until a limit or a signal ends it, and saves. The initial weights are validated,
        too; those of another run or model can be the best."""
        if not self.progress.update and self.corpus.dev:
            self.validate()
        stream = self.order.batches(Position(self.progress.epoch, self.progress.batch))
        accumulate = self.run.settings.training.accumulate
        while not self.is_over():
            self.update(list(islice(stream, accumulate)))
            if self.progress.update % self.stopping.validate_every == 0:
                self.validate()
            if self.progress.update % self.stopping.save_every == 0:
                self.save()
        self.end()

    def is_over(self) -> bool:
        """Tells whether training ends before the next update: rank 0 decides, or a signal to any
        rank."""
        progress, reason = self.progress, reason_to_stop(self.stopping, self.progress)
        every = self.ranks.gather((max(self.received, default=0), reason, self.threads.chosen))
        self.signal = max(number for number, _, _ in every)
        _, progress.finished, progress.threads = every[0]
        self.threads.use(progress.threads)
        return bool(progress.finished or self.signal)

    def update(self, batches: list[tuple[PairNumbers, Position]]) -> None:
        """Does one update with the pairs of these batches, counts it and displays it."""
        settings, progress, started = self.run.settings, self.progress, time.monotonic()
        linked = needs_links(settings.known_alignments)
        whole = [collate(self.corpus.train, indices, linked=linked) for indices, _ in batches]
        shares = [self.ranks.share(batch).to(settings.training.device) for batch in whole]
        update = self.trainer.update(
            shares, progress.update + 1, sum(len(batch.source) for batch in whole)
        )
        progress.count(update, batches[-1][1], len(self.order))
        self._tick()
        if update.applied:
            self.window.append((self.clock - started, update.target_tokens, update.nll))
            self.skipped_in_a_row = 0
        else:
            self.skipped_in_a_row += 1
            what = "the gradient is not finite; the update is skipped"
            self.display.say(f"update {progress.update}: {what}")
            if self.skipped_in_a_row >= SKIPS_IN_A_ROW:
                raise self._diverged(f"{SKIPS_IN_A_ROW} gradients in a row were not finite")
        if self.ranks.is_first and self.window:
            seconds, tokens, nll = map(sum, zip(*self.window, strict=True))
            self.log.update(update, tokens / seconds)
            self.display.update(progress.update, progress.epochs, nll / tokens, tokens / seconds)

    def _diverged(self, what: str) -> InputError:
        remedy = "train in a new folder with a lower optimiser.learning_rate"
        what += f" (update {self.progress.update})"
        return InputError(what, remedy, file=self.run.path)

    def _check_weights(self) -> None:
        if not self.trainer.has_finite_weights:
            raise self._diverged("the weights are too large or not numbers")

    def validate(self) -> None:
        """Validates the network, keeps its weights if they are the best so far, and logs the
        statistics; once per update at most."""
        self.ranks.from_first(self._validate)

    def _validate(self) -> None:
        progress = self.progress
        if progress.validations and progress.validations[-1]["update"] == progress.update:
            return
        self._check_weights()
        with self.trainer.for_use() as network:
            scores, samples = validate(network, self.corpus, self.run.settings)
            kept = progress.update or progress.begun_from
            better = bool(kept) and self.best.offer(network, {"update": progress.update} | scores)
        self._tick()
        row = progress.begin_row() | scores
        progress.validations.append(row)
        self.log.validation(scores, samples)
        self.log.statistics()
        self.display.say(progress_line(row, better))
        if progress.update:
            self.display.samples(samples)

    def save(self, must: bool = False) -> None:
        """Saves the best weights, if they are not saved yet, and then a checkpoint. If the disk is
        full, the previous ones remain; only with `must` does the error end training."""
        self.ranks.from_first(lambda: self._save(must))

    def _save(self, must: bool) -> None:
        if not must and self.saved_update == self.progress.update:
            return
        self._check_weights()
        self._tick()
        path, update = self.run.checkpoint_path, self.progress.update
        try:
            self.best.save()
            save_checkpoint(path, self.trainer, self.progress)
            self.log.statistics()
            self.saved_update = update
        except OSError as error:
            what = f"no checkpoint at update {update}: {error.strerror or error}"
            if must:
                remedy = f"free some space and go on with --resume from update {self.saved_update}"
                raise InputError(what, remedy, file=path) from None
            self.display.say(f"warning: {what}; the previous one is kept, training goes on")

    def end(self) -> None:
        """Validates if training is finished, saves, and prints a summary."""
        done = self.progress.update - self.first_update
        if self.progress.finished:
            skipped = self.skipped_in_a_row
            if skipped and 2 * skipped >= done:
                raise self._diverged(f"the last {skipped} of {done} gradients were not finite")
            self.validate()
        elif self.ranks.is_first and self.progress.update:
            kept = (row["update"] or self.progress.begun_from for row in self.progress.validations)
            chosen = any(kept) and self.run.model_path.exists()
            if self.corpus.dev is None or not chosen:
                # An interrupted run can be used too. Its first validation replaces these weights.
                with self.trainer.for_use() as network:
                    self.best.offer(network, {"update": self.progress.update})
        self.save(must=True)
        self.display.say(self.summary())

    def summary(self) -> str:
        """Returns the last line of a session."""
        progress, minutes = self.progress, self.progress.seconds / 60
        done = f"{progress.update} updates, {progress.epochs:.2f} epochs, {minutes:.1f} minutes"
        if not progress.finished:
            measured = not progress.update or any(row["update"] for row in progress.validations)
            score = "" if measured else "; its weights are not validated yet"
            return f"interrupted after {done}{score}"
        best, score = progress.best_row, ""
        if "dev_nll" in best:
            score = f"; best at update {best['update']}: development NLL {best['dev_nll']:.2f}"
        if "dev_bleu" in best:
            score += f", BLEU {best['dev_bleu']:.2f}"
        if progress.begun_from and progress.update and not progress.best_update:
            score += ": no validation was better than the start, whose weights are kept"
        if progress.update == self.first_update:
            score += "; nothing is left to train: raise this limit to continue"
        return f"{progress.finished}: {done}{score}"

    def _tick(self) -> None:
        """Adds the time since the last call to that of the training."""
        now = time.monotonic()
        self.progress.seconds += now - self.clock
        self.clock = now


def reason_to_stop(stopping: StoppingSettings, progress: TrainingProgress) -> str:
    """Returns the reason why training should end; "" if it should continue."""
    done = {"updates": progress.update, "epochs": progress.epochs, "minutes": progress.seconds / 60}
    for unit, number in done.items():
        limit = getattr(stopping, f"max_{unit}")
        if limit and number >= limit:
            return f"reached stopping.max_{unit} = {limit:.10g}"
    later = sum(row["update"] > progress.best_update for row in progress.validations)
    if stopping.patience and later >= stopping.patience:
        return f"no better development score in {stopping.patience} validations"
    return ""


def progress_line(row: dict[str, float], better: bool) -> str:
    """Returns the row of a validation as a line for a person."""
    text = f"update {row['update']:.0f}  epoch {row['epochs']:.2f}  {row['seconds'] / 60:.1f} min"
    if "train_nll_per_word" in row:
        text += f"  train nll/word {row['train_nll_per_word']:.3f}"
    if "train_alignment_loss" in row:
        text += f"  alignment loss/word {row['train_alignment_loss']:.3f}"
    if "dev_nll" in row:
        text += f"  dev nll {row['dev_nll']:.2f}  nll/word {row['dev_nll_per_word']:.3f}"
        text += f"  BLEU {row['dev_bleu']:.2f}" if "dev_bleu" in row else ""
        text += f"  metric {row['dev_metric']:.4g}" if "dev_metric" in row else ""
        text += "  (best so far)" * better
    return text


@contextmanager
def received_signals() -> Iterator[list[int]]:
    """Yields the numbers of the signals that the main thread receives meanwhile: training ends
    after the current update, with a checkpoint. A second Ctrl-C or SIGTERM ends it at once, except
    under torchrun, which may send several and kills a rank when it must end. SIGHUP stays ignored
    under nohup."""
    received, alone = list[int](), torchrun_value("WORLD_SIZE", 1) == 1

    def receive(number: int, _: object) -> None:
        if number in received and number in (signal.SIGINT, signal.SIGTERM) and alone:
            raise KeyboardInterrupt
        received.append(number)

    in_main = threading.current_thread() is threading.main_thread()
    numbers = set(SIGNALS if in_main else ())
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        numbers -= {signal.SIGHUP}
    before = {number: signal.signal(number, receive) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
