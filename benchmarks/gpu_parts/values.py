"""Values on the device against those on the CPU: the network and its gradients, updates, search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from gpu_parts.common import (
    FLOAT32,
    FLOAT64,
    VOCABULARY,
    Options,
    Row,
    Write,
    held,
    relative,
    row,
    small_batch,
    small_network,
    small_settings,
)
from rnnsearch.model.alignment import ALIGNMENTS
from rnnsearch.model.cells import CELLS
from rnnsearch.model.decoder import WIRINGS
from rnnsearch.model.dropout import keep_mask
from rnnsearch.model.encoder import ENCODERS
from rnnsearch.model.layers import linear_cache
from rnnsearch.records import Hypothesis
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.trainer import Trainer
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.joint import search
from rnnsearch.translation.quick_alignment import quick_alignment
from rnnsearch.translation.readers import begin_search
from rnnsearch.translation.sampling import sample

DTYPES = {"float64": (torch.float64, FLOAT64), "float32": (torch.float32, FLOAT32)}
BFLOAT16 = 0.1
"""Limit of relative differences between gradients with products in bfloat16 and in float64."""

NETWORKS = [
    *(
        (f"model.wiring={wiring}", f"model.alignment={alignment}")
        for wiring, alignment in product(WIRINGS, ALIGNMENTS)
    ),
    *(
        (f"model.cell={cell}", f"model.encoder={encoder}", "model.alignment=general")
        for cell, encoder in product(CELLS, ENCODERS)
    ),
    ("model.decoder=backward",),
    ("model.decoder=bidirectional",),
    ("model.tie_output=true",),
    ("model.factored_output=true", "model.readout=tanh"),
]
UPDATES = {
    "Adadelta, tied output": ("model.tie_output=true",),
    "Adadelta, weight decay": ("training.weight_decay=0.01",),
    "Adam, averages": (
        "training.optimiser=adam",
        "training.learning_rate=0.01",
        "training.average_decay=0.9",
    ),
    "AdamW, warm-up": (
        "training.optimiser=adamw",
        "training.learning_rate=0.01",
        "training.warmup=4",
        "training.weight_decay=0.1",
    ),
    "SGD, label smoothing": (
        "training.optimiser=sgd",
        "training.learning_rate=0.1",
        "training.label_smoothing=0.1",
    ),
    "product of links, forcing known": (
        "training.alignment_loss=product",
        "training.alignment_forcing=known",
    ),
    "cross-entropy of links, forcing mixed": (
        "training.alignment_loss=cross-entropy",
        "training.alignment_forcing=mixed",
    ),
    "Adadelta": (),
    "squared error of links, both directions": (
        "training.alignment_loss=squared",
        "model.decoder=bidirectional",
    ),
}


def compared(
    options: Options, write: Write, what: str, limit: float, outcome: Callable[[str], dict[str, Tensor]]
) -> None:
    """Writes how far the outcome on the device is from that on the CPU."""
    with row(write, what.strip()) as found:
        held(found, relative(outcome(options.device), outcome("cpu")), limit)


def model(options: Options, write: Write) -> None:
    """Compares NLL and all gradients of every part of the network, in float64 and float32, and gradients with
    bfloat16 products."""
    for name, (dtype, limit) in list(DTYPES.items())[options.small :]:
        for changes in NETWORKS[:: 4 if options.small else 1]:
            outcome = partial(_outcome, changes=changes, dtype=dtype)
            compared(options, write, f"{name} {' '.join(changes)}", limit, outcome)
    for changes in ((), ("training.label_smoothing=0.1",)):
        with row(write, f"bfloat16 products {' '.join(changes)}".strip()) as found:
            exact = _outcome("cpu", changes, torch.float64)
            rounded = _outcome(options.device, changes, torch.float32, torch.bfloat16)
            held(found, relative(rounded, exact), BFLOAT16)


def _outcome(
    device: str, changes: tuple[str, ...], dtype: torch.dtype, products: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Returns NLL and gradients, on the CPU."""
    settings = small_settings(device, changes)
    network = small_network(settings, dtype).to(device)
    network.product_dtype = products
    batch = small_batch(dtype).to(device)
    sums = Trainer(network, settings.training, 0).add_gradients([batch], len(batch.source), 1)
    found = {
        name: parameter.grad for name, parameter in network.named_parameters() if parameter.grad is not None
    }
    return {name: tensor.cpu() for name, tensor in ({"nll": sums[:1]} | found).items()}


