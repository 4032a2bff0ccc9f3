"""RNNsearch: neural machine translation by jointly learning to align and translate (Bahdanau, Cho &
Bengio, ICLR 2015).

The public interface is the names of `__all__`, and those of `rnnsearch.extending` for parts of your
own. All other names may change without notice. The documentation's page on stability says what is
kept, and for how long.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from rnnsearch.builtin.corpus import GeneratedPair, generate
    from rnnsearch.config import load_config, recipe_names
    from rnnsearch.evaluation.alignment_error import (
        AlignmentScore,
        alignment_error,
        read_gold,
        read_pharaoh,
    )
    from rnnsearch.evaluation.bleu import bleu, chrf
    from rnnsearch.evaluation.statistics import Score
    from rnnsearch.records import Choice, Translation
    from rnnsearch.run import Run
    from rnnsearch.search.beam import Hypothesis
    from rnnsearch.settings import (
        DataSettings,
        DropoutSettings,
        KnownAlignmentSettings,
        ModelSettings,
        OptimiserSettings,
        SearchSettings,
        Settings,
        StoppingSettings,
        TrainingSettings,
        TranslationSettings,
    )
    from rnnsearch.text.dataset import Corpus
    from rnnsearch.text.links import symmetrise
    from rnnsearch.text.preparation import PrepareOptions, prepare
    from rnnsearch.text.preparation_report import PreparationReport
    from rnnsearch.training.loop import TrainingInterrupted, train
    from rnnsearch.translation.aligner import AlignedPair, Aligner
    from rnnsearch.translation.translator import Translator
    from rnnsearch.word_links import GoldLinks, Link

    __version__: str

_LAZY = {
    "rnnsearch.translation.aligner": "Aligner AlignedPair",
    "rnnsearch.translation.translator": "Translator",
    "rnnsearch.records": "Choice Translation",
    "rnnsearch.search.beam": "Hypothesis",
    "rnnsearch.text.preparation": "PrepareOptions prepare",
    "rnnsearch.text.preparation_report": "PreparationReport",
    "rnnsearch.text.dataset": "Corpus",
    "rnnsearch.training.loop": "train TrainingInterrupted",
    "rnnsearch.run": "Run",
    "rnnsearch.config": "load_config recipe_names",
    "rnnsearch.settings": "Settings DataSettings ModelSettings TrainingSettings OptimiserSettings "
    "DropoutSettings KnownAlignmentSettings StoppingSettings SearchSettings TranslationSettings",
    "rnnsearch.evaluation.bleu": "bleu chrf",
    "rnnsearch.evaluation.statistics": "Score",
    "rnnsearch.evaluation.alignment_error": "alignment_error AlignmentScore read_gold read_pharaoh",
    "rnnsearch.text.links": "symmetrise",
    "rnnsearch.word_links": "Link GoldLinks",
    "rnnsearch.builtin.corpus": "generate GeneratedPair",
}
"""Modules that load torch or other libraries → their public names, imported when they are first
used."""

__all__ = [
    "AlignedPair",
    "Aligner",
    "AlignmentScore",
    "Choice",
    "Corpus",
    "DataSettings",
    "DropoutSettings",
    "GeneratedPair",
    "GoldLinks",
    "Hypothesis",
    "InputError",
    "KnownAlignmentSettings",
    "Link",
    "ModelSettings",
    "OptimiserSettings",
    "PreparationReport",
    "PrepareOptions",
    "Run",
    "Score",
    "SearchSettings",
    "Settings",
    "StoppingSettings",
    "TrainingInterrupted",
    "TrainingSettings",
    "Translation",
    "TranslationSettings",
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
    for module, names in _LAZY.items():
        if name in names.split():
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Lists also the names that are not imported yet, for completion."""
    return sorted({*globals(), *__all__, "__version__"})
