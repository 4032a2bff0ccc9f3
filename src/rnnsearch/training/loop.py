"""Training from a prepared dataset to a run: updates, validations, checkpoints, and the reasons to stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import torch

from rnnsearch.config import ModelSettings, Settings, TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.model.encoder import ENCODERS
from rnnsearch.run import Run, refuse_run
from rnnsearch.system.machine import PRECISIONS, check_memory, set_up_cpu
from rnnsearch.system.tensors import tensor_bytes
from rnnsearch.text.store.batches import BatchOrder, ChosenPairs, Position
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.agreement import check_agreement
from rnnsearch.training.alignment_loss import needs_links
from rnnsearch.training.best_weights import BestWeights
from rnnsearch.training.capture import check_capture, make_trainer
from rnnsearch.training.checkpoint import load_checkpoint, save_checkpoint
from rnnsearch.training.display import Display
from rnnsearch.training.following import follow_launched, follow_started
from rnnsearch.training.interrupt import Interrupt, TrainingInterrupted, interruptible
from rnnsearch.training.launch import Launch, is_elastic, joined, launched, started, use_device
from rnnsearch.training.log import Log, statistics
from rnnsearch.training.optimiser import total_updates
from rnnsearch.training.optimiser_state import copies_in_memory
from rnnsearch.training.parallel import ParallelTrainer, share_of, updates_from
from rnnsearch.training.progress import TrainingProgress
from rnnsearch.training.run_lock import run_lock
from rnnsearch.training.trainer import Trainer, Update
from rnnsearch.training.validation import Validation, validate

SKIPS_IN_A_ROW = 10
"""Non-finite gradients one after another that end a training."""
SPEED_OVER = 20
"""Updates that the shown speed is averaged over."""

MAY_CHANGE = {"max_updates", "max_epochs", "max_minutes", "patience", "samples", "save_every", "exchange_timeout"}
"""Training settings that may differ when a run is resumed: they decide only when training ends and what is shown or saved."""
MAY_CHANGE |= {"processes", "threads", "device", "exchange_precision", "capture"}
"""These compute the same update with sums in another order, so with other rounding; another number of processes and another kind of device
also draw other random numbers for dropout. Only with these unchanged is a resumed run exact to the bit.
"""


def train(settings: Settings, corpus: Corpus, path: str | Path, *, resume: bool = False, display: Display | None = None) -> Run:
    """Trains a network on `corpus` into the folder `path`, until a limit of the settings, patience or Ctrl-C ends it.

    resume: go on with the run in `path`; what comes out equals an uninterrupted training, bit for bit on a CPU with the
    same number of threads. Without a run there, it begins one. Raises InputError for settings, corpus or run that do not fit,
    and when non-finite gradients repeat.
    """
    try:
        return train_to_the_end(settings, corpus, path, resume=resume, display=display)
    except TrainingInterrupted as ended:
        return ended.run


def train_to_the_end(
    settings: Settings,
    corpus: Corpus,
    path: str | Path,
    *,
    resume: bool = False,
    display: Display | None = None,
    way_on: str = "go on with --resume",
) -> Run:
    """As `train`, but raises TrainingInterrupted after Ctrl-C. way_on: what a person is told then.

    In a process that a launcher such as torchrun has started, it is one rank of the training; after the launcher's restart it resumes.
    """
    launch = launched()
    check_capture(settings.training, settings.training.processes if launch is None else launch.world)
    if launch is not None and launch.rank:
        return follow_launched(settings, corpus, Path(path), launch)
    session = Session.begin(settings, corpus, Path(path), resume or (launch is not None and launch.restarts > 0), launch)
    with (
        session,
        display or Display(session.trainer.total_updates, session.progress.update) as shown,
        interruptible(insisting=not is_elastic()) as interrupt,
    ):
        session.begin_together(launch, interrupt)
        session.log.warn = shown.say
        if session.corpus.dev is None:
            shown.say("warning: the corpus has no development set: the latest weights are saved, and training.patience has no effect")
        for chosen, position in session.batches():
            session.progress.finished = reason_to_stop(settings.training, session.progress)
            if session.progress.finished or interrupt.signal:
                break
            session.update(chosen, position, shown)
            interrupt.signal = interrupt.signal or session.signal
        if session.progress.finished:
            session.validate(shown)
        session.save(shown, must=True)
        session.best.must_be_saved()
        session.end(interrupt)
        shown.say(session.closing_words(way_on))
    if interrupt.signal and not session.progress.finished:
        raise TrainingInterrupted(session.run, interrupt.signal)
    return session.run


@dataclass
class Session:
    """One training from its start, or from where it was resumed, to its end."""

    run: Run
    corpus: Corpus
    order: BatchOrder
    trainer: Trainer
    progress: TrainingProgress
    log: Log
    saved_update: int
    clock: float
    window: list[tuple[float, int, float]]
    """(time, target tokens, NLL) of the last updates, for display."""
    best: BestWeights
    held: ExitStack
    """What the session gives back when it is closed: the lock of the run's folder."""
    signal: int = 0
    """The number of one by which somebody wants another rank to end."""
    parallel: ParallelTrainer | None = None
    """With more than one process."""

    @classmethod
    def begin(cls, settings: Settings, corpus: Corpus, path: Path, resume: bool, launch: Launch | None = None) -> Session:
        if not resume:  # before the lock: a run that is there is a mistake, whoever is at work in it
            refuse_run(path)
        with ExitStack() as held:
            held.enter_context(run_lock(path))
            session = cls._begin(settings, corpus, path, resume, launch)
            session.held = held.pop_all()
            return session

    @classmethod
    def _begin(cls, settings: Settings, corpus: Corpus, path: Path, resume: bool, launch: Launch | None) -> Session:
        training = settings.training
        set_up_cpu(training.threads, training.processes if launch is None else launch.on_host)
        if launch is not None:
            use_device(training.device, launch)
        check_links(corpus, training)
        run = open_run(settings, corpus, path) if resume and (path / "config.toml").exists() else None
        if run is None:
            check_fixed_alignment(settings.model)
        order = BatchOrder(corpus.train.source_lengths, corpus.train.target_lengths, training)
        torch.manual_seed(training.seed)
        fresh = run or Run(path, settings.model_copy(update={"data": corpus.settings}), corpus.source, corpus.target)
        dtype = PRECISIONS[training.precision]
        if training.device == "cpu":
            copies = copies_in_memory(training)
            check_memory(copies * tensor_bytes(fresh.shapes(trust_code=True)), "the weights, gradients and optimiser state of this network")
        network = fresh.make_network(trust_code=True, product_dtype=dtype).to(training.device)
        trainer = make_trainer(network, training, total_updates(training, len(order) / training.accumulate))
        run = run or Run.create(path, fresh.settings, corpus.source, corpus.target)
        progress = TrainingProgress(corpus_pairs=len(corpus.train))
        if run.checkpoint_path.exists():
            progress = load_checkpoint(run.checkpoint_path, network, trainer.optimiser, trainer.average)
            if progress.corpus_pairs != len(corpus.train):
                raise InputError(f"was trained on {progress.corpus_pairs} pairs, not on these {len(corpus.train)}", file=path)
        log, best = Log(run, progress, print), BestWeights(run.model_path, progress)
        return cls(run, corpus, order, trainer, progress, log, progress.update, time.monotonic(), [], best, ExitStack())

    def batches(self) -> Iterator[tuple[list[ChosenPairs], Position]]:
        """The pairs of each update from here on, and the position after it."""
        position = Position(self.progress.epoch, self.progress.batch)
        return updates_from(self.order, position, self.corpus.train, self.run.settings.training)

    def begin_together(self, launch: Launch | None, interrupt: Interrupt) -> None:
        """With several processes, meets the others and gives them what this one has made or restored."""
        settings = self.run.settings
        training = settings.training
        if launch is not None:
            ranks = self.held.enter_context(joined(launch, training.exchange_timeout, training.device, lambda: bool(interrupt.signal)))
        elif training.processes > 1:
            if training.device != "cpu":
                what = f'training.processes = {training.processes} needs training.device = "cpu"'
                raise InputError(what, remedy="several GPUs: torchrun --nproc-per-node N -m rnnsearch train …")
            arguments = (follow_started, settings, self.corpus.path)
            ranks = self.held.enter_context(started(training.processes, training.exchange_timeout, *arguments))
        else:
            return
        self.held.push(lambda kind, error, trace: ranks.fault(error) if error is not None else None)
        check_agreement(ranks, settings, self.corpus)
        self.parallel = ParallelTrainer(self.trainer, ranks, training, interrupt)
        ranks.numbers_from_first([self.progress.epoch, self.progress.batch])
        self.clock = time.monotonic()

    def update(self, chosen: list[ChosenPairs], position: Position, shown: Display) -> None:
        """One update, and the validation or checkpoint that is due after it."""
        training, progress = self.run.settings.training, self.progress
        ranks = (0, 1) if self.parallel is None else (0, self.parallel.ranks.world)
        share = share_of(self.corpus.train, chosen, training, *ranks)
        if self.parallel is None:
            update = self.trainer.update(share.batches, progress.update + 1)
        else:
            update = self.parallel.update(share, progress.update + 1)
            self.signal = self.parallel.signal
        self._count(update, position)
        if not update.applied:
            shown.say(f"update {progress.update}: the gradient is not finite; the update is skipped")
            if progress.skipped_in_a_row >= SKIPS_IN_A_ROW:
                what = f"{SKIPS_IN_A_ROW} gradients in a row were not finite (update {progress.update})"
                raise InputError(what, file=self.run.path, remedy="train in a new folder with a lower training.learning_rate")
        tokens_per_second, nll_per_word = self._speed(update)
        self.log.update(update, progress, tokens_per_second)
        shown.update(progress.update, progress.epochs, nll_per_word, tokens_per_second)
        if progress.update % training.validate_every == 0:
            self.validate(shown)
        if progress.update % training.save_every == 0:
            self.save(shown)

    def validate(self, shown: Display) -> None:
        """Measures, keeps the weights if they are the best so far, and writes down how training goes; once per update at most."""
        progress = self.progress
        again = bool(progress.validations) and progress.validations[-1]["update"] == progress.update
        if again and not self.best.is_missing():
            return
        if self.parallel is not None:
            self.parallel.collect(state=False)
        with self.trainer.for_use() as network:
            result = validate(network, self.corpus, self.run.settings)
            notes = {"update": progress.update} | ({} if result is None else {"dev_nll": result.nll, "dev_bleu": result.bleu})
            better = self.best.offer(network, self._score(result), notes, shown.say)
        self._tick()
        if again:  # only the weights were missing
            return
        row: dict[str, float] = {
            "update": progress.update,
            "epochs": progress.epochs,
            "seconds": progress.seconds,
            "train_nll": progress.nll_sum / max(1, progress.nll_pairs),
            "train_nll_per_word": progress.nll_sum / max(1, progress.nll_tokens),
        }
        if progress.linked_rows:
            row["train_alignment_loss"] = progress.alignment_sum / progress.linked_rows
        if result is not None:
            row |= {"dev_nll": result.nll, "dev_nll_per_word": result.nll_per_word}
            row |= {} if result.bleu is None else {"dev_bleu": result.bleu}
            self.log.validation(result, progress)
        progress.validations.append(row)
        progress.nll_sum, progress.nll_pairs, progress.nll_tokens = 0.0, 0, 0
        progress.alignment_sum, progress.linked_rows = 0.0, 0
        self.log.statistics(progress)
        shown.say(describe(row, result, better))
        shown.samples([] if result is None else result.samples)

    def save(self, shown: Display, must: bool = False) -> None:
        """A checkpoint to resume from. A full disk leaves the previous one, and ends the training only if this one is the last."""
        if self.saved_update == self.progress.update and not must:
            return
        self._tick()
        self.best.save(shown.say)
        trainer = self.trainer
        if self.parallel is not None:
            self.parallel.collect(state=True)
        try:
            save_checkpoint(self.run.checkpoint_path, trainer.network, trainer.optimiser, trainer.average, self.progress)
            self.log.statistics(self.progress)
            self.saved_update = self.progress.update
        except OSError as error:
            what = f"no checkpoint at update {self.progress.update}: {error.strerror or error}"
            if must:
                remedy = f"free some space and go on with --resume from update {self.saved_update}"
                raise InputError(what, file=self.run.checkpoint_path, remedy=remedy) from None
            shown.say(f"warning: {what}; the previous one is kept, training goes on")
        finally:
            if self.parallel is not None:
                self.parallel.forget()

    def end(self, interrupt: Interrupt) -> None:
        """Tells the other ranks that all is done, and how they exit."""
        if self.parallel is not None:
            self.parallel.end(128 + interrupt.signal if interrupt.signal and not self.progress.finished else 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Ends what does not end by itself: curves, processes, and the lock of the folder."""
        self.log.close()
        self.held.__exit__(kind, error, trace)

    def closing_words(self, way_on: str) -> str:
        progress = self.progress
        done = f"{progress.update} updates, {progress.epochs:.2f} epochs, {progress.seconds / 60:.1f} minutes"
        if not progress.finished:
            return f"interrupted after {done}; {way_on}"
        best = statistics(self.run, progress)
        score = "" if best["dev_nll"] is None else f"; best at update {progress.best_update}: development NLL {best['dev_nll']:.2f}"
        score += "" if best["dev_bleu"] is None else f", BLEU {best['dev_bleu']:.2f}"
        return f"{progress.finished}: {done}{score}"

    def _score(self, result: Validation | None) -> float | None:
        """What decides which weights are kept: higher is better; None without a development set."""
        if result is None:
            return None
        by_bleu = self.run.settings.training.select_by == "bleu" and result.bleu is not None
        return result.bleu if by_bleu else -result.nll

    def _count(self, update: Update, position: Position) -> None:
        progress = self.progress
        progress.update += 1
        progress.epoch, progress.batch = position
        progress.epochs = position.epoch + position.batch / len(self.order)
        progress.skipped_in_a_row = 0 if update.applied else progress.skipped_in_a_row + 1
        progress.skipped += not update.applied
        progress.pairs += update.pairs
        progress.target_tokens += update.target_tokens
        if update.applied:
            progress.nll_sum += update.nll
            progress.nll_pairs += update.pairs
            progress.nll_tokens += update.target_tokens
            progress.alignment_sum += update.alignment_loss
            progress.linked_rows += update.linked_rows
        self._tick()

    def _tick(self) -> None:
        now = time.monotonic()
        self.progress.seconds += now - self.clock
        self.clock = now

    def _speed(self, update: Update) -> tuple[float, float]:
        """(target tokens per second, NLL per word) over the last updates."""
        self.window = [*self.window[-SPEED_OVER:], (time.monotonic(), update.target_tokens, update.nll)]
        tokens = sum(count for _, count, _ in self.window[1:])
        seconds = self.window[-1][0] - self.window[0][0]
        return (tokens / seconds if seconds else 0.0), sum(nll for *_, nll in self.window) / sum(count for _, count, _ in self.window)


def reason_to_stop(training: TrainingSettings, progress: TrainingProgress) -> str:
    """Empty while training should go on."""
    if training.max_updates and progress.update >= training.max_updates:
        return f"reached training.max_updates = {training.max_updates}"
    if training.max_epochs and progress.epochs >= training.max_epochs:
        return f"reached training.max_epochs = {training.max_epochs:g}"
    if training.max_minutes and progress.seconds >= 60 * training.max_minutes:
        return f"reached training.max_minutes = {training.max_minutes:g}"
    if training.patience and progress.validations_since_best >= training.patience:
        return f"no better development score in {training.patience} validations"
    return ""


def open_run(settings: Settings, corpus: Corpus, path: Path) -> Run:
    """The run to resume, under the given settings; they may differ from its own in MAY_CHANGE only."""
    run = Run.open(path)
    wanted = settings.model_copy(update={"data": corpus.settings})
    for section in ("data", "model", "training", "search"):
        old, new = getattr(run.settings, section).model_dump(), getattr(wanted, section).model_dump()
        for key, value in old.items():
            if new[key] != value and not (section == "training" and key in MAY_CHANGE):
                what = f"was trained with {section}.{key} = {value!r}, which is now {new[key]!r}"
                raise InputError(what, file=path, remedy="resume with the same settings, or begin another run")
    for side in ("source", "target"):
        if getattr(run, side).vocabulary != getattr(corpus, side).vocabulary:
            raise InputError(f"was trained on a corpus with another {side} vocabulary", file=path, remedy="resume with the same --data")
    return Run(path, wanted, run.source, run.target)


def check_links(corpus: Corpus, training: TrainingSettings) -> None:
    """Raises InputError if training asks for word links that the corpus has not."""
    if needs_links(training) and not corpus.train.linked:
        key = "alignment_loss" if training.alignment_loss != "none" else "alignment_forcing"
        what = f'has no word links, which training.{key} = "{getattr(training, key)}" learns from'
        raise InputError(what, file=corpus.path, remedy="prepare it again with --links FILE")


def check_fixed_alignment(model: ModelSettings) -> None:
    """Raises InputError for a new network whose `fixed` context is no last state of a forward encoder; runs that exist go on."""
    if model.alignment == "fixed" and model.encoder in ENCODERS and model.encoder != "forward":
        what = f'model.alignment = "fixed" makes RNNencdec of a forward encoder only, and model.encoder = "{model.encoder}"'
        raise InputError(what, remedy='set model.encoder = "forward", or another model.alignment')


def describe(row: dict[str, float], result: Validation | None, better: bool) -> str:
    """A validation in a line for a person."""
    text = f"update {row['update']:.0f}  epoch {row['epochs']:.2f}  {row['seconds'] / 60:.1f} min"
    text += f"  train nll/word {row['train_nll_per_word']:.3f}"
    if "train_alignment_loss" in row:
        text += f"  alignment loss/word {row['train_alignment_loss']:.3f}"
    if result is None:
        return text
    bleu = "" if result.bleu is None else f"  BLEU {result.bleu:.2f}"
    return f"{text}  dev nll {result.nll:.2f}  nll/word {result.nll_per_word:.3f}{bleu}{'  (best so far)' if better else ''}"
