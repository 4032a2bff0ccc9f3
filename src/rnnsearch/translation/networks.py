"""The networks of a translator, in every precision that it computes in."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from rnnsearch.errors import InputWarning
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.run import Run
from rnnsearch.search.beam import BestSums, best_sums
from rnnsearch.system.machine import used_precision


def warn_of_edits(run: Run) -> None:
    """Issues an InputWarning if a run was trained with other equations than those that compute
    now."""
    from rnnsearch.kernels import edited_functions  # a search in plain PyTorch does without

    then, now = run.edited, edited_functions()
    for names, text in (
        (then - now, "was trained with edits of {}, which the equations here do not have"),
        (now - then, "was trained without the present edit of {}, which computes now"),
    ):
        if names:
            warning = f"{run.path}: {text.format(', '.join(sorted(names)))}"
            warnings.warn(warning, InputWarning, stacklevel=3)


class Networks:
    """One network, or several of the same vocabularies. Their weights must not change: they are
    converted once to every precision that is asked for."""

    def __init__(self, plain: list[TranslationNetwork]) -> None:
        self.plain = plain
        self._converted: dict[str, list[TranslationNetwork]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns the attributes to pickle, without converted networks, which are made again."""
        return self.__dict__ | {"_converted": {}}

    @property
    def device(self) -> torch.device:
        """Returns the device of the weights."""
        return self.plain[0].output.weight.device

    @property
    def annotation_size(self) -> int:
        """Returns the largest size of an annotation."""
        return max(network.encoder.annotation_size for network in self.plain)

    def converted(self, precision: str, kernels: bool) -> list[TranslationNetwork]:
        """Returns the networks, with `kernels` converted to this precision, as in the settings."""
        if not kernels:
            return self.plain
        precision = used_precision(precision, self.device)
        if precision not in self._converted:
            from rnnsearch.kernels import convert  # plain PyTorch does without

            made = [convert(network, getattr(torch, precision)) for network in self.plain]
            return self._converted.setdefault(precision, made)
        return self._converted[precision]


def sums_of(kernels: bool) -> BestSums:
    """Returns the search's choice of the best sums, with `kernels` the faster one."""
    if not kernels:
        return best_sums
    from rnnsearch.kernels import fast_best_sums  # plain PyTorch does without

    return fast_best_sums
