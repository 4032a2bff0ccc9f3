"""What all tests share: one thread, fixed seeds, shapes checked wherever arrays and tensors go in and out, and the way to real data."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

# Before torch and matplotlib are imported, and inherited by every command that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "agg"
os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"  # on some CI machines Typer colours its help although nobody watches

if find_spec("jaxtyping") and find_spec("beartype"):
    from jaxtyping import install_import_hook

    # Must precede the first import of these modules: their signatures' shapes are then checked at every call. They are those that name
    # shapes, but for some whose collaborators tests replace by others of the same look (translator, word_aligner, team).
    shaped = {
        "training": ("adadelta", "alignment_loss", "loss", "optimiser", "trainer"),
        "translation": ("beam", "ensemble", "forced", "joint", "lexical_shortlist", "network_step", "posterior", "sampling"),
        "text": ("lexicon", "selecting.keys", "selecting.ngrams"),
        "text.store": ("batches", "blocks", "corpus", "order"),
    }
    modules = [f"rnnsearch.{package}.{name}" for package, names in shaped.items() for name in names]
    install_import_hook(["rnnsearch.model", *modules], "beartype.beartype")

import numpy as np
import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)

# A slow machine is no failure; CI draws the same examples every time, a person's machine new ones.
settings.register_profile("rnnsearch", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("rnnsearch")


@pytest.fixture(autouse=True)
def _seeds() -> None:
    """No test depends on which tests ran before it."""
    torch.manual_seed(1)
    np.random.seed(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora: $RNNSEARCH_DATA, else ../shared/data beside the repository; the test is skipped without it."""
    named = os.environ.get("RNNSEARCH_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs real corpora, and {folder} is no folder (name one in RNNSEARCH_DATA)")
    return folder


TINY = [
    *("model.embedding_size=16", "model.hidden_size=16", "model.alignment_size=16", "model.maxout_size=16", "model.initialisation=glorot"),
    *("training.optimiser=adam", "training.learning_rate=0.02", "training.batch_size=20", "training.max_length=70"),
    *("training.max_updates=20", "training.validate_every=20", "training.validate_bleu=false", "training.select_by=nll"),
    *("training.samples=0", "training.threads=1", "search.beam=4"),
    *("search.min_length_ratio=0.5", "search.max_length_ratio=1.2"),
]
"""Settings of a run of a second: it has hardly learned to write, but everything about it is real."""


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train, dev and test of the built-in corpus, each as .en, .fr and .links: 300, 20 and 20 pairs."""
    from rnnsearch.builtin.generate import write

    folder = tmp_path_factory.mktemp("tiny") / "corpus"
    write(folder, 300, 20)
    return folder


@pytest.fixture(scope="session")
def tiny_store(tiny_corpus: Path) -> Path:
    """`tiny_corpus`, prepared."""
    return _prepared(tiny_corpus, "store")


@pytest.fixture(scope="session")
def tiny_run(tiny_store: Path) -> Path:
    """A small RNNsearch that was trained on `tiny_store` for a moment. Copy it before changing anything in it."""
    return _trained(tiny_store, "run")


@pytest.fixture(scope="session")
def other_tiny_run(tiny_store: Path) -> Path:
    """As `tiny_run`, from another seed."""
    return _trained(tiny_store, "other", "training.seed=2")


@pytest.fixture(scope="session")
def tiny_backward_run(tiny_store: Path) -> Path:
    """As `tiny_run`, with a decoder that reads from right to left."""
    return _trained(tiny_store, "backward-run", "model.decoder=backward")


@pytest.fixture(scope="session")
def tiny_bidirectional_run(tiny_store: Path) -> Path:
    """As `tiny_run`, with a decoder for each direction."""
    return _trained(tiny_store, "bidirectional-run", "model.decoder=bidirectional")


@pytest.fixture(scope="session")
def tiny_subword_run(tiny_corpus: Path) -> Path:
    """As `tiny_run`, on pieces of words; source and target vocabulary differ from those of the other runs."""
    return _trained(_prepared(tiny_corpus, "pieces", "data.subwords=bpe", "data.shortlist=80"), "pieces-run", "training.max_updates=5")


@pytest.fixture(scope="session")
def tiny_unknown_run(tiny_corpus: Path) -> Path:
    """As `tiny_run`, with so short a shortlist that most words are unknown."""
    return _trained(_prepared(tiny_corpus, "short", "data.shortlist=30"), "short-run", "training.max_updates=10")


@pytest.fixture(scope="session")
def tiny_reverse_run(tiny_corpus: Path) -> Path:
    """As `tiny_run`, of the other direction: French to English."""
    turned = tiny_corpus.parent / "turned"
    turned.mkdir()
    for name in ("train", "dev"):
        for old, new in (("en", "fr"), ("fr", "en")):
            (turned / f"{name}.{new}").symlink_to(tiny_corpus / f"{name}.{old}")
    store = _prepared(turned, "reverse-store", "data.source_language=fr", "data.target_language=en")
    return _trained(store, "reverse-run", "training.max_updates=10")


def _prepared(corpus: Path, name: str, *changes: str) -> Path:
    from rnnsearch.config import load_config
    from rnnsearch.text.preparing.prepare import prepare

    store = corpus.parent / name
    settings = load_config(overrides=changes).data
    prepare(corpus / "train.en", corpus / "train.fr", store, dev=(corpus / "dev.en", corpus / "dev.fr"), settings=settings)
    return store


def _trained(store: Path, name: str, *changes: str) -> Path:
    from rnnsearch.config import load_config
    from rnnsearch.text.store.corpus import Corpus
    from rnnsearch.training.display import Display
    from rnnsearch.training.loop import train

    run = store.parent / name
    train(load_config(overrides=[*TINY, *changes]), Corpus.open(store), run, display=Display(0, quiet=True))
    return run


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Of the standard output."""
        assert self.out == "" or self.out.endswith("\n")
        return self.out.split("\n")[:-1]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """The command `rnnsearch` in this process: command("translate", run, file, stdin=b"...") → Outcome."""
    from rnnsearch.cli import main

    def call(*words: object, stdin: bytes = b"") -> Outcome:
        streams = {name: io.TextIOWrapper(io.BytesIO(content)) for name, content in (("stdin", stdin), ("stdout", b""), ("stderr", b""))}
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["rnnsearch", *map(str, words)])
            patch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)  # one thread, as everywhere here
            patch.setenv("RNNSEARCH_DEBUG", "")  # --debug sets it, and must not outlive its command
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as leaving:
                main()
        for name in ("stdout", "stderr"):
            streams[name].flush()
        written = {name: stream.buffer.getvalue().decode("utf-8") for name, stream in streams.items()}
        return Outcome(int(leaving.value.code or 0), written["stdout"], written["stderr"])

    return call
