"""Where the time of an update goes, and what share of this machine's speed its matrix products reach.

    python benchmarks/update_profile.py --threads 1
    python benchmarks/update_profile.py --recipe multi30k --words 4002 --length 15

The sentences are synthetic and have one length. The first table has the time within the functions that make
up an update; measuring it costs nothing. The share of the matrix products is that of torch's profiler, which
slows everything down. The machine's peak is the best product of square matrices in the same precision and
with the same threads. Operations are those of the matrix products, counted and not measured.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from rnnsearch.bench import operations_of_update, random_batch, random_network
from rnnsearch.config import load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.training import trainer as training
from rnnsearch.training.trainer import Trainer

PRODUCTS = {f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm")}
SQUARES = (1024, 2048, 4096)
SECONDS_EACH = 0.5
PARTS = {
    "encoder, keys, first state": (TranslationNetwork, "begin"),
    "decoder and readout": (TranslationNetwork, "_follow"),
    "output layer, softmax, loss and their gradients": (training, "negative_log_likelihood"),
    "backward pass of all other parts": (Tensor, "backward"),
    "norm of the gradient": (training, "gradient_norm"),
    "clipping, optimiser, averages": (Trainer, "step"),
}


@contextmanager
def timed_parts(parts: dict[str, tuple[Any, str]], seconds: dict[str, float]) -> Iterator[None]:
    """Adds the seconds within each part. parts: its name → (owner, name of the function)."""

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                seconds[name] += time.perf_counter() - started

        return call

    with ExitStack() as stack:
        for name, (owner, attribute) in parts.items():
            stack.enter_context(patch.object(owner, attribute, timed(name, getattr(owner, attribute))))
        yield


def by_part(
    work: Callable[[], object], repetitions: int, parts: dict[str, tuple[Any, str]]
) -> tuple[float, dict[str, float]]:
    """Returns (median seconds of the work, mean share of each part)."""
    work()
    seconds: dict[str, float] = defaultdict(float)
    whole = []
    with timed_parts(parts, seconds):
        for _ in range(repetitions):
            started = time.perf_counter()
            work()
            whole.append(time.perf_counter() - started)
    shares = {name: seconds[name] / sum(whole) for name in parts}
    return statistics.median(whole), shares | {"all else": 1.0 - sum(shares.values())}


def share_of_products(update: Callable[[], object]) -> float:
    """Returns the share of matrix products in the time of an update, by torch's profiler."""
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        update()
    seconds = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
    return sum(seconds[name] for name in PRODUCTS & seconds.keys()) / sum(seconds.values())


def peak(dtype: torch.dtype) -> float:
    """Returns the operations per second of the best product of square matrices."""
    best = 0.0
    for size in SQUARES:
        left, right = (torch.randn(size, size).to(dtype) for _ in range(2))
        begun = time.perf_counter()
        while (started := time.perf_counter()) - begun < SECONDS_EACH:
            left @ right
            best = max(best, 2 * size**3 / (time.perf_counter() - started))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", default="", help="sizes and training; default: those of the paper")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--words", type=int, default=30_000, help="vocabulary size of each side")
    parser.add_argument("--length", type=int, default=25, help="words per sentence")
    parser.add_argument("--precision", choices=PRECISIONS, default="bfloat16")
    parser.add_argument("--updates", type=int, default=3, help="to time, after one as warm-up")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    changes = [*chosen.set, f"training.precision={chosen.precision}", f"training.threads={chosen.threads}"]
    settings, dtype = load_config(chosen.recipe, changes), PRECISIONS[chosen.precision]
    set_up_cpu(chosen.threads)
    trainer = Trainer(random_network(settings, chosen.words, dtype), settings.training, 1 << 30)
    batch, numbers = random_batch(settings, chosen.words, chosen.length), itertools.count(1)

    def update() -> None:
        trainer.update([batch], next(numbers))

    best = peak(dtype)
    seconds, parts = by_part(update, chosen.updates, PARTS)
    rate = operations_of_update(settings, words=chosen.words, length=chosen.length) / seconds
    print(f"{hardware('cpu')}, torch {torch.__version__}, {chosen.precision}")
    print(f"{len(batch.source)} sentences of {chosen.length} words, {chosen.words:,} words per vocabulary")
    print(f"{seconds:.3f} s per update, {batch.target.numel() / seconds:,.0f} target words/s")
    print(f"{rate / 1e9:,.0f} GFLOP/s, {rate / best:.0%} of the machine's peak ({best / 1e9:,.0f})")
    print(f"{share_of_products(update):.0%} of the time in matrix products\n")
    print("| part | share of the time |\n|---|---|")
    print("\n".join(f"| {name} | {share:.1%} |" for name, share in parts.items()))


if __name__ == "__main__":
    main()
