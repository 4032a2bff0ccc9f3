"""How fast word links are made: α, the posterior, and the exact posterior, of one network and the same
pairs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from rnnsearch.bench import peak_memory, random_ids, random_network, timed
from rnnsearch.config import Settings
from rnnsearch.model.layers import fastest_precision, linear_cache
from rnnsearch.system.machine import hardware, usable_device
from rnnsearch.text.store.batches import Batch
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.quick_alignment import quick_alignment
from rnnsearch.translation.translator import Translator

WAYS = {"α": (False, False), "posterior": (True, False), "posterior, --exact": (True, True)}
"""Options (posterior, exact) of `rnnsearch align`; only links are made, no scores."""


@dataclass(frozen=True, slots=True)
class AlignmentSpeed:
    """One way to align. seconds: of all pairs, tokenisation included where they are text; the median of the
    repetitions.

    The exact posterior is computed once, since it may take a hundred times as long as the others.
    """

    way: str
    precision: str
    seconds: float
    pairs_per_second: float
    words_per_second: float


@dataclass(frozen=True, slots=True)
class AlignmentSpeeds:
    """words: target words without the end of sentence. peak memory, in bytes: as in `Throughput`."""

    what: str
    hardware: str
    torch: str
    pairs: int
    words: int
    batch_size: int
    target_words: int
    ways: list[AlignmentSpeed]
    peak_memory: int

    def text(self) -> str:
        """Returns a table for a person, with two lines above it."""
        rows = [
            f"| {one.way} | {one.precision} | {one.pairs_per_second:,.1f} | {one.words_per_second:,.0f} | "
            f"{one.seconds:,.2f} |"
            for one in self.ways
        ]
        lines = [
            f"aligning {self.pairs:,} pairs ({self.words:,} target words) of {self.what}, "
            f"{self.batch_size} together, on {self.hardware}",
            f"{self.target_words:,} target words in the vocabulary, torch {self.torch}, peak memory "
            f"{self.peak_memory / 2**30:.2f} GiB",
            "| alignment | products | pairs/s | target words/s | seconds |",
            "|---|---|---|---|---|",
            *rows,
        ]
        return "\n".join(lines)


def bench_network(settings: Settings, *, words: int, length: int, repetitions: int) -> AlignmentSpeeds:
    """Measures the alignment of `search.batch_size` random pairs of `length` words by an untrained network.

    Such a network attends to all words alike, and its posterior leaves nothing out: this is the slowest case.
    """
    device, count = settings.training.device, settings.search.batch_size
    network = random_network(settings, words, torch.float32).to(device)
    precision = fastest_precision(usable_device(device))
    caches = {True: [linear_cache(getattr(torch, precision))], False: [linear_cache()]}
    ids, lengths = random_ids(count, length, words)
    batch = Batch(ids, lengths, ids.flip(0), lengths).to(device)

    def align(posterior: bool, exact: bool) -> None:
        if exact:
            forced_decoding([network], batch, posterior=posterior)
        else:
            quick_alignment([network], caches[posterior], batch, posterior=posterior)

    what = "an untrained network, where every source word may matter"
    return _timed(align, precision, repetitions, device, what, count, count * length, count, words)


def bench_run(
    translator: Translator, pairs: Sequence[tuple[str, str]], *, batch_size: int, repetitions: int
) -> AlignmentSpeeds:
    """Measures the alignment of text by a run. Raises InputError as `Translator.force` does."""
    device = translator.networks[0].output.weight.device
    precision = fastest_precision(device)

    def align(posterior: bool, exact: bool) -> None:
        for _ in translator.force(pairs, batch_size, posterior=posterior, exact=exact, scored=False):
            pass

    words = sum(len(translator.target.tokeniser.words(target)) for _, target in pairs)
    sizes = len(pairs), words, batch_size, len(translator.target.vocabulary)
    return _timed(align, precision, repetitions, str(device), "text", *sizes)


def _timed(
    align: Callable[[bool, bool], None],
    precision: str,
    repetitions: int,
    device: str,
    what: str,
    pairs: int,
    words: int,
    batch_size: int,
    vocabulary: int,
) -> AlignmentSpeeds:
    ways = []
    for way, (posterior, exact) in WAYS.items():
        count, used = 1 if exact else repetitions, precision if posterior and not exact else "float32"
        median = statistics.median(timed(partial(align, posterior, exact), count, device, warm_up=not exact))
        ways.append(AlignmentSpeed(way, used, median, pairs / median, words / median))
    about = what, hardware(device), torch.__version__
    return AlignmentSpeeds(*about, pairs, words, batch_size, vocabulary, ways, peak_memory(device))
