"""The alignment models a, by name; `base.py` has their interface. Only the chosen one is read."""

from rnnsearch.model.alignment.base import Alignment

ALIGNMENTS = {
    "additive": "rnnsearch.model.alignment.additive:AdditiveAlignment",
    "fixed": "rnnsearch.model.alignment.baselines:FixedAlignment",
    "dot": "rnnsearch.model.alignment.baselines:DotAlignment",
    "general": "rnnsearch.model.alignment.baselines:GeneralAlignment",
    "window": "rnnsearch.model.alignment.baselines:WindowAlignment",
    "recurrent": "rnnsearch.model.alignment.recurrent:RecurrentAlignment",
    "recurrent-scalar": "rnnsearch.model.alignment.recurrent:ScalarRecurrentAlignment",
    "coverage": "rnnsearch.model.alignment.coverage:LinguisticCoverageAlignment",
    "coverage-neural": "rnnsearch.model.alignment.coverage:NeuralCoverageAlignment",
}
"""Value of `model.alignment` → module:class."""

__all__ = ["ALIGNMENTS", "Alignment"]
