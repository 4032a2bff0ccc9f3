"""Corpora larger than one machine: Ray Data gives their shards to workers, on one machine or on a
cluster.

A row of the dataset is a shard, and its worker writes the answers as one file. Ray's own reader of
text would also end lines at characters such as U+2028, and not know their numbers.
"""

from __future__ import annotations

import logging
import os
import platform
import posixpath
import re
import resource
import socket
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fsspec.core import open_local, url_to_fs

from rnnsearch.errors import InputError, one_line
from rnnsearch.system.files import checksum
from rnnsearch.system.progress import note, progress_bar
from rnnsearch.text.formats.json_lines import read_json_lines
from rnnsearch.text.formats.layout import Layout
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.opening import COMPRESSIONS, text_suffix
from rnnsearch.text.formats.readers import parallel_texts

TRIES = 4
"""Maximum number of attempts at a shard whose worker dies."""
CONNECT_SECONDS = 5.0
ADDRESS_SPACE = 10 << 30
"""Bytes that Ray reserves in a process; with fewer it aborts."""

ShardWork = Callable[[Iterator[Any]], Iterable[str]]
"""Lines or pairs → answers."""


class OneSide(Layout):
    """A layout of one text, at the first usual key that the file has: the reader yields it as both
    sides."""

    def names(self) -> list[tuple[str, str]]:
        own = self.source_language
        return [(name, name) for name in ("text", "source", "src", own, f"translation.{own}")]


@dataclass(frozen=True)
class Shard:
    """A file of a corpus, or one of each side. name: relative to the corpus. files: paths or URLs.
    key: changes with the files."""

    name: str
    files: list[str]
    key: str


@dataclass(frozen=True)
class Job:
    """The work on each shard. Workers get it without the models.

    layout: of the lines (OneSide) or pairs of a shard. load: loads the models, and returns the
    function that turns lines or pairs into answers. find_key: returns a checksum of all that the
    answers depend on, except the text; it must be `key` on each machine. out: folder or URL.
    suffix: of the files of answers. threads, gpu: what a worker needs.
    """

    layout: Layout
    load: Callable[[], ShardWork]
    find_key: Callable[[], str]
    key: str
    out: str
    suffix: str
    threads: int
    gpu: bool


def find_shards(corpora: Sequence[str]) -> list[Shard]:
    """Returns the shards of a corpus, or of the two sides of one, sorted by name.

    A corpus is a file, a folder, a pattern or a URL of these. Raises InputError if there are none,
    and unless the shards of two sides have the same names, apart from their last suffix.
    """
    shards = []
    for several in zip_longest(*map(_files, corpora)):
        if None in several or len({_stem(one.name) for one in several}) > 1:
            what = f"only one side has the shard {next(filter(None, several)).name}"
            remedy = "shards of both sides need the same names, apart from the last suffix"
            raise InputError(what, remedy, file=" | ".join(corpora))
        files = [file for one in several for file in one.files]
        shards.append(Shard(several[0].name, files, checksum(*(one.key for one in several))))
    return shards


def _files(corpus: str) -> list[Shard]:
    system, path = _storage(corpus)
    found = system.find(path) if system.isdir(path) else system.glob(path)
    root = path if system.isdir(path) else posixpath.dirname(re.split(r"[*?[]", path)[0])
    shards = [
        Shard(name, [system.unstrip_protocol(file).removeprefix("file://")], system.ukey(file))
        for file in filter(system.isfile, found)
        if not re.search(r"(^|/)[._]", name := file.removeprefix(root).lstrip("/"))
    ]
    if not shards:
        raise InputError("there are no files", "check the path or URL", file=corpus)
    return sorted(shards, key=lambda shard: _stem(shard.name))


def _stem(name: str) -> str:
    path = Path(name)
    return str((path.with_suffix("") if path.suffix in COMPRESSIONS else path).with_suffix(""))


def _storage(name: str) -> tuple[Any, str]:
    """Returns the file system of a path or URL, and the path in it."""
    try:
        return url_to_fs(name)  # type: ignore[no-any-return]
    except (ImportError, ValueError) as error:
        raise InputError(f"cannot be used: {error}", "check the URL", file=name) from None


def unanswered(job: Job, shards: Sequence[Shard], overwrite: bool) -> list[Shard]:
    """Returns the shards whose answers are not there, or are those of another text. Raises
    InputError if there are answers of another job, unless they may be replaced."""
    system, out = _storage(job.out)
    there = set(system.find(f"{out}/answers"))
    records = system.cat_ranges([f"{out}/records/{shard.name}" for shard in shards], None, None)
    missing = []
    for shard, record in zip(shards, records, strict=True):
        key = record.decode().split() if isinstance(record, bytes) else [job.key]
        if key[0] != job.key and not overwrite:
            what = "holds answers of another command, another run or other settings"
            raise InputError(what, "name another folder, or add --overwrite", file=job.out)
        if key != [job.key, shard.key] or f"{out}/answers/{shard.name}{job.suffix}" not in there:
            missing.append(shard)
    return missing


