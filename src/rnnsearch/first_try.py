"""`rnnsearch try`: trains a translator on two files, with a page that shows its progress.

The folder keeps finished steps (corpus, dataset, plan, run). The same command continues with the missing
ones."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import torch
from markupsafe import Markup

from rnnsearch.bench import bench_training, bench_translation
from rnnsearch.config import load_config
from rnnsearch.drawing.alignment_text import alignment_table
from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.figures import inline_svg
from rnnsearch.drawing.page import render
from rnnsearch.errors import InputError
from rnnsearch.evaluation.test_set import NamedRun, read_test_set
from rnnsearch.model.layers import fastest_precision
from rnnsearch.report.make import make_report
from rnnsearch.system.files import checksum, write_text
from rnnsearch.system.folders import whole_folder
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.parsing import read_json, reading
from rnnsearch.system.progress import Progress
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.formats.opening import COMPRESSIONS, is_on_disk
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.display import Display
from rnnsearch.training.log import read_statistics
from rnnsearch.training.loop import train
from rnnsearch.training.threads import measured_fastest
from rnnsearch.translation.translator import Translator

RECIPE = "multi30k"
SMALLER = [f"model.{name}={size}" for name, size in (("embedding_size", 128), ("hidden_size", 256))]
SMALLER += [f"model.{name}_size=128" for name in ("encoder", "alignment", "maxout")]
PARTS = ("train", "dev", "test")
FEWEST, HELD_OUT = 500, 500
"""Minimum number of usable pairs; maximum number of pairs held out for development, and the same for the
test."""
LENGTHS = range(10, 250)
"""Allowed numbers of characters of a held-out sentence."""
FEWEST_UPDATES, MOST_EPOCHS = 1_500, 60
LARGE = 20_000
"""Number of pairs from which on the recipe's batch size is used."""
VALIDATIONS, SHOWN = 20, 5
"""Maximum number of validations; number of development sentences on the page."""
REFRESH = 3
"""Seconds after which the page loads itself again."""


def try_corpus(
    source: Path,
    target: Path,
    folder: Path,
    minutes: float,
    own: Sequence[str],
    say: Callable[[str], None],
    progress: Progress,
    show: Callable[[str], None],
) -> dict[str, Any]:
    """Trains a translator on a corpus in about `minutes`, or continues; returns its scores on held-out text.

    own: settings, `section.key=value`. say: receives messages for a person. show: called with the address of
    the page. Raises InputError for files that are not a parallel corpus or too small, and for a folder with
    other files; TrainingInterrupted after Ctrl-C during training."""
    own = with_languages(source, target, own)
    settings = load_config(RECIPE, own).data
    corpus, store, run, page = (folder / name for name in ("corpus", "store", "run", "page"))
    note = work_id(folder, "try.json", source, target, *own)
    if not corpus.exists():
        held_out = choose_held_out(source, target)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "try.json", note)
        count = write_parts(source, target, held_out, corpus)
        direction = f"{settings.source_language} → {settings.target_language}"
        say(f"{direction}: {count:,} pairs to learn from, {len(held_out):,} held out")
    learned, dev, test = ((corpus / f"{part}.source", corpus / f"{part}.target") for part in PARTS)
    if not store.exists():
        prepare(*learned, store, dev=dev, settings=settings, progress=progress)
    data = Corpus.open(store)
    if not (folder / "plan.json").exists():
        say("measuring this machine")
        write_text(folder / "plan.json", json.dumps(plan(data, minutes, own)))
    changes, text = read_kept(folder / "plan.json")
    say(text)
    page.mkdir(exist_ok=True)
    display = PageDisplay(run, page, data, text)
    with served(page, show):
        train(load_config(RECIPE, changes), data, run, resume=True, display=display)
        tests = [read_test_set("held-out text", *test)]
        report = make_report([NamedRun("run", run)], tests, page / "report", progress=progress)
        numbers = read_json(report.with_name("report.json"))
        (score,) = numbers["tables"]["table-1"]["rows"]
        display.finish(score)
    return {name: value for name, value in score.items() if isinstance(value, float)}


def work_id(folder: Path, begun: str, source: Path, target: Path, *own: str) -> str:
    """Returns the text of the file `begun`, which identifies the folder's files and settings. Raises
    InputError if these differ."""
    key = checksum(*(f"{file.resolve()} {file.stat().st_size}" for file in (source, target)), *own)
    if (
        folder.exists()
        and any(folder.iterdir())
        and not ((folder / begun).exists() and read_kept(folder / begun) == key)
    ):
        what = "holds something else, or the work on other files or settings"
        raise InputError(what, file=folder, remedy="name another folder with --out")
    return json.dumps(key)


def read_kept(file: Path) -> Any:
    """Reads a JSON file that an earlier session wrote. Raises InputError if it is damaged."""
    with reading(file, "name another folder with --out", "is damaged"):
        return read_json(file)


