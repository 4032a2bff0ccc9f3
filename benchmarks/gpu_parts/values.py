"""Compares values on the device with those on the CPU: the network and its gradients, updates,
search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from gpu_parts.common import FLOAT32, FLOAT64, Options, Row, Write, held, relative, row, small
from torch import Tensor

from rnnsearch.kernels import convert, fast_loss
from rnnsearch.model.alignment import ALIGNMENTS
from rnnsearch.model.cells import CELLS
from rnnsearch.model.decoder import WIRINGS
from rnnsearch.model.encoder import ENCODERS
from rnnsearch.model.layers import keep_mask
from rnnsearch.search.beam import Hypothesis
from rnnsearch.search.step import search
from rnnsearch.training.loss import negative_log_likelihood
from rnnsearch.training.setup import trainer_of
from rnnsearch.training.trainer import BatchLoss, Faster, Trainer
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.posterior import quick_alignment

DTYPES = {torch.float64: FLOAT64, torch.float32: FLOAT32}
BFLOAT16 = 0.1
"""Limit of relative differences between gradients with products in bfloat16 and in float64."""
GENERAL = "model.alignment=general"
ADAM = "optimiser.learning_rate=0.01 optimiser.method=adam"
NETWORKS = [
    *(
        f"model.wiring={wiring} model.alignment={name}"
        for wiring, name in product(WIRINGS, ALIGNMENTS)
    ),
    *(
        f"{GENERAL} model.cell={cell} model.encoder={name}"
        for cell, name in product(CELLS, ENCODERS)
    ),
    "model.decoder=backward",
    "model.decoder=bidirectional",
    "model.tie_output=true",
    "model.factored_output=true model.readout=tanh",
]
UPDATES = [
    "model.tie_output=true",
    "optimiser.weight_decay=0.01",
    f"{ADAM} optimiser.average_decay=0.9",
    f"{ADAM}w optimiser.warmup=4 optimiser.weight_decay=0.1",
    "optimiser.method=sgd optimiser.learning_rate=0.1 dropout.label_smoothing=0.1",
    "known_alignments.loss=product known_alignments.forcing=known",
    "known_alignments.loss=cross-entropy known_alignments.forcing=mixed",
    "optimiser.method=adadelta",
    "known_alignments.loss=squared model.decoder=bidirectional",
]
SEARCHES = [
    "search.beam=1",
    "search.beam=12",
    "search.beam=5 search.nbest=5",
    "search.no_unk=true search.min_length_ratio=0.5 search.normalise=gnmt search.coverage_beta=0.2",
    "model.decoder=bidirectional",
    "model.decoder=backward",
    "model.wiring=appendix",
]
"""Changes of settings, between spaces."""


def compared(
    options: Options,
    write: Write,
    what: str,
    limit: float,
    outcome: Callable[[str], dict[str, Tensor]],
) -> None:
    """Writes the difference between the results on the device and on the CPU."""
    with row(write, what.strip()) as found:
        held(found, relative(outcome(options.device), outcome("cpu")), limit)


def model(options: Options, write: Write) -> None:
    """Compares NLL and all gradients of every part of the network, in float64 and float32, and
    gradients with bfloat16 products."""
    for dtype, limit in list(DTYPES.items())[options.small :]:
        for changes in NETWORKS[:: 4 if options.small else 1]:
            outcome = partial(gradients, changes=changes, dtype=dtype)
            compared(options, write, f"{dtype} {changes}", limit, outcome)
    for changes in ("", "dropout.label_smoothing=0.1"):
        with row(write, f"bfloat16 products {changes}".strip()) as found:
            exact = gradients("cpu", changes, torch.float64)
            rounded = gradients(options.device, changes, torch.float32, torch.bfloat16)
            held(found, relative(rounded, exact), BFLOAT16)


def gradients(
    device: str,
    changes: str,
    dtype: torch.dtype,
    products: torch.dtype = torch.float32,
    *,
    kind: Callable[..., Trainer] = Trainer,
    repetitions: int = 1,
) -> dict[str, Tensor]:
    """Returns NLL and gradients. kind: the trainer. repetitions: the last of so many computations
    counts."""
    settings, network, batch = small(device, changes, dtype)
    kernels = Faster(
        partial(convert, dtype=products), fast_loss(products) or negative_log_likelihood
    )
    loss = BatchLoss(network, settings.dropout, settings.known_alignments, kernels)
    trainer = kind(loss, settings.optimiser)
    for _ in range(repetitions):
        sums = trainer.add_gradients([batch], len(batch.source), 1)
    found = {name: parameter.grad for name, parameter in network.named_parameters()}
    return {"nll": sums[:1]} | {name: grad for name, grad in found.items() if grad is not None}


def training(options: Options, write: Write) -> None:
    """Compares updates with each optimiser and loss, in float64 and float32, and dropout masks."""
    for dtype, limit in list(DTYPES.items())[: 2 - options.small]:
        for changes in UPDATES:
            # Optimisers that divide by the size of a gradient amplify rounding where the gradient
            # is near 0.
            outcome = partial(updated, changes=changes, dtype=dtype)
            compared(options, write, f"{dtype} {changes}", 10 * limit, outcome)
    for probability in (0.2, 0.5):
        with row(write, f"dropout {probability}") as found:
            mask = keep_mask(torch.zeros(1 << 20, device=options.device), probability).cpu()
            zeros = float((mask == 0.0).double().mean())
            deviation = (probability * (1.0 - probability) / len(mask)) ** 0.5
            held(found, abs(zeros - probability) / deviation, 5.0)
            found["ok"] &= abs(float(mask.max()) - 1 / (1 - probability)) < 1e-4


def updated(device: str, changes: str, dtype: torch.dtype) -> dict[str, Tensor]:
    """Returns losses, parameters and averages after two updates. The first update has two
    batches."""
    settings, network, batch = small(device, changes, dtype)
    trainer = trainer_of(network, settings)
    batches = [batch, small(device, changes, dtype, seed=2)[2]]
    torch.manual_seed(5)
    updates = [
        trainer.update(some, number) for number, some in enumerate((batches, batches[:1]), 1)
    ]
    found = dict(network.state_dict())
    if trainer.average is not None:
        found |= {f"average {name}": tensor for name, tensor in trainer.average.weights.items()}
    losses = [[one.nll, one.alignment_loss] for one in updates]
    return found | {"losses": torch.tensor(losses)}


def searching(options: Options, write: Write) -> None:
    """Compares translations, forced decoding and its posterior alignment, in float32."""
    cases: list[tuple[str, dict[str, int]]] = [(changes, {}) for changes in SEARCHES]
    for changes, how in (*cases, ("", {"networks": 2})):
        with row(write, " ".join([changes, *how]).strip()) as found:
            _compare(
                found, _searched(options.device, changes, **how), _searched("cpu", changes, **how)
            )
    for wiring, posterior in product(WIRINGS, (False, True)):
        outcome = partial(_forced, wiring=wiring, posterior=posterior)
        compared(
            options,
            write,
            f"forced decoding, {wiring}{', posterior' * posterior}",
            FLOAT32,
            outcome,
        )
    for change in ("model.wiring=released", "model.wiring=eq4", "model.decoder=backward"):
        # A position near the threshold may be computed exactly on one device and estimated on the
        # other.
        compared(
            options,
            write,
            f"quick alignment, {change}",
            10 * FLOAT32,
            partial(_quick, change=change),
        )
    with row(write, "bfloat16 products, log p of given translations") as found:
        rounded = _forced(options.device, "released", False, torch.bfloat16)
        held(found, relative(rounded, _forced("cpu", "released", False)), BFLOAT16)


def _compare(found: Row, device: list[list[Hypothesis]], cpu: list[list[Hypothesis]]) -> None:
    """Compares translations, with their scores and α. Nearly all must be equal: only equally
    probable ones may differ in order."""
    pairs = [pair for both in zip(device, cpu, strict=True) for pair in zip(*both, strict=True)]
    same = [(one, other) for one, other in pairs if one.ids == other.ids]
    scores = [abs(one.score - other.score) / max(1.0, abs(other.score)) for one, other in same]
    weights = [float(abs(one.weights - other.weights).max(initial=0.0)) for one, other in same]
    held(found, max([*scores, *weights], default=float("inf")), FLOAT32)
    found |= {"translations": len(pairs), "the same": len(same)}
    found["ok"] &= len(same) >= 0.9 * len(pairs)


def _searched(device: str, changes: str, networks: int = 1) -> list[list[Hypothesis]]:
    models = [small(device, changes, seed=seed, sentences=8) for seed in range(1, networks + 1)]
    settings, _, batch = models[0]
    several = [network for _, network, _ in models]
    return search(list(map(convert, several)), batch.source, batch.source_lengths, settings.search)


def _forced(
    device: str, wiring: str, posterior: bool, products: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    _, network, batch = small(device, f"model.wiring={wiring}")
    log_p, alpha = forced_decoding([convert(network, products)], batch, posterior=posterior)
    return {"log p": log_p, "α": alpha}


def _quick(device: str, change: str) -> dict[str, Tensor]:
    _, network, batch = small(device, change)
    return {"posterior": quick_alignment([convert(network)], batch, posterior=True)}


PARTS: dict[str, Callable[[Options, Write], None]]
PARTS = {"model": model, "training": training, "search": searching}
