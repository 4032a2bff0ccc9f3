"""How fast the device is, and how much of that training and translation use: ceilings, updates, launches and
waits, search, memory."""

from __future__ import annotations

import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from gpu_parts.common import Options, Row, Write, free_memory, row, synchronise
from rnnsearch.bench import bench_translation, operations_of_update
from rnnsearch.config import Settings, load_config
from rnnsearch.model.layers import linear_cache
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.trainer import Trainer
from rnnsearch.translation.joint import search
from rnnsearch.translation.readers import begin_search

SMALL = [f"model.{name}_size=8" for name in ("embedding", "hidden", "alignment", "maxout")]

WARM_UPS = 4
"""Runs before the first that is timed: libraries load their kernels, optimisers make their state."""

PAPER = 667_000 * 80
"""Pairs that RNNsearch-50* was trained on (the paper's Table 2)."""


def settings_for(options: Options, *changes: str) -> Settings:
    """The paper's sizes, or small ones."""
    sizes = (
        [*SMALL, "training.threads=1"] if options.small else []
    )  # else all cores: initial weights are drawn on the CPU
    return load_config(overrides=[*sizes, f"training.device={options.device}", *changes])


def seconds_of(work: Callable[[], object], repetitions: int, device: str) -> list[float]:
    """Returns the seconds of each repetition, after those that warm up."""
    seconds = []
    for _ in range(repetitions + WARM_UPS):
        synchronise(device)
        started = time.perf_counter()
        work()
        synchronise(device)
        seconds.append(time.perf_counter() - started)
    return seconds[WARM_UPS:]


def ceiling(options: Options, dtype: torch.dtype) -> tuple[float, int]:
    """Returns (operations per second of the best product of square matrices, their size)."""
    best = (0.0, 0)
    for size in (64,) if options.small else (4096, 8192, 16384):
        left, right = (torch.randn(size, size, device=options.device).to(dtype) for _ in range(2))
        seconds = min(seconds_of(lambda left=left, right=right: left @ right, 5, options.device))
        best = max(best, (2 * size**3 / seconds, size))
    return best


def machine(options: Options, write: Write) -> None:
    """Writes versions, and the speed of products, copies and launches."""
    device = options.device
    with row(write, "device") as found:
        found |= {
            "name": hardware(device),
            "torch": torch.__version__,
            "CUDA": torch.version.cuda,
            "cuDNN": torch.backends.cudnn.version(),
        }
        if device.startswith("cuda"):
            properties = torch.cuda.get_device_properties(device)
            found |= {"memory": properties.total_memory, "multiprocessors": properties.multi_processor_count}
            found |= {
                "capability": list(torch.cuda.get_device_capability(device)),
                "bfloat16": torch.cuda.is_bf16_supported(),
            }
            found["TF32 in float32 products"] = torch.backends.cuda.matmul.allow_tf32
    for name, dtype in PRECISIONS.items():
        with row(write, f"square products in {name}") as found:
            found["operations/s"], found["size"] = ceiling(options, dtype)
    with row(write, "a copy within the device") as found:
        numbers = torch.zeros(1 << (10 if options.small else 28), device=device)
        found["bytes/s"] = 2 * 4 * len(numbers) / min(seconds_of(numbers.clone, 5, device))
    with row(write, "one addition after another, of a few numbers") as found:
        few = torch.zeros(64, device=device)
        found["seconds each"] = (
            statistics.median(seconds_of(lambda: [few.add_(1.0) for _ in range(1000)], 3, device)) / 1000
        )


def trainer_and_batch(options: Options, settings: Settings) -> tuple[Trainer, Batch]:
    """Returns a trainer, and a batch of sentences of one length."""
    training = settings.training
    words = 50 if options.small else options.words
    torch.manual_seed(1)
    network = TranslationNetwork(settings.model, words, words, product_dtype=PRECISIONS[training.precision])
    ids = torch.randint(2, words, (2, training.batch_size, options.length + 1))
    ids[:, :, -1] = 0
    lengths = torch.full((training.batch_size,), options.length + 1)
    trainer = Trainer(network.to(training.device), training, 0)
    return trainer, Batch(ids[0], lengths, ids[1], lengths).to(training.device)


def updates(options: Options, write: Write) -> None:
    """Writes the updates per second at the paper's size. The share is that of the best product of square
    matrices in the same precision and run."""
    for precision, optimiser in (("bfloat16", "adadelta"), ("float32", "adadelta"), ("bfloat16", "adam"))[
        :: 2 if options.small else 1
    ]:
        best, _ = ceiling(options, PRECISIONS[precision])
        for batch_size in options.batches:
            with row(write, f"{precision}, {optimiser}, {batch_size} pairs") as found:
                changes = (
                    f"training.precision={precision}",
                    f"training.batch_size={batch_size}",
                    f"training.optimiser={optimiser}",
                )
                _time_updates(options, settings_for(options, *changes), found, best)


