"""`rnnsearch translate`: lines in, translations out."""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rnnsearch.cli.answers import Place, Ray, RayWorkers, Task, Work, answer_all, answer_on_ray, as_json
from rnnsearch.cli.options import (
    Device,
    Json,
    Out,
    Overwrite,
    Set,
    Threads,
    TrustCode,
    changes,
    describe,
    is_run,
    one_of,
    refuse,
    say,
    say_if_empty,
)
from rnnsearch.errors import InputError
from rnnsearch.installed import need
from rnnsearch.system.files import writing

if TYPE_CHECKING:  # it would load numpy
    from rnnsearch.records import Translation


@describe(
    """
    runs RUN... [FILE]: Trained runs (several: an ensemble), and the text.
    beam: Beam size; default: that of the run.
    nbest: Translations per line, as a Moses n-best list.
    format_ FORMAT: text, or html: one page, with its tags.
    dictionary FILE: Target words for unknown ones: source<TAB>target.
    glossary FILE: Translations that bind: term<TAB>translation.
    alignment_plots DIR: Also draw each alignment, as PNG.
    """
)
def translate(
    runs: list[str],
    *,
    beam: int | None = None,
    nbest: int | None = None,
    json: Json = False,
    format_: str = "text",
    out: Out = None,
    threads: Threads = 0,
    set_: Set = None,
    dictionary: Path | None = None,
    glossary: Path | None = None,
    alignment_plots: Path | None = None,
    overwrite: Overwrite = False,
    device: Device = "cpu",
    trust_code: TrustCode = False,
    ray: Ray = None,
    workers: RayWorkers = None,
) -> None:
    """Translate text line by line, stdin without FILE: output line N is the translation of input line N.
    At a terminal, type sentences, or :help."""
    search = changes("search", set_, beam=beam, nbest=nbest)
    if dictionary:
        search.setdefault("replace_unk", True)
    form = "json" if json else "nbest" if search.get("nbest", 1) > 1 else "text"
    place = Place(out, overwrite, device, threads, trust_code, ray, workers)
    html = one_of(format_, "--format", ("text", "html")) == "html"
    if ray:
        refuse({"--alignment-plots": alignment_plots, "--format html": html}, "cannot be used with --ray")
        words, terms = (path and path.resolve() for path in (dictionary, glossary))
        ours = Translating(search, form, words, terms)
        answer_on_ray(place, runs, 1, ours.load, ours.key, ".jsonl" if json else ".txt")
        return
    refuse({"--workers": workers}, "needs --ray", "add --ray local")
    *names, file = runs
    if is_run(file) or (not names and file != "-"):
        names, file = runs, "-"
    if not names:
        raise InputError("there is no run to load", remedy="give RUN [FILE]")
    ours = Translating(search, form, dictionary, glossary, alignment_plots, is_whole(file))
    plain = form == "text" and out is None and not alignment_plots
    if html:
        if not plain:
            raise InputError("--format html writes a page only", remedy="write it with > FILE")
        print_html(place, names, ours, file)
    elif plain and file == "-" and sys.stdin.isatty() and is_seen():
        print(f"Loading {' + '.join(names)} …", end="", flush=True)  # importing takes a second
        from rnnsearch.terminal import talk

        talk(names, search, partial(place.load, dictionary=dictionary, glossary=glossary))
    else:
        translate_lines(place, names, ours, file)


class Translating(NamedTuple):
    """Everything that translations depend on, besides the runs. search: settings to change. form: json,
    nbest or text. plots: folder of pictures. whole: whether batches are full, so that rounding does not
    depend on when lines arrive."""

    search: dict[str, Any]
    form: str
    dictionary: Path | None
    glossary: Path | None
    plots: Path | None = None
    whole: bool = True

    def load(self, place: Place, runs: Sequence[str | Path]) -> Work:
        """Loads the models. Returns the work on lines."""
        translator = place.load(runs, self.dictionary, self.glossary)
        full = self.whole or place.out is not None

        def answer(lines: Iterable[str], first: int) -> Iterator[Translation]:
            results = translator.stream(lines, full_batches=full, first=first, **self.search)
            return with_plots(results, self.plots, first)

        forms = {"json": as_json, "nbest": as_nbest, "text": lambda _, result: result.text}
        return Work(answer, forms[self.form], self.search.get("batch_size", translator.search.batch_size))

    def key(self, runs: Sequence[str | Path]) -> str:
        """Returns the key of the answers."""
        from rnnsearch.config import changed
        from rnnsearch.run import Run, answers_key

        settings = changed(Run.open(runs[0]).settings.search, self.search)
        files = [path for path in (self.glossary, self.dictionary) if path]
        return answers_key(runs, f"{settings.model_dump_json()} False", self.form, files)


def translate_lines(place: Place, runs: Sequence[str], ours: Translating, file: str) -> None:
    """Prints each line's answer as soon as it is ready, or writes it into the file of --out."""
    from rnnsearch.config import changed
    from rnnsearch.run import Run
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.translation.source_lines import noted

    say_if_empty(file)
    run = Run.open(runs[0])
    limit = changed(run.settings.search, ours.search).max_source_length

    def observe(results: Iterator[Translation], first: int) -> Iterator[Translation]:
        return noted(results, run.source, limit, say, first)

    task = Task("translating", "words", file, partial(ours.key, runs), observe)
    if place.out is not None and is_on_disk(file):
        deque(read_lines(file), maxlen=0)  # a line that cannot be read is found before the work
    answer_all(place, task, partial(ours.load, place, runs), read_lines(file))


def print_html(place: Place, runs: Sequence[str], ours: Translating, file: str) -> None:
    """Prints a page of HTML, translated."""
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.translation.markup import translate_html

    translator = place.load(runs, ours.dictionary, ours.glossary)
    print(translate_html(translator, "\n".join(read_lines(file)), **ours.search))


def with_plots(results: Iterable[Translation], folder: Path | None, first: int) -> Iterator[Translation]:
    """Yields the results, and draws their alignments into a folder, if any. first: number of the first
    one."""
    if folder:
        need("plot")
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    for number, result in enumerate(results, first):
        if folder:
            result.plot(folder / f"{number:06d}.png")
        yield result


def as_nbest(number: int, result: Translation) -> str:
    """Returns lines of a Moses n-best list: `id ||| text ||| rnnsearch= log p ||| score`, id counted from
    0."""
    return "\n".join(
        f"{number} ||| {one.text} ||| rnnsearch= {sum(one.log_probabilities):.4f} ||| {one.score:.4f}"
        for one in [result, *result.alternatives]
    )


def is_whole(file: str) -> bool:
    """Tells whether the whole text is available: a file on disk, not a pipe or a terminal."""
    from rnnsearch.text.formats.opening import STDIN, is_on_disk

    if file != STDIN:
        return is_on_disk(file)
    try:
        return stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except OSError:  # standard input has no file descriptor
        return False


def is_seen() -> bool:
    """Tells whether a person sees the output, and notes are wanted."""
    from rnnsearch.system.progress import is_quiet

    return sys.stdout.isatty() and not is_quiet()
