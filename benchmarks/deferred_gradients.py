"""What weight gradients that are formed once per sequence bring, against plain autograd: time of an update, and peak memory.

    python benchmarks/deferred_gradients.py --threads 1                                        # the paper's network, 50 words
    python benchmarks/deferred_gradients.py --recipe multi30k --words 4002 --length 15 --batch 80
    python benchmarks/deferred_gradients.py --parts all --hidden 512 --alignment 256 --words 4000 --length 20
    python benchmarks/deferred_gradients.py --parts alignment --own my_scorer:Smoothed --hidden 512 --json
    python benchmarks/deferred_gradients.py --forms plain --updates 1                          # the peak memory of one form

One network is trained on the same synthetic batches in every form, alternating in one process. An update is a whole one: forward,
backward, optimiser. Its time is CPU time, which other work on the machine changes least. Printed are the medians, and of the ratios to the
deferred form within a round the median, smallest and largest; above 1, deferring is faster. The forms:

    deferred   as the package has it (rnnsearch/model/deferred_gradients.py)
    plain      autograd forms a gradient at every use of a weight, and adds them in the precision of the products
    float32    the same, added in float32, as deferred gradients are; other than `plain` only where products are bfloat16
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from rnnsearch.config import Settings, load_config
from rnnsearch.model import deferred_gradients
from rnnsearch.model.alignment import ALIGNMENTS
from rnnsearch.model.cells import CELLS
from rnnsearch.model.deferred_gradients import PlainProduct
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.trainer import Trainer

FORMS = ("deferred", "plain", "float32")
PARTS = {"cell": list(CELLS), "alignment": list(ALIGNMENTS)}


class Float32Product(PlainProduct):
    """The matrix is converted once a sequence, and the gradient of each use is converted back."""

    def __init__(self, matrix: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self.master, self.master_bias = matrix, bias
        super().__init__(matrix.detach(), None if bias is None else bias.detach(), dtype)

    def __call__(self, x: Tensor) -> Tensor:
        return _Float32Use.apply(x, self.master, self.master_bias, self)  # type: ignore[no-untyped-call,no-any-return]


class _Float32Use(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, bias: Tensor | None, product: Float32Product) -> Tensor:
        ctx.x, ctx.product, ctx.dtype = x.to(product.matrix.dtype), product, x.dtype
        return PlainProduct.__call__(product, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        matrix = ctx.product.matrix
        delta = gradient.to(matrix.dtype)
        of_x = (delta @ matrix).to(ctx.dtype) if ctx.needs_input_grad[0] else None
        rows = (delta, ctx.x) if matrix.dim() == 3 else (delta.flatten(0, -2), ctx.x.flatten(0, -2))
        of_matrix = (rows[0].mT @ rows[1]).to(ctx.dtype) if ctx.needs_input_grad[1] else None
        return of_x, of_matrix, gradient.flatten(0, -2).sum(0) if ctx.needs_input_grad[2] else None, None


@contextmanager
def gradients(form: str) -> Iterator[None]:
    """The network with weight gradients of this form."""
    with ExitStack() as stack:
        if form != "deferred":
            stack.enter_context(patch.object(deferred_gradients, "backward_pass", None))
        if form == "float32":
            stack.enter_context(patch.object(deferred_gradients, "PlainProduct", Float32Product))
        yield


def settings_of(arguments: argparse.Namespace, part: str = "", name: str = "") -> Settings:
    """The recipe's; with `part` those of a network of n, n′ as the arguments say, with that cell or alignment model."""
    changes = [f"training.precision={arguments.precision}", *arguments.set]
    if part:
        half = arguments.hidden // 2
        sizes = {"embedding": half, "hidden": arguments.hidden, "encoder": half, "alignment": arguments.alignment, "maxout": half}
        changes += [f"model.{key}_size={size}" for key, size in sizes.items()]
        changes += ["model.initialisation=glorot", "training.optimiser=adam", "training.learning_rate=0.0001", f"model.{part}={name}"]
    return load_config(arguments.recipe, changes)


