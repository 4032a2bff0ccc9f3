"""Measures what each kernel brings: how much longer training and search take without it.

    python benchmarks/kernel_prices.py --size small --rounds 7
    python benchmarks/kernel_prices.py --size paper --rounds 3

Every round measures the network with all kernels, then without each of them, then without any, so that other
work on the machine slows all alike. The median and the range over the rounds are printed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from rnnsearch.bench import bench_training, bench_translation
from rnnsearch.config import Settings, read_recipe, validated
from rnnsearch.kernels import KERNELS
from rnnsearch.system.kernel_dispatch import LOADED

SIZES = {
    "tiny": ("demo", 100, 6, {"training": {"batch_size": 4}, "search": {"batch_size": 2}}),
    "small": ("multi30k", 4002, 15, {"training": {"batch_size": 80}, "search": {"batch_size": 16}}),
    "paper": ("rnnsearch-50", 30002, 25, {"training": {"batch_size": 40}, "search": {"batch_size": 8}}),
}
"""Name → recipe, words of the vocabularies, words of a sentence, settings that differ from the recipe's."""

WITHOUT = {
    "–": (),
    "tanh": ("model.layers:tanh",),
    "cell in search": ("model.cells:GatedCell.forward",),
    "decoder's loop": ("model.decoder:Decoder.teacher_force",),
    "loss": ("training.loss:negative_log_likelihood",),
    "ranking": ("translation.beam:best_sums",),
    "weight cache": ("system.kernel_dispatch:linear_cache",),
    "all": tuple(KERNELS),
}
"""Name → reference functions that are called themselves. Search has no loop and no loss, training no
ranking."""


@contextmanager
def without(names: tuple[str, ...]) -> Iterator[None]:
    """Calls these reference functions themselves, and of all others their kernels."""
    LOADED.clear()
    LOADED.update(dict.fromkeys(names))
    try:
        yield
    finally:
        LOADED.clear()


def seconds(settings: Settings, words: int, length: int, names: tuple[str, ...]) -> tuple[float, float]:
    """Returns the seconds of an update and of the translation of a batch."""
    with without(names):
        return (
            bench_training(settings, words=words, length=length, repetitions=3).seconds,
            bench_translation(settings, words=words, length=length, repetitions=3).seconds,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", default="float32", help="float32, bfloat16; in search also int8")
    options = parser.parse_args()
    recipe, words, length, changes = SIZES[options.size]
    name, table = read_recipe(recipe)
    for section, values in changes.items():
        precision = {"precision": options.precision}
        table[section] = table.get(section, {}) | values | precision
    table["training"]["threads"] = 1
    settings = validated(table, name)
    rounds = [
        {kernel: seconds(settings, words, length, names) for kernel, names in WITHOUT.items()}
        for _ in range(options.rounds)
    ]
    print("without\tan update takes\ta search takes")
    for kernel in WITHOUT:
        cells = [kernel]
        for work in (0, 1):
            longer = [100 * (one[kernel][work] / one["–"][work] - 1) for one in rounds]
            cells.append(f"{statistics.median(longer):+.1f} % ({min(longer):+.1f} to {max(longer):+.1f})")
        print("\t".join(cells))


if __name__ == "__main__":
    main()
