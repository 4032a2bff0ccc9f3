"""The start of training: in a new folder, resumed, or with the weights of another run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from rnnsearch.config import ModelSettings, Settings, TrainingSettings, by_name
from rnnsearch.errors import InputError
from rnnsearch.model.encoder import ENCODERS
from rnnsearch.model.layers import fastest_precision
from rnnsearch.run import Run
from rnnsearch.system.files import only_one, remove_partial_files, writing
from rnnsearch.system.machine import PRECISIONS
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.store.order import BatchOrder
from rnnsearch.training.alignment_loss import needs_links
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.launch import check_agreement
from rnnsearch.training.optimiser import copies_in_memory, total_updates
from rnnsearch.training.processes import Processes
from rnnsearch.training.trainer import Trainer

MAY_CHANGE = {
    *("max_updates", "max_epochs", "max_minutes", "patience", "samples", "save_every", "exchange_timeout"),
    *("processes", "threads", "device"),
}
"""Training settings that may differ when a run is resumed. Those in the first row affect only when training
ends, and what is shown or saved. Those in the second row change the rounding of updates; the number of
processes and the device also change dropout masks.
"""
ID_SETTINGS = ("source_language", "target_language", "tokeniser", "lowercase", "subwords")
"""Data settings that, with the vocabularies, determine the ids of a line."""


class TrainingTask(NamedTuple):
    """A training to run in the folder `path`.

    resume: continue the run there, if there is one. begin_from: a run or model whose weights training begins
    with; "" for new weights. resume_hint: shown after Ctrl-C.
    """

    settings: Settings
    path: Path
    resume: bool = False
    begin_from: str = ""
    resume_hint: str = "go on with --resume"

    def run(self, corpus: Corpus) -> Run:
        """Returns the run that the task makes or continues; its folder may not exist yet."""
        settings = self.settings.model_copy(update={"data": corpus.settings})
        return Run(self.path, settings, corpus.source, corpus.target)


class Begun(NamedTuple):
    """A training that has begun, and its progress."""

    run: Run
    order: BatchOrder
    trainer: Trainer
    progress: TrainingProgress


@contextmanager
def begun(task: TrainingTask, corpus: Corpus, processes: Processes) -> Iterator[Begun]:
    """Opens or makes the run. The first process, which alone writes to the folder, locks it meanwhile. Raises
    InputError for settings, datasets, runs or weights that do not match."""
    run, training = task.run(corpus), task.settings.training
    with ExitStack() as held:
        if processes.is_first:
            if not task.resume:  # before the lock: an existing run is an error even while it is used
                run.require_new()
            held.enter_context(run_lock(run.path))
        check_agreement(processes, run.settings, corpus)
        check_has_links(corpus, training)
        resumed = task.resume and processes.from_first((run.path / "config.toml").exists)
        if not resumed:
            check_fixed_alignment(run.settings.model)
        elif processes.is_first:
            check_resumed(run)
        torch.manual_seed(training.seed)
        saved = processes.from_first(run.checkpoint_path.exists)
        weights = None
        if task.begin_from and not saved:
            weights = processes.from_first(lambda: weights_of(task.begin_from, run))
        order = BatchOrder(corpus.train.source_lengths, corpus.train.target_lengths, training)
        trainer = make_trainer(run, order, processes, weights)
        progress = TrainingProgress(corpus_pairs=len(corpus.train), begun_from=task.begin_from)
        if processes.is_first and not resumed:
            run.create()
        if saved:
            progress = restored(run, trainer, progress)
        elif (
            weights is not None and processes.is_first
        ):  # saved, in case the run is killed before its first checkpoint
            save_checkpoint(run.checkpoint_path, trainer, progress)
        yield Begun(run, order, trainer, progress)


@contextmanager
def run_lock(path: Path) -> Iterator[None]:
    """Locks the folder against other trainings, and removes incomplete files of a killed training.

    Raises InputError if another training uses it, or if it cannot be written.
    """
    if path.exists() and not path.is_dir():
        raise InputError("is a file, not a folder", file=path, remedy="name another folder for --out")
    with ExitStack() as held:
        with writing(path):
            held.enter_context(only_one(path, "training"))
            for folder in (path, path / "checkpoints", path / "log"):
                remove_partial_files(folder)
        yield


def check_resumed(run: Run) -> None:
    """Raises InputError if the run in the folder has another vocabulary, or other settings than those of
    MAY_CHANGE."""
    before, new = Run.open(run.path), by_name(run.settings)
    for key, value in by_name(before.settings).items():
        if new[key] != value and key.removeprefix("training.") not in MAY_CHANGE:
            what = f"was trained with {key} = {value!r}, which is now {new[key]!r}"
            raise InputError(
                what, file=run.path, remedy="resume with the same settings, or begin another run"
            )
    if side := before.other_vocabulary(run):
        what = f"was trained on a corpus with another {side} vocabulary"
        raise InputError(what, file=run.path, remedy="resume with the same --data")


def weights_of(name: str, run: Run) -> dict[str, Tensor]:
    """Returns the weights of another run or model; int8 becomes float32. Raises InputError unless its network
    and vocabularies are those of `run`."""
    base = Run.open(name)
    ours, theirs = (network_of(one.settings.model) for one in (run, base))
    if other := {key: value for key, value in theirs.items() if value != ours[key]}:
        sets = " ".join(f"--set model.{key}={json.dumps(value)}" for key, value in other.items())
        raise InputError(
            "has another network than these settings describe", file=base.path, remedy=f"add {sets}"
        )
    fitting = f"prepare the text with rnnsearch prepare --vocabulary {name}"
    for key in ID_SETTINGS:
        old, new = (getattr(one.settings.data, key) for one in (base, run))
        if old != new:
            what = f"was trained with data.{key} = {old!r}, and this dataset has {new!r}"
            raise InputError(what, file=base.path, remedy=fitting)
    if side := base.other_vocabulary(run):
        raise InputError(f"has another {side} vocabulary than this dataset", file=base.path, remedy=fitting)
    return base.load_network(trust_code=True).state_dict()


def network_of(model: ModelSettings) -> dict[str, object]:
    """Returns the settings that define the network, without those of initial weights."""
    settings = model.model_copy(update={"encoder_size": model.encoder_size or model.hidden_size})
    return settings.model_dump(exclude={"initialisation"})


def make_trainer(
    run: Run, order: BatchOrder, processes: Processes, weights: dict[str, Tensor] | None = None
) -> Trainer:
    """Returns a trainer with these weights, or with new ones. Raises InputError for a network that memory
    cannot hold."""
    training = run.settings.training
    copies = copies_in_memory(training) if training.device == "cpu" else 1
    total = total_updates(training, len(order) / training.accumulate)
    precision = PRECISIONS[training.precision]
    network = run.make_network(trust_code=True, product_dtype=precision, copies=copies)
    if weights is not None:
        network.load_state_dict(weights)
    return Trainer(network.to(training.device), training, total, processes)


def restored(run: Run, trainer: Trainer, wanted: TrainingProgress) -> TrainingProgress:
    """Loads the run's checkpoint into the trainer of every process, and returns its progress. Raises
    InputError unless the dataset and the initial weights are those of `wanted`."""
    progress = load_checkpoint(run.checkpoint_path, trainer, trainer.processes.from_first)
    if progress.corpus_pairs != wanted.corpus_pairs:
        what = f"was trained on {progress.corpus_pairs} pairs, not on these {wanted.corpus_pairs}"
        raise InputError(what, file=run.path)
    if wanted.begun_from and progress.begun_from != wanted.begun_from:
        what = f"began with {progress.begun_from or 'new weights'}, not with {wanted.begun_from}"
        raise InputError(what, file=run.path, remedy="--resume needs no --from")
    return progress


def may_be_slow(training: TrainingSettings) -> bool:
    """Tells whether training uses bfloat16 on a CPU that may be slower with it."""
    in_bfloat16 = training.kernels and training.precision == "bfloat16"
    cpu = torch.device("cpu")
    return in_bfloat16 and training.device == cpu.type and fastest_precision(cpu) == "float32"


def check_has_links(corpus: Corpus, training: TrainingSettings) -> None:
    """Raises InputError if training asks for word links that the corpus does not have."""
    if needs_links(training) and not corpus.train.linked:
        key = "alignment_loss" if training.alignment_loss != "none" else "alignment_forcing"
        what = f'has no word links, which training.{key} = "{getattr(training, key)}" learns from'
        raise InputError(what, file=corpus.path, remedy="prepare it again with --links FILE")


def check_fixed_alignment(model: ModelSettings) -> None:
    """Raises InputError for a new network with `fixed` alignment and an encoder other than `forward`.
    Existing runs may continue."""
    if model.alignment == "fixed" and model.encoder in ENCODERS and model.encoder != "forward":
        what = (
            'model.alignment = "fixed" makes RNNencdec of a forward encoder only, and model.encoder = '
            f'"{model.encoder}"'
        )
        raise InputError(what, remedy='set model.encoder = "forward", or another model.alignment')
