"""Training with known alignments (the proposal, part 1): a loss that pulls α_i towards them, and contexts that are made of them.

a_ij is the known alignment of target word i (`text/store/batches.py:known_alignment`), its row summing to 1, α_ij the network's (Eq. 6).
The losses are those that Liu et al. 2016 (Neural Machine Translation with Supervised Attention) compare; Marian's guided alignment
is the first of them (Chen et al. 2016).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rnnsearch.config import TrainingSettings

Rows = Float[Tensor, "*rows source"]
"""α of target words, or their known alignment, over the source positions."""
RowLosses = Float[Tensor, "*rows"]


class AlignmentLoss(NamedTuple):
    """loss: summed over the linked rows. rows: how many there are."""

    loss: Float[Tensor, ""]
    rows: Int[Tensor, ""]


def cross_entropy(weights: Rows, known: Rows) -> RowLosses:
    """−Σ_j a_ij log α_ij of each row; least, ln k, where α is the k links' shares."""
    return -(known * _log(weights)).sum(-1)


def squared_error(weights: Rows, known: Rows) -> RowLosses:
    """Σ_j (a_ij − α_ij)² of each row."""
    return (known - weights).square().sum(-1)


def product(weights: Rows, known: Rows) -> RowLosses:
    """−log Σ_j a_ij α_ij of each row; least, ln k, where all of α lies on the k links, however it is spread over them."""
    return -_log((known * weights).sum(-1))


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-entropy": cross_entropy,
    "squared": squared_error,
    "product": product,
}


def alignment_loss(weights: Float[Tensor, "batch target source"], known: Float[Tensor, "batch target source"], form: str) -> AlignmentLoss:
    """weights: α. known: zero in rows without links, which carry no loss.

    form: a key of LOSSES. The sum over rows stands beside the NLL, which is summed over words.
    """
    linked = known.any(-1)
    rows = LOSSES[form](weights, known.to(weights.dtype))
    return AlignmentLoss(rows.masked_fill(~linked, 0.0).sum(), linked.sum())


def alignment_weight(settings: TrainingSettings, update: int) -> float:
    """λ of update 1, 2, …: constant, or on a line from `alignment_weight` at the first to `alignment_final_weight` after the annealing."""
    if not settings.alignment_annealing:
        return settings.alignment_weight
    share = min(1.0, (update - 1) / settings.alignment_annealing)
    return (1.0 - share) * settings.alignment_weight + share * settings.alignment_final_weight


def forced(known: Float[Tensor, "batch target source"], settings: TrainingSettings) -> Float[Tensor, "batch target source"] | None:
    """The rows that replace α in the contexts of this batch: all, none, or those of sentences that are drawn anew each time.

    A sentence is drawn whole, so that what is left to the network's own α is the very computation that search will do.
    """
    match settings.alignment_forcing:
        case "none":
            return None
        case "known":
            return known
        case "mixed":
            drawn = torch.rand(len(known)) < settings.alignment_forcing_probability  # on the CPU: one stream on all machines
            return known * drawn.to(known.device).view(-1, 1, 1)


def needs_links(settings: TrainingSettings) -> bool:
    """Whether batches must carry their known alignment."""
    return settings.alignment_loss != "none" or settings.alignment_forcing != "none"


def _log(share: Tensor) -> Tensor:
    """log, of the smallest normal number where the softmax has come to 0: finite, and without a gradient there."""
    return share.clamp(min=torch.finfo(share.dtype).tiny).log()
