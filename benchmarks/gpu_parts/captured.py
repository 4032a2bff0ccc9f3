"""Captured updates: their values against those of plain updates on the CPU, their speed and memory
beside those of plain updates; and the speed of other toolkits on the same device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import peers
from gpu_parts import values
from gpu_parts.common import FLOAT32, Options, Write, held, relative, row, small
from gpu_parts.speed import PAPER, settings_for, sizes_of

from rnnsearch.lab.bench import bench_training
from rnnsearch.training.captured import CapturedTrainer
from rnnsearch.training.setup import trainer_of
from rnnsearch.training.trainer import Trainer

CAPTURED: Callable[..., Trainer] = partial(CapturedTrainer, 4)


def captured(options: Options, write: Write) -> None:
    """Writes the values, then the speed."""
    compare(options, write)
    measure(options, write)


def compare(options: Options, write: Write) -> None:
    """Compares gradients of every part of the network, and updates with each optimiser and loss.
    The third computation of a shape is the first that only repeats a graph."""
    every, repetitions = (8, 1) if options.small else (1, 3)
    for dtype, limit in list(values.DTYPES.items())[options.small :]:
        for changes in values.NETWORKS[::every]:
            with row(write, f"{dtype} {changes}") as found:
                repeated = values.gradients(
                    options.device, changes, dtype, kind=CAPTURED, repetitions=repetitions
                )
                held(found, relative(repeated, values.gradients("cpu", changes, dtype)), limit)
        for changes in values.UPDATES[::every]:
            with row(write, f"{dtype}, updates, {changes}") as found:
                repeated = values.updated(options.device, f"{changes} training.capture=true", dtype)
                expected = values.updated("cpu", changes, dtype)
                held(found, relative(repeated, expected), 10 * limit)
    with row(write, "every repetition has other dropout masks") as found:
        losses = list(nll_of_repetitions(options, "dropout.readout=0.5"))
        found |= {"losses": losses, "ok": len(set(losses)) == len(losses)}
    with row(write, "without dropout, repetitions are equal; graphs were recorded") as found:
        losses = list(nll_of_repetitions(options, ""))
        found |= {"losses": losses, "ok": max(losses) - min(losses) <= FLOAT32 * losses[0]}


def nll_of_repetitions(options: Options, changes: str) -> Iterator[float]:
    """Yields the NLL of one batch, computed several times. Raises RuntimeError if a GPU has
    recorded nothing."""
    settings, network, batch = small(options.device, f"training.capture=true {changes}")
    trainer = trainer_of(network, settings)
    for _ in range(5):
        yield float(trainer.add_gradients([batch], len(batch.source), 1)[0])
    assert isinstance(trainer, CapturedTrainer)
    if options.device.startswith("cuda") and not getattr(trainer.add, "recorded", None):
        raise RuntimeError("nothing was recorded")


def measure(options: Options, write: Write) -> None:
    """Writes the speed and the memory of updates at the paper's size, plain and captured."""
    kinds = ("float32", "adadelta"), ("bfloat16", "adadelta"), ("bfloat16", "adam")
    for pairs, (precision, optimiser) in product((2,) if options.small else (80, 320, 1280), kinds):
        changes = f"precision={precision}", f"batch_size={pairs}"
        plain = 0.0
        for capture in ("false", "true"):
            what = f"{precision}, {optimiser}, {pairs} pairs, capture = {capture}"
            with row(write, what) as found:
                training = [f"training.{one}" for one in (*changes, f"capture={capture}")]
                settings = settings_for(options, *training, f"optimiser.method={optimiser}")
                repetitions = 3 if options.small else 15
                measured = bench_training(settings, **sizes_of(options), repetitions=repetitions)
                plain = plain or measured.seconds
                found |= {"seconds": measured.seconds, "times as fast": plain / measured.seconds}
                found |= {"target words/s": measured.words_per_second}
                hours = PAPER / measured.sentences_per_second / 3600
                found["hours for 667,000 updates of 80"] = hours
                found["peak memory, GiB"] = measured.peak_memory / 2**30


def others(options: Options, write: Write) -> None:
    """Writes the words per second of rnnsearch, OpenNMT-py and JoeyNMT, with the Python that runs
    this."""
    size = replace(peers.SIZES["tiny" if options.small else "gpu"], device=options.device)
    for name in ("rnnsearch", "OpenNMT-py", "JoeyNMT"):
        with row(write, name) as found:
            fault = peers.import_fault(sys.executable, peers.MODULES.get(name, "rnnsearch"))
            if fault:
                raise RuntimeError(fault)
            for _, training, translating in peers.measured([name], sys.executable, size, "high"):
                found |= {"training, words/s": training, "translating, words/s": translating}


PARTS: dict[str, Callable[[Options, Write], Any]] = {"captured": captured, "peers": others}
