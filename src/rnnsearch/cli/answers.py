"""Answers to lines or pairs, for translate, score and align: printed, or written into a file that
the same command resumes."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rnnsearch.cli.options import Cores
from rnnsearch.errors import InputError, InputWarning, escaped
from rnnsearch.installed import package_version
from rnnsearch.system.files import content_key, is_stream, refuse_inputs
from rnnsearch.system.progress import is_quiet, progress_bar, show

if TYPE_CHECKING:  # they would load numpy and torch
    from rnnsearch.records import Translation
    from rnnsearch.run import Run
    from rnnsearch.translation.translator import Translator

Runs = Sequence["str | Path | Run"]
Observe = Callable[[Iterator[Any], int], Iterator[Any]]
"""(results, number of the first, counted from 1) → the same results, for notes about them."""


@dataclass(frozen=True)
class Loading:
    """Options that say where and how runs are loaded."""

    device: str = "cpu"
    threads: Cores = 0
    trust_code: bool = False

    def load(
        self, runs: Runs, dictionary: Path | None = None, glossary: Path | None = None
    ) -> Translator:
        """Returns the translator of one run, or of an ensemble."""
        from rnnsearch.system.machine import set_up_cpu
        from rnnsearch.translation.faithful import read_dictionary, read_glossary
        from rnnsearch.translation.translator import Translator

        set_up_cpu(self.threads)
        return Translator.load(
            *runs,
            device=self.device,
            trust_code=self.trust_code,
            dictionary=read_dictionary(dictionary) if dictionary else None,
            glossary=read_glossary(glossary) if glossary else None,
        )


@dataclass(frozen=True)
class Place(Loading):
    """Options that say where the work is done and where the answers go. out: file; None: print."""

    out: str | None = None
    overwrite: bool = False

    def keep(self, *inputs: str) -> None:
        """Raises InputError if the answers would replace one of these files."""
        refuse_inputs([Path(self.out)] if self.out else [], inputs)


class Work(NamedTuple):
    """The work on lines or pairs. answer: (items, number of the first, counted from 1) → results.
    write: (the number of an item, counted from 0, its result) → its line."""

    answer: Callable[[Iterable[Any], int], Iterable[Any]]
    write: Callable[[int, Any], str]
    batch_size: int


@dataclass(frozen=True)
class Task:
    """A command's work on lines or pairs, with everything that its answers depend on besides the
    runs and the text. form: of the answers. doing, unit: for the progress bar."""

    form: str
    doing: ClassVar[str]
    unit: ClassVar[str] = "pairs"

    def key(self, runs: Runs) -> str:
        """Returns a checksum of everything that the answers depend on, except the text."""
        raise NotImplementedError

    def load(self, place: Place, runs: Runs) -> Work:
        """Loads the models."""
        raise NotImplementedError


def answered(
    place: Place,
    task: Task,
    runs: Runs,
    source: str,
    items: Iterable[Any],
    observe: Observe = lambda results, first: results,
) -> Iterator[Any]:
    """Yields the result of each item when its line is printed, or written into the file of --out.
    source: the file whose lines are counted."""
    from rnnsearch.run import Run

    runs = [Run.open(run) for run in runs]
    if place.out is None or is_stream(Path(place.out)):
        work, resume = task.load(place, runs), "with --out FILE the same command would go on"
        shown = sys.stderr.isatty() and not sys.stdout.isatty()
        with (
            open(place.out, "a", encoding="utf-8")
            if place.out
            else nullcontext(sys.stdout) as stream,
            line_progress(task, source, resume, shown=shown) as progress,
        ):

            def printed() -> Iterator[Any]:
                for number, result in enumerate(work.answer(items, 1)):
                    progress(number + 1, [result])
                    show(work.write(number, result), stream)
                    yield result

            yield from observe(printed(), 1)
        return
    from rnnsearch.system.line_file import LineFile

    file = LineFile(Path(place.out), task.key(runs), overwrite=place.overwrite)

    def written(work: Work) -> Iterator[Any]:
        for block in file.blocks(items, work.batch_size):
            results = list(work.answer(block, file.done + 1))
            file.append(block, map(work.write, count(file.done), results))
            progress(file.done, results)
            yield from results

    with file:
        work, before = task.load(place, runs), file.before.items
        with line_progress(task, source, "the same command goes on", done=before) as progress:
            yield from observe(written(work), before + 1)


@contextmanager
def line_progress(
    task: Task, source: str, resume: str, *, shown: bool = True, done: int = 0
) -> Iterator[Callable[[int, Sequence[Any]], None]]:
    """Shows how many lines of a text are done, and units (words or pairs) per second. After Ctrl-C,
    says where to continue. An error of a line or pair gets the name of the file.

    Yields a function of (number of lines that are done, results of those since the last call).
    resume: first words of the message after Ctrl-C. done: number of lines that an earlier command
    has done.
    """
    from rnnsearch.text.formats.lines import count_lines

    begun, units, answered = time.monotonic(), 0, done
    with progress_bar(shown) as bar:
        lines = count_lines(source) if shown and not is_quiet() else None

        def advance(done: int, results: Sequence[Any]) -> None:
            nonlocal units, answered
            answered = done
            units += sum(len(one.tokens) if task.unit == "words" else 1 for one in results)
            speed = units / max(time.monotonic() - begun, 1e-9)
            bar(task.doing, done, lines, f"{speed:,.0f} {task.unit}/s")

        def in_file(message: object) -> str:
            of_line = source != "-" and str(message).startswith(("line ", "pair "))
            return f"{escaped(source)}: {message}" if of_line else str(message)

        def warn(message: Warning | str, *about: Any, **more: Any) -> None:
            named = isinstance(message, InputWarning)
            shown_before(InputWarning(in_file(message)) if named else message, *about, **more)

        try:
            with warnings.catch_warnings():
                shown_before, warnings.showwarning = warnings.showwarning, warn
                yield advance
        except KeyboardInterrupt:
            if source == "-" and sys.stdin.isatty():
                raise
            raise KeyboardInterrupt(f"{resume} after line {answered:,}") from None
        except InputError as error:
            if (said := in_file(error)) == str(error):
                raise
            raise InputError(said) from None


def json_line(_: int, result: Translation) -> str:
    """Returns a line of JSON: text, tokens, score, the alignment matrix (target × source) and other
    fields."""
    return json.dumps(result.to_dict(), ensure_ascii=False)


def answers_key(
    runs: Sequence[str | Path | Run], how: str, form: str, files: Sequence[Path]
) -> str:
    """Returns a checksum of everything that answers depend on, except the text: also of the version
    of rnnsearch, and of the equations that are edited.

    how: the settings. form: the output format. files: those that are read with the runs, such as a
    dictionary. Raises InputError as `content_key` does.
    """
    from rnnsearch.kernels import edited_functions
    from rnnsearch.run import Run

    parts = form, how, *sorted(edited_functions()), *(Run.open(run).checksum for run in runs)
    return content_key(files, package_version(), *parts)
