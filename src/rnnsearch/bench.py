"""How fast a network trains and translates on this machine: synthetic ids of one length, no text, nothing written."""

from __future__ import annotations

import dataclasses
import itertools
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnsearch.config import Settings
from rnnsearch.errors import InputError
from rnnsearch.model.inference_weights import InferenceWeights
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.capture import WARM_UPS, check_capture, make_trainer
from rnnsearch.training.launch import started
from rnnsearch.training.parallel import ParallelTrainer, Share
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.trainer import Trainer
from rnnsearch.translation.joint import search
from rnnsearch.translation.lexical_shortlist import shortlist_readers
from rnnsearch.translation.network_step import begin_search


@dataclass(frozen=True, slots=True)
class Throughput:
    """Medians over the repetitions. Words are target words with the end of sentence; peak memory, in bytes, is the whole process's,
    or what torch had allocated on the GPU while it was timed."""

    what: str
    hardware: str
    torch: str
    precision: str
    sentences: int
    length: int
    source_words: int
    target_words: int
    parameters: int
    beam: int
    lexical_shortlist: int
    seconds: float
    words_per_second: float
    sentences_per_second: float
    peak_memory: int

    def text(self) -> str:
        """For a person, in three lines."""
        size = f"{self.parameters:,} parameters, {self.target_words:,} target words, {self.precision} products, torch {self.torch}"
        beam = f", beam {self.beam}" if self.beam else ""
        beam += f", lexical shortlist of {self.lexical_shortlist:,} words" if self.lexical_shortlist else ""
        speed = f"{self.words_per_second:,.0f} target words/s, {self.sentences_per_second:,.2f} sentences/s, {self.seconds:.3f} s per batch"
        return (
            f"{self.what} {self.sentences} sentences of {self.length} words{beam} on {self.hardware}\n{size}\n"
            f"{speed} (medians), peak memory {self.peak_memory / 2**30:.2f} GiB"
        )

    def as_dict(self) -> dict[str, str | int | float]:
        return dataclasses.asdict(self)


def bench_training(settings: Settings, *, words: int, length: int, repetitions: int) -> Throughput:
    """Whole updates of `training.batch_size` pairs of `length` words per side, the network being that of the settings.

    words: K of both sides. Raises InputError for sizes that make no network.
    """
    training = settings.training
    check_capture(training, training.processes)
    trainer, batch = trained(settings, words, length)
    updates = itertools.count(1)
    if training.capture:
        for _ in range(WARM_UPS):  # and the first that is timed, which `timed` leaves out, is captured
            trainer.update([batch], next(updates))
    if training.processes == 1:
        seconds = timed(lambda: trainer.update([batch], next(updates)), repetitions, training.device)
    else:
        with started(training.processes, training.exchange_timeout, _follow, settings, words, length) as ranks:
            parallel, share = ParallelTrainer(trainer, ranks, training), share_here(batch, ranks)
            seconds = timed(lambda: parallel.update(share, next(updates)), repetitions, training.device)
            parallel.end(0)
    network = trainer.network
    return _throughput("training on", settings, network, training.precision, training.batch_size, length, 0, seconds)


def trained(settings: Settings, words: int, length: int) -> tuple[Trainer, Batch]:
    """What is timed, and on what: the same in all processes."""
    training = settings.training
    network = random_network(settings, words, PRECISIONS[training.precision]).to(training.device)
    ids, lengths = random_ids(training.batch_size, length, words)
    known = torch.eye(length + 1).repeat(training.batch_size, 1, 1)  # read only if the settings learn from links
    batch = Batch(ids, lengths, ids.flip(0), lengths, known, random_words(ids, words, training.sampled_softmax)).to(training.device)
    return make_trainer(network, training, 0 if training.schedule in ("constant", "inverse_sqrt") else 1 << 30), batch


def share_here(batch: Batch, ranks: Ranks) -> Share:
    """Of the batch, what this rank learns from."""
    return Share([batch.share(ranks.rank, ranks.world)] if len(batch.source) > ranks.rank else [], len(batch.source))


def _follow(ranks: Ranks, settings: Settings, words: int, length: int) -> int:
    trainer, batch = trained(settings, words, length)
    return ParallelTrainer(trainer, ranks, settings.training).follow(itertools.repeat(share_here(batch, ranks)))