def require_on_disk(*files: Path) -> None:
    """Raises InputError for a file that cannot be read twice."""
    for file in files:
        if not is_on_disk(file):
            raise InputError("is no file on disk", file=file, remedy="check the path; write a pipe to a file")


def with_languages(source: Path, target: Path, own: Sequence[str]) -> list[str]:
    """Returns the settings with the languages from the files' name endings. Raises InputError for files that
    cannot be read twice, and if both languages are the same."""
    require_on_disk(source, target)
    codes = {"source": language_of(source), "target": language_of(target)}
    found = [*(f"data.{side}_language={code}" for side, code in codes.items() if code), *own]
    data = load_config(RECIPE, found).data
    if data.source_language == data.target_language:
        remedy = "the names end in the language: corpus.en corpus.fr; or --set data.target_language=fr"
        raise InputError(f"both files are in one language, {data.source_language}", remedy=remedy)
    return found


def language_of(file: Path) -> str:
    """Returns the language code that a file's name ends in, or the empty string."""
    plain = file.with_suffix("") if file.suffix in COMPRESSIONS else file
    code = plain.suffix[1:].lower()
    return code if code.isalpha() and 2 <= len(code) <= 3 and code not in ("txt", "src", "tgt", "trg") else ""


def choose_held_out(source: Path, target: Path) -> dict[int, str]:
    """Returns the pairs to hold out: number → dev or test.

    Raises InputError if the text is not parallel, too small, or the same on both sides.
    """
    usable, total, same = [], 0, 0
    for number, (left, right) in enumerate(read_pairs(source, target)):
        total, same = number + 1, same + (left == right)
        if len(left) in LENGTHS and len(right) in LENGTHS and left != right:
            usable.append(number)
    if total and same > total / 2:
        what = f"{same:,} of {total:,} lines are the same in both files"
        raise InputError(what, remedy="give a text and its translation")
    if len(usable) < FEWEST:
        what = f"{len(usable):,} sentence pairs are too few to learn from"
        raise InputError(what, remedy=f"give at least {FEWEST:,}, better tens of thousands")
    each = min(HELD_OUT, len(usable) // 20)
    drawn = random.Random(1).sample(usable, 2 * each)
    return dict.fromkeys(drawn[:each], "dev") | dict.fromkeys(drawn[each:], "test")


def write_parts(source: Path, target: Path, held_out: dict[int, str], folder: Path) -> int:
    """Writes train, dev and test, and returns the number of training pairs. No source line of dev or test is
    in train."""
    held = {left for number, (left, _) in enumerate(read_pairs(source, target)) if number in held_out}
    count = 0
    with whole_folder(folder, lambda _: False) as made, ExitStack() as files:
        parts = {
            part: [
                files.enter_context((made / f"{part}.{side}").open("w", encoding="utf-8"))
                for side in ("source", "target")
            ]
            for part in PARTS
        }
        for number, pair in enumerate(read_pairs(source, target)):
            part = held_out.get(number, "" if pair[0] in held else "train")
            count += part == "train"
            for file, line in zip(parts.get(part, []), pair, strict=False):
                file.write(f"{line}\n")
    return count


def plan(corpus: Corpus, minutes: float, own: Sequence[str]) -> tuple[list[str], str]:
    """Measures updates on this machine. Returns changes of the recipe for the largest network that can be
    trained in time, and a text with the expected time."""
    pairs, words = len(corpus.train), len(corpus.target.vocabulary)
    length = max(1, round(float(corpus.train.target_lengths.mean())))
    batch = 160 if pairs >= LARGE else 32
    epochs = min(MOST_EPOCHS, max(13, FEWEST_UPDATES * batch / pairs))
    updates = round(epochs * pairs / batch)
    common = [f"training.batch_size={batch}", "training.samples=0"]
    if fastest_precision(torch.device("cpu")) != "bfloat16":
        common += ["training.precision=float32", "search.precision=float32"]
    most = set_up_cpu(0)
    for size in ([], SMALLER):
        settings = load_config(RECIPE, [*common, *size, *own])
        threads = measured_fastest(settings, most)
        settings = load_config(RECIPE, [*common, *size, *own, f"training.threads={threads}", "search.beam=1"])
        update = bench_training(settings, words=words, length=length, repetitions=3).seconds
        speed = bench_translation(settings, words=words, length=length, repetitions=1).sentences_per_second
        validation = len(corpus.dev_source_lines) / speed
        if update * updates <= 60 * minutes:
            break
    share = min(1.0, 60 * minutes / (update * updates))
    epochs, updates = share * epochs, max(1, round(share * updates))
    validations = max(2, min(VALIDATIONS, int(0.2 * update * updates / validation)))
    seconds = update * updates + validation * validations
    text = (
        f"recipe {RECIPE}{' at half its size' if size else ''}: {updates:,} updates of {batch} pairs "
        f"({epochs:.1f} epochs), {update:.2f} s each with {threads} thread(s), and {validations} "
        "validations: "
        f"about {math.ceil(seconds / 60):,} min, as measured just now; longer where other programs use the "
        "cores"
    )
    text += "; too little to learn much, so give more --minutes" if epochs < 1 else ""
    limits = [f"training.max_updates={updates}", "training.max_epochs=0"]
    limits += [f"training.{name}_every={math.ceil(updates / validations)}" for name in ("validate", "save")]
    return [*common, *size, *limits, *own], text


class PageDisplay(Display):
    """A display of training that also writes index.html into `page`, with curves and with translations as
    they improve.

    The sentences are short ones of the development text. Their translations so far are kept in growth.json.
    """

    def __init__(self, run: Path, page: Path, corpus: Corpus, about: str) -> None:
        super().__init__()
        self.run, self.page, self.about, self.state = run, page, about, "training begins"
        pairs = sorted(
            zip(corpus.dev_source_lines, corpus.dev_target_lines, strict=True), key=lambda pair: len(pair[0])
        )
        self.pairs = pairs[len(pairs) // 4 : len(pairs) // 2][:: max(1, len(pairs) // 4 // SHOWN)][:SHOWN]
        self.growth: list[tuple[int, list[str]]] = []
        with suppress(OSError, ValueError):
            self.growth = read_json(page / "growth.json")
        self.charts: list[Markup] = []
        self.alignments: list[Markup] = []
        self.written = 0.0
        self.score: dict[str, Any] = {}

    def begin(self, total: int, done: int) -> None:
        super().begin(total, done)
        self.look()

    def update(self, update: int, epochs: float, nll_per_word: float, tokens_per_second: float) -> None:
        super().update(update, epochs, nll_per_word, tokens_per_second)
        if time.monotonic() - self.written >= REFRESH:
            left = "" if self.seconds_left is None else f", about {self.seconds_left / 60:.0f} min left"
            self.state = f"update {update:,} of {self.total:,}{left}; loss per word {nll_per_word:.2f}"
            self.write()

    def samples(self, triples: Sequence[tuple[str, str, str]]) -> None:
        self.look()

    def look(self) -> None:
        """Draws the curves, and translates the sentences with the best weights so far."""
        with suppress(OSError, InputError):  # a failure of the page must not end training
            rows = read_statistics(self.run).get("validations", [])
            x = [row["seconds"] / 60 for row in rows]
            names = {"train_nll_per_word": "loss per word", "dev_bleu": "BLEU (development)"}
            self.charts = []
            for place, (key, name) in enumerate(names.items() if rows else ()):
                y = [round(row[key], 2) if key in row else None for row in rows]
                figure = curve_figure([Curve(name, place, x, y)], "minutes", name)
                self.charts.append(
                    Markup(inline_svg(figure, key, name, f"{name} over the minutes of training"))
                )
            results = Translator.load(self.run).translate([source for source, _ in self.pairs])
            self.alignments = [
                Markup(alignment_table(one.source_tokens, one.tokens, one.alignment, "")) for one in results
            ]
            if rows and rows[-1]["update"] not in [update for update, _ in self.growth]:
                self.growth.append((rows[-1]["update"], [one.text for one in results]))
                write_text(self.page / "growth.json", json.dumps(self.growth, ensure_ascii=False))
        self.write()

    def finish(self, score: dict[str, Any]) -> None:
        """Writes the page for the last time, with the scores on the test text."""
        self.state, self.score = "trained", score
        self.look()

    def write(self) -> None:
        """Writes the page."""
        self.written = time.monotonic()
        sentences = []
        for place, (source, reference) in enumerate(self.pairs):
            grown = [(update, texts[place]) for update, texts in self.growth]
            changed = [one for k, one in enumerate(grown) if not k or one[1] != grown[k - 1][1]]
            sentences.append((source, reference, changed[::-1][:8], self.alignments[place : place + 1]))
        with suppress(OSError):
            text = render(
                "try.html",
                about=self.about,
                state=self.state,
                charts=self.charts,
                score=self.score,
                sentences=sentences,
                refresh=REFRESH,
            )
            write_text(self.page / "index.html", text)


@contextmanager
def served(page: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Serves the folder to this machine only, during the context. say: called with the address."""
    asked = [0.0]

    class Handler(SimpleHTTPRequestHandler):
        def send_head(self) -> Any:
            if self.headers.get("Host", "").partition(":")[0] in ("127.0.0.1", "localhost"):
                return super().send_head()
            self.send_error(400)  # another host name: DNS rebinding
            return None

        def log_message(self, format: str, *args: Any) -> None:
            asked[0] = time.monotonic()

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(page))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        say(f"http://127.0.0.1:{server.server_port}/")
        try:
            yield
            if time.monotonic() - asked[0] < 2 * REFRESH:  # the page is open: let it load the last version
                time.sleep(REFRESH + 1)
        finally:
            server.shutdown()
