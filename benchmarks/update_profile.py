"""Where the time of an update goes, and what share of this machine's matrix products it reaches.

    python benchmarks/update_profile.py --threads 1
    python benchmarks/update_profile.py --recipe multi30k --words 4002 --length 15 --json

Two views of the same updates on synthetic sentences of one length. By part: seconds within the functions that make up an update, which
cost nothing to time. By kind: what torch's profiler finds, which makes everything slower, so that only shares are printed; "python and
autograd" is what lies between the operators. The ceiling is the best that a product of square matrices reaches in the same precision,
threads and run; operations are those of the matrix products, counted and not measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from rnnsearch.bench import operations_of_update, trained
from rnnsearch.config import Settings, load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.training import trainer as training
from rnnsearch.training.trainer import Trainer

KINDS = {
    "matrix products": ("mm", "addmm", "bmm", "baddbmm"),
    "conversions and copies": ("copy_", "cat", "stack", "clone", "contiguous", "fill_", "zero_"),
    "tanh, σ, exp": ("sigmoid", "sigmoid_", "tanh", "tanh_backward", "sigmoid_backward", "exp", "exp_", "log_", "_softmax"),
    "optimiser, fused": ("_fused_adam_", "_fused_adamw_"),
}
SQUARES = (1024, 2048, 4096)
PARTS = {
    "encoder, keys, first state": (TranslationNetwork, "begin"),
    "decoder and readout": (TranslationNetwork, "_follow"),
    "output layer, softmax, loss and their gradients": (training, "negative_log_likelihood"),
    "backward of all the rest": (Tensor, "backward"),
    "norm of the gradient": (training, "gradient_norm"),
    "clipping, optimiser, averages": (Trainer, "step"),
}


@contextmanager
def timed_parts(seconds: dict[str, float]) -> Iterator[None]:
    """Adds the seconds within each part."""

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                seconds[name] += time.perf_counter() - started

        return call

    with ExitStack() as stack:
        for name, (owner, attribute) in PARTS.items():
            stack.enter_context(patch.object(owner, attribute, timed(name, getattr(owner, attribute))))
        yield


def by_part(update: Callable[[], object], repetitions: int) -> tuple[float, dict[str, float]]:
    """(median seconds of an update, mean share of each part)."""
    update()
    seconds: dict[str, float] = defaultdict(float)
    whole = []
    with timed_parts(seconds):
        for _ in range(repetitions):
            started = time.perf_counter()
            update()
            whole.append(time.perf_counter() - started)
    shares = {name: seconds[name] / sum(whole) for name in PARTS}
    return statistics.median(whole), shares | {"the rest": 1.0 - sum(shares.values())}


def by_kind(update: Callable[[], object], repetitions: int) -> dict[str, float]:
    """Shares of each kind of operator."""
    from torch.profiler import ProfilerActivity, profile

    kind_of = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(repetitions):
            update()
    found: dict[str, float] = dict.fromkeys([*KINDS, "other operators", "python and autograd"], 0.0)
    for event in profiled.key_averages():
        other = "other operators" if event.key.startswith("aten::") else "python and autograd"
        found[kind_of.get(event.key, other)] += event.self_cpu_time_total
    total = sum(found.values())
    return {kind: time / total for kind, time in found.items()}


def ceiling(dtype: torch.dtype, sizes: tuple[int, ...], seconds: float = 0.5) -> float:
    """Operations a second of the best product of square matrices; each size is repeated for so many seconds."""
    best = 0.0
    for size in sizes:
        left, right = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            started = time.perf_counter()
            left @ right
            best = max(best, 2 * size**3 / (time.perf_counter() - started))
    return best


def update_of(settings: Settings, words: int, length: int) -> Callable[[], object]:
    trainer, batch = trained(settings, words, length)
    numbers = itertools.count(1)
    return lambda: trainer.update([batch], next(numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="", help="the sizes and the training; without one the paper's")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--words", type=int, default=30_000, help="K of each side")
    parser.add_argument("--length", type=int, default=25, help="words of a sentence")
    parser.add_argument("--precision", choices=PRECISIONS, default="bfloat16")
    parser.add_argument("--updates", type=int, default=3, help="of each view, after one that warms up")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--squares", type=int, nargs="+", default=SQUARES, help="sizes of the matrices of the ceiling")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    settings = load_config(
        arguments.recipe, [*arguments.set, f"training.precision={arguments.precision}", f"training.threads={arguments.threads}"]
    )
    set_up_cpu(arguments.threads)
    operations = operations_of_update(settings, words=arguments.words, length=arguments.length)
    best = ceiling(PRECISIONS[arguments.precision], tuple(arguments.squares))
    update = update_of(settings, arguments.words, arguments.length)
    seconds, parts = by_part(update, arguments.updates)
    kinds = by_kind(update, arguments.updates)
    reached = operations / seconds
    found = {"hardware": hardware("cpu"), "torch": torch.__version__, "precision": arguments.precision, "words": arguments.words}
    found |= {"batch_size": settings.training.batch_size, "length": arguments.length, "seconds": seconds, "operations": operations}
    found |= {"operations_per_second": reached, "ceiling": best, "share_of_ceiling": reached / best, "parts": parts, "kinds": kinds}
    if arguments.json:
        print(json.dumps(found, indent=2))
        return
    sentences, rate = settings.training.batch_size, settings.training.batch_size * (arguments.length + 1) / seconds
    print(f"{found['hardware']}, torch {found['torch']}, {arguments.precision}")
    print(f"{sentences} sentences of {arguments.length} words, {arguments.words:,} words a side")
    print(f"{seconds:.3f} s an update, {rate:,.0f} target words/s, {operations / 1e9:,.0f} GFLOP an update")
    print(f"{reached / 1e9:,.0f} GFLOP/s, {reached / best:.0%} of the {best / 1e9:,.0f} that a product of square matrices reaches here\n")
    for title, shares in (("part", parts), ("kind of operator", kinds)):
        print(f"| {title} | share of the time |\n|---|---|")
        print("\n".join(f"| {name} | {share:.1%} |" for name, share in shares.items()), end="\n\n")


if __name__ == "__main__":
    main()
