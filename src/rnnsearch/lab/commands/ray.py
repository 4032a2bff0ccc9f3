"""`rnnsearch ray`: translations, scores or word links of corpora larger than one machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from enum import StrEnum
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnsearch.cli.align import Aligning, Scoring, align_options, score_batch
from rnnsearch.cli.answers import Loading, Place, Runs, Task
from rnnsearch.cli.options import (
    Strings,
    describe,
    is_run,
    one_of,
    output_format,
    refuse,
    resumable,
)
from rnnsearch.cli.translate import FORMS, Translating, translation_format, translation_search
from rnnsearch.errors import InputError
from rnnsearch.installed import is_name
from rnnsearch.system.files import only_one

if TYPE_CHECKING:
    from rnnsearch.lab.ray import Job, ShardWork


class RayTask(StrEnum):
    """The command whose answers are wanted."""

    TRANSLATE = "translate"
    SCORE = "score"
    ALIGN = "align"


FORMATS = {
    RayTask.TRANSLATE: tuple(FORMS),
    RayTask.SCORE: ("text", "json"),
    RayTask.ALIGN: ("pharaoh", "jsonl", "matrices"),
}
"""Task → formats of its answers, the default first."""


@describe(
    """
    task: What to do with each file of the corpus, as the command of this name does.
    words RUN... CORPUS...: Trained runs (several: an ensemble), and a corpus, or one of each side:
    a file, folder, pattern or URL.
    out DIR: Folder or URL for the answers; the same command resumes.
    address: local: Ray on this machine; auto or HOST:PORT: a cluster.
    workers: Number of workers; default: one per core or GPU.
    format_ FORMAT: Of the answers: text, json or nbest; for `align` pharaoh, jsonl or matrices.
    reverse_run RUN: For `align`: a run from target to source. Repeat the option for an ensemble.
    dictionary FILE: For `translate`: target words for unknown ones: source<TAB>target.
    glossary FILE: For `translate`: translations that bind: term<TAB>translation.
    device: Device of the workers: cpu or cuda.
    threads: CPU threads of each worker; 0 = one.
    """,
    extra="ray",
)
def ray(
    task: RayTask,
    words: list[str],
    *,
    out: str,
    address: str = "local",
    workers: Annotated[int | None, typer.Option(min=1)] = None,
    format_: str = "",
    reverse_run: list[Path] | None = None,
    dictionary: Path | None = None,
    glossary: Path | None = None,
    set_: Strings = None,
    overwrite: bool = False,
    loading: Loading,
) -> None:
    """Translate, score or align a corpus of any size with Ray, on this machine or on a cluster."""
    from rnnsearch.lab.ray import answer_corpus, find_shards

    one_of(loading.device, "--device", ("cpu", "cuda"))
    form = output_format(format_, FORMATS[task])
    if task is not RayTask.ALIGN:
        refuse({"--reverse-run": reverse_run}, f"has no effect on `ray {task}`", "remove it")
    if task is not RayTask.TRANSLATE:
        alone = {"--dictionary": dictionary, "--glossary": glossary}
        refuse(alone, f"has no effect on `ray {task}`", "remove it")
    runs = [*map(everywhere, [*takewhile(is_run, words)] or words[:1])]
    corpora, sides = words[len(runs) :], 1 if task is RayTask.TRANSLATE else 2
    if not 1 <= len(corpora) <= sides:
        what = f"a corpus is needed, or one of each side, but the command line has {len(corpora)}"
        raise InputError(what, "give RUN CORPUS")
    work: Task
    if task is RayTask.TRANSLATE:
        search = translation_search(set_, dictionary)
        known, terms = (path and path.resolve() for path in (dictionary, glossary))
        work = Translating(translation_format(format_, FORMATS[task], search), search, known, terms)
    elif task is RayTask.SCORE:
        work = Scoring(form, score_batch(set_))
    else:
        reverse = list(map(everywhere, reverse_run or []))
        work = Aligning(form, align_options(set_, runs[0], reverse), reverse)
    url = "://" in out
    folder = out if url else str(Path(out).resolve())
    place = Place(loading.device, loading.threads or 1, loading.trust_code, folder, overwrite)
    shards = find_shards(corpora)
    if any(Path(file).is_relative_to(folder) for one in shards for file in one.files) or any(
        Path(folder).is_relative_to(Path(corpus).resolve()) for corpus in corpora
    ):
        raise InputError("is inside the corpus", "name a folder outside it", file=out)
    with resumable(), nullcontext() if url else only_one(Path(out), "answering"):
        answer_corpus(ray_job(place, work, runs, sides), shards, address, workers, overwrite)


def everywhere(run: str | Path) -> Path:
    """Returns the absolute path of a run, because workers have other working directories; a model's
    name stays."""
    return Path(run) if is_name(run) else Path(run).resolve()


def ray_job(place: Place, task: Task, runs: Sequence[Path], sides: int) -> Job:
    """Returns the work on each shard; sides: 1 for lines, 2 for pairs."""
    from rnnsearch.lab.ray import Job, OneSide
    from rnnsearch.run import Run
    from rnnsearch.text.formats.layout import Layout

    data, kind = Run.open(runs[0]).settings.data, OneSide if sides == 1 else Layout
    layout = kind("", "", "", data.source_language, data.target_language)
    key = partial(task.key, runs)
    suffix = ".jsonl" if task.form in ("json", "jsonl", "matrices") else ".txt"
    work, gpu = partial(shard_work, task, place, runs), place.device == "cuda"
    return Job(layout, work, key, key(), str(place.out), suffix, place.threads, gpu)


def shard_work(task: Task, place: Place, runs: Runs) -> ShardWork:
    """Returns the work on the lines or pairs of a shard."""
    work = task.load(place, runs)
    return lambda items: map(work.write, count(), work.answer(items, 1))
