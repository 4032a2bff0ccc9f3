"""Opens a run for training: a new one, one to resume, or one that begins with the weights of
another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rnnsearch.errors import InputError, did_you_mean
from rnnsearch.installed import package_version
from rnnsearch.kernels import convert, fast_loss
from rnnsearch.model.encoder import ENCODERS
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.run import CHECKPOINT, Run, check_new, write_config
from rnnsearch.settings import ModelSettings, Settings, TrainingSettings
from rnnsearch.system.files import file_checksum, only_one, remove_partial_files, writing
from rnnsearch.system.machine import PRECISIONS, fastest_precision, used_precision
from rnnsearch.text.batches import BatchOrder
from rnnsearch.text.codec import SIDES
from rnnsearch.text.dataset import CHECKSUMS, Corpus
from rnnsearch.text.vocabulary import EOS, SPECIALS, UNK
from rnnsearch.training.captured import POSITIONS, CapturedTrainer
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.loss import needs_links, negative_log_likelihood
from rnnsearch.training.optimiser import total_updates
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.trainer import BatchLoss, Faster, Trainer

MAY_CHANGE = {
    "stopping": "max_updates max_epochs max_minutes patience samples save_every validate_every",
    "optimiser": "learning_rate schedule warmup clip_norm",
    "training": "threads precision device capture",
}
"""Table → settings that may differ when a run is resumed. Those of stopping affect only when
training ends and is validated, and what is shown or saved. Those of the optimiser affect later
updates. The others change the rounding of updates; the last two also change dropout masks."""
SIDE_OF_ROWS = {
    "source_embedding.weight": "source",
    "target_embedding.weight": "target",
    "output.weight": "target",
    "output.bias": "target",
    "backward_output.weight": "target",
    "backward_output.bias": "target",
}
"""Parameter with a row for each word of a vocabulary → the side of this vocabulary."""
HIGH_FOR_ADAM = 0.1
"""A learning rate with which Adam learns nothing."""
ID_SETTINGS = ("source_language", "target_language", "tokeniser", "lowercase", "subwords")
"""Data settings that determine the words or subwords of a line."""


class TrainingContext(NamedTuple):
    """A run that is open for training: what a training needs and changes."""

    run: Run
    order: BatchOrder
    trainer: Trainer
    progress: TrainingProgress
    notes: list[str]
    """Messages about its settings."""


class InitialWeights(NamedTuple):
    """The weights of another run or model. shared: for each side, the ids of the words that both
    vocabularies have, here and there. notes: messages about the words that only one has."""

    tensors: dict[str, Tensor]
    shared: dict[str, tuple[list[int], list[int]]]
    notes: list[str]

    def copy_to(self, network: TranslationNetwork) -> None:
        """Copies the weights. Words that the other vocabulary lacks keep their new weights."""
        for name, tensor in network.state_dict().items():
            if name in SIDE_OF_ROWS:
                here, there = self.shared[SIDE_OF_ROWS[name]]
                tensor[here] = self.tensors[name][there]
            else:
                tensor.copy_(self.tensors[name])


@contextmanager
def open_training(
    settings: Settings, corpus: Corpus, path: Path, ranks: Ranks, resume: bool, begin_from: str
) -> Iterator[TrainingContext]:
    """Makes the run in `path`, or opens it if there is one and `resume` is set. Rank 0, which alone
    uses the folder, locks it meanwhile.

    begin_from: a run or model with the initial weights; "" for new weights. Raises InputError for
    settings, datasets, runs or weights that do not match.
    """
    with ExitStack() as locks:
        ranks.from_first(lambda: locks.enter_context(run_lock(path, resume)))
        check_agreement(ranks, settings, corpus)
        checkpoint, weights, changes = path / CHECKPOINT, None, list[dict[str, Any]]()
        exists, saved = ranks.from_first(
            lambda: ((path / "config.toml").exists(), checkpoint.exists())
        )
        saved = saved and (exists or resume)
        if settings.training.precision == "fastest":
            settings = ranks.from_first(partial(with_precision, settings, path if exists else None))
        settings, notes = fit_to_corpus(settings, corpus, known_links=bool(begin_from) or exists)
        if exists:
            changes = ranks.from_first(partial(changes_of, path, settings, corpus))
        else:
            check_encoder(settings.model)
        if begin_from and not saved:
            weights = ranks.from_first(partial(weights_of, begin_from, settings, corpus))
            notes += weights.notes
        pairs, run = corpus.train, Run(path, settings, corpus.source, corpus.target)
        order = BatchOrder(pairs.source.lengths, pairs.target.lengths, settings.training)
        trainer = make_trainer(run, order, ranks, weights)
        progress = TrainingProgress(
            corpus_pairs=len(pairs), corpus_checksum=corpus.checksum, begun_from=begin_from
        )
        if saved:
            progress = restore(checkpoint, trainer, progress)
            progress.changes += [{"update": progress.update, **change} for change in changes]
            notes += [
                f"{one['setting']} is now {one['after']!r} (before: {one['before']!r})"
                for one in changes
            ]
        if isinstance(trainer, CapturedTrainer):
            trainer.changes = progress.changes
        # the run may be killed before it is saved
        if ranks.is_first and (changes if saved else weights):
            with writing(path):
                checkpoint.parent.mkdir(parents=True, exist_ok=True)
                save_checkpoint(checkpoint, trainer, progress)
        if ranks.is_first and not exists:  # after the weights of another run: they would be lost
            run.create()
        if ranks.is_first and changes:
            write_config(path, settings)
        yield TrainingContext(run, order, trainer, progress, notes)


def check_encoder(model: ModelSettings) -> None:
    """Raises InputError for RNNencdec with another encoder than the paper's."""
    if model.alignment == "fixed" and model.encoder in ENCODERS.keys() - {"forward"}:
        what = f'RNNencdec has a forward encoder, and model.encoder = "{model.encoder}"'
        raise InputError(what, 'set model.encoder = "forward", or another model.alignment')


