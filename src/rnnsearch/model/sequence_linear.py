"""The name under which scorers of users' own imported the linear layer before."""

from __future__ import annotations

import warnings

from rnnsearch.model.linear import Linear as SequenceLinear

__all__ = ["SequenceLinear"]

warnings.warn("rnnsearch.model.sequence_linear.SequenceLinear is now rnnsearch.model.linear.Linear", FutureWarning, stacklevel=2)
