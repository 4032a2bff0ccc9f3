"""`rnnsearch try`: a translator for a corpus, with a page that shows its progress."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rnnsearch.builtin.corpus import CORPUS_PARTS
from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.lab.bench import bench_training, bench_translation
from rnnsearch.lab.figures import Curve, curve_figure
from rnnsearch.lab.held_out import write_corpus
from rnnsearch.lab.page import (
    PAGE,
    Block,
    Column,
    Document,
    Picture,
    Pictures,
    Section,
    Table,
    as_html,
)
from rnnsearch.lab.report import make_report
from rnnsearch.lab.test_set import read_test_set
from rnnsearch.records import Translation
from rnnsearch.run import read_statistics
from rnnsearch.system.files import content_key, read_json, write_text
from rnnsearch.system.progress import note, progress_bar
from rnnsearch.system.work_folder import MakeOnce, read_earlier, work_folder
from rnnsearch.text.codec import SIDES, side_tokeniser
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.formats.layout import Layout
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.languages import with_languages
from rnnsearch.text.preparation import PrepareOptions, prepare
from rnnsearch.training.display import Display
from rnnsearch.training.loop import train
from rnnsearch.translation.translator import Translator

RECIPE = "multi30k"
UNSPACED_VOCABULARY = "data.vocabulary_size=8000"
"""Setting for Chinese, Japanese and others: half of the subwords are single characters, and nearly
all characters of a text are among 4,000."""
SMALLER = [
    "model.embedding_size=128",
    "model.hidden_size=256",
    "model.encoder_size=128",
    "model.alignment_size=128",
    "model.maxout_size=128",
]
"""Changes of the recipe for a network of half its size."""
FEWEST_UPDATES, MOST_EPOCHS = 1_500, 60
LARGE = 20_000
"""Number of pairs from which on the recipe's batch size is used."""
VALIDATIONS, SHOWN_LINES = 20, 5
"""Maximum number of validations; number of development sentences on the page."""
CURVES = {"train_nll_per_word": "loss per word", "dev_bleu": "BLEU (development)"}
"""Key of a validation → the name of its curve on the page."""
PAGE_SCORES = ("BLEU", "95 % interval", "chrF2", "Length ratio")
"""Columns of the report's Table 1 that the page shows."""
FOR_UPDATES = 0.83
"""Share of the minutes for updates as they were measured; validations have the rest."""
LEGS = (0.4, 0.8, 1.0)
"""Shares of the minutes after which the updates that are left are counted again."""
REFRESH = 10
"""Seconds after which the page loads itself again."""


def try_corpus(
    files: Sequence[Path],
    folder: Path,
    minutes: float,
    overrides: Sequence[str],
    show: Callable[[Path], None],
    columns: tuple[str, str] = ("", ""),
) -> dict[str, Any]:
    """Trains a translator on a corpus in about `minutes`, or continues; returns its scores on
    held-out text.

    files, columns: as for `prepare`. overrides: settings, `section.key=value`. show: called with
    the page, which loads itself again during training. Raises InputError for files that are not a
    parallel corpus or too small, for a folder with other files, and if another process works in it;
    TrainingInterrupted after Ctrl-C during training."""
    overrides, languages = with_languages(files, RECIPE, overrides, Layout("", *columns))
    settings = load_config(RECIPE, overrides).data
    if any(side_tokeniser(side, settings).unspaced for side in SIDES):
        overrides = [UNSPACED_VOCABULARY, *overrides]
        settings = load_config(RECIPE, overrides).data
    key = content_key(files, f"{minutes:g}", *overrides, *filter(None, columns))
    layout = Layout("", *columns, settings.source_language, settings.target_language)
    texts = parallel_texts(files, layout=layout)
    with work_folder(folder, "try", key) as step, progress_bar() as progress:
        corpus = step(
            "corpus", lambda out: note(f"languages {languages}\n{write_corpus(texts, out)}")
        )
        learned, dev, test = (
            (corpus / f"{part}.source", corpus / f"{part}.target") for part in CORPUS_PARTS
        )
        options = PrepareOptions(progress=progress)
        store = step(
            "store", lambda out: prepare(*learned, out, dev=dev, settings=settings, options=options)
        )
        data = Corpus.open(store)
        planned = step(
            "plan.json", lambda out: write_text(out, json.dumps(plan(data, minutes, overrides)))
        )
        changes, text = read_earlier(planned)
        note(text)
        run, page = folder / "run", folder / "page"
        page.mkdir(exist_ok=True)
        display = PageDisplay(run, page, data, text)
        display.write()
        show(page / PAGE)
        train_in_time(step, changes, data, run, display)
        note(f"training took {progress_of(run)[1] / 60:.1f} min")
        tests = [read_test_set("held-out text", *test)]
        report = make_report({"run": run}, tests, page / "report", progress=progress)
        table = read_json(report.with_name("report.json"))["tables"]["table-1"]
        (score,), made = table["rows"], table["made"]
        display.write(score, made)
        for signature in made:
            note(signature)
    return {name: value for name, value in score.items() if isinstance(value, float)}


