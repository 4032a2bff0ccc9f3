"""What each of the measures that make training fast brings: the time of an update without it, and the peak memory.

    python benchmarks/ablations.py --threads 1                                        # the paper's network, 50 words, bfloat16
    python benchmarks/ablations.py --recipe multi30k --words 4002 --length 15 --batch 80 --without plain-gradients float32-sums
    python benchmarks/ablations.py --parts all --hidden 512 --alignment 256 --words 4000 --length 20 --without plain-gradients
    python benchmarks/ablations.py --parts alignment --own my_scorer:Smoothed --without plain-gradients --json
    python benchmarks/ablations.py --only plain-gradients --updates 1                 # the peak memory of one form

One network is trained on the same synthetic batches in every form, alternating in one process. An update is a whole one: forward,
backward, optimiser. Its time is CPU time, which other work on the machine changes least. Printed are the medians, and of the ratios to the
network as it is, within a round, the median, smallest and largest: 1.2 means that an update takes 1.2 times as long without the measure.
The forms are:

    plain-gradients    autograd forms a weight's gradient at every time step, and adds them in the precision of the products
    float32-sums       the same, added in float32 as the package does; other than the first only where products are bfloat16
    in-the-loop        the previous word's products and the readout are computed at every step, not once a sentence
    whole-logits       the logits of all target words of a batch at once, and torch's cross-entropy
    whole-energies     the terms of the energies (additive alignment) for all sentences at once, and kept for backward
    torch-tanh         torch's hyperbolic tangent
    torch-adadelta     torch's Adadelta, on dense gradients of the embeddings
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnsearch.config import Settings, load_config
from rnnsearch.model import deferred_gradients, tanh
from rnnsearch.model.alignment import ALIGNMENTS, additive
from rnnsearch.model.cells import CELLS
from rnnsearch.model.decoder import DecoderState, SourceReader
from rnnsearch.model.deferred_gradients import PlainProduct
from rnnsearch.model.dropout import Dropout, dropped
from rnnsearch.model.network import Direction, TeacherForced, TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.text.store.batches import Batch
from rnnsearch.training import trainer as training
from rnnsearch.training.trainer import Trainer

AS_IT_IS = "as it is"
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


def plain_gradients(_: Trainer) -> AbstractContextManager[Any]:
    return patch.object(deferred_gradients, "backward_pass", None)


@contextmanager
def float32_sums(trainer: Trainer) -> Iterator[None]:
    with plain_gradients(trainer), patch.object(deferred_gradients, "PlainProduct", Float32Product):
        yield


def in_the_loop(_: Trainer) -> AbstractContextManager[Any]:
    def follow(
        network: TranslationNetwork, direction: Direction, encoded: Any, state: DecoderState, target: Tensor, dropout: Dropout, _: None
    ) -> TeacherForced:
        decoder, reader = direction.decoder, SourceReader(encoded)
        words: list[Tensor | None] = [None, *network.target_embedding(target[:, :-1]).split(1, 1)]
        rows = []
        for word in words:
            word = None if word is None else dropped(word, dropout.embedding)
            read, state = decoder.step(None if word is None else decoder.cell.project(word), state, reader)
            hidden = decoder.cell.hidden(read.cell)
            features = direction.output.features(dropped(direction.readout(hidden, word, read.context), dropout.readout))
            rows.append((features, read.weights, hidden, hidden.new_zeros(1) if word is None else word))
        features, weights, hidden = (torch.cat(part, 1) for part in list(zip(*rows, strict=True))[:3])
        return TeacherForced(features, weights, torch.ones_like(target, dtype=torch.bool), hidden, hidden)

    return patch.object(TranslationNetwork, "_follow", follow)


def whole_logits(_: Trainer) -> AbstractContextManager[Any]:
    def loss(
        features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        logits = F.linear(features.to(dtype), weight.to(dtype), bias.to(dtype)).float()
        total = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
        return total, total.detach()

    return patch.object(training, "negative_log_likelihood", loss)


def whole_energies(_: Trainer) -> AbstractContextManager[Any]:
    return patch.object(additive, "backward_pass", None)


@contextmanager
def torch_tanh(_: Trainer) -> Iterator[None]:
    with ExitStack() as stack:
        for name, function in (("_Tanh", torch.tanh), ("_TanhInPlace", torch.tanh_)):
            stack.enter_context(patch.object(tanh, name, SimpleNamespace(apply=function)))
        yield


@contextmanager
def torch_adadelta(trainer: Trainer) -> Iterator[None]:
    """Its state is made at its first update, and stays."""
    theirs = trainer.__dict__.setdefault("torch_adadelta", torch.optim.Adadelta(trainer.parameters, rho=0.95, eps=1e-6))
    embeddings = trainer.network.source_embedding, trainer.network.target_embedding
    with ExitStack() as stack:
        stack.enter_context(patch.object(trainer, "optimiser", theirs))
        for embedding in embeddings:
            stack.enter_context(patch.object(embedding, "sparse_gradient", False))
        yield


FORMS: dict[str, Callable[[Trainer], AbstractContextManager[Any]]] = {
    AS_IT_IS: lambda _: nullcontext(),
    "plain-gradients": plain_gradients,
    "float32-sums": float32_sums,
    "in-the-loop": in_the_loop,
    "whole-logits": whole_logits,
    "whole-energies": whole_energies,
    "torch-tanh": torch_tanh,
    "torch-adadelta": torch_adadelta,
}


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
    """CPU seconds of an update in each form, and their ratios to the first of them; the first round warms up and is left out."""
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
            with FORMS[form](trainer):
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
    others = [form for form in FORMS if form != AS_IT_IS]
    parser.add_argument("--without", nargs="+", choices=others, default=others, help="the forms to measure beside the network as it is")
    parser.add_argument("--only", choices=FORMS, help="this form alone, for its peak memory")
    parser.add_argument("--precision", choices=PRECISIONS, default="bfloat16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.forms = [arguments.only] if arguments.only else [AS_IT_IS, *arguments.without]
    return arguments


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
        conditions = {key: value for key, value in vars(arguments).items() if key not in ("json", "own", "parts", "without", "only")}
        print(json.dumps({"hardware": hardware("cpu"), "torch": torch.__version__, **conditions, "rows": rows}, indent=2))
        return
    print(f"{hardware('cpu')}, torch {torch.__version__}, {arguments.precision}; {arguments.batch} sentences of {arguments.length} words,")
    print(f"{arguments.words:,} words a side; medians of {arguments.updates}; peak memory {rows[-1]['peak_gib']:.2f} GiB\n")
    for row in rows:
        print(f"{row['part']} {row['name']}".strip() or arguments.recipe or "the paper's network")
        print("\n| form | CPU seconds of an update | ratio (smallest, largest) |\n|---|---|---|")
        for form in arguments.forms:
            ratio, smallest, largest = row["ratios"][form]
            print(f"| {form} | {row['seconds'][form]:.3f} | {ratio:.2f} ({smallest:.2f}, {largest:.2f}) |")
        print()


if __name__ == "__main__":
    main()
