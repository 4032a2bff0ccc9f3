"""The alignment models a, by name; `base.py` has their interface."""

from __future__ import annotations

from rnnsearch.model.alignment.additive import AdditiveAlignment
from rnnsearch.model.alignment.base import Alignment
from rnnsearch.model.alignment.baselines import (
    DotAlignment,
    FixedAlignment,
    GeneralAlignment,
    WindowAlignment,
)
from rnnsearch.model.alignment.coverage import LinguisticCoverageAlignment, NeuralCoverageAlignment
from rnnsearch.model.alignment.recurrent import RecurrentAlignment, ScalarRecurrentAlignment

ALIGNMENTS: dict[str, type[Alignment]] = {
    "additive": AdditiveAlignment,
    "fixed": FixedAlignment,
    "dot": DotAlignment,
    "general": GeneralAlignment,
    "window": WindowAlignment,
    "recurrent": RecurrentAlignment,
    "recurrent-scalar": ScalarRecurrentAlignment,
    "coverage": LinguisticCoverageAlignment,
    "coverage-neural": NeuralCoverageAlignment,
}

__all__ = ["ALIGNMENTS", "Alignment"]