def plan(corpus: Corpus, minutes: float, overrides: Sequence[str]) -> tuple[list[str], str]:
    """Measures updates on this machine. Returns changes of the recipe for the largest network that
    can be trained in time, and a text with the expected time."""
    note("measuring this machine")
    pairs, words = len(corpus.train), len(corpus.target.vocabulary)
    length = max(1, round(float(corpus.train.target.lengths.mean())))
    batch = 160 if pairs >= LARGE else 32
    epochs = min(MOST_EPOCHS, max(13, FEWEST_UPDATES * batch / pairs))
    updates = round(epochs * pairs / batch)
    common = [f"training.batch_size={batch}", "stopping.samples=0"]
    for size in ([], SMALLER):  # the smaller network if the whole one takes too long
        settings = load_config(RECIPE, [*common, *size, *overrides, "search.beam=1"])
        sizes = {"words": words, "length": length}
        update = bench_training(settings, **sizes, repetitions=3).seconds
        search = bench_translation(settings, **sizes, repetitions=1)
        validation = len(corpus.dev_source_lines) / search.sentences_per_second
        share = min(1.0, FOR_UPDATES * 60 * minutes / (update * updates))
        if share == 1:
            break
    epochs, updates = share * epochs, max(1, round(share * updates))
    validations = max(2, min(VALIDATIONS, int(0.2 * update * updates / validation)))
    seconds = update * updates + validation * validations
    text = (
        f"recipe {RECIPE}{' at half its size' if size else ''}: {updates:,} updates of {batch}"
        f" pairs ({epochs:.1f} epochs), {update:.2f} s each, and {validations} validations: about"
        f" {math.ceil(seconds / 60):,} min of training, by 3 updates and a search measured just"
        f" now, and {minutes:g} at most; the report takes some more"
    )
    text += "; too little to learn much, so give more --minutes" if epochs < 1 else ""
    every = math.ceil(updates / validations)
    limits = [
        f"stopping.max_updates={updates}",
        "stopping.max_epochs=0",
        f"stopping.max_minutes={minutes}",
        f"stopping.validate_every={every}",
        f"stopping.save_every={every}",
    ]
    return [*common, *size, *limits, *overrides], text


def train_in_time(
    step: MakeOnce, changes: Sequence[str], corpus: Corpus, run: Path, display: Display
) -> None:
    """Trains until the updates or the minutes of the changes end. If the machine is slower than it
    was measured, there are fewer updates, so that the learning rate falls to its end in time. step:
    keeps the numbers of updates."""
    stopping = load_config(RECIPE, changes).stopping
    updates = stopping.max_updates

    for place, share in enumerate(LEGS if stopping.max_minutes else LEGS[-1:]):
        done, seconds = progress_of(run)
        limit = share * stopping.max_minutes
        if limit and seconds >= 60 * limit:
            continue
        before, left = updates, 60 * stopping.max_minutes - seconds
        fewer = min(updates, done + int(left * done / seconds)) if done and left > 0 else updates
        kept = step(f"updates-{place}.json", partial(write_text, text=json.dumps(fewer)))
        if (updates := read_earlier(kept)) < before:
            note(f"{updates:,} updates fit into {stopping.max_minutes:g} min")
        if (updates and done >= updates) or has_ended(run):
            break
        limits = [f"stopping.max_updates={updates}", f"stopping.max_minutes={limit}"]
        train(load_config(RECIPE, [*changes, *limits]), corpus, run, resume=True, display=display)


