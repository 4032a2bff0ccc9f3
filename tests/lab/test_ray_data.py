"""`ray`: the answers of each shard are those of the command on one machine; what is refused, and what resumes.

A worker in this process stands for Ray's, except in the slow test.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from command_line import Command, assert_refused
from refusals import refusal
from tables import rows

fsspec = pytest.importorskip("fsspec")
from rnnsearch.lab import ray as ray_data  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/several-machines.md"
SOURCE = str(Path(__file__).resolve().parents[2] / "src")


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lets a worker in this process answer the shards. Returns the names of those that it got."""
    seen: list[str] = []

    def rows(ray: Any, job: Any, shards: list[Any], workers: Any) -> Iterator[Any]:
        worker = ray_data.Worker(job)
        for shard in shards:
            seen.append(shard.name)
            yield worker(asdict(shard))

    monkeypatch.setattr(ray_data, "_connected", lambda address: memoryview(b""))  # any context
    monkeypatch.setattr(ray_data, "_rows", rows)
    return seen


@pytest.fixture
def corpus(here: Path, tiny_corpus: Path) -> Path:
    """The working directory, with two shards of both sides in crawl/en and crawl/fr."""
    for side in ("en", "fr"):
        lines = (tiny_corpus / f"dev.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        Path(f"crawl/{side}/more").mkdir(parents=True)
        for name, some in (
            (f"part-0.{side}", [*lines[:9], ""]),
            (f"more/part-1.{side}", lines[9:]),
        ):
            Path(f"crawl/{side}/{name}").write_text(
                "".join(f"{line}\n" for line in some), encoding="utf-8"
            )
        Path(f"crawl/{side}/_SUCCESS").touch()
    return here


def answers(out: str, suffix: str = ".txt") -> dict[str, str]:
    """Returns shard → its answers."""
    system, path = fsspec.core.url_to_fs(f"{out}/answers")
    return {
        file.removeprefix(f"{path}/").removesuffix(suffix): system.cat_file(file).decode()
        for file in system.find(path)
    }


def test_commands_of_the_page_answer_as_on_one_machine(
    no_ray: list[str],
    corpus: Path,
    tiny_run: Path,
    tiny_reverse_run: Path,
    command: Command,
) -> None:
    Path("runs").mkdir()
    for name, run in (("en-fr", tiny_run), ("fr-en", tiny_reverse_run)):
        Path(f"runs/{name}").symlink_to(run)
    sides = [
        Path(f"crawl/{side}/more/part-1.{side}").read_text(encoding="utf-8")
        for side in ("en", "fr")
    ]
    Path("pairs").mkdir()
    tsv = [
        f"{en}\t{fr}\n" for en, fr in zip(*(side.split("\n")[:-1] for side in sides), strict=True)
    ]
    Path("pairs/1.tsv").write_text("english\tfrench\n" + "".join(tsv), encoding="utf-8")
    blocks = re.findall(
        r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = "\n".join(blocks).replace("\\\n", " ").replace("s3://bucket", "memory://").split("\n")
    ran = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("rnnsearch")]
    assert {" ".join(words[:2]) for words in ran} == {"ray translate", "ray score", "ray align"}
    for side in ("part-0.en", "more/part-1.en"):
        fsspec.filesystem("memory").put_file(f"crawl/en/{side}", f"/crawl/{side}")
    for words in ran:
        done = command(*words)
        assert (done.code, done.out) == (0, ""), done.err
    expected = {
        name: command("translate", tiny_run, f"crawl/en/{name}").out
        for name in ("more/part-1.en", "part-0.en")
    }
    assert answers("translated") == answers("memory://translated") == expected
    both = "crawl/en/more/part-1.en", "crawl/fr/more/part-1.fr"
    assert answers("scored")["more/part-1.en"] == command("score", tiny_run, *both).out
    aligned = command("align", tiny_run, *both, "--reverse-run", tiny_reverse_run).out
    assert answers("aligned") == {"1.tsv": aligned}
    listed = command(f"ray translate {tiny_run} crawl/en --out listed --format json")
    assert listed.code == 0
    single = command("translate", tiny_run, "crawl/en/part-0.en", "--json").out
    assert answers("listed", ".jsonl")["part-0.en"] == single


def test_json_lines_of_one_side(
    no_ray: list[str], corpus: Path, tiny_run: Path, command: Command
) -> None:
    """U+2028 ends no line: Ray's reader of text would answer two."""
    Path("a.jsonl").write_text('{"text": "one\u2028two"}\n{"text": null}\n', encoding="utf-8")
    done = command(f"ray translate {tiny_run} a.jsonl --out out")
    assert done.code == 0, done.err
    Path("a.txt").write_text("one two\n\n")
    assert answers("out") == {"a.jsonl": command("translate", tiny_run, "a.txt").out}


def test_only_what_is_missing_is_done_again(
    no_ray: list[str],
    corpus: Path,
    tiny_run: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = f"ray translate {tiny_run} crawl/en --out out"
    whole = ray_data._rows

    def interrupted(*arguments: Any) -> Iterator[Any]:
        yield next(iter(whole(*arguments)))
        raise KeyboardInterrupt

    monkeypatch.setattr(ray_data, "_rows", interrupted)
    assert (stopped := command(line)).code == 130
    assert stopped.err.endswith("the same command goes on\n")
    monkeypatch.setattr(ray_data, "_rows", whole)
    assert "2 of 2 shards are done, 1 of them before" in command(line).err
    assert no_ray == ["more/part-1.en", "part-0.en"]
    assert command(line).code == 0
    Path("crawl/en/part-0.en").write_text("one\n")
    assert command(line).code == 0
    Path("out/answers/more/part-1.en.txt").unlink()
    assert command(line).code == 0
    assert no_ray[2:] == ["part-0.en", "more/part-1.en"]
    assert answers("out")["part-0.en"].count("\n") == 1
    refused = command(f"{line} --search.beam 1")
    assert (refused.code, "holds answers of another command" in refused.err) == (2, True)
    assert command(f"{line} --search.beam 1 --overwrite").code == 0
    assert no_ray[4:] == ["more/part-1.en", "part-0.en"]


def test_a_shard_fails_alone(
    no_ray: list[str],
    corpus: Path,
    tiny_run: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("crawl/en/bad.en").write_bytes(b"one\n\xff\n")
    Path("crawl/en/long.en").write_text("one\n" * 9 + "word " * 5001 + "\n")
    line = f"ray translate {tiny_run} crawl/en --out out"
    done = command(line)
    assert (done.code, done.out) == (2, "")
    assert (
        f"rnnsearch: bad.en: {corpus}/crawl/en/bad.en:2: byte 1 of the line is not UTF-8"
        in done.err
    )
    assert "rnnsearch: long.en: line 10 has 5,001 words" in done.err
    assert done.err.endswith(
        "2 of 4 shards failed (correct them; the same command does what is missing)\n"
    )
    Path("crawl/en/bad.en").write_text("one\n")
    Path("crawl/en/long.en").write_text("one\n")
    monkeypatch.setattr(ray_data, "_rows", lambda *_: iter(()))  # as if all workers died
    lost = command(line).err
    assert "bad.en: its worker died 4 times" in lost
    monkeypatch.undo()


def test_a_machine_with_another_run_answers_nothing(no_ray: list[str], corpus: Path) -> None:
    keys = iter(["one", "other"])
    find_key = lambda: next(keys)  # noqa: E731
    layout = ray_data.OneSide()
    job = ray_data.Job(layout, pytest.fail, find_key, find_key(), "out", "", 1, False)
    with refusal("2 of 2 shards failed"):
        ray_data.answer_corpus(job, ray_data.find_shards(["crawl/en"]), "local", None, False)
    assert answers("out") == {}


@pytest.mark.parametrize(
    ("corpora", "names"),
    [
        (["crawl/en"], ["more/part-1.en", "part-0.en"]),
        (["crawl/*/*.en"], ["en/part-0.en"]),
        (["crawl/en/part-0.en"], ["part-0.en"]),
        (["crawl/en", "crawl/fr"], ["more/part-1.en", "part-0.en"]),
        (["crawl/en", "crawl/*/*.fr"], "only one side has the shard more/part-1.en"),
        (["crawl/en", "crawl/fr/part-0.fr"], "only one side has the shard more/part-1.en"),
        (["missing"], "missing: there are no files"),
        (["nowhere://a"], "nowhere://a: cannot be used: Protocol not known"),
    ],
)
def test_shards(corpora: list[str], names: list[str] | str, corpus: Path) -> None:
    if isinstance(names, str):
        with refusal(names):
            ray_data.find_shards(corpora)
    else:
        assert [shard.name for shard in ray_data.find_shards(corpora)] == names


MISTAKES = """
ray translate RUN crawl/en → Missing option '--out'
ray evaluate RUN crawl/en --out o → 'evaluate' is not one of 'translate', 'score', 'align'
ray translate RUN crawl/en --out crawl/en/o → is inside the corpus
ray translate RUN crawl/en --out crawl/en → is inside the corpus
ray align RUN crawl/en --out o --format nbest → --format does not know 'nbest'
ray align RUN crawl/en --out o --device cuda:1 → --device does not know 'cuda:1'
ray translate RUN --out o → a corpus is needed
ray translate RUN crawl/en crawl/fr --out o → a corpus is needed
ray translate missing crawl/en --out o → missing
ray align RUN crawl/en crawl/fr --out o --reverse-run RUN → translates from en to fr
ray score RUN crawl/en crawl/fr --out o --reverse-run RUN → --reverse-run has no effect on `ray score`
ray align RUN crawl/en crawl/fr --out o --glossary g → --glossary has no effect on `ray align`
ray score RUN crawl/en crawl/fr --address ADDRESS --out o → --address ADDRESS cannot be used:
ray score RUN crawl/en crawl/fr --address ray://ADDRESS --out o → --address ray://ADDRESS cannot be used:
"""


@pytest.mark.parametrize(("words", "said"), rows(MISTAKES))
def test_wrong_options_are_one_line(
    words: str, said: str, corpus: Path, tiny_run: Path, command: Command
) -> None:
    with socket.socket() as free:  # nobody listens there
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        line = words.replace("RUN", str(tiny_run)).replace("ADDRESS", address)
        assert_refused(command(line), said.replace("ADDRESS", address))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            "raise OSError('failed to map segment')",
            "OSError('failed to map segment')",
        ),  # as under `ulimit -v`
        ("def init(**_): raise SystemExit(1)", "SystemExit(1)"),
        ("def init(**_): raise Exception('the node timed out')", "Exception('the node timed out')"),
    ],
)
def test_a_ray_that_cannot_start_is_one_line(
    module: str,
    message: str,
    corpus: Path,
    tiny_run: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("fake/ray/data").mkdir(parents=True)
    Path("fake/ray/data/__init__.py").touch()
    Path("fake/ray/__init__.py").write_text(f"def shutdown(): pass\n{module}\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "ray"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend("fake")
    done = command(f"ray translate {tiny_run} crawl/en --out out")
    for name in [name for name in sys.modules if name.partition(".")[0] == "ray"]:
        del sys.modules[name]
    assert_refused(done, f"--address local cannot be used: {message} (start Ray")


def test_too_little_address_space_is_one_line(
    corpus: Path, tiny_run: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray would abort the process."""
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 33, 1 << 34))
    done = command(f"ray translate {tiny_run} crawl/en --out out")
    assert_refused(done, "this shell allows 8,589,934,592 (ulimit -v unlimited)")


@pytest.mark.processes
@pytest.mark.parametrize("module", ["lab.commands.ray", "serve.commands"])
def test_a_module_of_a_command_can_be_imported_first(module: str) -> None:
    """As a worker does, which gets the work from another process."""
    environment = os.environ | {"PYTHONPATH": SOURCE}
    subprocess.run(
        [sys.executable, "-c", f"import rnnsearch.{module}"], env=environment, check=True
    )


@pytest.mark.processes
@pytest.mark.slow
def test_a_killed_worker_loses_nothing(corpus: Path, tiny_run: Path, command: Command) -> None:
    """With Ray itself, which starts another worker, and gives it the shard again."""
    pytest.importorskip("ray.data")
    shard = Path("crawl/en/part-0.en")
    shard.write_text(shard.read_text(encoding="utf-8") * 40, encoding="utf-8")
    line = f"-m rnnsearch ray translate {tiny_run} crawl/en --workers 1 --out out"
    Path("tmp").mkdir()
    environment = os.environ | {
        "PYTHONPATH": SOURCE,
        "TMPDIR": str(corpus / "tmp"),
        "RAY_TMPDIR": "/tmp",
    }
    with subprocess.Popen(
        [sys.executable, *line.split()], env=environment, stderr=subprocess.PIPE
    ) as process:
        try:
            while process.poll() is None and not (writers := writers_of(corpus / "tmp")):
                time.sleep(0.1)
            os.kill(writers[0], signal.SIGKILL)
            _, said = process.communicate(timeout=600)
        finally:
            process.send_signal(signal.SIGINT)  # it ends its Ray
    assert process.returncode == 0, said
    assert b"2 of 2 shards are done, 0 of them before" in said
    expected = {
        name: command("translate", tiny_run, f"crawl/en/{name}").out for name in answers("out")
    }
    assert answers("out") == expected
    assert len(expected) == 2


def writers_of(folder: Path) -> list[int]:
    """Returns the processes that write answers to a file below the folder."""
    found = []
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            file = handle.readlink()
            if file.name == "answers" and folder in file.parents:
                found.append(int(handle.parts[2]))
    return found
