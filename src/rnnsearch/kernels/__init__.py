"""A faster copy of the network, the loss and the search's choice of the best sums.

Whoever runs a training or a search asks for them; without them, plain PyTorch computes the same,
more slowly and up to rounding. Each names the plain functions that it equals, and is not used once
one of them is edited.
"""

from rnnsearch.kernels.convert import convert
from rnnsearch.kernels.output_loss import edited_equations, edited_functions, fast_loss
from rnnsearch.kernels.topk import fast_best_sums

__all__ = ["convert", "edited_equations", "edited_functions", "fast_best_sums", "fast_loss"]
