"""The softmax over a subset V' of the target vocabulary in training (Jean, Cho, Memisevic & Bengio 2015, Sec. 3).

With energies E(k) = w_k · t + b_k the gradient of log p(y) is ∇E(y) − Σ_{k ∈ V} p(k) ∇E(k). The second term is an expectation over all K
words. It is estimated by importance sampling with words from a distribution Q:

    Σ_{k ∈ V'} ω_k ∇E(k) / Σ_{k ∈ V'} ω_k,    ω_k = exp(E(k) − log Q(k))

Q is uniform on the V' of a partition (`text/store/partitions.py`), so that Q(k) cancels. What is left is the gradient of an ordinary
softmax over V'. The words of a partition's targets are all in V': the first term is exact.

In which sense this is unbiased: for V' drawn uniformly among the subsets of N words, numerator and denominator, each multiplied by K / N,
have the sums over all K words as their means. Their ratio has not: as in the paper, the estimate is biased, since V' is finite and holds
the targets. The bias falls with N and is 0 for V' = V. Validation and search know nothing of V'.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rnnsearch.model.readout import OutputLayer


def over_words(
    output: OutputLayer, words: Int[Tensor, " subset"], targets: Int[Tensor, "batch target"]
) -> tuple[Float[Tensor, "subset feature"], Float[Tensor, " subset"], Int[Tensor, "batch target"]]:
    """(rows of W_o, of b, the targets as places in `words`): what the loss takes in place of the whole layer and ids.

    words: V', ascending, with every target; targets are not compared with it here. Label smoothing then means ε/|V'| on every word of V'.
    """
    return *output.parameters_of_words(words), torch.searchsorted(words, targets.contiguous())