def with_precision(settings: Settings, run: Path | None) -> Settings:
    """Returns the settings with the fastest precision of the device. A run that is resumed keeps
    its own."""
    training = Run.open(run).settings.training if run else settings.training
    found = used_precision(training.precision, settings.training.device)
    training = settings.training.model_copy(update={"precision": found})
    return settings.model_copy(update={"training": training})


def fit_to_corpus(
    settings: Settings, corpus: Corpus, known_links: bool
) -> tuple[Settings, list[str]]:
    """Returns the settings with those of the dataset, and messages about them.

    known_links: whether the weights may have learnt from word links already. What learns from them
    is then off if the dataset has none; otherwise raises InputError.
    """
    training, known, notes = settings.training, settings.known_alignments, []
    if needs_links(known) and corpus.train.links is None:
        keys = [key for key in ("loss", "forcing") if getattr(known, key) != "none"]
        if not known_links:
            setting = f'known_alignments.{keys[0]} = "{getattr(known, keys[0])}"'
            what = f"has no word links, which {setting} learns from"
            raise InputError(what, "prepare it again with --links FILE", file=corpus.path)
        known = known.model_copy(update=dict.fromkeys(keys, "none"))
        off = " and ".join(f"known_alignments.{key}" for key in keys)
        notes.append(f"{corpus.path} has no word links, which turns off {off}")
    if training.precision == "bfloat16" and training.device == "cpu":
        if not training.kernels:
            what = "training.kernels = false computes in float32 in spite of training.precision"
            notes.append(what)
        elif fastest_precision(torch.device("cpu")) == "float32":
            what = "bfloat16 is slower than float32 on this CPU, and may take twenty times as long"
            notes.append(f'{what}: set training.precision = "float32"')
    rate = settings.optimiser.learning_rate
    if settings.optimiser.method.startswith("adam") and rate >= HIGH_FOR_ADAM:
        what = f"warning: optimiser.learning_rate = {rate:g} is far too high for Adam"
        notes.append(f"{what}: set it to 0.001, for example")
    if training.capture and training.device == "cpu":
        notes.append("training.capture = true is for a GPU: on a CPU updates are only slower")
    if corpus.dev is None:
        effect = "the latest weights are saved, and stopping.patience has no effect"
        notes.append(f"warning: the corpus has no development set: {effect}")
    settings = settings.model_copy(update={"data": corpus.settings, "known_alignments": known})
    return settings, notes


