"""RNNsearch: neural machine translation by jointly learning to align and translate (Bahdanau, Cho & Bengio, ICLR 2015)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from rnnsearch.config import Settings, load_config
    from rnnsearch.model.alignment import Alignment
    from rnnsearch.records import Hypothesis, Translation
    from rnnsearch.text.preparing.prepare import prepare
    from rnnsearch.text.store.corpus import Corpus
    from rnnsearch.training.loop import train
    from rnnsearch.translation.translator import Translator
    from rnnsearch.word_links import Link

    __version__: str

_LAZY = {
    "Translator": "rnnsearch.translation.translator",
    "train": "rnnsearch.training.loop",
    "prepare": "rnnsearch.text.preparing.prepare",
    "Corpus": "rnnsearch.text.store.corpus",
    "Alignment": "rnnsearch.model.alignment",
    "Settings": "rnnsearch.config",
    "load_config": "rnnsearch.config",
    "Hypothesis": "rnnsearch.records",
    "Link": "rnnsearch.records",
    "Translation": "rnnsearch.records",
}
"""Names whose modules load torch or other libraries: imported when they are first used."""

__all__ = [
    "Alignment",
    "Corpus",
    "Hypothesis",
    "InputError",
    "Link",
    "Settings",
    "Translation",
    "Translator",
    "load_config",
    "prepare",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from rnnsearch.system.version import package_version

        return package_version()
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
