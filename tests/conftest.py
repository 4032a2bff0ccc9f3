"""What all tests share: one thread, fixed seeds, shapes checked wherever arrays and tensors go in and out,
and the way to real data."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Before torch and matplotlib are imported, and inherited by every command that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "agg"
os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = (
    "1"  # on some CI machines Typer colours its help although nobody watches
)

if find_spec("beartype"):
    from jaxtyping import install_import_hook

    # Must precede the first import of these modules: their signatures' shapes are then checked. They are
    # those that name shapes, but for some whose collaborators tests replace by others of the same look
    # (translator, aligner).
    shaped = {
        "training": ("loss", "optimiser", "trainer"),
        "translation": ("forced", "posterior"),
        "search": ("beam", "prefix", "step", "two_directions"),
        "text": ("batches", "dataset"),
        "lab": ("ngrams",),
    }
    modules = [f"rnnsearch.{package}.{name}" for package, names in shaped.items() for name in names]
    install_import_hook(
        ["rnnsearch.batch", "rnnsearch.model", "rnnsearch.kernels", *modules], "shape_checks.check"
    )

import numpy as np
import pytest
import torch
from browser import Page, browser
from hypothesis import settings

torch.set_num_threads(1)

# A slow machine is no failure; CI draws the same examples every time, a person's machine new ones.
settings.register_profile("rnnsearch", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("rnnsearch")


@pytest.fixture(autouse=True)
def _fresh_start() -> None:
    """No test depends on which tests ran before it."""
    if shape_checks := sys.modules.get("shape_checks"):
        shape_checks.start()
    torch.manual_seed(1)
    np.random.seed(1)


@pytest.fixture(autouse=True)
def _one_at_a_time(request: pytest.FixtureRequest, shared: Path) -> Iterator[None]:
    """Tests that start or end processes do not delay each other."""
    with (shared / "processes.lock").open("w") as lock:
        if request.node.get_closest_marker("processes"):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora: $RNNSEARCH_DATA, else ../shared/data beside the repository; the test is
    skipped without it."""
    named = os.environ.get("RNNSEARCH_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs real corpora, and {folder} is no folder (name one in RNNSEARCH_DATA)")
    return folder


TINY = """
model.embedding_size=16 model.hidden_size=16 model.alignment_size=16 model.maxout_size=16
model.initialisation=glorot optimiser.method=adam optimiser.learning_rate=0.02
training.batch_size=20 training.max_length=70 stopping.max_updates=20 stopping.validate_every=20
stopping.validate_bleu=false stopping.select_by=nll stopping.samples=0 training.threads=1
search.beam=4 search.min_length_ratio=0.5 search.max_length_ratio=1.2
"""
"""Settings of a run of a second: it has hardly learned to write, but everything about it is real."""


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all processes that share the tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def made_once(shared: Path) -> Callable[[str, Callable[[Path], None]], Path]:
    """made_once(name, make): the path `name`, which `make(path)` made; the processes that share the tests
    make it once between them."""

    def get(name: str, make: Callable[[Path], None]) -> Path:
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = shared / f"{name}.done"
            if not done.exists():
                make(shared / name)
                done.touch()
        return shared / name

    return get


MadeOnce = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def engine_folder(made_once: MadeOnce) -> Path:
    """A folder with the modules of the page's engine, in `engine/`."""
    from rnnsearch.serve.page import page_files

    def make(folder: Path) -> None:
        (folder / "engine").mkdir(parents=True)
        # Node takes .js files for modules
        (folder / "package.json").write_text('{"type": "module"}')
        for name, content in page_files().items():
            if name.startswith("engine/"):
                (folder / name).write_bytes(content)

    return made_once("page", make)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def tab(chromium: Page) -> Page:
    """The one browser of a file, wide, light, and without a page and messages of the test before."""
    chromium.screen(1280)
    chromium.open("about:blank")
    chromium.messages.clear()
    return chromium


@pytest.fixture(scope="session")
def tiny_corpus(made_once: MadeOnce) -> Path:
    """A folder with train, dev and test of the built-in corpus, each as .en, .fr and .links: 300, 20 and 20
    pairs."""
    from rnnsearch.builtin.corpus import write

    return made_once("corpus", lambda folder: write(folder, 300, 20))


@pytest.fixture(scope="session")
def tiny_store(made_once: MadeOnce, tiny_corpus: Path) -> Path:
    """`tiny_corpus`, prepared."""
    return _prepared(made_once, "store", tiny_corpus)


@pytest.fixture(scope="session")
def tiny_run(made_once: MadeOnce, tiny_store: Path) -> Path:
    """A small RNNsearch that was trained on `tiny_store` for a moment. Copy it before changing anything in
    it."""
    return _trained(made_once, "run", tiny_store)


