"""Trainings that several files of these tests begin, end and compare."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from started_commands import TWO, start, torchrun, train_words

from rnnsearch.builtin.corpus import write
from rnnsearch.settings import DataSettings
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.preparation import PrepareOptions, prepare


@pytest.fixture(scope="session")
def whole_run(tiny_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two ranks, undisturbed."""
    folder = tmp_path_factory.mktemp("whole")
    words = train_words(tiny_store, folder / "run")
    assert start(words, folder / "said", torchrun(*TWO)).wait(600) == 0
    return folder / "run"


@pytest.fixture(scope="session")
def linked(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Corpus:
    """60 pairs of the built-in corpus with word links, and 12 for development."""

    def make(folder: Path) -> None:
        write(folder, 60, 12)
        texts = (folder / "train.en", folder / "train.fr")
        dev = (folder / "dev.en", folder / "dev.fr")
        options = PrepareOptions(links=[folder / "train.links"])
        prepare(*texts, folder / "store", dev=dev, settings=DataSettings(), options=options)

    return Corpus.open(made_once("linked", make) / "store")