def measure(settings: Settings, arguments: argparse.Namespace) -> dict[str, Any]:
    """CPU seconds of an update in each form, and their ratios to the first form; the first round warms up and is left out."""
    torch.manual_seed(1)
    words, batch, dtype = arguments.words, arguments.batch, PRECISIONS[arguments.precision]
    trainer = Trainer(TranslationNetwork(settings.model, words, words, product_dtype=dtype, trust_code=True), settings.training, 1 << 30)
    lengths = torch.full((batch,), arguments.length + 1)
    seconds: dict[str, list[float]] = {form: [] for form in arguments.forms}
    number = 0
    for round_ in range(arguments.updates + 1):
        ids = torch.randint(2, words, (2, batch, arguments.length + 1))
        for form in arguments.forms[:: 1 if round_ % 2 else -1]:
            number += 1
            with gradients(form):
                started = time.process_time()
                trainer.update([Batch(ids[0], lengths, ids[1], lengths)], number)
                seconds[form].append(time.process_time() - started)
    first = seconds[arguments.forms[0]]
    ratios = {form: [mine / its for mine, its in zip(taken[1:], first[1:], strict=True)] for form, taken in seconds.items()}
    return {
        "seconds": {form: statistics.median(taken[1:]) for form, taken in seconds.items()},
        "ratios": {form: [statistics.median(found), min(found), max(found)] for form, found in ratios.items()},
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="", help="whose network and training; the paper's by default")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings that differ from the recipe")
    parser.add_argument("--parts", choices=[*PARTS, "all"], help="instead: cells with the additive alignment, alignments with gated cells")
    parser.add_argument("--own", action="append", default=[], metavar="MODULE:CLASS", help="with --parts: an alignment model of your own")
    parser.add_argument("--hidden", type=int, default=512, help="with --parts: n; embeddings, encoder directions and l have half of it")
    parser.add_argument("--alignment", type=int, default=256, help="with --parts: n', of the recurrent score d")
    parser.add_argument("--words", type=int, default=30_000, help="K of each side")
    parser.add_argument("--length", type=int, default=50, help="words of a sentence")
    parser.add_argument("--batch", type=int, default=80, help="sentences of an update")
    parser.add_argument("--updates", type=int, default=5, help="of each form, after one that warms up")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=["deferred", "plain"])
    parser.add_argument("--precision", choices=PRECISIONS, default="bfloat16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    set_up_cpu(arguments.threads)
    chosen = [(part, name) for part, names in PARTS.items() if arguments.parts in (part, "all") for name in names]
    chosen += [("alignment", name) for name in arguments.own]
    rows = []
    for number, (part, name) in enumerate(chosen or [("", "")], 1):
        print(f"{number} of {max(1, len(chosen))}: {f'{part} {name}' if part else arguments.recipe or 'the paper'}", file=sys.stderr)
        rows.append({"part": part, "name": name, **measure(settings_of(arguments, part, name), arguments)})
    if arguments.json:
        conditions = {key: value for key, value in vars(arguments).items() if key not in ("json", "own", "parts")}
        print(json.dumps({"hardware": hardware("cpu"), "torch": torch.__version__, **conditions, "rows": rows}, indent=2))
        return
    print(f"{hardware('cpu')}, torch {torch.__version__}, {arguments.precision}; {arguments.batch} sentences of {arguments.length} words,")
    print(f"{arguments.words:,} words a side; medians of {arguments.updates}; peak memory {rows[-1]['peak_gib']:.2f} GiB\n")
    others = arguments.forms[1:]
    titles = ["network", *(f"{form}, CPU s" for form in arguments.forms), *(f"{form} / {arguments.forms[0]}" for form in others)]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for row in rows:
        cells = [f"{row['seconds'][form]:.3f}" for form in arguments.forms]
        cells += ["{:.2f} ({:.2f}, {:.2f})".format(*row["ratios"][form]) for form in others]
        name = f"{row['part']} `{row['name']}`" if row["part"] else arguments.recipe or "the paper's"
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
