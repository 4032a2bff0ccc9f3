"""Trained models as systems under comparison: their translations of a test set, and how probable they find the references."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import changed
from rnnsearch.evaluation.likelihood import Likelihood
from rnnsearch.evaluation.systems import System
from rnnsearch.evaluation.unknown import without_unknown
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.translator import Translator

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Models:
    """Some models on one test set. systems: one a model. known: which pairs have no word that is unknown to any of them.

    without_unk: model → its translations of those pairs when it may not write UNK. search: model → settings of its search.
    """

    systems: list[System]
    known: NDArray[np.bool_]
    without_unk: dict[str, list[str]]
    search: dict[str, dict[str, Any]]


def measure_models(
    models: Sequence[tuple[Path, Translator]],
    written: Sequence[Sequence[str] | None],
    source: Sequence[str],
    references: Sequence[str],
    progress: Progress,
    **search: Any,
) -> Models:
    """All that a model adds to the comparison of its translations: Table 1's second column, and the likelihood of the references.

    written: the translations of each model that exist already; the others are made here. search: settings changed from each run's own.
    Raises InputError as `Translator.stream` does.
    """
    names = [path.resolve().name for path, _ in models]
    names = names if len(set(names)) == len(names) else [str(path) for path, _ in models]
    pairs = list(zip(source, references, strict=True))
    known = without_unknown(pairs, [(knows(translator.source), knows(translator.target)) for _, translator in models])
    easy = [line for line, inside in zip(source, known, strict=True) if inside]
    systems, without_unk, settings = [], {}, {}
    for name, (path, translator), lines in zip(names, models, written, strict=True):
        found = likelihood(translator, pairs, f"{name}: likelihood", progress)
        lines = lines if lines is not None else translations(translator, source, f"{name}: translating", progress, **search)
        systems.append(System(name, list(lines), path, found))
        without_unk[name] = translations(translator, easy, f"{name}: without UNK", progress, **search | {"no_unk": True})
        settings[name] = changed(translator.search, search).model_dump()
    return Models(systems, known, without_unk, settings)


def translations(translator: Translator, lines: Sequence[str], doing: str, progress: Progress, **search: Any) -> list[str]:
    """As text, one per line. doing: for the progress. search: settings that differ from the run's, for example no_unk=True (Table 1)."""
    results = translator.stream(lines, **search)
    return [result.text for result in _counted(results, doing, len(lines), progress)]


def likelihood(translator: Translator, pairs: Sequence[tuple[str, str]], doing: str, progress: Progress) -> Likelihood:
    """Of the references: pairs are (source, reference)."""
    return Likelihood.of(_counted(translator.force(pairs), doing, len(pairs), progress))


def knows(codec: Codec) -> Callable[[str], bool]:
    """Whether all words of a line are in the shortlist of this side; with subwords, whether all their subwords are."""
    return lambda line: UNK not in codec.encode(line).ids


def _counted(items: Iterable[Item], doing: str, total: int, progress: Progress) -> Iterator[Item]:
    for done, item in enumerate(items, 1):
        progress(doing, done, total)
        yield item
