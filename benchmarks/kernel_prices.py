"""Measures what each kernel brings: how much longer training and search take without it.

    python benchmarks/kernel_prices.py --size small --rounds 7
    python benchmarks/kernel_prices.py --size paper --rounds 3

Every round measures the network with all kernels, then without each of them, then without any, so
that other work on the machine slows all alike. The median and the range over the rounds are
printed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from rnnsearch.config import read_recipe, validated
from rnnsearch.kernels.convert import FASTER
from rnnsearch.lab import bench
from rnnsearch.lab.bench import bench_training, bench_translation
from rnnsearch.model.decoder import Decoder
from rnnsearch.model.layers import Linear
from rnnsearch.model.readout import OutputLayer
from rnnsearch.search.beam import best_sums
from rnnsearch.settings import Settings
from rnnsearch.training import setup

SIZES = {
    "tiny": ("demo", 100, 6, {"training": {"batch_size": 4}, "search": {"batch_size": 2}}),
    "small": ("multi30k", 4002, 15, {"training": {"batch_size": 80}, "search": {"batch_size": 16}}),
    "paper": (
        "rnnsearch-50",
        30002,
        25,
        {"training": {"batch_size": 40}, "search": {"batch_size": 8}},
    ),
}
"""Name → recipe, words of the vocabularies, words of a sentence, settings that differ from the
recipe's."""

WITHOUT: dict[str, tuple[object, ...]] = {
    "–": (),
    "decoder's loop": (Decoder,),
    "converted layers": (Linear, OutputLayer),
    "loss": ("fast_loss",),
    "ranking": ("fast_best_sums",),
    "all": (Decoder, Linear, OutputLayer, "fast_loss", "fast_best_sums"),
}
"""Name → classes that are not converted, and functions that have no kernel. Search has no loop and
no loss, training no ranking."""


@contextmanager
def without(parts: tuple[object, ...]) -> Iterator[None]:
    """Leaves these parts plain."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(FASTER))
        for part in parts:
            if part == "fast_loss":
                stack.enter_context(patch.object(setup, "fast_loss", lambda dtype: None))
            elif part == "fast_best_sums":
                stack.enter_context(patch.object(bench, "fast_best_sums", best_sums))
            else:
                del FASTER[part]  # type: ignore[arg-type]
        yield


def seconds(
    settings: Settings, words: int, length: int, parts: tuple[object, ...]
) -> tuple[float, float]:
    """Returns the seconds of an update and of the translation of a batch."""
    with without(parts):
        return (
            bench_training(settings, words=words, length=length, repetitions=3).seconds,
            bench_translation(settings, words=words, length=length, repetitions=3).seconds,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--precision", default="float32", help="float32, bfloat16; in search also int8"
    )
    options = parser.parse_args()
    recipe, words, length, changes = SIZES[options.size]
    name, table = read_recipe(recipe)
    for section, values in changes.items():
        int8 = section == "training" and options.precision == "int8"
        precision = {"precision": "float32" if int8 else options.precision}
        table[section] = table.get(section, {}) | values | precision
    table["training"]["threads"] = 1
    settings = validated(table, name)
    rounds = [
        {kernel: seconds(settings, words, length, parts) for kernel, parts in WITHOUT.items()}
        for _ in range(options.rounds)
    ]
    print("without\tan update takes\ta search takes")
    for kernel in WITHOUT:
        cells = [kernel]
        for work in (0, 1):
            longer = [100 * (one[kernel][work] / one["–"][work] - 1) for one in rounds]
            cells.append(
                f"{statistics.median(longer):+.1f} % ({min(longer):+.1f} to {max(longer):+.1f})"
            )
        print("\t".join(cells))


if __name__ == "__main__":
    main()