class Worker:
    """An actor of Ray Data, which answers one shard at a time."""

    def __init__(self, job: Job) -> None:
        """Keeps the job. Models are loaded later: an error of a machine is then one of its
        shards."""
        self.job = job

    @cached_property
    def work(self) -> ShardWork:
        """Loads the models. Raises InputError if they, or rnnsearch, differ from those of the
        command."""
        if self.job.find_key() != self.job.key:
            what = f"rnnsearch or the run on {platform.node()} differs from that of the command"
            raise InputError(what, "install one version on all machines, and share the run")
        return self.job.load()

    def __call__(self, row: dict[str, Any]) -> dict[str, str]:
        """Writes the answers of the shard in a row. Returns its name and the error, if any."""
        shard, error = Shard(**row), ""
        with TemporaryDirectory(prefix="rnnsearch-") as folder:
            try:
                self.answer(shard, Path(folder))
            except Exception as fault:
                error = str(fault) if isinstance(fault, InputError) else repr(fault)
        return {"name": shard.name, "error": one_line(error)}

    def answer(self, shard: Shard, folder: Path) -> None:
        """Writes the answers of a shard, which get their name when they are complete, and then its
        record.

        folder: for temporary files. All lines are read once before the work begins. Raises
        InputError, with the line, for a shard that cannot be read or worked on.
        """
        files = [_local_copy(file, folder / str(side)) for side, file in enumerate(shard.files)]
        deque(_lines(files, self.job.layout), maxlen=0)
        with (folder / "answers").open("w", encoding="utf-8") as file:
            file.writelines(f"{answer}\n" for answer in self.work(_lines(files, self.job.layout)))
        (folder / "records").write_text(f"{self.job.key} {shard.key}")
        system, out = _storage(self.job.out)
        with suppress(FileNotFoundError):
            system.rm_file(f"{out}/records/{shard.name}")
        for kind, suffix in (("answers", self.job.suffix), ("records", "")):
            above, name = posixpath.split(f"{out}/{kind}/{shard.name}{suffix}")
            system.makedirs(above, exist_ok=True)
            system.put_file(str(folder / kind), f"{above}/.{name}.partial")
            system.mv(f"{above}/.{name}.partial", f"{above}/{name}")


def _local_copy(file: str, folder: Path) -> Path:
    """Returns the path of a file on this machine: its own, or that of a copy of the same name."""
    copy = {"cache_storage": str(folder), "same_names": True}
    return Path(open_local(f"simplecache::{file}", simplecache=copy) if "://" in file else file)


def _lines(files: list[Path], layout: Layout) -> Iterator[Any]:
    if not isinstance(layout, OneSide):
        return parallel_texts(files, layout=layout)[0].pairs()
    if text_suffix(files[0]) not in (".jsonl", ".ndjson"):
        return read_lines(files[0])
    return (text for text, _ in read_json_lines(files[0], layout))


def answer_corpus(
    job: Job, shards: Sequence[Shard], address: str, workers: int | None, overwrite: bool
) -> None:
    """Answers the shards that are not answered yet, with so many workers; None: one per core or
    GPU.

    address: local (a Ray for this command), auto or HOST:PORT. Raises InputError if a shard fails,
    after all others; if there are answers of another job, unless they may be replaced; and if the
    cluster cannot be reached or has no room for a worker.
    """
    todo, errors = unanswered(job, shards, overwrite), {}
    before = len(shards) - len(todo)
    if todo:
        with _connected(address) as ray, progress_bar() as bar:
            for done, row in enumerate(_rows(ray, job, todo, workers), before + 1):
                bar("shards", done, len(shards))
                errors[row["name"]] = row["error"]
    failed = unanswered(job, todo, overwrite)
    note(
        f"{len(shards) - len(failed):,} of {len(shards):,} shards are done, {before:,} of them"
        " before"
    )
    lost = f"its worker died {TRIES} times, or does not share --out (use fewer workers, or a URL)"
    for shard in failed:
        print(f"rnnsearch: {shard.name}: {errors.get(shard.name) or lost}", file=sys.stderr)
    if failed:
        remedy = "correct them; the same command does what is missing"
        raise InputError(f"{len(failed):,} of {len(shards):,} shards failed", remedy, file=job.out)


def _rows(ray: Any, job: Job, shards: list[Shard], workers: int | None) -> Iterator[dict[str, str]]:
    """Yields what workers return. Ray restarts a worker that dies, and tries its shard again."""
    kind, needed = ("GPU", 1) if job.gpu else ("CPU", job.threads)
    room = int(ray.cluster_resources().get(kind, 0) // needed)
    if not room:
        raise InputError(
            f"a worker needs {needed} {kind}, which the cluster does not have",
            "use --device cpu, or a smaller --threads",
        )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars, context.max_errored_blocks = False, -1
    yield from (
        ray.data.from_items(list(map(asdict, shards)), override_num_blocks=len(shards))
        .map(
            Worker,
            fn_constructor_args=(job,),
            compute=ray.data.ActorPoolStrategy(size=min(len(shards), workers or room)),
            num_cpus=job.threads,
            num_gpus=int(job.gpu),
            runtime_env={"env_vars": {"OMP_NUM_THREADS": str(job.threads)}},
            max_task_retries=TRIES - 1,
        )
        .iter_rows()
    )


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Yields the module ray, connected to a cluster, or to one of this machine that ends with the
    command.
    Raises InputError if that is impossible."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESS_SPACE:
        raise InputError(
            f"Ray needs {ADDRESS_SPACE:,} bytes of address space, and this shell allows {limit:,}",
            "ulimit -v unlimited",
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to Ray's authors
    # Ray reports on its processes to stdout, which is for results.
    with redirect_stdout(sys.stderr), warnings.catch_warnings(action="ignore"):
        try:
            host, _, port = address.rpartition(":")
            if host:  # Ray would try for minutes
                socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
            import ray
            import ray.data

            logging.getLogger("ray.data").setLevel(logging.CRITICAL)
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
        # bare Exceptions, and an exit if one of its processes fails
        except (Exception, SystemExit) as error:
            what = f"--address {address} cannot be used: {error!r}"
            remedy = "start Ray with `ray start --head`, or see /tmp/ray/session_latest/logs"
            raise InputError(what[:300], remedy) from None
        try:
            yield ray
        finally:
            ray.shutdown()