def training(options: Options, write: Write) -> None:
    """Compares updates with each optimiser and loss, in float64 and float32, and what dropout draws."""
    for name, (dtype, limit) in list(DTYPES.items())[: 2 - options.small]:
        for what, changes in UPDATES.items():
            # Where a gradient is next to 0, optimisers that divide by its size turn rounding into movement.
            outcome = partial(_updated, changes=changes, dtype=dtype)
            compared(options, write, f"{name} {what}", 10 * limit, outcome)
    for probability in (0.2, 0.5):
        with row(write, f"dropout {probability}") as found:
            mask = keep_mask(torch.zeros(1 << 20, device=options.device), probability).cpu()
            zeros = float((mask == 0.0).double().mean())
            deviation = (probability * (1.0 - probability) / len(mask)) ** 0.5
            held(found, abs(zeros - probability) / deviation, 5.0)
            found["ok"] &= abs(float(mask.max()) - 1 / (1 - probability)) < 1e-4


def _updated(device: str, changes: tuple[str, ...], dtype: torch.dtype) -> dict[str, Tensor]:
    """Returns losses, parameters and averages after two updates, the first of which has two batches."""
    settings = small_settings(device, changes)
    trainer = Trainer(small_network(settings, dtype).to(device), settings.training, 0)
    batches = [small_batch(dtype, seed).to(device) for seed in (1, 2)]
    torch.manual_seed(5)
    updates = [trainer.update(some, number) for number, some in enumerate((batches, batches[:1]), 1)]
    found = {name: tensor.cpu() for name, tensor in trainer.network.state_dict().items()}
    if trainer.average is not None:
        found |= {f"average {name}": tensor.cpu() for name, tensor in trainer.average.weights.items()}
    losses = {"NLL": [one.nll for one in updates], "alignment loss": [one.alignment_loss for one in updates]}
    return found | {name: torch.tensor(values) for name, values in losses.items()}


SEARCHES: dict[str, dict[str, Any]] = {
    "beam 1": {"beam": 1},
    "beam 12": {},
    "beam 5, 5 best": {"beam": 5, "nbest": 5},
    "no UNK, lengths, coverage": {
        "no_unk": True,
        "min_length_ratio": 0.5,
        "normalise": "gnmt",
        "coverage_beta": 0.2,
    },
    "a lexical shortlist": {"shortlist": True},
    "an ensemble": {"networks": 2},
    "both directions": {"changes": ("model.decoder=bidirectional",)},
    "right to left": {"changes": ("model.decoder=backward",)},
    "no context at first": {"changes": ("model.wiring=appendix",)},
}


def searching(options: Options, write: Write) -> None:
    """Compares translations, samples, forced decoding and its posterior alignment, in float32."""
    for what, settings in SEARCHES.items():
        with row(write, what) as found:
            _compare(found, _searched(options.device, **settings), _searched("cpu", **settings))
    for wiring, posterior in product(WIRINGS, (False, True)):
        outcome = partial(_forced, wiring=wiring, posterior=posterior)
        compared(options, write, f"forced decoding, {wiring}{', posterior' * posterior}", FLOAT32, outcome)
    for change in ("model.wiring=released", "model.wiring=eq4", "model.decoder=bidirectional"):
        # A position at the edge of what meets all words may fall on the other side of it.
        compared(options, write, f"quick alignment, {change}", 10 * FLOAT32, partial(_quick, change=change))
    with row(write, "bfloat16 products, log p of given translations") as found:
        rounded = _forced(options.device, "released", False, torch.bfloat16)
        held(found, relative(rounded, _forced("cpu", "released", False)), BFLOAT16)
    with row(write, "samples have the probability that forced decoding gives them") as found:
        held(found, _samples(options.device), FLOAT32)


