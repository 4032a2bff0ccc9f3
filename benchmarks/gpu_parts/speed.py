"""Measures the speed of the device, and how much of it training and translation use: ceilings,
updates, launches and waits, search, memory."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count, product
from statistics import median

import torch
from gpu_parts.common import Options, Write, row
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from rnnsearch.config import load_config
from rnnsearch.kernels import convert
from rnnsearch.lab.bench import (
    bench_training,
    bench_translation,
    random_batch,
    random_ids,
    random_network,
    timed,
)
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.step import search
from rnnsearch.settings import Settings
from rnnsearch.system.machine import PRECISIONS, hardware
from rnnsearch.training.setup import trainer_of

PAPER = 667_000 * 80
"""Pairs that RNNsearch-50* was trained on (the paper's Table 2)."""


def settings_for(options: Options, *changes: str) -> Settings:
    """Returns settings with the paper's sizes and all cores (initial weights are drawn on the CPU),
    or with small sizes."""
    small = [f"model.{name}_size=8" for name in ("embedding", "hidden", "alignment", "maxout")]
    sizes = [*small, "training.threads=1"] if options.small else []
    return load_config(overrides=[*sizes, f"training.device={options.device}", *changes])


def square(options: Options) -> Sequence[int]:
    """Returns the sizes of the matrices whose products are measured."""
    return (64,) if options.small else (4096, 8192, 16384)


def sizes_of(options: Options) -> dict[str, int]:
    """Returns K of each side, and the words of a sentence."""
    return {"words": 50, "length": 3} if options.small else {"words": 30_000, "length": 25}


def ceiling(device: str, dtype: torch.dtype, sizes: Sequence[int]) -> float:
    """Returns the operations per second of the best product of square matrices of these sizes."""
    best = 0.0
    for size in sizes:
        left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        seconds = min(timed(lambda left=left, right=right: left @ right, 10, device))  # type: ignore[misc]
        best = max(best, 2 * size**3 / seconds)
    return best


def machine(options: Options, write: Write) -> None:
    """Writes versions, and the speed of products, copies and launches."""
    device = options.device
    with row(write, "device") as found:
        found |= {"name": hardware(device), "torch": torch.__version__, "CUDA": torch.version.cuda}
        if device.startswith("cuda"):
            found["properties"] = str(torch.cuda.get_device_properties(device))
            found["bfloat16"] = torch.cuda.is_bf16_supported()
            found["TF32 in float32 products"] = torch.backends.cuda.matmul.allow_tf32
    for name, dtype in PRECISIONS.items():
        with row(write, f"square products in {name}") as found:
            found["TFLOP/s"] = ceiling(device, dtype, square(options)) / 1e12
    with row(write, "a copy within the device") as found:
        numbers = torch.zeros(1 << (10 if options.small else 28), device=device)
        found["GB/s"] = 2 * 4 * len(numbers) / min(timed(numbers.clone, 5, device)) / 1e9
    with row(write, "one addition after another, of a few numbers") as found:
        few = torch.zeros(64, device=device)
        found["µs each"] = 1000 * median(
            timed(lambda: [few.add_(1.0) for _ in range(1000)], 3, device)
        )


def updates(options: Options, write: Write) -> None:
    """Writes the speed of updates at the paper's size. The share is that of the best product of
    square matrices in the same precision and run."""
    for precision, optimiser in (
        ("bfloat16", "adadelta"),
        ("float32", "adadelta"),
        ("bfloat16", "adam"),
    ):
        best = ceiling(options.device, PRECISIONS[precision], square(options))
        for pairs in (2,) if options.small else (80, 320, 1280):
            with row(write, f"{precision}, {optimiser}, {pairs} pairs") as found:
                size = f"training.precision={precision}", f"training.batch_size={pairs}"
                settings = settings_for(options, *size, f"optimiser.method={optimiser}")
                sizes = sizes_of(options)
                measured = bench_training(settings, **sizes, repetitions=1 if options.small else 10)
                rate = operations_of_update(settings, **sizes) / measured.seconds
                found |= {"seconds": measured.seconds, "target words/s": measured.words_per_second}
                found |= {"TFLOP/s": rate / 1e12, "share of the ceiling": rate / best}
                found["hours for 667,000 updates of 80"] = (
                    PAPER / measured.sentences_per_second / 3600
                )
                found["peak memory, GiB"] = measured.peak_memory / 2**30


def operations_of_update(settings: Settings, *, words: int, length: int) -> int:
    """Returns the number of floating-point operations in the matrix products of an update of
    `bench_training`; a multiplication and an addition count as two.

    They are counted on meta tensors.
    """
    with torch.device("meta"):
        network = TranslationNetwork(settings.model, words, words, trust_code=True)
    batch = random_batch(settings, words, length).to("meta")
    with FlopCounterMode(display=False) as counter:
        trainer_of(network, settings).add_gradients([batch], settings.training.batch_size, 1)
    return int(counter.get_total_flops())


def translation(options: Options, write: Write) -> None:
    """Writes the target words per second of beam search at the paper's size. Every translation is
    made as long as its source."""
    sizes = ((2, 2),) if options.small else ((64, 12), (256, 12), (256, 5), (1024, 1))
    for precision, (sentences, beam) in product(PRECISIONS, sizes):
        what = f"{precision}, {sentences} sentences, beam {beam}"
        with row(write, what) as found:
            changes = {"precision": precision, "batch_size": sentences, "beam": beam}
            settings = settings_for(
                options, *(f"search.{key}={value}" for key, value in changes.items())
            )
            measured = bench_translation(settings, **sizes_of(options), repetitions=3)
            found |= {"seconds": measured.seconds, "target words/s": measured.words_per_second}
            found["peak memory, GiB"] = measured.peak_memory / 2**30


def update_of(settings: Settings, words: int, length: int) -> tuple[Callable[[], object], int]:
    """Returns (one update, to be repeated; its pairs)."""
    network = random_network(settings, words).to(settings.training.device)
    trainer = trainer_of(network, settings, 1 << 30)
    batch, numbers = random_batch(settings, words, length), count(1)
    return lambda: trainer.update([batch], next(numbers)), len(batch.source)


def waits(options: Options, write: Write) -> None:
    """Writes where the host waits for a GPU: once in an update, and every few words in a search."""
    settings, sizes = settings_for(options), sizes_of(options)
    network = convert(random_network(settings, sizes["words"]).to(options.device))
    ids, lengths = (
        part.to(options.device) for part in random_ids(8, sizes["length"], sizes["words"])
    )
    limits = settings.search.model_copy(update={"min_length_ratio": 1.0, "max_length_ratio": 1.0})
    kinds = {
        "an update": update_of(settings_for(options, "training.batch_size=8"), **sizes)[0],
        f"a search over {sizes['length']} words": lambda: search([network], ids, lengths, limits),
    }
    for what, work in kinds.items():
        with row(write, f"waits in {what}") as found:
            timed(
                work, 4, options.device
            )  # warm-up: libraries load their kernels, optimisers make their state
            places = waits_in(work, options.device)
            found |= {"waits": places.total(), "places": dict(places.most_common(12))}


def waits_in(work: Callable[[], object], device: str) -> Counter[str]:
    """Returns the places in the code where torch reports waits for a GPU; empty without a GPU."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if device.startswith("cuda"):
            torch.cuda.set_sync_debug_mode("warn")
        try:
            work()
        finally:
            if device.startswith("cuda"):
                torch.cuda.set_sync_debug_mode("default")
    found = [one for one in caught if "synchroniz" in str(one.message)]
    return Counter(f"{one.filename.split('/rnnsearch/')[-1]}:{one.lineno}" for one in found)


def kernels(options: Options, write: Write) -> None:
    """Writes where the device's time goes in an update, and how long it is idle because the host
    launches too slowly."""
    cuda = options.device.startswith("cuda")
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    pairs = 2 if options.small else 80
    with row(write, f"an update of {pairs} pairs, bfloat16") as found:
        changes = f"training.batch_size={pairs}", "training.precision=bfloat16"
        work, _ = update_of(settings_for(options, *changes), **sizes_of(options))
        whole = median(timed(work, 3, options.device))
        with profile(activities=activities) as profiled:
            timed(work, 1, options.device, warm_up=False)
        used = {
            one.key[:90]: (
                one.self_device_time_total if cuda else one.self_cpu_time_total,
                one.count,
            )
            for one in profiled.key_averages()
            if not cuda or ("CUDA" in str(one.device_type) and not one.is_user_annotation)
        }
        busy = sum(time for time, _ in used.values()) / 1e6
        found |= {"seconds": whole, "busy seconds": busy, "busy share": busy / whole}
        found["kernels"] = sum(calls for _, calls in used.values())
        found["longest: µs, calls"] = dict(
            sorted(used.items(), key=lambda one: one[1], reverse=True)[:12]
        )


PARTS: dict[str, Callable[[Options, Write], None]] = {
    "machine": machine,
    "updates": updates,
    "translation": translation,
    "waits": waits,
    "profile": kernels,
}
