"""Measures how fast a network trains and translates on this machine, with synthetic ids of one
length."""

from __future__ import annotations

import itertools
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.kernels import convert, fast_best_sums
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.beam import beam_search
from rnnsearch.search.step import search
from rnnsearch.search.two_directions import search_both
from rnnsearch.settings import Settings
from rnnsearch.system.machine import hardware, set_up_cpu, used_precision
from rnnsearch.training.ddp import connected_ranks, torchrun_value
from rnnsearch.training.setup import trainer_of
from rnnsearch.translation.forced import forced_decoding


@dataclass(frozen=True, slots=True)
class Throughput:
    """The speed of a network. Times are medians over the repetitions; words are target words with
    the end of sentence.

    what: the work, such as "training on". length: words of a sentence without it. target_words: in
    the vocabulary. seconds: of one repetition. peak_memory: in bytes, of the whole process, or
    torch's allocation on the GPU during timing.
    """

    what: str
    hardware: str
    torch: str
    precision: str
    sentences: int
    length: int
    target_words: int
    parameters: int
    seconds: float
    words_per_second: float
    sentences_per_second: float
    peak_memory: int

    def text(self) -> str:
        """Returns three lines for a person."""
        return (
            f"{self.what} {self.sentences:,} sentences of {self.length} words on"
            f" {self.hardware}\n{self.parameters:,} parameters, {self.target_words:,} target words,"
            f" {self.precision} products, torch {self.torch}\n{self.words_per_second:,.0f} target"
            f" words/s, {self.sentences_per_second:,.2f} sentences/s, {self.seconds:.3f} s per"
            f" batch (medians), peak memory {self.peak_memory / 2**30:.2f} GiB"
        )


def bench_training(settings: Settings, *, words: int, length: int, repetitions: int) -> Throughput:
    """Measures complete updates of the settings' network, with `training.batch_size` pairs of
    `length` words per side.

    words: vocabulary size K of both sides, at least 3.
    """
    training = settings.training
    with connected_ranks(training.device) as ranks:  # the ranks of torchrun share an update
        network = random_network(settings, words).to(training.device)
        batch = random_batch(settings, words, length)
        trainer = trainer_of(network, settings, 1 << 30, ranks)
        mine, updates = ranks.share(batch), itertools.count(1)
        seconds = timed(
            lambda: trainer.update([mine], next(updates), len(batch.source)),
            repetitions,
            training.device,
        )
    sizes = training.batch_size, length, words
    precision = used_precision(training.precision, training.device)
    return _throughput("training on", network, training.device, precision, sizes, seconds)


def random_batch(settings: Settings, words: int, length: int) -> Batch:
    """Returns a batch of `training.batch_size` sentence pairs of one length, with word links, which
    only some settings use."""
    training = settings.training
    ids, lengths = random_ids(training.batch_size, length, words)
    known = torch.eye(length + 1).repeat(training.batch_size, 1, 1)
    return Batch(ids, lengths, ids.flip(0), lengths, known).to(training.device)


def bench_translation(
    settings: Settings, *, words: int, length: int, repetitions: int
) -> Throughput:
    """Measures beam search for `search.batch_size` sentences of `length` words; every translation
    has the same length."""
    limits = settings.search.model_copy(
        update={"min_length_ratio": 1.0, "max_length_ratio": 1.0, "nbest": 1}
    )
    device = settings.training.device
    network = random_network(settings, words).to(device)
    ids, lengths = (part.to(device) for part in random_ids(limits.batch_size, length, words))
    precision = used_precision(limits.precision, device)
    fast = convert(network, getattr(torch, precision))
    given = [fast], ids, lengths, limits, partial(beam_search, sums=fast_best_sums)
    translate = partial(search, *given)
    if len(network.directions) > 1:
        translate = partial(search_both, *given, partial(forced_decoding, [network]))
    seconds = timed(translate, repetitions, device)
    what, sizes = f"translating with a beam of {limits.beam}", (limits.batch_size, length, words)
    return _throughput(what, network, device, precision, sizes, seconds)


def random_network(settings: Settings, words: int) -> TranslationNetwork:
    """Sets up the CPU, and returns an untrained network of these settings."""
    set_up_cpu(settings.training.threads, torchrun_value("LOCAL_WORLD_SIZE", 1))
    torch.manual_seed(settings.training.seed)
    return TranslationNetwork(settings.model, words, words, trust_code=True)


def random_ids(sentences: int, length: int, words: int) -> tuple[Tensor, Tensor]:
    """Returns random sentences with the end of sentence: ids (sentences, length + 1), and
    lengths."""
    ids = torch.randint(2, words, (sentences, length + 1))
    ids[:, -1] = 0
    return ids, torch.full((sentences,), length + 1)


def timed(
    work: Callable[[], object], repetitions: int, device: str, *, warm_up: bool = True
) -> list[float]:
    """Returns the seconds of each repetition. warm_up: whether to call `work` once before."""
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
    network: TranslationNetwork,
    device: str,
    precision: str,
    sizes: tuple[int, int, int],
    seconds: list[float],
) -> Throughput:
    """Returns the speed in `seconds`, one for each repetition. sizes: sentences, their length,
    vocabulary."""
    sentences, length, words = sizes
    median = statistics.median(seconds)
    return Throughput(
        what=what,
        hardware=hardware(device),
        torch=torch.__version__,
        precision=precision,
        sentences=sentences,
        length=length,
        target_words=words,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        seconds=median,
        words_per_second=sentences * (length + 1) / median,
        sentences_per_second=sentences / median,
        peak_memory=peak_memory(device),
    )


def peak_memory(device: str) -> int:
    """Returns the peak memory of this process, or of torch's allocation on a GPU since `timed`
    began."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
