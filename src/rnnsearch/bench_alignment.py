"""How fast word links are made: α, the posterior, and the exact posterior, of one network and the same pairs."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from rnnsearch.bench import peak_memory, random_ids, random_network, timed
from rnnsearch.config import Settings
from rnnsearch.model.inference_weights import InferenceWeights, fastest_precision
from rnnsearch.system.machine import hardware, usable_device
from rnnsearch.text.store.batches import Batch
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.quick_alignment import quick_alignment
from rnnsearch.translation.translator import Translator

WAYS = {"α": (False, False), "posterior": (True, False), "posterior, --exact": (True, True)}
"""(posterior, exact) of `rnnsearch align`; nothing else is asked of it than links."""


@dataclass(frozen=True, slots=True)
class AlignmentSpeed:
    """One way to align. seconds: of all pairs, tokenisation included where they are text; the median of the repetitions.

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
        """A table for a person, two lines above it."""
        rows = [
            f"| {one.way} | {one.precision} | {one.pairs_per_second:,.1f} | {one.words_per_second:,.0f} | {one.seconds:,.2f} |"
            for one in self.ways
        ]
        lines = [
            f"aligning {self.pairs:,} pairs ({self.words:,} target words) of {self.what}, {self.batch_size} together, on {self.hardware}",
            f"{self.target_words:,} target words in the vocabulary, torch {self.torch}, peak memory {self.peak_memory / 2**30:.2f} GiB",
            "| alignment | products | pairs/s | target words/s | seconds |",
            "|---|---|---|---|---|",
            *rows,
        ]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def bench_network(settings: Settings, *, words: int, length: int, repetitions: int) -> AlignmentSpeeds:
    """One batch of `search.batch_size` random pairs of `length` words, by a network of these settings that nothing has trained.

    Such a network looks at all words alike, so that its posterior leaves nothing out: this is the slowest case.
    """
    device, count = settings.training.device, settings.search.batch_size
    network = random_network(settings, words, torch.float32).to(device)
    precision = fastest_precision(usable_device(device))
    weights = {True: [InferenceWeights(precision)], False: [InferenceWeights("float32")]}
    ids, lengths = random_ids(count, length, words)
    batch = Batch(ids, lengths, ids.flip(0), lengths).to(device)

    def align(posterior: bool, exact: bool) -> None:
        if exact:
            forced_decoding([network], batch, posterior=posterior)
        else:
            quick_alignment([network], weights[posterior], batch, posterior=posterior)

    ways = _timed(align, precision, repetitions, count, count * length, device)
    return _speeds("an untrained network, where every source word may matter", device, ways, count, count * length, count, words)


def bench_run(translator: Translator, pairs: Sequence[tuple[str, str]], *, batch_size: int, repetitions: int) -> AlignmentSpeeds:
    """Text, by a run. Raises InputError as `Translator.force` does."""
    device = translator.networks[0].output.weight.device
    precision = fastest_precision(device)

    def align(posterior: bool, exact: bool) -> None:
        for _ in translator.force(pairs, batch_size, posterior=posterior, exact=exact, scored=False):
            pass

    words = sum(len(translator.target.tokeniser.words(target)) for _, target in pairs)
    ways = _timed(align, precision, repetitions, len(pairs), words, str(device))
    return _speeds("text", str(device), ways, len(pairs), words, batch_size, len(translator.target.vocabulary))


def _timed(
    align: Callable[[bool, bool], None], precision: str, repetitions: int, pairs: int, words: int, device: str
) -> list[AlignmentSpeed]:
    found = []
    for way, (posterior, exact) in WAYS.items():
        median = statistics.median(timed(partial(align, posterior, exact), 1 if exact else repetitions, device, warm_up=not exact))
        found.append(AlignmentSpeed(way, precision if posterior and not exact else "float32", median, pairs / median, words / median))
    return found


def _speeds(
    what: str, device: str, ways: list[AlignmentSpeed], pairs: int, words: int, batch_size: int, vocabulary: int
) -> AlignmentSpeeds:
    return AlignmentSpeeds(what, hardware(device), torch.__version__, pairs, words, batch_size, vocabulary, ways, peak_memory(device))