def _compare(found: Row, device: list[list[Hypothesis]], cpu: list[list[Hypothesis]]) -> None:
    """Compares translations, with their scores and α. Nearly all must be the same: two that are equally
    probable may change places."""
    pairs = [
        (one, other)
        for mine, theirs in zip(device, cpu, strict=True)
        for one, other in zip(mine, theirs, strict=True)
    ]
    same = [(one, other) for one, other in pairs if one.ids == other.ids]
    scores = [abs(one.score - other.score) / max(1.0, abs(other.score)) for one, other in same]
    weights = [float(abs(one.weights - other.weights).max(initial=0.0)) for one, other in same]
    held(found, max([*scores, *weights], default=float("inf")), FLOAT32)
    found |= {"translations": len(pairs), "the same": len(same)}
    found["ok"] &= len(same) >= 0.9 * len(pairs)


def _searched(
    device: str,
    *,
    changes: tuple[str, ...] = (),
    networks: int = 1,
    shortlist: bool = False,
    **search_settings: Any,
) -> list[list[Hypothesis]]:
    settings = small_settings(device, changes)
    several = [small_network(settings, torch.float32, seed).to(device) for seed in range(1, networks + 1)]
    batch = small_batch(torch.float32, sentences=8).to(device)
    chosen = torch.arange(0, VOCABULARY - 10).to(device) if shortlist else None
    weights = [linear_cache() for _ in several]
    readers = begin_search(several, weights, batch.source, batch.source_lengths, chosen)
    return search(readers, batch.source_lengths, settings.search.model_copy(update=search_settings))


def _forced(
    device: str, wiring: str, posterior: bool, products: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    settings = small_settings(device, (f"model.wiring={wiring}",))
    network = small_network(settings, torch.float32).to(device)
    network.product_dtype = products
    log_p, alpha = forced_decoding([network], small_batch(torch.float32).to(device), posterior=posterior)
    return {"log p": log_p.cpu(), "α": alpha.cpu()}


def _quick(device: str, change: str) -> dict[str, Tensor]:
    network = small_network(small_settings(device, (change,)), torch.float32).to(device)
    batch = small_batch(torch.float32).to(device)
    return {"posterior": quick_alignment([network], [linear_cache()], batch, posterior=True).cpu()}


def _samples(device: str) -> float:
    """Returns the largest relative difference of a sample's log p."""
    settings = small_settings(device)
    network = small_network(settings, torch.float32).to(device)
    batch = small_batch(torch.float32).to(device)
    (reader,) = begin_search([network], [linear_cache()], batch.source, batch.source_lengths)
    generator = torch.Generator(device if device.startswith("cuda") else "cpu").manual_seed(1)
    drawn = sample(
        reader.step, reader.state, batch.source_lengths, settings.search, samples=4, generator=generator
    )
    worst = 0.0
    for number, one in ((number, one) for number, some in enumerate(drawn) for one in some if one.finished):
        target, size = torch.tensor([one.ids]), torch.tensor([len(one.ids)])
        place = slice(number, number + 1)
        given = Batch(batch.source[place], batch.source_lengths[place], target.to(device), size.to(device))
        log_p = float(forced_decoding([network], given)[0].sum())
        worst = max(worst, abs(log_p - one.score) / max(1.0, abs(log_p)))
    return worst


PARTS: dict[str, Callable[[Options, Write], None]] = {
    "model": model,
    "training": training,
    "search": searching,
}
