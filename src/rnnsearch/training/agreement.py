"""Ranks that would learn different things are refused before the first update."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rnnsearch.config import Settings
from rnnsearch.errors import InputError
from rnnsearch.system.checksums import file_checksum
from rnnsearch.system.version import package_version
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.store.store import CHECKSUMS
from rnnsearch.training.ranks import Ranks

OWN = {"training.threads", "training.processes"}
"""Settings that every machine may have its own way."""


def check_agreement(ranks: Ranks, settings: Settings, corpus: Corpus) -> None:
    """Raises InputError, in every rank, if versions, settings or prepared datasets differ."""
    every: list[dict[str, Any]] = ranks.said("agreement", _facts(settings, corpus))
    first = every[0]
    for rank, facts in enumerate(every):
        for name, value in first.items():
            if facts.get(name) != value:
                what = f"{name} is {facts.get(name)} in {ranks.name(rank)}, and {value} in {ranks.name(0)}"
                raise InputError(what, remedy="start all ranks with the same versions, settings and prepared dataset")


def _facts(settings: Settings, corpus: Corpus) -> dict[str, Any]:
    """What must be the same, in words for a person."""
    # Minor versions of Python and numpy do not change the order of pairs.
    facts: dict[str, Any] = {"the version of rnnsearch": package_version(), "the version of torch": torch.__version__.partition("+")[0]}
    facts["the version of numpy"] = np.__version__.partition(".")[0]
    facts["the checksum of the prepared dataset"] = file_checksum(corpus.path / CHECKSUMS)[:16]
    sections = settings.model_copy(update={"data": corpus.settings}).model_dump(mode="json")
    for section, values in sections.items():
        facts |= {f"{section}.{key}": value for key, value in values.items() if f"{section}.{key}" not in OWN}
    return facts