def has_ended(run: Path) -> bool:
    """Tells whether training has ended by another limit than that of updates or minutes."""
    why = read_statistics(run).get("ended_because", "")
    return bool(why) and "max_minutes" not in why and "max_updates" not in why


def progress_of(run: Path) -> tuple[int, float]:
    """Returns the number of updates of a run when it was last validated, and their seconds."""
    rows = read_statistics(run).get("validations")
    return (rows[-1]["update"], rows[-1]["seconds"]) if rows else (0, 0.0)


class PageDisplay(Display):
    """A display of training that also writes index.html into `page`, with curves and with
    translations as they improve.

    The sentences are short ones of the development text. Their translations so far are kept in
    growth.json.
    """

    def __init__(self, run: Path, page: Path, corpus: Corpus, about: str) -> None:
        super().__init__()
        self.run, self.page, self.about = run, page, about
        lines = zip(corpus.dev_source_lines, corpus.dev_target_lines, strict=True)
        pairs = sorted(lines, key=lambda pair: len(pair[0]))
        quarter = len(pairs) // 4
        self.pairs = pairs[quarter : 2 * quarter : max(1, quarter // SHOWN_LINES)][:SHOWN_LINES]
        self.growth: list[tuple[int, list[str]]] = []
        with suppress(OSError, ValueError):
            self.growth = read_json(page / "growth.json")

    def samples(self, triples: Sequence[tuple[str, str, str]]) -> None:
        self.write()

    def write(self, score: dict[str, Any] | None = None, made: Sequence[str] = ()) -> None:
        """Writes the page: the state of training, or the scores when it has ended, with their
        signatures; the curves, and the sentences."""
        with suppress(OSError, InputError):  # a failure of the page must not end training
            rows = read_statistics(self.run).get("validations", [])
            state = "training begins"
            if rows:
                state = f"update {rows[-1]['update']:,} after {rows[-1]['seconds'] / 60:.1f} min"
            blocks: list[Block] = [*curves(rows)]
            if score:
                state = "trained"
                heads = [Column(name, ".2f") for name in PAGE_SCORES if name in score]
                row = [score[one.name] for one in heads]
                caption = "On text that was held out"
                blocks.insert(0, Table("scores", caption, heads, [row], made=made))
            page = Document(
                "A first try",
                f"{state}. {self.about}",
                [Section("learning", "Learning", blocks), *self.sentences(rows)],
                beside=[("report/index.html", "the whole report")] if score else [],
                refresh=0 if score else REFRESH,
            )
            write_text(self.page / PAGE, as_html(page))

    def sentences(self, rows: Sequence[dict[str, Any]]) -> Iterator[Section]:
        """Yields the sentences as the best weights so far translate them, with their earlier
        translations."""
        results = list[Translation]()
        if rows:
            update = rows[-1]["update"]
            results = Translator.load(self.run).translate([source for source, _ in self.pairs])
            if update not in dict(self.growth):
                self.growth.append((update, [one.text for one in results]))
                write_text(self.page / "growth.json", json.dumps(self.growth, ensure_ascii=False))
        for place, ((source, reference), result) in enumerate(zip_longest(self.pairs, results)):
            grown = [(when, texts[place]) for when, texts in self.growth]
            changed = [next(same) for _, same in groupby(grown, lambda one: one[1])][::-1][:8]
            heads = [Column("Update"), Column("Translation", numeric=False)]
            name = f"sentence-{place}"
            table = Table(f"{name}-grown", "Translations so far", heads, changed)
            drawn = Markup(result._repr_html_() if result else "")
            yield Section(name, source, [f"Reference: {reference}", table, drawn])


def curves(rows: Sequence[dict[str, Any]]) -> list[Pictures]:
    """Draws the loss and BLEU of the validations, if there are any."""
    pictures, minutes = [], [row["seconds"] / 60 for row in rows]
    for place, (key, name) in enumerate(CURVES.items()):
        values = [round(row[key], 2) if key in row else None for row in rows]
        figure = curve_figure([Curve(name, place, minutes, values)], "minutes", name)
        pictures.append(Picture(key, name, f"{name} over the minutes", figure))
    return [Pictures("curves", "Curves of learning", pictures)] if rows else []
