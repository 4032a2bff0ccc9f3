"""The option `--ray` of translate, score and align: the same work, shard by shard, on a Ray cluster."""

from __future__ import annotations

import re
import sys
from collections import deque
from contextlib import nullcontext
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rnnsearch.cli.faults import fault_of
from rnnsearch.cli.options import CliCommand, one_of, say
from rnnsearch.errors import InputError
from rnnsearch.installed import installed_models, is_name
from rnnsearch.system.files import only_one
from rnnsearch.system.progress import ProgressBar

if TYPE_CHECKING:  # they would load torch
    from rnnsearch.cluster.actors import Outcome, WorkerOptions
    from rnnsearch.cluster.tasks import Models, Task
    from rnnsearch.text.formats.records import Layout

_ADDRESS = re.compile(r"local|auto|[\w.-]+:\d+|\[[\da-fA-F:]+\]:\d+|ray://.*")
"""Pattern of an address after --ray."""

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Work on a corpus here, or at HOST:PORT.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="With --ray: number of workers."),
]
ShardFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="With --ray: lines, jsonl or parquet.",
    ),
]
AnswersOut = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="With --ray: folder or URL for the answers; the same command resumes."),
]
OverwriteAnswers = Annotated[
    bool,
    typer.Option("--overwrite", help="With --ray: replace the answers of other runs or settings in --out."),
]
PairColumns = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--columns",
        metavar="SRC TGT",
        help="With --ray: keys or columns of source and target in JSON lines and Parquet, if they are not "
        "the usual ones.",
    ),
]


class RayOptions(NamedTuple):
    """The options of the command line. refused: option that cannot be used with --ray → whether it was
    given."""

    address: str | None
    workers: int | None
    out: str | None
    overwrite: bool
    format: str
    device: str
    threads: int
    refused: dict[str, bool]

    def check_unused(self, others: dict[str, bool]) -> None:
        """Raises InputError for an option that was given and needs --ray. others: further options, as in
        `refused`."""
        given = {"--workers": self.workers is not None, "--format": bool(self.format)} | others
        for option in [option for option, is_given in given.items() if is_given]:
            raise InputError(f"{option} needs --ray", remedy=f"add --ray, or remove {option}")

    def check(self) -> None:
        """Raises InputError for options that contradict --ray."""
        for option in [option for option, is_given in self.refused.items() if is_given]:
            raise InputError(f"{option} cannot be used with --ray", remedy="remove one of them")
        if not self.out:
            raise InputError("--ray needs a folder for the answers", remedy="add --out DIR")
        if self.format:
            one_of(self.format, "--format", ("lines", "jsonl", "parquet"))
        if self.device not in ("cpu", "cuda"):
            raise InputError(
                f"--device {self.device} cannot be used with --ray",
                remedy="use --device cuda: each worker gets a GPU of its own",
            )

    def workers_of(self) -> WorkerOptions:
        """Returns the workers that these options ask for."""
        from rnnsearch.cluster.actors import WorkerOptions

        return WorkerOptions(self.workers, self.threads or 1, self.device == "cuda")

    def models(self, runs: list[Path], trust_code: bool, *files: Path | None) -> Models:
        """Returns the runs as workers load them. files: the dictionary, if any."""
        from rnnsearch.cluster.tasks import Models

        places = (file and absolute(file) for file in files)
        return Models(tuple(map(absolute, runs)), self.device, self.threads or 1, trust_code, *places)


