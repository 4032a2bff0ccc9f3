"""What every cell and alignment model gains from weight gradients that are formed once per sequence, against plain autograd.

    python benchmarks/parts.py --threads 1
    python benchmarks/parts.py --own my_scorer:Smoothed --parts alignment --json

The same network is trained twice on the same synthetic batches, by turns in one process: as it is, and with every map and every tensor
that the steps share read directly, so that autograd forms and adds one gradient a step. An update is a whole one: forward, backward,
Adam. Printed are the medians of each, and the median, smallest and largest ratio of the pairs; above 1, deferring is faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnsearch.config import Settings, load_config
from rnnsearch.model.alignment import ALIGNMENTS
from rnnsearch.model.cells import CELLS
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.sequence_linear import ReadEveryStep, SequenceMap
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.trainer import Trainer

PARTS = {"cell": CELLS, "alignment": ALIGNMENTS}


class PlainMap(SequenceMap):
    """y = M x (+ b) as autograd has it; the matrix is converted once a sequence, as the deferred one is."""

    def __init__(self, matrix: Tensor, bias: Tensor | None = None, dtype: torch.dtype | None = None) -> None:
        self.matrix = matrix.to(dtype or matrix.dtype)
        self.bias = None if bias is None else bias.to(self.matrix.dtype)

    def __call__(self, x: Tensor) -> Tensor:
        rows = x.to(self.matrix.dtype)
        y = F.linear(rows, self.matrix, self.bias) if self.matrix.dim() == 2 else torch.bmm(rows, self.matrix.mT)
        return y.to(x.dtype)


class PlainTensor(ReadEveryStep):
    """A tensor that every step reads."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def read(self) -> Tensor:
        return self.tensor


@contextmanager
def plain_autograd() -> Iterator[None]:
    """The network without deferred gradients."""
    with ExitStack() as stack:
        for module in ("sequence_linear", "decoder"):
            stack.enter_context(patch(f"rnnsearch.model.{module}.SequenceMap", PlainMap))
        stack.enter_context(patch("rnnsearch.model.decoder.ReadEveryStep", PlainTensor))
        yield


def settings_of(part: str, name: str, arguments: argparse.Namespace) -> Settings:
    sizes = {"embedding_size": arguments.hidden // 2, "hidden_size": arguments.hidden, "encoder_size": arguments.hidden // 2}
    sizes |= {"alignment_size": arguments.alignment, "maxout_size": arguments.hidden // 2}
    model = {**sizes, "initialisation": "glorot", part: name}
    training = {"optimiser": "adam", "learning_rate": 0.0001, "precision": arguments.precision}
    return load_config("", [*(f"model.{key}={value}" for key, value in model.items()), *(f"training.{k}={v}" for k, v in training.items())])


def seconds_of(update: Callable[[], object]) -> float:
    started = time.perf_counter()
    update()
    return time.perf_counter() - started


def measure(settings: Settings, arguments: argparse.Namespace) -> dict[str, float]:
    """Seconds of an update either way, and ratios of plain to deferred within the pairs; the first pair warms up and is left out."""
    trainers = []
    for _ in range(2):
        torch.manual_seed(1)
        dtype = PRECISIONS[arguments.precision]
        network = TranslationNetwork(settings.model, arguments.words, arguments.words, product_dtype=dtype, trust_code=True)
        trainers.append(Trainer(network, settings.training, 0))
    lengths = torch.full((arguments.batch,), arguments.length + 1)
    deferred, plain = [], []
    for number in range(1, arguments.updates + 2):
        ids = torch.randint(2, arguments.words, (2, arguments.batch, arguments.length + 1))
        batches = [Batch(ids[0], lengths, ids[1], lengths)]
        deferred.append(seconds_of(lambda: trainers[0].update(batches, number)))  # noqa: B023 (called at once)
        with plain_autograd():
            plain.append(seconds_of(lambda: trainers[1].update(batches, number)))  # noqa: B023
    ratios = [slow / fast for fast, slow in zip(deferred[1:], plain[1:], strict=True)]
    return {
        "deferred_seconds": statistics.median(deferred[1:]),
        "plain_seconds": statistics.median(plain[1:]),
        "ratio": statistics.median(ratios),
        "smallest_ratio": min(ratios),
        "largest_ratio": max(ratios),
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--parts", choices=[*PARTS, "all"], default="all", help="cells with the additive alignment, or alignments with gated cells"
    )
    parser.add_argument(
        "--own", action="append", default=[], metavar="MODULE:CLASS", help="an alignment model of your own; may be repeated"
    )
    parser.add_argument("--hidden", type=int, default=512, help="n; the embeddings, each direction of the encoder and l have half of it")
    parser.add_argument("--alignment", type=int, default=256, help="n', of the recurrent score d")
    parser.add_argument("--words", type=int, default=4000, help="K of each side")
    parser.add_argument("--length", type=int, default=20, help="words of a sentence")
    parser.add_argument("--batch", type=int, default=80, help="sentences of an update")
    parser.add_argument("--updates", type=int, default=5, help="of each, after one that warms up")
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    set_up_cpu(arguments.threads)
    chosen = [(part, name) for part, names in PARTS.items() if arguments.parts in (part, "all") for name in names]
    chosen += [("alignment", name) for name in arguments.own]
    rows = []
    for number, (part, name) in enumerate(chosen, 1):
        print(f"{number} of {len(chosen)}: {part} {name}", file=sys.stderr)
        rows.append({"part": part, "name": name, **measure(settings_of(part, name, arguments), arguments)})
    if arguments.json:
        conditions = {key: value for key, value in vars(arguments).items() if key not in ("json", "own", "parts")}
        print(json.dumps({"hardware": hardware("cpu"), "torch": torch.__version__, **conditions, "rows": rows}, indent=2))
        return
    print(f"{hardware('cpu')}, torch {torch.__version__}, {arguments.precision}; {arguments.batch} sentences of {arguments.length} words,")
    print(f"n = {arguments.hidden}, n' = {arguments.alignment}, {arguments.words:,} words a side; medians of {arguments.updates} updates\n")
    print("| part | deferred, s | plain, s | plain / deferred (smallest, largest) |\n|---|---|---|---|")
    for row in rows:
        ratios = f"{row['ratio']:.2f} ({row['smallest_ratio']:.2f}, {row['largest_ratio']:.2f})"
        print(f"| {row['part']} `{row['name']}` | {row['deferred_seconds']:.3f} | {row['plain_seconds']:.3f} | {ratios} |")


if __name__ == "__main__":
    main()
