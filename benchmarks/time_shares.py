"""Measures where the time of an update or of a search goes, and what share of this machine's peak
speed the matrix products of an update reach.

    python benchmarks/time_shares.py update --set training.precision=bfloat16
    python benchmarks/time_shares.py search --recipe multi30k --set search.precision=int8

The sentences are synthetic and have one length, and so have the translations. The first table has
the time in each function of an update or a search, and measuring it has no cost. The second has the
shares of operators by torch's profiler, which slows everything down. The machine's peak is the best
product of square matrices in the same precision and with the same threads. Operations are those of
the matrix products, counted and not measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from gpu_parts.speed import ceiling, operations_of_update, update_of
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from rnnsearch.config import load_config
from rnnsearch.kernels import convert, fast_best_sums, output_loss
from rnnsearch.kernels.products import FastOutput
from rnnsearch.lab.bench import random_ids, random_network, timed
from rnnsearch.model.decoder import Decoder
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.readout import Readout
from rnnsearch.search import beam
from rnnsearch.search.step import search
from rnnsearch.settings import Settings
from rnnsearch.system.machine import PRECISIONS, hardware
from rnnsearch.training import trainer as training
from rnnsearch.training.trainer import Trainer

BEGIN = {"encoder, keys, first state": (TranslationNetwork, "begin")}
PARTS: dict[str, dict[str, tuple[Any, str]]] = {
    "update": BEGIN
    | {
        "decoder and readout": (TranslationNetwork, "_teacher_force"),
        "output layer, softmax, loss and their gradients": (output_loss._OutputLoss, "apply"),
        "backward pass of all other parts": (Tensor, "backward"),
        "norm of the gradient": (training, "gradient_norm"),
        "clipping, optimiser, averages": (Trainer, "step"),
    },
    "search": BEGIN
    | {
        "alignment and context": (Decoder, "attend"),
        "cell": (Decoder, "advance"),
        "readout": (Readout, "forward"),
        "output layer": (FastOutput, "logits"),
        "choice of the best words": (beam, "best_candidates"),
        "finished sentences": (beam.SearchProgress, "take"),
        "selection of states": (beam, "advance"),
    },
}
KINDS = {
    "matrix products": {f"aten::{name}" for name in ("mm", "addmm", "bmm", "baddbmm")},
    "int8 matrix products": {"onednn::qlinear_pointwise"},
    "rounding to int8": {f"aten::{name}" for name in ("round_", "div", "amin", "amax", "addcmul")},
    "conversions and copies": {
        f"aten::{name}" for name in ("copy_", "cat", "stack", "clone", "index")
    },
    "σ, exp, softmax": {
        f"aten::{name}" for name in ("sigmoid", "sigmoid_", "_softmax", "_log_softmax")
    },
    "maxima and sorting": {f"aten::{name}" for name in ("maximum", "topk", "sort", "gather")},
}


def by_part(
    work: Callable[[], object], repetitions: int, parts: dict[str, tuple[Any, str]]
) -> tuple[float, dict[str, float]]:
    """Returns (median seconds of the work, mean share of each part). parts: name of a part →
    (owner, name of the function)."""
    seconds: dict[str, float] = defaultdict(float)

    def measured(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                seconds[name] += time.perf_counter() - started

        return call

    work()
    with ExitStack() as stack:
        for name, (owner, attribute) in parts.items():
            stack.enter_context(
                patch.object(owner, attribute, measured(name, getattr(owner, attribute)))
            )
        whole = timed(work, repetitions, "cpu", warm_up=False)
    return statistics.median(whole), {name: seconds[name] / sum(whole) for name in parts}


def by_kind(work: Callable[[], object]) -> dict[str, float]:
    """Returns the share of each kind of operator, by torch's profiler."""
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        work()
    seconds = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
    whole = sum(seconds.values())
    return {
        kind: sum(seconds.get(name, 0.0) for name in names) / whole for kind, names in KINDS.items()
    }


def work_of(
    what: str, settings: Settings, words: int, length: int
) -> tuple[Callable[[], object], int]:
    """Returns (an update or a search, its sentences)."""
    if what == "update":
        return update_of(settings, words, length)
    limits = settings.search
    network = convert(random_network(settings, words), getattr(torch, limits.precision))
    ids, lengths = random_ids(limits.batch_size, length, words)
    find = partial(beam.beam_search, sums=fast_best_sums)
    return lambda: search([network], ids, lengths, limits, find), len(ids)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("what", choices=PARTS)
    add("--recipe", default="", help="sizes and settings; default: those of the paper")
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    add("--words", type=int, default=30_000, help="vocabulary size of each side")
    add("--length", type=int, default=25, help="words per sentence")
    add("--repetitions", type=int, default=3, help="after one as warm-up")
    chosen = parser.parse_args()
    fixed = ["search.min_length_ratio=1.0", "search.max_length_ratio=1.0", "training.threads=1"]
    settings = load_config(chosen.recipe, [*fixed, *chosen.set])
    work, sentences = work_of(chosen.what, settings, chosen.words, chosen.length)
    seconds, parts = by_part(work, chosen.repetitions, PARTS[chosen.what])
    print(f"{hardware('cpu')}, torch {torch.__version__}")
    print(f"{sentences} sentences of {chosen.length} words, {chosen.words:,} words per vocabulary")
    print(f"{seconds:.3f} s, {sentences * (chosen.length + 1) / seconds:,.0f} target words/s")
    if chosen.what == "update":
        best = ceiling("cpu", PRECISIONS[settings.training.precision], (1024, 2048, 4096))
        rate = operations_of_update(settings, words=chosen.words, length=chosen.length) / seconds
        print(
            f"{rate / 1e9:,.0f} GFLOP/s, {rate / best:.0%} of the machine's peak "
            f"({best / 1e9:,.0f})"
        )
    for title, shares in (("part", parts), ("kind of operator", by_kind(work))):
        print(f"\n| {title} | share of the time |\n|---|---|")
        shares["all else"] = 1.0 - sum(shares.values())
        print("\n".join(f"| {name} | {share:.1%} |" for name, share in shares.items()))


if __name__ == "__main__":
    main()
