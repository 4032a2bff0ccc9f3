"""Training with known alignments (the proposal, part 1): a loss that pulls α_i towards them, and contexts
that are computed from them.

a_ij is the known alignment of target word i (`text/store/batches.py:known_alignment`), whose rows sum to 1.
α_ij is the network's alignment (Eq. 6). The losses are those that Liu et al. 2016 (Neural Machine Translation
with Supervised Attention) compare; Marian's guided alignment is the first of them (Chen et al. 2016).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rnnsearch.config import TrainingSettings

AlignmentRows = Float[Tensor, "*rows source"]
"""α of target words, or their known alignment, over the source positions."""
RowLosses = Float[Tensor, "*rows"]


class AlignmentLoss(NamedTuple):
    """The alignment loss of a batch. loss: summed over the linked rows. rows: number of linked rows."""

    loss: Float[Tensor, ""]
    rows: Int[Tensor, ""]


def cross_entropy(weights: AlignmentRows, known: AlignmentRows) -> RowLosses:
    """Returns −Σ_j a_ij log α_ij of each row. Its minimum, ln k, is reached if α is 1/k at each of the k
    links."""
    return -(known * _log(weights)).sum(-1)


def squared_error(weights: AlignmentRows, known: AlignmentRows) -> RowLosses:
    """Returns Σ_j (a_ij − α_ij)² of each row."""
    return (known - weights).square().sum(-1)


def product(weights: AlignmentRows, known: AlignmentRows) -> RowLosses:
    """Returns −log Σ_j a_ij α_ij of each row. Its minimum, ln k, is reached if all of α is on the k links,
    with any distribution over them."""
    return -_log((known * weights).sum(-1))


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-entropy": cross_entropy,
    "squared": squared_error,
    "product": product,
}


def alignment_loss(
    weights: Float[Tensor, "batch target source"], known: Float[Tensor, "batch target source"], form: str
) -> AlignmentLoss:
    """Returns the loss of a batch, summed over rows as the NLL is over words.

    weights: α. known: zero in rows without links, which carry no loss. form: a key of LOSSES.
    """
    linked = known.any(-1)
    rows = LOSSES[form](weights, known.to(weights.dtype))
    return AlignmentLoss(rows.masked_fill(~linked, 0.0).sum(), linked.sum())


def alignment_weight(settings: TrainingSettings, update: int) -> float:
    """Returns λ of update 1, 2, …: constant, or on a line from `alignment_weight` at the first to
    `alignment_final_weight` after the annealing."""
    if not settings.alignment_annealing:
        return settings.alignment_weight
    share = min(1.0, (update - 1) / settings.alignment_annealing)
    return (1.0 - share) * settings.alignment_weight + share * settings.alignment_final_weight


def rows_to_force(
    known: Float[Tensor, "batch target source"], settings: TrainingSettings, drawn: Float[Tensor, " batch"]
) -> Float[Tensor, "batch target source"] | None:
    """Returns the rows that replace α in the contexts of this batch: none, all, or the rows of some
    sentences.

    drawn: a number from [0, 1) for each sentence. A sentence uses all of its links or none, so that sentences
    without are computed exactly as in search.
    """
    match settings.alignment_forcing:
        case "none":
            return None
        case "known":
            return known
        case "mixed":
            chosen = drawn < settings.alignment_forcing_probability
            return known * chosen.to(known.device).view(-1, 1, 1)


def needs_links(settings: TrainingSettings) -> bool:
    """Tells whether batches must carry their known alignment."""
    return settings.alignment_loss != "none" or settings.alignment_forcing != "none"


def _log(share: Tensor) -> Tensor:
    """Returns log `share`; where the softmax is 0, the logarithm of the smallest normal number, without a
    gradient."""
    return share.clamp(min=torch.finfo(share.dtype).tiny).log()
