"""RNNsearch: neural machine translation by jointly learning to align and translate (Bahdanau, Cho & Bengio,
ICLR 2015).

The public interface is the names of `__all__`, and those of `rnnsearch.extending` for parts of your own. All
other names may change without notice. The documentation's page on stability says what is kept, and for how
long.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from rnnsearch.builtin.corpus import GeneratedPair, generate
    from rnnsearch.config import (
        DataSettings,
        ModelSettings,
        SearchSettings,
        Settings,
        TrainingSettings,
        load_config,
        recipe_names,
    )
    from rnnsearch.evaluation.alignment_error import AlignmentScore, alignment_error, read_gold, read_pharaoh
    from rnnsearch.evaluation.bleu import bleu, chrf
    from rnnsearch.evaluation.statistics import Score
    from rnnsearch.records import Hypothesis, Translation
    from rnnsearch.run import Run
    from rnnsearch.text.links import symmetrise
    from rnnsearch.text.preparing.preparation_report import PreparationReport
    from rnnsearch.text.preparing.prepare import prepare
    from rnnsearch.text.store.corpus import Corpus
    from rnnsearch.training.loop import TrainingInterrupted, train
    from rnnsearch.translation.aligner import AlignedPair, Aligner
    from rnnsearch.translation.translator import Translator
    from rnnsearch.word_links import GoldLinks, Link

    __version__: str

_LAZY = {
    "Aligner": "rnnsearch.translation.aligner",
    "AlignedPair": "rnnsearch.translation.aligner",
    "Translator": "rnnsearch.translation.translator",
    "Translation": "rnnsearch.records",
    "Hypothesis": "rnnsearch.records",
    "prepare": "rnnsearch.text.preparing.prepare",
    "PreparationReport": "rnnsearch.text.preparing.preparation_report",
    "Corpus": "rnnsearch.text.store.corpus",
    "train": "rnnsearch.training.loop",
    "TrainingInterrupted": "rnnsearch.training.loop",
    "Run": "rnnsearch.run",
    "load_config": "rnnsearch.config",
    "recipe_names": "rnnsearch.config",
    "Settings": "rnnsearch.config",
    "DataSettings": "rnnsearch.config",
    "ModelSettings": "rnnsearch.config",
    "TrainingSettings": "rnnsearch.config",
    "SearchSettings": "rnnsearch.config",
    "bleu": "rnnsearch.evaluation.bleu",
    "chrf": "rnnsearch.evaluation.bleu",
    "Score": "rnnsearch.evaluation.statistics",
    "alignment_error": "rnnsearch.evaluation.alignment_error",
    "AlignmentScore": "rnnsearch.evaluation.alignment_error",
    "read_gold": "rnnsearch.evaluation.alignment_error",
    "read_pharaoh": "rnnsearch.evaluation.alignment_error",
    "symmetrise": "rnnsearch.text.links",
    "Link": "rnnsearch.word_links",
    "GoldLinks": "rnnsearch.word_links",
    "generate": "rnnsearch.builtin.corpus",
    "GeneratedPair": "rnnsearch.builtin.corpus",
}
"""Names whose modules load torch or other libraries: imported when they are first used."""

__all__ = [
    "AlignedPair",
    "Aligner",
    "AlignmentScore",
    "Corpus",
    "DataSettings",
    "GeneratedPair",
    "GoldLinks",
    "Hypothesis",
    "InputError",
    "Link",
    "ModelSettings",
    "PreparationReport",
    "Run",
    "Score",
    "SearchSettings",
    "Settings",
    "TrainingInterrupted",
    "TrainingSettings",
    "Translation",
    "Translator",
    "alignment_error",
    "bleu",
    "chrf",
    "generate",
    "load_config",
    "prepare",
    "read_gold",
    "read_pharaoh",
    "recipe_names",
    "symmetrise",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from rnnsearch.installed import package_version

        return package_version()
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    """Lists also the names that are not imported yet, for completion."""
    return sorted({*globals(), *__all__, "__version__"})
