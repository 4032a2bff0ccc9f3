"""`rnnsearch translate`: lines in, translations out."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch.cli.answers import Place, Runs, Task, Work, answered, answers_key, json_line
from rnnsearch.cli.options import (
    Strings,
    describe,
    is_run,
    output_format,
    refuse,
    say,
    say_if_empty,
    search_changes,
)
from rnnsearch.errors import InputError
from rnnsearch.installed import need, part
from rnnsearch.system.files import writing
from rnnsearch.system.progress import is_quiet

if TYPE_CHECKING:  # it would load numpy
    from rnnsearch.records import Translation


def as_nbest(number: int, result: Translation) -> str:
    """Returns lines of a Moses n-best list: `id ||| text ||| rnnsearch= log p ||| score`, id
    counted from 0."""
    return "\n".join(
        f"{number} ||| {one.text} ||| rnnsearch= {sum(one.log_probabilities):.4f} |||"
        f" {one.score:.4f}"
        for one in [result, *result.alternatives]
    )


FORMS: dict[str, Callable[[int, Translation], str]] = {
    "text": lambda _, result: result.text,
    "json": json_line,
    "nbest": as_nbest,
}
"""Format of lines → function of the number of a line, from 0, and its translation."""
PAGES = ("html", "markdown")


@dataclass(frozen=True)
class Wanted:
    """Options that say how to translate."""

    beam: int | None = None
    nbest: int | None = None
    set_: Strings = None
    dictionary: Path | None = None
    glossary: Path | None = None
    prefix: str | None = None


@describe("""
    runs RUN... [FILE]: Trained runs (several: an ensemble), and the text.
    beam: Beam size; default: that of the run.
    nbest: Translations per line; short for --format nbest, too.
    format_ FORMAT: text, json, nbest (as Moses); html or markdown: a page.
    json: Short for --format json.
    dictionary FILE: Target words for unknown ones: source<TAB>target.
    glossary FILE: Translations that bind: term<TAB>translation.
    prefix FILE: Beginnings to keep, one for each line, or empty.
    alignment_plots DIR: Also draw each alignment, as PNG.
    """)
def translate(
    runs: list[str],
    *,
    wanted: Wanted,
    json: bool = False,
    format_: str = "",
    alignment_plots: Path | None = None,
    place: Place,
) -> None:
    """Translate text line by line, stdin without FILE: output line N is the translation of input
    line N. At a terminal, type sentences, or :help."""
    dictionary, glossary = wanted.dictionary, wanted.glossary
    search = translation_search(wanted.set_, dictionary, beam=wanted.beam, nbest=wanted.nbest)
    form = translation_format(format_, (*FORMS, *PAGES), search, "json" if json else "")
    *names, file = runs
    if is_run(file) or (not names and file != "-"):
        names, file = runs, "-"
    if not names:
        raise InputError("there is no run to load", "give RUN [FILE]")
    load = partial(place.load, dictionary=dictionary, glossary=glossary)
    lines_only = place.out is not None or alignment_plots or wanted.prefix
    if form in PAGES:
        if lines_only or search.get("search.nbest", 1) > 1:
            raise InputError(f"--format {form} writes a page only", "write it with > FILE")
        from rnnsearch.text.formats.lines import raw_lines

        print(part(form)(load(names), "\n".join(raw_lines(file)), search))
    elif (
        form == "text"
        and not lines_only
        and file == "-"
        and sys.stdin.isatty()
        and sys.stdout.isatty()
        and not is_quiet()
    ):
        print(f"Loading {' + '.join(names)} …", end="", flush=True)  # importing takes a second
        part("talk")(names, search, load)
    else:
        whole = Path("/dev/stdin" if file == "-" else file).is_file()
        task = Translating(form, search, dictionary, glossary, alignment_plots, whole)
        translate_lines(place, names, task, file, wanted.prefix)


def translation_search(set_: Strings, dictionary: Path | None, **short: Any) -> dict[str, Any]:
    """Returns the search settings to change; a dictionary replaces UNK unless they say otherwise.
    Raises as `search_changes`."""
    return ({"translation.replace_unk": True} if dictionary else {}) | search_changes(set_, **short)


def translation_format(
    format_: str, allowed: Sequence[str], search: Mapping[str, Any], short: str = ""
) -> str:
    """Returns the format of the translations: by default text, or nbest if several of a line are
    wanted."""
    several = search.get("search.nbest", 1) > 1
    refuse({"--nbest": several and format_ == "text"}, "cannot be used with --format text")
    return output_format(format_, allowed, short, "nbest" if several else "")


Line = str | tuple[str, str]
"""A line, or a line and the beginning of its translation."""


def sides(items: Iterable[Line]) -> tuple[Iterator[str], Iterator[str]]:
    """Returns the lines and their beginnings, which must be read in step."""
    lines, beginnings = tee((item, "") if isinstance(item, str) else item for item in items)
    return (line for line, _ in lines), (beginning for _, beginning in beginnings)


@dataclass(frozen=True)
class Translating(Task):
    """The translation of lines. form: one of FORMS. search: settings to change. plots: folder of
    pictures. whole: whether the text is a file on disk, so that batches are full, and rounding does
    not depend on when lines arrive."""

    search: dict[str, Any]
    dictionary: Path | None
    glossary: Path | None
    plots: Path | None = None
    whole: bool = True
    doing, unit = "translating", "words"

    def load(self, place: Place, runs: Runs) -> Work:
        from rnnsearch.config import changed

        translator = place.load(runs, self.dictionary, self.glossary)
        full = self.whole or place.out is not None

        def answer(items: Iterable[Line], first: int) -> Iterator[Translation]:
            lines, prefix = sides(items)
            results = translator.stream(
                lines, prefix=prefix, first=first, full_batches=full, settings=self.search
            )
            return with_plots(results, self.plots, first) if self.plots else results

        batch_size = changed(translator.settings, self.search).search.batch_size
        return Work(answer, FORMS[self.form], batch_size)

    def key(self, runs: Runs) -> str:
        from rnnsearch.config import changed
        from rnnsearch.run import Run

        settings = changed(Run.open(runs[0]).settings, self.search)
        how = (
            f"translate {settings.search.model_dump_json()}"
            f" {settings.translation.model_dump_json()}"
            f" {self.glossary is None} {self.dictionary is None}"
        )
        files = [path for path in (self.glossary, self.dictionary) if path]
        return answers_key(runs, how, self.form, files)


def translate_lines(
    place: Place, runs: Runs, task: Translating, file: str, prefix: str | None = None
) -> None:
    """Prints each line's answer as soon as it is ready, or writes it into the file of --out.
    prefix: a file with beginnings."""
    from rnnsearch.config import changed
    from rnnsearch.run import Run
    from rnnsearch.text.formats.lines import check_pairs, read_lines, warned_lines, warned_pairs
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.translation.source_lines import noted

    say_if_empty(file)
    place.keep(file, *(str(one) for one in (prefix, task.glossary, task.dictionary) if one))
    run = Run.open(runs[0])
    limit = changed(run.settings, task.search).translation.max_source_length
    if place.out is not None and is_on_disk(file):
        deque(read_lines(file), maxlen=0)  # a line that cannot be read is found before the work
    items: Iterable[Line] = warned_lines(file)
    if prefix is not None:
        check_pairs(file, prefix)
        items = warned_pairs(file, prefix)
    done = answered(
        place,
        task,
        [run, *runs[1:]],
        file,
        items,
        lambda results, first: noted(results, run.source, limit, say, first),
    )
    deque(done, maxlen=0)


def with_plots(results: Iterable[Translation], folder: Path, first: int) -> Iterator[Translation]:
    """Yields the results, and draws their alignments into a folder. first: number of the first
    one."""
    need("plot")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for number, result in enumerate(results, first):
        result.plot(folder / f"{number:06d}.png")
        yield result
