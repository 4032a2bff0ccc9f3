"""Answers to lines or pairs, for translate, score and align: printed, written into a file that the same
command resumes, or shard by shard on a Ray cluster."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rnnsearch.cli.options import refuse, resumable
from rnnsearch.errors import InputError
from rnnsearch.installed import installed_models, is_name, need
from rnnsearch.system.files import only_one
from rnnsearch.system.progress import ProgressBar, show

if TYPE_CHECKING:  # they would load numpy and torch
    from rnnsearch.records import Translation
    from rnnsearch.translation.translator import Translator

Ray = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Work on a corpus with Ray: local, auto or HOST:PORT.")
]
RayWorkers = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="With --ray: number of workers.")
]


class Place(NamedTuple):
    """Options that say where the work is done and where the answers go. ray: address of a cluster, if any.
    out: file, or folder for Ray; None: print."""

    out: str | None
    overwrite: bool
    device: str
    threads: int
    trust_code: bool
    ray: str | None = None
    workers: int | None = None

    def load(
        self, runs: Sequence[str | Path], dictionary: Path | None = None, glossary: Path | None = None
    ) -> Translator:
        """Returns the translator of one run, or of an ensemble."""
        from rnnsearch.system.machine import set_up_cpu
        from rnnsearch.translation.faithful import read_dictionary, read_glossary
        from rnnsearch.translation.translator import Translator

        set_up_cpu(self.threads)
        words = read_dictionary(dictionary) if dictionary else None
        terms = read_glossary(glossary) if glossary else None
        return Translator.load(
            *runs, device=self.device, trust_code=self.trust_code, dictionary=words, glossary=terms
        )


class Work(NamedTuple):
    """The work on lines or pairs. answer: (items, number of the first, counted from 1) → results. write: (the
    number of an item, counted from 0, its result) → its line."""

    answer: Callable[[Iterable[Any], int], Iterable[Any]]
    write: Callable[[int, Any], str]
    batch_size: int


class Task(NamedTuple):
    """A line-by-line task, for progress and messages. source: file whose lines are counted. key: checksum of
    everything that the answers depend on, except the text; needed for --out. observe: (results, number of the
    first) → results, for notes."""

    doing: str
    unit: str
    source: str
    key: Callable[[], str]
    observe: Callable[[Iterator[Any], int], Iterator[Any]] = lambda results, _: results


def answered(place: Place, task: Task, load: Callable[[], Work], items: Iterable[Any]) -> Iterator[Any]:
    """Yields the result of each item when its line is printed, or written into the file of --out. load: loads
    the models."""
    if place.out is None:
        work, resume = load(), "with --out FILE the same command would go on"
        with line_progress(task, resume, sys.stderr.isatty() and not sys.stdout.isatty()) as progress:

            def printed() -> Iterator[Any]:
                for number, result in enumerate(work.answer(items, 1)):
                    progress(number + 1, [result])
                    show(work.write(number, result))
                    yield result

            yield from task.observe(printed(), 1)
        return
    from rnnsearch.system.line_file import LineFile

    file = LineFile(Path(place.out), task.key())
    file.begin(place.overwrite)
    work = load()

    def written() -> Iterator[Any]:
        for block in file.blocks(items, work.batch_size):
            results = list(work.answer(block, file.done + 1))
            file.append(block, map(work.write, count(file.done), results))
            progress(file.done, results)
            yield from results
        file.finish()

    with file, line_progress(task, "the same command goes on", done=file.before) as progress:
        yield from task.observe(written(), file.before + 1)


def answer_all(*arguments: Any) -> None:
    """Prints or writes all answers, as `answered` does."""
    deque(answered(*arguments), maxlen=0)


def answer_on_ray(
    place: Place,
    words: Sequence[str],
    sides: int,
    load: Callable[[Place, list[Path]], Work],
    find_key: Callable[[list[Path]], str],
    suffix: str,
) -> None:
    """Answers the shards of a corpus that are not answered yet.

    words: RUN... CORPUS..., with at most `sides` corpora; 1: lines. load, find_key: called with absolute
    paths, because workers have other working directories. suffix: of the files of answers. Raises InputError
    for options that contradict --ray, and as `answer_corpus` does.
    """
    from functools import partial

    from rnnsearch.ray_data import Job, answer_corpus, find_shards, job_key
    from rnnsearch.run import Run
    from rnnsearch.text.formats.readers import Layout, OneSide

    refuse({f"--device {place.device}": place.device not in ("cpu", "cuda")}, "cannot be used with --ray")
    if not place.out:
        raise InputError("--ray needs a folder for the answers", remedy="add --out DIR")
    need("ray")
    runs = [*takewhile(_is_run, words)] or list(words[:1])
    corpora = words[len(runs) :]
    if not 1 <= len(corpora) <= sides:
        what = f"a corpus is needed, or one of each side, but the command line has {len(corpora)}"
        raise InputError(what, remedy="give RUN CORPUS")
    paths = [Path(run) if is_name(run) else Path(run).resolve() for run in runs]
    data, kind = Run.open(paths[0]).settings.data, OneSide if sides == 1 else Layout
    layout = kind("", "", "", data.source_language, data.target_language)
    shards, threads = find_shards(corpora), place.threads or 1
    out = place.out if "://" in place.out else str(Path(place.out).resolve())
    key = partial(find_key, paths)
    work = partial(_shard_work, load, place._replace(threads=threads), paths)
    job = Job(layout, work, key, job_key(key), out, suffix, threads, place.device == "cuda")
    with resumable(), nullcontext() if "://" in out else only_one(Path(out), "answering"):
        answer_corpus(job, shards, str(place.ray), place.workers, place.overwrite)


def _is_run(word: str) -> bool:
    return (Path(word) / "config.toml").is_file() or (is_name(word) and word in installed_models())


def _shard_work(
    load: Callable[[Place, list[Path]], Work], place: Place, runs: list[Path]
) -> Callable[[Iterator[Any]], Iterable[str]]:
    """Returns the work on the lines or pairs of a shard."""
    work = load(place, runs)
    return lambda items: map(work.write, count(), work.answer(items, 1))


@contextmanager
def line_progress(
    task: Task, resume: str, shown: bool = True, done: int = 0
) -> Iterator[Callable[[int, Sequence[Any]], None]]:
    """Shows how many lines of a text are done, and units (words or pairs) per second. After Ctrl-C, says
    where to continue.

    Yields a function of (number of lines that are done, results of those since the last call). resume: first
    words of the message after Ctrl-C. done: number of lines that an earlier command has done.
    """
    from rnnsearch.text.formats.lines import count_lines

    begun, units, answered = time.monotonic(), 0, done
    with ProgressBar(shown) as bar:
        lines = count_lines(task.source) if bar.bar is not None else None

        def advance(done: int, results: Sequence[Any]) -> None:
            nonlocal units, answered
            answered = done
            units += sum(len(one.tokens) if task.unit == "words" else 1 for one in results)
            speed = units / max(time.monotonic() - begun, 1e-9)
            bar(task.doing, done, lines, f"{speed:,.0f} {task.unit}/s")

        try:
            yield advance
        except KeyboardInterrupt:
            if task.source == "-" and sys.stdin.isatty():
                raise
            raise KeyboardInterrupt(f"{resume} after line {answered:,}") from None


def as_json(_: int, result: Translation) -> str:
    """Returns a line of JSON: text, tokens, score, the alignment matrix (target × source) and other
    fields."""
    return json.dumps(result.to_dict(), ensure_ascii=False)