def bench_translation(settings: Settings, *, words: int, length: int, repetitions: int, lexical_shortlist: int = 0) -> Throughput:
    """Beam search for `search.batch_size` sentences of `length` words; every translation is made to have that length too.

    lexical_shortlist: the number of target words that are searched, chosen at random; 0 = all.
    Raises InputError for more words than there are, or fewer than 3.
    """
    if lexical_shortlist and not 3 <= lexical_shortlist <= words:
        what = f"a lexical shortlist of {lexical_shortlist:,} words does not fit a vocabulary of {words:,}"
        raise InputError(what, remedy=f"choose 3 to {words:,} words, or 0 to search all words")
    limits = settings.search.model_copy(update={"min_length_ratio": 1.0, "max_length_ratio": 1.0, "nbest": 1})
    network = random_network(settings, words, torch.float32).to(settings.training.device)
    ids, lengths = (part.to(settings.training.device) for part in random_ids(limits.batch_size, length, words))
    weights = InferenceWeights(limits.precision)
    others = 2 + torch.randperm(words - 2)[: lexical_shortlist - 2]
    chosen = torch.cat([torch.arange(2), others]).sort().values.to(ids.device) if lexical_shortlist else None

    def translate() -> None:
        readers = begin_search([network], [weights], ids, lengths, chosen)
        search(readers if chosen is None else shortlist_readers(readers, chosen), lengths, limits)

    seconds = timed(translate, repetitions, settings.training.device)
    return _throughput(
        "translating", settings, network, limits.precision, limits.batch_size, length, limits.beam, seconds, lexical_shortlist
    )


def operations_of_update(settings: Settings, *, words: int, length: int) -> int:
    """Floating-point operations of the matrix products of an update as in `bench_training`: a multiplication and an addition are two.

    They are counted on tensors that have shapes and no numbers.
    """
    from torch.utils.flop_counter import FlopCounterMode

    training = settings.training.model_copy(update={"device": "meta"})
    with torch.device("meta"):
        network = TranslationNetwork(settings.model, words, words, product_dtype=PRECISIONS[training.precision], trust_code=True)
    ids, lengths = random_ids(training.batch_size, length, words)
    known, subset = torch.eye(length + 1).repeat(training.batch_size, 1, 1), random_words(ids, words, training.sampled_softmax)
    batch = Batch(ids, lengths, ids, lengths, known, subset).to("meta")
    with FlopCounterMode(display=False) as counter:
        Trainer(network, training, 1 << 30).add_gradients([batch], training.batch_size, 1)
    return int(counter.get_total_flops())


def random_network(settings: Settings, words: int, product_dtype: torch.dtype) -> TranslationNetwork:
    """A network of these settings that nothing has trained, on a CPU that is set up. Raises InputError for sizes that make none."""
    if words < 3:
        raise InputError(f"{words} words are too few", remedy="give at least 3: the end of sentence, the unknown word and another one")
    set_up_cpu(settings.training.threads, settings.training.processes)
    torch.manual_seed(settings.training.seed)
    return TranslationNetwork(settings.model, words, words, product_dtype=product_dtype, trust_code=True)


def random_ids(sentences: int, length: int, words: int) -> tuple[Tensor, Tensor]:
    """Random words and the end of sentence: (sentences, length + 1) ids, and their lengths."""
    ids = torch.randint(2, words, (sentences, length + 1))
    ids[:, -1] = 0
    return ids, torch.full((sentences,), length + 1)


def random_words(targets: Tensor, words: int, size: int) -> Tensor | None:
    """V' of a sampled softmax over `size` words: those of the targets, and others drawn at random. None for 0: all words."""
    if not size:
        return None
    used = targets.unique()
    others = torch.ones(words, dtype=torch.bool).index_fill_(0, used, False).nonzero().squeeze(1)
    drawn = others[torch.randperm(len(others))[: max(0, min(size, words) - len(used))]]
    return torch.cat([used, drawn]).sort().values


def timed(work: Callable[[], object], repetitions: int, device: str, *, warm_up: bool = True) -> list[float]:
    """Seconds of each repetition, after one more that warms up."""
    seconds = []
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
    for _ in range(repetitions + warm_up):
        started = time.perf_counter()
        work()
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - started)
    return seconds[warm_up:]


def _throughput(
    what: str,
    settings: Settings,
    network: TranslationNetwork,
    precision: str,
    sentences: int,
    length: int,
    beam: int,
    seconds: list[float],
    lexical_shortlist: int = 0,
) -> Throughput:
    median = statistics.median(seconds)
    return Throughput(
        what=what,
        hardware=hardware(settings.training.device),
        torch=torch.__version__,
        precision=precision,
        sentences=sentences,
        length=length,
        source_words=network.source_embedding.weight.shape[0],
        target_words=network.target_embedding.weight.shape[0],
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        beam=beam,
        lexical_shortlist=lexical_shortlist,
        seconds=median,
        words_per_second=sentences * (length + 1) / median,
        sentences_per_second=sentences / median,
        peak_memory=peak_memory(settings.training.device),
    )


def peak_memory(device: str) -> int:
    """In bytes: of this process, or what torch had allocated on a GPU since `timed` began."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
