"""The negative log-likelihood of target words, over all words or over a subset V' of them.

The softmax over V' is that of Jean, Cho, Memisevic & Bengio 2015, Sec. 3. With energies E(k) = w_k · t + b_k
the gradient of log p(y) is ∇E(y) − Σ_{k ∈ V} p(k) ∇E(k). The second term is an expectation over all K words.
It is estimated by importance sampling with words from a distribution Q:

    Σ_{k ∈ V'} ω_k ∇E(k) / Σ_{k ∈ V'} ω_k,    ω_k = exp(E(k) − log Q(k))

Q is uniform on the V' of a partition (`text/store/order.py`), so that Q(k) cancels. What is left is the
gradient of an ordinary softmax over V'. The words of a partition's targets are all in V': the first term is
exact.

For V' drawn uniformly among the subsets of N words, numerator and denominator, each multiplied by K / N,
have the sums over all K words as their means. Their ratio has not: as in the paper, the estimate is biased,
since V' is finite and holds the targets. The bias falls with N and is 0 for V' = V. Validation and search
know nothing of V'.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from rnnsearch.model.readout import OutputLayer
from rnnsearch.system.twins import plain


@plain
def negative_log_likelihood(
    features: Float[Tensor, "rows feature"],
    weight: Float[Tensor, "words feature"],
    bias: Float[Tensor, " words"],
    targets: Int64[Tensor, " rows"],
    smoothing: float = 0.0,
    dtype: torch.dtype = torch.float32,
    real: Bool[Tensor, " rows"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Returns (the loss to differentiate, −Σ log p(y_i) in nats) with p = softmax(W_o t + b) (A.2.2).

    The two are equal without label smoothing, which takes (1 − ε) on the target and ε/K on every word as the
    reference distribution.

    rows: target positions, of all sentences together. features: what W_o multiplies. weight, bias: W_o and b.
    targets: ids.
    smoothing: ε.
    dtype: wanted for the three products of a float32 layer.
    real: False for padding, which is not counted and gets no gradient; None where all rows are real.
    """
    log_p = torch.log_softmax(F.linear(features, weight, bias), -1)
    nll, uniform = -log_p.gather(1, targets.unsqueeze(1)).squeeze(1), -log_p.mean(1)
    if real is not None:
        nll, uniform = nll.masked_fill(~real, 0.0), uniform.masked_fill(~real, 0.0)
    return ((1.0 - smoothing) * nll + smoothing * uniform).sum(), nll.detach().sum()


def over_words(
    output: OutputLayer, words: Int[Tensor, " subset"], targets: Int[Tensor, "batch target"]
) -> tuple[Float[Tensor, "subset feature"], Float[Tensor, " subset"], Int[Tensor, "batch target"]]:
    """Returns (rows of W_o, of b, the targets as places in `words`) for a loss over V'.

    words: V', ascending, with every target, which is not checked here. Label smoothing then means ε/|V'| on
    every word of V'.
    """
    return *output.parameters_of_words(words), torch.searchsorted(words, targets.contiguous())
