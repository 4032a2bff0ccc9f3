"""`rnnsearch demo`: a small RNNsearch on the built-in corpus. A work folder keeps finished steps;
the same command continues with the missing ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.builtin.corpus import write
from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import AlignmentScore, alignment_error, read_gold
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.evaluation.statistics import Score
from rnnsearch.records import Translation
from rnnsearch.system.files import PARTIAL, only_one, read_json, reading, remove_path, write_text
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.preparation import PrepareOptions, prepare
from rnnsearch.training.loop import train
from rnnsearch.translation.translator import Translator

TRAIN_PAIRS, HELD_OUT_PAIRS = 12_000, 500
"""Number of pairs of the demo, in training, and each in development and test."""
DEMO_SENTENCE = "The European Economic Area does not protect the man."


CORPUS_PARTS = ("train", "dev", "test")


MakeOnce = Callable[[str, Callable[[Path], object]], Path]
"""(name, function that writes to a path) → the path of a finished step in a work folder."""


class Demo(NamedTuple):
    """The results of a demo. shown: the translation of DEMO_SENTENCE. picture: file of its
    alignment."""

    bleu: Score
    alignment: AlignmentScore
    shown: Translation
    picture: Path


def run_demo(folder: Path, overrides: Sequence[str] = ()) -> Demo:
    """Writes the built-in corpus, prepared dataset, run and picture into `folder`, or continues;
    measures on held-out pairs. overrides: settings, `section.key=value`. Raises as `try_corpus`."""
    settings, picture = load_config("demo", overrides), folder / "alignment.png"
    with work_folder(folder, "demo", settings.model_dump_json()) as step:
        corpus = step("corpus", lambda out: write(out, TRAIN_PAIRS, HELD_OUT_PAIRS))
        learned, dev, test = (
            (corpus / f"{part}.en", corpus / f"{part}.fr") for part in CORPUS_PARTS
        )
        options = PrepareOptions(links=[corpus / "train.links"])
        store = step(
            "store",
            lambda out: prepare(*learned, out, dev=dev, settings=settings.data, options=options),
        )
        run = train(settings, Corpus.open(store), folder / "run", resume=True).path
        translator, pairs = Translator.load(run), list(read_pairs(*test))
        sources, references = zip(*pairs, strict=True)
        score = bleu([result.text for result in translator.translate(sources)], references)
        forced = [result.links() for result in translator.force(pairs)]
        (shown,) = translator.translate([DEMO_SENTENCE])
        shown.plot(picture)
    return Demo(score, alignment_error(forced, read_gold(corpus / "test.links")), shown, picture)


@contextmanager
def work_folder(folder: Path, doing: str, key: str) -> Iterator[MakeOnce]:
    """Yields a function that returns the path of a step in the folder, and first makes it if it is
    not there. A step is a file or folder, whole or not there.

    key: identifies the input and the settings. Raises InputError if the folder has steps of another
    key or other files, and if another process works in it.
    """
    about = folder / f"{doing}.json"

    def step(name: str, make: Callable[[Path], object]) -> Path:
        path, partial = folder / name, folder / f".{name}{PARTIAL}"
        if not path.exists():
            remove_path(partial)
            try:
                make(partial)
                write_text(about, json.dumps(key))
                partial.replace(path)
            finally:
                remove_path(partial)
        return path

    with only_one(folder, f"running {doing}"):
        if any(folder.glob("[!.]*")) and not (about.exists() and read_earlier(about) == key):
            what = "belongs to other files or settings"
            raise InputError(what, file=folder, remedy="name another folder with --out")
        yield step


def read_earlier(file: Path) -> Any:
    """Reads a JSON file that an earlier session wrote. Raises InputError if it is damaged."""
    with reading(file, "name another folder with --out", "is damaged"):
        return read_json(file)
