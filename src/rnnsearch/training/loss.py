"""The losses of a batch: the negative log-likelihood of its target words (4.2), and the alignment
loss of the proposal's part 1, with contexts that are computed from known alignments.

a_ij is the known alignment of target word i (`text/batches.py:known_alignment`), whose rows sum to
1. α_ij is the network's alignment (Eq. 6). The losses are those that Liu et al. 2016 (Neural
Machine Translation with Supervised Attention) compare; Marian's guided alignment is the first of
them (Chen et al. 2016).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from rnnsearch.model.network import source_mask
from rnnsearch.model.readout import OutputLayer
from rnnsearch.settings import KnownAlignmentSettings

Alignments = Float[Tensor, "batch target source"]
"""α of a batch, or its known alignment."""
Scalar = Float[Tensor, ""]
AlignmentRows = Float[Tensor, "*rows source"]
"""α of target words, or their known alignment, over the source positions."""
RowLosses = Float[Tensor, "*rows"]
NegativeLogLikelihood = Callable[
    [OutputLayer, Tensor, Tensor, float, Tensor | None], tuple[Tensor, Tensor]
]
"""The signature of `negative_log_likelihood`."""


def negative_log_likelihood(
    output: OutputLayer,
    features: Float[Tensor, "rows feature"],
    targets: Int64[Tensor, " rows"],
    smoothing: float = 0.0,
    real: Bool[Tensor, " rows"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Returns (the loss to differentiate, −Σ log p(y_i) in nats) with p = softmax(W_o t + b)
    (A.2.2).

    The two differ only with label smoothing, whose reference distribution is (1 − ε) on the target
    plus ε/K on every word.

    output: the layer with W_o and b.
    features: the input of W_o, for the target positions of all sentences together.
    targets: ids of y_i.
    smoothing: ε.
    real: mask that is False for padding, which is not counted and gets no gradient; None if there
    is no padding.
    """
    log_p = torch.log_softmax(output.logits(features), -1)
    nll, uniform = -log_p.gather(1, targets.unsqueeze(1)).squeeze(1), -log_p.mean(1)
    if real is not None:
        nll, uniform = nll.masked_fill(~real, 0.0), uniform.masked_fill(~real, 0.0)
    return ((1.0 - smoothing) * nll + smoothing * uniform).sum(), nll.detach().sum()


def cross_entropy(weights: AlignmentRows, known: AlignmentRows) -> RowLosses:
    """Returns −Σ_j a_ij log α_ij of each row. Its minimum, ln k, is reached if α is 1/k at each of
    the k links."""
    return -(known * _log(weights)).sum(-1)


def squared_error(weights: AlignmentRows, known: AlignmentRows) -> RowLosses:
    """Returns Σ_j (a_ij − α_ij)² of each row."""
    return (known - weights).square().sum(-1)


def product(weights: AlignmentRows, known: AlignmentRows) -> RowLosses:
    """Returns −log Σ_j a_ij α_ij of each row. Its minimum, ln k, is reached if all of α is on the k
    links, with any distribution over them."""
    return -_log((known * weights).sum(-1))


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-entropy": cross_entropy,
    "squared": squared_error,
    "product": product,
}


def alignment_loss(
    weights: Alignments, known: Alignments, form: str
) -> tuple[Scalar, Int[Tensor, ""]]:
    """Returns (the loss of a batch, summed over linked rows as the NLL is over words; their
    number).

    weights: α. known: zero in rows without links, which carry no loss. form: a key of LOSSES.
    """
    linked = known.any(-1)
    rows = LOSSES[form](weights, known.to(weights.dtype))
    return rows.masked_fill(~linked, 0.0).sum(), linked.sum()


def smoothed(known: Alignments, lengths: Int[Tensor, " batch"], mass: float) -> Alignments:
    """Returns (1 − ε) a_ij + ε / T_x in rows with links; rows without remain 0.

    lengths: T_x, the source positions with the end of sentence. mass: ε.
    """
    uniform = source_mask(lengths, known.shape[2]) / lengths.unsqueeze(1)
    return known.lerp(uniform.to(known.dtype).unsqueeze(1), mass) * known.any(-1, keepdim=True)


def alignment_weight(settings: KnownAlignmentSettings, update: int) -> float:
    """Returns λ of update 1, 2, …: constant, or on a line from `weight` at the first to
    `final_weight` after the annealing."""
    if not settings.annealing:
        return settings.weight
    share = min(1.0, (update - 1) / settings.annealing)
    return (1.0 - share) * settings.weight + share * settings.final_weight


def rows_to_force(
    known: Alignments, settings: KnownAlignmentSettings, drawn: Float[Tensor, " batch"]
) -> Alignments | None:
    """Returns the rows that replace α in the contexts of this batch: none, all, or the rows of some
    sentences.

    drawn: a number from [0, 1) for each sentence. A sentence uses all of its links or none, so that
    sentences without are computed exactly as in search.
    """
    match settings.forcing:
        case "none":
            return None
        case "known":
            return known
        case "mixed":
            chosen = drawn < settings.forcing_probability
            return known * chosen.to(known.device).view(-1, 1, 1)


def needs_links(settings: KnownAlignmentSettings) -> bool:
    """Tells whether batches must carry their known alignment."""
    return settings.loss != "none" or settings.forcing != "none"


def _log(share: Tensor) -> Tensor:
    """Returns log `share`; where the softmax is 0, the logarithm of the smallest normal number,
    without a gradient."""
    return share.clamp(min=torch.finfo(share.dtype).tiny).log()
