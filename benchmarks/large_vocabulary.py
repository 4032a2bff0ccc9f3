"""What a large vocabulary costs in training with a sampled softmax: CPU time of an update, and peak memory.

    python benchmarks/large_vocabulary.py
    python benchmarks/large_vocabulary.py --recipe multi30k --set training.optimiser=adadelta --length 15 --sizes 4000:0 500000:4000

A size is words:N: the words of each side, and N of `training.sampled_softmax`; N = 0 is the exact softmax. Every size trains in a process
of its own, and they take turns update by update, so that all meet the same other work on the machine. An update is what training does:
the batch is read, with its part of the time to make its partition, and learnt from. Sentences have one length; the frequency of a word is
in proportion to 1 / rank (Zipf). The first update is not timed. The peak is that of the process, after the last update.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch

from rnnsearch.bench import peak_memory
from rnnsearch.config import Settings, load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.text.store.batches import BatchOrder, Position
from rnnsearch.text.store.corpus import Pairs, SentenceIds
from rnnsearch.training.parallel import share_of, updates_from
from rnnsearch.training.trainer import Trainer


def zipf(words: int, pairs: int, length: int, seed: int) -> SentenceIds:
    """Sentences of one length: the word of rank r has a frequency in proportion to 1/r."""
    below = np.cumsum(1.0 / np.arange(1, words - 1))
    drawn = np.random.default_rng(seed).random((pairs, length)) * below[-1]
    ids = np.concatenate([2 + np.searchsorted(below, drawn, side="right"), np.zeros((pairs, 1), dtype=np.int64)], 1)
    return SentenceIds(ids.ravel().astype(np.uint32), np.arange(pairs + 1, dtype=np.int64) * (length + 1))


def work(pipe: Connection, settings: Settings, words: int, pairs: int, length: int) -> None:
    """Answers each word from the pipe with the CPU seconds of an update, and the last one, 0, with what else was found."""
    training = settings.training
    set_up_cpu(training.threads)
    torch.manual_seed(training.seed)
    sides = Pairs(zipf(words, pairs, length, 1), zipf(words, pairs, length, 2), words=(words, words))
    order = BatchOrder(sides.source_lengths, sides.target_lengths, training)
    trainer = Trainer(TranslationNetwork(settings.model, words, words, product_dtype=PRECISIONS[training.precision]), training, 0)
    begun = time.process_time()
    stream = updates_from(order, Position(), sides, training)
    chosen, after = next(stream)
    making, batches, subset = time.process_time() - begun, 1, chosen[0].words
    if subset is not None:  # the batches that share the time to make their partition
        others = updates_from(order, after, sides, training)
        while (found := next(others)[0][0].words) is not None and np.array_equal(found, subset) and batches < len(order):
            batches += 1
    number = 0
    while pipe.recv():
        started = time.process_time()
        if number:
            chosen, _ = next(stream)
        number += 1
        share = share_of(sides, chosen, training, 0, 1)
        trainer.update(share.batches, number)
        pipe.send(time.process_time() - started)
    parameters = sum(parameter.numel() for parameter in trainer.parameters)
    found_more = {"parameters": parameters, "peak_memory": peak_memory("cpu"), "batches_of_partition": batches}
    pipe.send(found_more | {"partition_seconds_per_update": making / batches, "softmax_words": words if subset is None else len(subset)})


def measured(settings: Settings, sizes: list[tuple[int, int]], pairs: int, length: int, updates: int) -> list[dict[str, Any]]:
    """A row for each size."""
    context = get_context("spawn")
    workers = []
    for words, sampled in sizes:
        mine = settings.model_copy(update={"training": settings.training.model_copy(update={"sampled_softmax": sampled})})
        here, there = context.Pipe()
        process = context.Process(target=work, args=(there, mine, words, pairs, length), daemon=True)
        process.start()
        there.close()
        workers.append((here, process))
    seconds: list[list[float]] = [[] for _ in sizes]
    for _ in range(updates + 1):
        for (pipe, _), mine_seconds in zip(workers, seconds, strict=True):
            pipe.send(1)
            mine_seconds.append(pipe.recv())
    rows = []
    for (pipe, process), times, (words, sampled) in zip(workers, seconds, sizes, strict=True):
        pipe.send(0)
        rest = pipe.recv()
        process.join()
        each = statistics.median(times[1:]) + rest["partition_seconds_per_update"]
        rows.append({"words": words, "sampled_softmax": sampled, "cpu_seconds": each, "updates": times[1:], **rest})
    for row in rows:
        row["times_the_first"] = row["cpu_seconds"] / rows[0]["cpu_seconds"]
    return rows


def size(text: str) -> tuple[int, int]:
    words, _, sampled = text.partition(":")
    return int(words), int(sampled or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="", help="the sizes and the training; without one the paper's")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--sizes", type=size, nargs="+", default=[(30_000, 0), (30_000, 15_000), (500_000, 15_000)], metavar="WORDS:N")
    parser.add_argument("--length", type=int, default=25, help="words of a sentence")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--updates", type=int, default=5, help="after one that warms up")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    settings = load_config(arguments.recipe, [*arguments.set, f"training.threads={arguments.threads}"])
    os.environ.setdefault("OMP_NUM_THREADS", str(arguments.threads))
    rows = measured(settings, arguments.sizes, arguments.pairs, arguments.length, arguments.updates)
    machine = f"{hardware('cpu').partition(',')[0]}, {arguments.threads} thread(s), torch {torch.__version__}"
    if arguments.json:
        print(json.dumps({"hardware": machine, "precision": settings.training.precision, "rows": rows}, indent=2))
        return
    print(f"{machine}, {settings.training.precision}; batches of {settings.training.batch_size} sentences of {arguments.length} words\n")
    print("| words a side | softmax over | parameters | CPU s per update | of that the partition | times the first | peak memory, GiB |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        head = f"| {row['words']:,} | {row['softmax_words']:,} | {row['parameters'] / 1e6:,.0f} M | {row['cpu_seconds']:.3f}"
        share = f"{row['partition_seconds_per_update']:.4f} | {row['times_the_first']:.2f}"
        print(f"{head} | {share} | {row['peak_memory'] / 2**30:.1f} |")


if __name__ == "__main__":
    main()
