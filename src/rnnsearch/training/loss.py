"""The negative log-likelihood of target words, over all words or over a subset V' of them.

The softmax over V' is that of Jean, Cho, Memisevic & Bengio 2015, Sec. 3. With energies E(k) = w_k · t + b_k
the gradient of log p(y) is ∇E(y) − Σ_{k ∈ V} p(k) ∇E(k). The second term is an expectation over all K words.
It is estimated by importance sampling with words from a distribution Q:

    Σ_{k ∈ V'} ω_k ∇E(k) / Σ_{k ∈ V'} ω_k,    ω_k = exp(E(k) − log Q(k))

Q is uniform on the V' of a partition (`text/store/order.py`), so Q(k) cancels. The result is the gradient of
an ordinary softmax over V'. All targets of a partition are in V', so the first term is exact.

If V' is drawn uniformly from the subsets of N words, numerator and denominator, each times K / N, are
unbiased estimates of the sums over all K words. Their ratio is biased, as in the paper, and V' always
contains the targets. The bias falls with N and is 0 for V' = V. Validation and search do not use V'.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from rnnsearch.model.readout import OutputLayer
from rnnsearch.system.kernel_dispatch import plain


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

    The two differ only with label smoothing, whose reference distribution is (1 − ε) on the target plus ε/K
    on every word.

    rows: target positions, of all sentences together. features: what W_o multiplies. weight, bias: W_o and b.
    targets: ids.
    smoothing: ε.
    dtype: type of the three products of a float32 layer.
    real: mask that is False for padding, which is not counted and gets no gradient; None if there is no
    padding.
    """
    log_p = torch.log_softmax(F.linear(features, weight, bias), -1)
    nll, uniform = -log_p.gather(1, targets.unsqueeze(1)).squeeze(1), -log_p.mean(1)
    if real is not None:
        nll, uniform = nll.masked_fill(~real, 0.0), uniform.masked_fill(~real, 0.0)
    return ((1.0 - smoothing) * nll + smoothing * uniform).sum(), nll.detach().sum()


def over_words(
    output: OutputLayer, words: Int[Tensor, " subset"], targets: Int[Tensor, "batch target"]
) -> tuple[Float[Tensor, "subset feature"], Float[Tensor, " subset"], Int[Tensor, "batch target"]]:
    """Returns (rows of W_o, rows of b, targets as positions in `words`) for a loss over V'.

    words: V', ascending. It must include every target; this is not checked. Label smoothing then is ε/|V'| on
    every word of V'.
    """
    return *output.parameters_of_words(words), torch.searchsorted(words, targets.contiguous())