@pytest.fixture(scope="session")
def other_tiny_run(made_once: MadeOnce, tiny_store: Path) -> Path:
    """As `tiny_run`, from another seed."""
    return _trained(made_once, "other", tiny_store, "training.seed=2")


@pytest.fixture(scope="session")
def tiny_backward_run(made_once: MadeOnce, tiny_store: Path) -> Path:
    """As `tiny_run`, with a decoder that reads from right to left."""
    return _trained(made_once, "backward-run", tiny_store, "model.decoder=backward")


@pytest.fixture(scope="session")
def tiny_bidirectional_run(made_once: MadeOnce, tiny_store: Path) -> Path:
    """As `tiny_run`, with a decoder for each direction."""
    return _trained(made_once, "bidirectional-run", tiny_store, "model.decoder=bidirectional")


@pytest.fixture(scope="session")
def tiny_subword_run(made_once: MadeOnce, tiny_corpus: Path) -> Path:
    """As `tiny_run`, on subwords; source and target vocabulary differ from those of the other runs."""
    store = _prepared(
        made_once, "subword-store", tiny_corpus, "data.subwords=bpe", "data.vocabulary_size=80"
    )
    return _trained(made_once, "subword-run", store, "stopping.max_updates=5")


@pytest.fixture(scope="session")
def tiny_unknown_run(made_once: MadeOnce, tiny_corpus: Path) -> Path:
    """As `tiny_run`, with so short a shortlist that most words are unknown."""
    store = _prepared(made_once, "short-store", tiny_corpus, "data.vocabulary_size=30")
    return _trained(made_once, "short-run", store, "stopping.max_updates=10")


@pytest.fixture(scope="session")
def tiny_reverse_run(made_once: MadeOnce, tiny_corpus: Path) -> Path:
    """As `tiny_run`, of the other direction: French to English."""
    turned = "data.source_language=fr", "data.target_language=en"
    store = _prepared(made_once, "reverse-store", tiny_corpus, *turned)
    return _trained(made_once, "reverse-run", store, "stopping.max_updates=10")


def _prepared(made_once: MadeOnce, name: str, corpus: Path, *changes: str) -> Path:
    from rnnsearch.config import load_config
    from rnnsearch.text.preparation import prepare

    settings = load_config(overrides=changes).data
    languages = settings.source_language, settings.target_language
    files, dev = ([corpus / f"{name}.{code}" for code in languages] for name in ("train", "dev"))
    return made_once(
        name, lambda store: prepare(*files, store, dev=dev, settings=settings) and None
    )


def _trained(made_once: MadeOnce, name: str, store: Path, *changes: str) -> Path:
    from rnnsearch.config import load_config
    from rnnsearch.text.dataset import Corpus
    from rnnsearch.training.display import Display
    from rnnsearch.training.loop import train

    settings = load_config(overrides=[*TINY.split(), *changes])
    return made_once(
        name,
        lambda run: train(settings, Corpus.open(store), run, display=Display(quiet=True)) and None,
    )


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
    """The command `rnnsearch` in this process: command("translate run --beam 2", file, stdin=b"...") →
    Outcome.

    Its first words stand in one string, with spaces between them; whatever follows is a word each.
    """
    from rnnsearch.cli import main

    def call(line: object = "", *words: object, stdin: bytes = b"") -> Outcome:
        streams = {
            name: io.TextIOWrapper(io.BytesIO(content))
            for name, content in (("stdin", stdin), ("stdout", b""), ("stderr", b""))
        }
        with monkeypatch.context() as patch:
            patch.setattr(
                sys,
                "argv",
                ["rnnsearch", *str(line).split(" "), *map(str, words)] if line else ["rnnsearch"],
            )
            # One thread, as everywhere here.
            patch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
            # they must not outlive their command
            for option in ("RNNSEARCH_DEBUG", "RNNSEARCH_QUIET"):
                patch.setenv(option, "")
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as leaving:
                main()
        for name in ("stdout", "stderr"):
            streams[name].flush()
        written = {
            name: stream.buffer.getvalue().decode("utf-8") for name, stream in streams.items()
        }
        return Outcome(int(leaving.value.code or 0), written["stdout"], written["stderr"])

    return call


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """interrupted(n): lets a training get Ctrl-C, or another signal, during its update n, once. What is
    returned fills with the numbers of the updates that are made."""
    from rnnsearch.training.loop import Session

    update = Session.update

    def arrange(at: int, number: int = signal.SIGINT) -> list[int]:
        made: list[int] = []

        def interrupting(session: Session, *arguments: Any) -> None:
            update(session, *arguments)
            made.append(session.progress.update)
            if session.progress.update == at and made.count(at) == 1:
                os.kill(os.getpid(), number)

        monkeypatch.setattr(Session, "update", interrupting)
        return made

    return arrange