class RayCommand(CliCommand):
    """A command with --ray. The option takes the next word as its value if that is an address: local, auto or
    HOST:PORT."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_address(args))


def with_address(arguments: list[str]) -> list[str]:
    """Returns the arguments with `--ray ADDRESS` as one word; without an address, it gets that of this
    machine alone."""
    result, rest = [], deque(arguments)
    while rest:
        word = rest.popleft()
        if word == "--ray":
            word = f"--ray={rest.popleft() if rest and _ADDRESS.fullmatch(rest[0]) else 'local'}"
        result.append(word)
    return result


def runs_and_corpora(words: list[str], most: int) -> tuple[list[Path], list[str]]:
    """Splits RUN... CORPUS... into the runs and the corpora, of which there must be 1 to `most`. Raises
    InputError for other numbers."""
    runs = [*takewhile(_is_run, words)] or words[:1]
    corpora = words[len(runs) :]
    if not 1 <= len(corpora) <= most:
        what = "one corpus is needed" if most == 1 else "one corpus, or one of each side, is needed"
        raise InputError(
            f"{what}, but the command line has {len(corpora) or 'none'}",
            remedy="give RUN CORPUS" if most == 1 else "give RUN SRC TGT",
        )
    return [Path(run) for run in runs], corpora


def pair_layout(run: Path, columns: tuple[str, str] | None) -> Layout:
    """Returns where the two sides are in a record: at these columns or keys, or at the usual ones of the
    run's languages."""
    from rnnsearch.run import Run
    from rnnsearch.text.formats.records import Layout

    data = Run.open(run).settings.data
    source, target = columns or ("", "")
    return Layout(
        source=source,
        target=target,
        source_language=data.source_language,
        target_language=data.target_language,
    )


def absolute(path: Path) -> Path:
    """Returns an absolute path, because workers have another working directory. The name of an installed
    model is unchanged."""
    return path if is_name(path) else path.resolve()


def work_on_ray(
    task: Task, runs: list[Path], corpora: list[str], options: RayOptions, /, **about: Any
) -> None:
    """Does the shards of the task that are not done yet. runs: the runs as they were named. about: further
    facts that the answer folder records.

    Raises InputError if a shard failed, after all others were done and every failure was named.
    """
    from rnnsearch.cluster.actors import Outcome, answered, connected
    from rnnsearch.cluster.shards import Place, pair_shards, text_shards
    from rnnsearch.cluster.worker import AnswerFolder
    from rnnsearch.text.formats.records import OneSide

    form: Any = options.format or None
    lines = isinstance(task.layout, OneSide)
    shards = text_shards(corpora[0], form) if lines else pair_shards(corpora, form)
    about = {"command": task.command, "runs": list(map(str, runs)), "corpus": corpora, **about}
    folder = AnswerFolder(Place.at(options.out or ""), task.key(), task.form)
    here = folder.place.local  # a URL has no locks
    with only_one(here, task.doing) if here else nullcontext():
        folder.begin(about, options.overwrite)
        outcomes = {shard: Outcome(shard, record) for shard in shards if (record := folder.record(shard))}
        before, missing = len(outcomes), [shard for shard in shards if shard not in outcomes]
        try:
            if missing:
                with connected(options.address or "", options.workers_of()) as ray, ProgressBar() as bar:
                    bar(task.doing, len(outcomes), len(shards))
                    for outcome in answered(ray, task, folder, missing, options.workers_of(), say):
                        outcomes[outcome.shard] = outcome
                        bar(task.doing, len(outcomes), len(shards))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"{len(outcomes):,} of {len(shards):,} shards are done; the same command goes on"
            ) from None
        finally:
            known = [outcomes[shard] for shard in shards if shard in outcomes]
            folder.write_index(
                outcome.record or {"shard": outcome.shard.name, "error": _fault(outcome)} for outcome in known
            )
    failed = [outcomes[shard] for shard in shards if outcomes[shard].fault]
    answers = sum(outcome.record["lines"] for outcome in outcomes.values() if outcome.record)
    say(
        f"{len(shards) - len(failed):,} of {len(shards):,} shards are done, {before:,} of them before; "
        f"{answers:,} lines in {folder.place}"
    )
    if failed:
        for outcome in failed:
            print(f"rnnsearch: {_fault(outcome)}", file=sys.stderr)
        what = f"{len(failed):,} of {len(shards):,} shards failed"
        raise InputError(
            what, file=str(folder.place), remedy="correct them; the same command does what is missing"
        )


def _fault(outcome: Outcome) -> str:
    assert outcome.fault is not None
    if isinstance(outcome.fault, InputError):
        return str(outcome.fault)
    return str(InputError(fault_of(outcome.fault).line, file=outcome.shard.label))


def _is_run(word: str) -> bool:
    return (Path(word) / "config.toml").is_file() or (is_name(word) and word in installed_models())
