"""A Ray of two cores: workers killed in the middle, bad shards, resuming, and the commands of the how-to."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/ray.md"

pytestmark = pytest.mark.slow

LINES = 200
"""Lines of each shard."""
SEARCH = ["--beam", "2", "--search.batch_size", "4"]


@pytest.fixture(scope="module")
def corpus(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four shards of lines, of several blocks each."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = (tiny_corpus / "train.en").read_text(encoding="utf-8").split("\n")[:-1]
    for number in range(4):
        turned = [lines[(place + 75 * number) % len(lines)] for place in range(LINES)]
        (folder / f"part-{number}.txt").write_text("".join(f"{line}\n" for line in turned), encoding="utf-8")
    return folder


def columns(path: Path) -> list[list[str]]:
    return [line.split("\t", 2) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def answers(out: Path, name: str) -> list[str]:
    """Of a shard, whose lines are all there, once and in order."""
    rows = columns(out / f"answers/{name}.tsv")
    assert [(shard, int(number)) for shard, number, _ in rows] == [
        (name, number) for number in range(1, len(rows) + 1)
    ]
    return [answer for _, _, answer in rows]


class Killer(threading.Thread):
    """Kills with -9 the worker that has written some answers of a shard, `kills` times, each time at another
    shard if `others`."""

    def __init__(self, cluster: Any, out: Path, kills: int, others: bool) -> None:
        super().__init__()
        self.cluster, self.out, self.kills, self.others = cluster, out, kills, others
        self.killed: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while len(self.killed) < self.kills and not self.ended.is_set():
            for worker in self.cluster.workers():
                for shard in shards_of(worker):
                    if not (self.others and shard in self.killed):
                        os.kill(worker, signal.SIGKILL)
                        self.killed.append(shard)
                        break
            time.sleep(0.02)


def shards_of(pid: int) -> Iterator[str]:
    """Returns the shards of which a process has written some answers."""
    with contextlib.suppress(OSError):  # it has ended
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                path = handle.readlink()
                if path.parent.name == "answers" and path.suffix == ".partial" and path.stat().st_size:
                    yield path.name.rsplit(".", 2)[0]


@contextlib.contextmanager
def killing(cluster: Any, out: Path, kills: int, *, others: bool = True) -> Iterator[None]:
    killer = Killer(cluster, out, kills, others)
    killer.start()
    try:
        yield
    finally:
        killer.ended.set()
        killer.join()
    assert len(killer.killed) == kills, "it was done before its workers could be killed"


def test_a_killed_worker_loses_nothing_and_writes_no_line_twice(
    cluster: Any, corpus: Path, tiny_run: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    out = tmp_path / "out"
    words = ["translate", tiny_run, corpus, "--ray", cluster.address, "--out", out, *SEARCH]
    with killing(cluster, out, 2):
        done = command(*words)
    assert (done.code, done.out) == (0, ""), done.err
    assert f"4 of 4 shards are done, 0 of them before; {4 * LINES:,} lines" in done.err
    for path in sorted(corpus.iterdir()):
        assert answers(out, path.name) == command("translate", tiny_run, path, *SEARCH).lines
    index = [json.loads(line) for line in (out / "index.jsonl").read_text().split("\n")[:-1]]
    assert [(entry["shard"], entry["answers"], entry["lines"]) for entry in index] == [
        (path.name, f"answers/{path.name}.tsv", LINES) for path in sorted(corpus.iterdir())
    ]
    assert [
        path.name for path in (out / "answers").iterdir() if path.name.startswith(".")
    ] == []  # nothing is left of those that were killed
    assert not (out / ".lock").exists()


def test_a_worker_that_dies_at_every_try_fails_its_shard_alone(
    cluster: Any,
    tiny_corpus: Path,
    tiny_run: Path,
    tmp_path: Path,
    command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one does whose memory runs out."""
    monkeypatch.setattr("rnnsearch.cluster.actors.TRIES", 2)
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    (corpus / "1.txt").write_text("one\n" * 2_000, encoding="utf-8")
    words = ["translate", tiny_run, corpus, "--ray", cluster.address, "--workers", "1", "--out", out, *SEARCH]
    with killing(cluster, out, 2, others=False):
        done = command(*words)
    assert done.code == 2
    assert re.search(rf"rnnsearch: {corpus}/1.txt: its worker died 2 times", done.err), done.err


def test_commands_of_the_page(
    cluster: Any,
    tiny_corpus: Path,
    tiny_run: Path,
    tiny_reverse_run: Path,
    tmp_path: Path,
    command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each that starts with rnnsearch, at the address of this Ray; the first starts one of its own. Answers
    are those of one machine."""
    import ray

    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    lines = [
        (tiny_corpus / f"dev.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in ("en", "fr")
    ]
    for number in range(2):
        for side, some in zip(("en", "fr"), lines, strict=True):
            path = tmp_path / f"crawl/{side}/part-{number}.{side}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
    (tmp_path / "pairs").mkdir()
    parquet.write_table(pa.table({"english": lines[0], "french": lines[1]}), tmp_path / "pairs/1.parquet")
    for name, run in (("en-fr", tiny_run), ("fr-en", tiny_reverse_run)):
        (tmp_path / "runs").mkdir(exist_ok=True)
        (tmp_path / "runs" / name).symlink_to(run)
    monkeypatch.chdir(tmp_path)
    ran = [words for words in shown() if not any("://" in word for word in words)]
    assert {words[0] for words in ran} == {"translate", "score", "align"}
    for words in ran:
        done = command(*(cluster.address if word == "head:6379" else word for word in words))
        assert (done.code, done.out) == (0, ""), done.err
        assert not ray.is_initialized()
    for name in ("part-0.en", "part-1.en"):
        assert (
            answers(tmp_path / "translated", name) == command("translate", tiny_run, f"crawl/en/{name}").lines
        )
        pair = f"crawl/en/{name}", f"crawl/fr/{name.replace('.en', '.fr')}"
        assert answers(tmp_path / "scored", name) == command("score", tiny_run, *pair).lines
        aligned = command("align", tiny_run, *pair, "--reverse-run", tiny_reverse_run).lines
    assert answers(tmp_path / "aligned", "1.parquet") == aligned
    linked = [*next(words for words in ran if words[0] == "align")[:-1], "linked", "--links-format", "jsonl"]
    done = command(*(cluster.address if word == "head:6379" else word for word in linked))
    assert done.code == 0, done.err
    records = map(json.loads, (tmp_path / "linked/answers/1.parquet.jsonl").read_text("utf-8").splitlines())
    assert [" ".join(f"{i}-{j}" for i, j in record["links"]) for record in records] == aligned


def shown() -> Sequence[list[str]]:
    """The words behind `rnnsearch` of the page's commands."""
    text = "\n".join(
        re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )
    found = [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").split("\n")]
    return [words[1:] for words in found if words[:1] == ["rnnsearch"]]