def _time_updates(options: Options, settings: Settings, found: Row, best: float) -> None:
    device, words = options.device, 50 if options.small else options.words
    free_memory(device)
    trainer, batch = trainer_and_batch(options, settings)
    numbers = iter(range(1, 1 << 30))
    seconds = statistics.median(
        seconds_of(lambda: trainer.update([batch], next(numbers)), options.repetitions, device)
    )
    operations = operations_of_update(settings, words=words, length=options.length)
    rate = operations / seconds
    found |= {
        "batch size": len(batch.source),
        "length": options.length,
        "words a side": words,
        "seconds": seconds,
    }
    found |= {
        "updates/s": 1 / seconds,
        "pairs/s": len(batch.source) / seconds,
        "target words/s": batch.target.numel() / seconds,
    }
    found |= {"operations": operations, "operations/s": rate, "share of the ceiling": rate / best}
    found["hours for 667,000 updates of 80"] = PAPER * seconds / len(batch.source) / 3600
    if device.startswith("cuda"):
        found["peak memory"] = torch.cuda.max_memory_allocated(device)


def waits(options: Options, write: Write) -> None:
    """Writes where the host waits for a GPU: once in an update, and every few words in a search."""
    settings = settings_for(options, "training.batch_size=8")
    trainer, batch = trainer_and_batch(options, settings)
    numbers = iter(range(1, 1 << 30))
    with torch.no_grad():
        (reader,) = begin_search([trainer.network], [linear_cache()], batch.source, batch.source_lengths)
    limits = settings.search.model_copy(update={"min_length_ratio": 1.0, "max_length_ratio": 1.0})
    kinds: dict[str, Callable[[], object]] = {
        "an update": lambda: trainer.update([batch], next(numbers)),
        f"a search over {options.length} words": lambda: search([reader], batch.source_lengths, limits),
    }
    for what, work in kinds.items():
        with row(write, f"waits in {what}") as found:
            for _ in range(WARM_UPS):
                work()
            places = _waits_in(work, options.device)
            found |= {"waits": sum(places.values()), "places": dict(places.most_common(12))}


def _waits_in(work: Callable[[], object], device: str) -> Counter[str]:
    """Returns the places where torch notices waits for a GPU; without a GPU there are none."""
    if not device.startswith("cuda"):
        work()
        return Counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            work()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    found = [one for one in caught if "synchroniz" in str(one.message)]
    return Counter(f"{one.filename.split('/rnnsearch/')[-1]}:{one.lineno}" for one in found)


def profile(options: Options, write: Write) -> None:
    """Writes where the device's time goes in an update, and how long it is idle because the host launches too
    slowly."""
    from torch.profiler import ProfilerActivity, profile

    cuda = options.device.startswith("cuda")
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    batch_size = options.batches[0]
    time_of = (
        (lambda event: event.self_device_time_total) if cuda else (lambda event: event.self_cpu_time_total)
    )
    with row(write, f"an update of {batch_size} pairs, bfloat16") as found:
        free_memory(options.device)
        settings = settings_for(options, f"training.batch_size={batch_size}", "training.precision=bfloat16")
        trainer, batch = trainer_and_batch(options, settings)
        whole = statistics.median(
            seconds_of(lambda run=trainer.update, batch=batch: run([batch], 1), 3, options.device)
        )
        with profile(activities=activities) as profiled:
            trainer.update([batch], 1)
            synchronise(options.device)
        kernels = [
            one
            for one in profiled.key_averages()
            if time_of(one) > 0 and (not cuda or "CUDA" in str(one.device_type))
        ]
        busy = sum(map(time_of, kernels)) / 1e6
        largest = sorted(kernels, key=time_of, reverse=True)[:12]
        found |= {
            "seconds": whole,
            "busy seconds": busy,
            "busy share": busy / whole,
            "kernels": sum(one.count for one in kernels),
        }
        found["largest"] = {
            one.key[:90]: {"seconds": time_of(one) / 1e6, "calls": one.count} for one in largest
        }


def translation(options: Options, write: Write) -> None:
    """Writes the target words per second of beam search at the paper's size. Every translation is made as
    long as its source."""
    sizes = ((64, 12), (256, 12), (256, 5), (1024, 1)) if not options.small else ((2, 2),)
    words = 50 if options.small else options.words
    for precision in PRECISIONS:
        for batch_size, beam in sizes:
            for shortlist in (0, 10 if options.small else 1500):
                with row(
                    write,
                    f"{precision}, {batch_size} sentences, beam "
                    f"{beam}{f', shortlist of {shortlist}' if shortlist else ''}",
                ) as found:
                    changes = (
                        f"search.precision={precision}",
                        f"search.batch_size={batch_size}",
                        f"search.beam={beam}",
                    )
                    named: dict[str, Any] = {
                        "words": words,
                        "length": options.length,
                        "repetitions": 3,
                        "lexical_shortlist": shortlist,
                    }
                    measured = bench_translation(settings_for(options, *changes), **named)
                    found |= {
                        "sentences": batch_size,
                        "beam": beam,
                        "lexical shortlist": shortlist,
                        "seconds": measured.seconds,
                    }
                    found |= {
                        "target words/s": measured.words_per_second,
                        "peak memory": measured.peak_memory,
                    }


PARTS: dict[str, Callable[[Options, Write], None]] = {
    "machine": machine,
    "updates": updates,
    "translation": translation,
    "waits": waits,
    "profile": profile,
}
