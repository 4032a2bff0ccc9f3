"""Speed and peak memory of training at the paper's size (620/1000/1000/500, 30,000 words, batches of 80, Adadelta).

    python benchmarks/paper_size.py --lengths 50 20 35 --updates 3 --precision float32

Synthetic ids; all sentences of a batch have one length, and the batches go through the given lengths in turn. The first update is a
warm-up and is not timed; the peak includes it.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

import torch

from rnnsearch.config import ModelSettings, TrainingSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.trainer import Trainer

WORDS, BATCH = 30_002, 80


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[50], help="words a side, end of sentence not counted")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    set_up_cpu(arguments.threads)
    torch.manual_seed(1)
    dtype = torch.bfloat16 if arguments.precision == "bfloat16" else torch.float32
    trainer = Trainer(TranslationNetwork(ModelSettings(), WORDS, WORDS, product_dtype=dtype), TrainingSettings(), 0)
    rates, seconds = [], []
    for number in range(arguments.updates + 1):
        positions = arguments.lengths[number % len(arguments.lengths)] + 1
        lengths = torch.full((BATCH,), positions)
        ids = torch.randint(2, WORDS, (2, BATCH, positions))
        batch = Batch(ids[0], lengths, ids[1], lengths)
        started = time.perf_counter()
        trainer.update([batch], number + 1)
        seconds.append(time.perf_counter() - started)
        rates.append(BATCH * positions / seconds[-1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{hardware('cpu')}, {arguments.precision}: {BATCH} sentences of {', '.join(map(str, arguments.lengths))} words")
    median = f"{statistics.median(seconds[1:]):.2f} s an update, {statistics.median(rates[1:]):.0f} target tokens/s (medians)"
    print(f"{median}, peak memory {peak:.2f} GiB")


if __name__ == "__main__":
    main()
