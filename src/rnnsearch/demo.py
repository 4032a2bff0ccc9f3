"""`rnnsearch demo`: a small RNNsearch on the built-in corpus. A work folder keeps finished steps;
the same command continues with the missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rnnsearch.builtin.corpus import CORPUS_PARTS, write
from rnnsearch.config import load_config
from rnnsearch.evaluation.alignment_error import AlignmentScore, alignment_error, read_gold
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.evaluation.statistics import Score
from rnnsearch.records import Translation
from rnnsearch.system.work_folder import work_folder
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.preparation import PrepareOptions, prepare
from rnnsearch.training.loop import train
from rnnsearch.translation.translator import Translator

TRAIN_PAIRS, HELD_OUT_PAIRS = 12_000, 500
"""Number of pairs of the demo, in training, and each in development and test."""
DEMO_SENTENCE = "The European Economic Area does not protect the man."


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