@contextmanager
def run_lock(path: Path, resume: bool) -> Iterator[None]:
    """Locks the folder against other trainings, and removes incomplete files of a killed training.

    Raises InputError if another training uses it, if it is a file or cannot be written, and if it
    holds a run that is not to be resumed, or other files.
    """
    check_new(path, resume)  # before the lock: an existing run is an error even while it is used
    with ExitStack() as locks:
        with writing(path):
            locks.enter_context(only_one(path, "training"))
            for folder in (path, path / "checkpoints", path / "log"):
                remove_partial_files(folder)
        yield


def changes_of(path: Path, settings: Settings, corpus: Corpus) -> list[dict[str, Any]]:
    """Returns the settings that differ from those of the run in the folder. Raises InputError if
    one is not in MAY_CHANGE, or if the run has another vocabulary."""
    before, changes = Run.open(path), []
    for section, old in before.settings:
        for key, value in old:
            new = getattr(getattr(settings, section), key)
            if new == value:
                continue
            if key not in MAY_CHANGE.get(section, "").split():
                what = f"was trained with {section}.{key} = {value!r}, which is now {new!r}"
                remedy = "resume with the same settings, or begin another run with --from"
                raise InputError(what, remedy, file=path)
            changes.append({"setting": f"{section}.{key}", "before": value, "after": new})
    if side := before.other_vocabulary(corpus):
        what = f"was trained on a corpus with another {side} vocabulary"
        raise InputError(what, "resume with the same --data", file=path)
    return changes


def weights_of(name: str, settings: Settings, corpus: Corpus) -> InitialWeights:
    """Returns the weights of another run or model; int8 becomes float32. Raises InputError unless
    its network is that of the settings, and its vocabularies share words with those of the
    corpus."""
    base = Run.open(name)
    ours, theirs = network_of(settings.model), network_of(base.settings.model)
    if other := {key: value for key, value in theirs.items() if value != ours[key]}:
        sets = " ".join(f"--set model.{key}={json.dumps(value)}" for key, value in other.items())
        what = "its network differs from that of the settings"
        raise InputError(what, f"add {sets}", file=base.path)
    fitting = f"prepare the text with rnnsearch prepare --vocabulary {name}"
    for key in ID_SETTINGS:
        old, new = getattr(base.settings.data, key), getattr(corpus.settings, key)
        if old != new:
            what = f"was trained with data.{key} = {old!r}, and this dataset has {new!r}"
            raise InputError(what, fitting, file=base.path)
    shared, notes = dict[str, tuple[list[int], list[int]]](), []
    for side in SIDES:
        here, there = getattr(corpus, side).vocabulary, getattr(base, side).vocabulary
        words = enumerate(map(here.word, range(len(here))))
        ids = {EOS: EOS, UNK: UNK} | {i: there.ids([word])[0] for i, word in words if word in there}
        shared[side] = list(ids), list(ids.values())
        if len(ids) == len(SPECIALS):
            what = f"has no word of the {side} vocabulary of this dataset"
            raise InputError(what, fitting, file=base.path)
        if here != there:
            kept = f"{len(ids):,} of {len(here):,} entries keep the weights of {name}"
            notes.append(
                f"other {side} vocabulary: {kept}, the others are new (to keep it, {fitting})"
            )
    return InitialWeights(base.load_network(trust_code=True).state_dict(), shared, notes)


def network_of(model: ModelSettings) -> dict[str, object]:
    """Returns the settings that define the network, without those of initial weights."""
    settings = model.model_copy(update={"encoder_size": model.encoder_size or model.hidden_size})
    return settings.model_dump(exclude={"initialisation"})


def make_trainer(
    run: Run, order: BatchOrder, ranks: Ranks, weights: InitialWeights | None
) -> Trainer:
    """Returns a trainer with these weights, or with new ones. Raises InputError for a network that
    memory cannot hold, and for updates of more than an epoch."""
    training, optimiser = run.settings.training, run.settings.optimiser
    copies = 1
    if training.device == "cpu":  # parameters and gradients, optimiser state, average
        copies = 2 + 2 * (optimiser.method != "sgd") + (optimiser.average_decay > 0)
    if training.accumulate > len(order):
        what = f"training.accumulate = {training.accumulate}, and an epoch has {len(order)} batches"
        remedy = "an update must not read a pair twice: lower it or training.batch_size"
        raise InputError(what, remedy)
    updates_per_epoch = len(order) / training.accumulate
    total = total_updates(run.settings.stopping, optimiser.schedule, updates_per_epoch)
    torch.manual_seed(training.seed)
    network = run.make_network(trust_code=True, copies=copies)
    if weights is not None:
        weights.copy_to(network)
    return trainer_of(network.to(training.device), run.settings, total, ranks)


