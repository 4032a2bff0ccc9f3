"""The demo: trains a small RNNsearch on the built-in corpus in a minute or two, scores it, and draws one
alignment."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.builtin.corpus import write
from rnnsearch.config import Settings, load_config
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import AlignmentScore, alignment_error, read_gold
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.evaluation.statistics import Score
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.display import Display
from rnnsearch.training.loop import train
from rnnsearch.translation.translator import Translator

TRAIN_PAIRS, HELD_OUT_PAIRS = 12_000, 500
NOTE = "made-by-demo.txt"
SHOWN = "The European Economic Area does not protect the man."


@dataclass(frozen=True)
class Demo:
    """The results of a demo. shown: the translation of SHOWN. picture: file of its alignment."""

    folder: Path
    bleu: Score
    alignment: AlignmentScore
    shown: Translation
    picture: Path


def run_demo(folder: str | Path, overrides: tuple[str, ...] = (), display: Display | None = None) -> Demo:
    """Writes corpus, prepared dataset, run and picture into `folder`, and measures on held-out pairs.

    An interrupted demo with the same settings continues its training; the files of any other earlier demo are
    replaced. Raises InputError if the folder has files that no demo made, and TrainingInterrupted after
    Ctrl-C during training.
    """
    settings, folder = load_config("demo", overrides), Path(folder)
    corpus, store, run, picture = (folder / name for name in ("corpus", "store", "run", "alignment.png"))
    if not was_training(folder, settings):
        clear(folder)
        write(corpus, TRAIN_PAIRS, HELD_OUT_PAIRS)
        dev, links = (corpus / "dev.en", corpus / "dev.fr"), corpus / "train.links"
        prepare(corpus / "train.en", corpus / "train.fr", store, dev=dev, links=links, settings=settings.data)
    train(settings, Corpus.open(store), run, resume=True, display=display)
    translator = Translator.load(run)
    source, target = list(read_lines(corpus / "test.en")), list(read_lines(corpus / "test.fr"))
    score = bleu([result.text for result in translator.translate(source)], target)
    forced = [result.links() for result in translator.force(zip(source, target, strict=True))]
    shown = translator.translate([SHOWN])[0]
    shown.plot(picture)
    return Demo(folder, score, alignment_error(forced, read_gold(corpus / "test.links")), shown, picture)


def was_training(folder: Path, settings: Settings) -> bool:
    """Tells whether an earlier demo with these settings was interrupted after the start of training and
    before its picture."""
    if not (folder / NOTE).exists() or (folder / "alignment.png").exists():
        return False
    try:
        return Run.open(folder / "run").settings == settings
    except InputError:  # there is no run yet, or none that this version can read
        return False


def clear(folder: Path) -> None:
    """Makes the folder, or empties that of an earlier demo, which has the file NOTE. Raises InputError for
    any other folder with files."""
    if folder.exists():
        names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else {"a file"}
        if names and (NOTE not in names or not names <= {NOTE, "corpus", "store", "run", "alignment.png"}):
            raise InputError(
                "is not a folder that a demo made", file=folder, remedy="name a new one with --out"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / NOTE).write_text(
        "`rnnsearch demo` made this folder. The next one replaces all of it, or goes on where this one was "
        "interrupted.\n",
        encoding="utf-8",
    )
