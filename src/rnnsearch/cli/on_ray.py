"""The option `--ray` of translate, score and align: the same work, shard by shard, on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rnnsearch.cli.options import resumable
from rnnsearch.errors import InputError
from rnnsearch.installed import installed_models, is_name, need
from rnnsearch.system.files import only_one

if TYPE_CHECKING:  # it would load numpy
    from rnnsearch.text.formats.readers import Layout

Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Work on a corpus with Ray: local, auto or HOST:PORT.",
    ),
]
Workers = Annotated[int | None, typer.Option(metavar="N", min=1, help="With --ray: number of workers.")]


class RayOptions(NamedTuple):
    """Options of the command line. refused: option that --ray does not allow → whether it was given."""

    address: str | None
    workers: int | None
    out: str | None
    overwrite: bool
    device: str
    threads: int
    refused: dict[str, bool]

    def check_unused(self, others: dict[str, bool]) -> None:
        """Raises InputError for an option that was given and needs --ray. others: as `refused`."""
        for option, is_given in ({"--workers": self.workers is not None} | others).items():
            if is_given:
                raise InputError(f"{option} needs --ray", remedy="add --ray local")

    def check(self) -> None:
        """Raises InputError for options that contradict --ray."""
        others = self.refused | {f"--device {self.device}": self.device not in ("cpu", "cuda")}
        for option, is_given in others.items():
            if is_given:
                raise InputError(f"{option} cannot be used with --ray", remedy="remove one of them")
        if not self.out:
            raise InputError("--ray needs a folder for the answers", remedy="add --out DIR")
        need("ray")


def runs_and_corpora(words: list[str], most: int) -> tuple[list[Path], list[str]]:
    """Splits RUN... CORPUS... into the runs, absolute because workers have other working directories, and the
    corpora. Raises InputError unless there are 1 to `most` corpora."""
    runs = [*takewhile(_is_run, words)] or words[:1]
    corpora = words[len(runs) :]
    if not 1 <= len(corpora) <= most:
        what = f"a corpus is needed, or one of each side, but the command line has {len(corpora)}"
        raise InputError(what, remedy="give RUN CORPUS")
    return [Path(run) if is_name(run) else Path(run).resolve() for run in runs], corpora


def _is_run(word: str) -> bool:
    return (Path(word) / "config.toml").is_file() or (is_name(word) and word in installed_models())


def layout_of(run: Path, columns: Sequence[str]) -> Layout:
    """Returns the layout of a corpus. columns: keys or columns of the sides; one of them for a corpus that is
    to be translated; empty for the usual ones."""
    from rnnsearch.run import Run
    from rnnsearch.text.formats.records import Layout, OneSide

    data = Run.open(run).settings.data
    kind = OneSide if len(columns) == 1 else Layout
    return kind("", columns[0], columns[-1], data.source_language, data.target_language)


def work_on_ray(
    options: RayOptions,
    corpora: list[str],
    layout: Layout,
    load: Callable[[], Any],
    find_key: Callable[[], str],
    suffix: str,
) -> None:
    """Answers the shards of a corpus that are not answered yet. load, find_key, suffix: as in Job. Raises
    InputError as `answer_corpus` does."""
    from rnnsearch.ray_data import Job, answer_corpus, find_shards, job_key

    out, shards = str(options.out), find_shards(corpora)
    out = out if "://" in out else str(Path(out).resolve())
    job = Job(
        layout, load, find_key, job_key(find_key), out, suffix, options.threads or 1, options.device == "cuda"
    )
    with resumable(), nullcontext() if "://" in out else only_one(Path(out), "answering"):
        answer_corpus(job, shards, str(options.address), options.workers, options.overwrite)