def trainer_of(
    network: TranslationNetwork,
    settings: Settings,
    total_updates: int = 0,
    ranks: Ranks | None = None,
) -> Trainer:
    """Returns a trainer of this network under these settings. Raises InputError if several ranks
    are to capture updates, and for frozen parameters that the network does not have."""
    training = settings.training
    freeze(network, training.frozen)
    loss = BatchLoss(network, settings.dropout, settings.known_alignments, faster(training))
    others = loss, settings.optimiser, total_updates, training.seed, ranks
    if not training.capture:
        return Trainer(*others)
    if ranks and ranks.world > 1:
        what = "training.capture = true works in one process, and there are several ranks"
        raise InputError(what, "set training.capture = false")
    multiple = POSITIONS if training.batch_tokens else training.batch_size
    return CapturedTrainer(multiple, *others)


def freeze(network: TranslationNetwork, beginnings: Sequence[str]) -> None:
    """Turns off the gradients of the parameters whose names begin so. Raises InputError for a
    beginning that no name has, and if nothing is left to train."""
    network.requires_grad_(True)
    parameters = dict(network.named_parameters(remove_duplicate=False))  # a tied one has two names
    for beginning in beginnings:
        frozen = [one for name, one in parameters.items() if name.startswith(beginning)]
        if not frozen:
            parts = sorted({name.partition(".")[0] for name in parameters})
            raise InputError(
                f"training.frozen: no parameter's name begins with {beginning!r}",
                did_you_mean(beginning, parts) or f"their parts are {', '.join(parts)}",
            )
        for parameter in frozen:
            parameter.requires_grad_(False)
    if not any(one.requires_grad for one in parameters.values()):
        raise InputError("training.frozen leaves nothing to train", "name fewer parts")


def faster(settings: TrainingSettings) -> Faster:
    """Returns the kernels that a training uses."""
    if not settings.kernels:
        return Faster(nll=negative_log_likelihood)
    dtype = PRECISIONS[used_precision(settings.precision, settings.device)]
    return Faster(partial(convert, dtype=dtype), fast_loss(dtype) or negative_log_likelihood)


def restore(path: Path, trainer: Trainer, wanted: TrainingProgress) -> TrainingProgress:
    """Loads a checkpoint into the trainer of every rank, and returns its progress. Raises
    InputError unless the dataset and the initial weights are those of `wanted`."""
    progress = load_checkpoint(path, trainer)
    if progress.corpus_pairs != wanted.corpus_pairs:
        what = f"was trained on {progress.corpus_pairs} pairs, not on these {wanted.corpus_pairs}"
        raise InputError(what, file=path)
    if progress.corpus_checksum not in ("", wanted.corpus_checksum):
        remedy = "resume with the same --data, or begin another run with --from"
        raise InputError("was trained on other sentences", remedy, file=path)
    progress.corpus_checksum = wanted.corpus_checksum
    if wanted.begun_from and progress.begun_from != wanted.begun_from:
        what = f"began with {progress.begun_from or 'new weights'}, not with {wanted.begun_from}"
        raise InputError(what, "leave out --from: a resumed run has its weights", file=path)
    return progress


def check_agreement(ranks: Ranks, settings: Settings, corpus: Corpus) -> None:
    """Raises InputError if the ranks differ in versions, settings or prepared datasets, or if their
    CPUs round differently."""
    facts = {
        "version of rnnsearch": package_version(),
        "version of torch": torch.__version__.partition("+")[0],
        "settings": settings.model_dump_json(),
        "prepared dataset": file_checksum(corpus.path / CHECKSUMS),
        # Every rank updates all parameters.
        "CPU capability of torch (ATEN_CPU_CAPABILITY)": torch.backends.cpu.get_cpu_capability(),
    }
    ranks.from_first(partial(_compare, ranks.gather(facts)))


def _compare(every: Sequence[Mapping[str, str]]) -> None:
    for rank, theirs in enumerate(every):
        for name, own in every[0].items():
            if theirs[name] != own:
                what = f"ranks 0 and {rank} have different {name}"
                raise InputError(what, "start all ranks with the same command and dataset")
