"""`--ray` as it is typed, and what is refused before any Ray is started."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.cli.on_ray import runs_and_corpora, with_address
from rnnsearch.cluster import actors
from rnnsearch.cluster.worker import Worker
from rnnsearch.errors import InputError
from rnnsearch.system.locks import only_one


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("run corpus --ray", "run corpus --ray=local"),
        ("run corpus --ray --out a", "run corpus --ray=local --out a"),
        ("run --ray corpus --out a", "run --ray=local corpus --out a"),
        ("run --ray auto corpus", "run --ray=auto corpus"),
        ("run --ray head:6379 corpus", "run --ray=head:6379 corpus"),
        ("run --ray [::1]:6379 corpus", "run --ray=[::1]:6379 corpus"),
        ("run --ray s3://bucket/corpus", "run --ray=local s3://bucket/corpus"),
        ("run --ray=10.0.0.1:6379 corpus", "run --ray=10.0.0.1:6379 corpus"),
        ("run corpus", "run corpus"),
    ],
)
def test_the_address_is_optional(typed: str, understood: str) -> None:
    assert with_address(typed.split()) == understood.split()


def test_runs_come_first(tiny_run: Path, tmp_path: Path) -> None:
    run, corpus = str(tiny_run), str(tmp_path)
    assert runs_and_corpora([run, corpus], 1) == ([tiny_run], [corpus])
    assert runs_and_corpora([run, run, "s3://bucket/en", "fr"], 2) == ([tiny_run, tiny_run], ["s3://bucket/en", "fr"])
    assert runs_and_corpora(["missing", corpus], 1) == ([Path("missing")], [corpus])  # whoever opens it says what is wrong
    for words, most in (([run], 1), ([run, corpus, corpus], 1), ([run], 2), ([run, "a", "b", "c"], 2)):
        with pytest.raises(InputError, match="corpus"):
            runs_and_corpora(words, most)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("translate RUN CORPUS --ray", "--ray needs a folder for the answers (add --out DIR)"),
        ("score RUN CORPUS --ray", "--ray needs a folder for the answers"),
        ("translate RUN CORPUS --ray --out OUT --samples 2", "--samples cannot be used with --ray"),
        ("translate RUN CORPUS --ray --out OUT --links links", "--links cannot be used with --ray"),
        ("align RUN CORPUS --ray --out OUT --picture", "--picture cannot be used with --ray"),
        ("align RUN CORPUS --ray --out OUT --gold gold.wa", "--gold cannot be used with --ray"),
        ("translate RUN CORPUS --ray --out OUT --format tmx", "--format does not know 'tmx'"),
        ("translate RUN CORPUS --ray --out OUT --device cuda:1", "--device cuda:1 cannot be used with --ray"),
        ("translate RUN CORPUS --ray --out OUT --beam 0", "beam"),
        ("translate RUN --ray --out OUT", "one corpus is needed, and none was named"),
        ("translate RUN missing --ray --out OUT", "missing: no such file or folder"),
        ("translate missing CORPUS --ray --out OUT", "missing"),
        ("translate RUN nowhere://a --ray --out OUT", "nowhere://a: cannot be used"),
        ("score RUN CORPUS --ray --out OUT", "the shard a.txt has one text only"),
        ("align RUN CORPUS --ray --out OUT --reverse-run RUN", "translates from en to fr"),
        ("translate RUN CORPUS --ray ray://head:10001 --out OUT", "--ray does not take ray:// addresses"),
        ("translate RUN CORPUS/a.txt --workers 2", "--workers needs --ray"),
        ("translate RUN CORPUS/a.txt --column text", "--column needs --ray"),
        ("score RUN CORPUS/a.txt CORPUS/a.txt --out OUT", "--out needs --ray"),
        ("align RUN CORPUS/a.txt CORPUS/a.txt --columns a b", "--columns needs --ray"),
    ],
)
def test_wrong_options(words: str, message: str, tiny_run: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/a.txt").write_text("one\n")
    places = {"RUN": str(tiny_run), "CORPUS": str(tmp_path / "corpus"), "OUT": str(tmp_path / "out")}
    for name, place in places.items():
        words = words.replace(name, place)
    done = command(*words.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_without_ray_the_extra_is_named(
    tiny_run: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    (tmp_path / "a.txt").write_text("one\n")
    done = command("translate", tiny_run, tmp_path / "a.txt", "--ray", "--out", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    assert done.err == "rnnsearch: --ray needs the package ray (pip install 'rnnsearch[ray]')\n"


def test_a_folder_with_other_files_is_left_alone(tiny_run: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    done = command("translate", tiny_run, tmp_path / "a.txt", "--ray", "--out", tmp_path)
    assert done.code == 2
    assert "exists and holds other files" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_command_that_was_interrupted_goes_on(
    no_ray: list[str], tiny_corpus: Path, tiny_run: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (tiny_corpus / "dev.en").read_text(encoding="utf-8").split("\n")[:3]
    (tmp_path / "corpus").mkdir()
    for name in "abc":
        (tmp_path / f"corpus/{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words = ["translate", tiny_run, tmp_path / "corpus", "--ray", "--out", tmp_path / "out"]
    whole = actors.answered

    def interrupted(*arguments: Any) -> Iterator[actors.Outcome]:
        yield next(iter(whole(*arguments)))
        raise KeyboardInterrupt

    monkeypatch.setattr(actors, "answered", interrupted)
    done = command(*words)
    assert (done.code, done.err) == (130, "rnnsearch: interrupted; 1 of 3 shards are done; the same command goes on\n")
    assert [json.loads(line)["shard"] for line in (tmp_path / "out/index.jsonl").read_text().split("\n")[:-1]] == ["a.txt"]
    monkeypatch.setattr(actors, "answered", whole)
    done = command(*words)
    assert (done.code, no_ray) == (0, ["a.txt", "b.txt", "c.txt"])
    assert "3 of 3 shards are done, 1 of them before; 9 lines" in done.err
    assert command(*words).code == 0
    assert len(no_ray) == 3
    assert command(*words, "--beam", "1").code == 2
    assert command(*words, "--beam", "1", "--overwrite").code == 0
    assert len(no_ray) == 6
    (tmp_path / "corpus/d.txt").write_text("one\n")
    assert "4 of 4 shards are done, 3 of them before; 10 lines" in command(*words, "--beam", "1").err


def test_an_error_inside_rnnsearch_fails_its_shard_alone(
    no_ray: list[str], tiny_run: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    for name in "ab":
        (tmp_path / f"corpus/{name}.txt").write_text("one\n")
    answer = Worker.answer
    monkeypatch.setattr(Worker, "answer", lambda self, shard: 1 // 0 if shard.name == "a.txt" else answer(self, shard))
    done = command("translate", tiny_run, tmp_path / "corpus", "--ray", "--out", tmp_path / "out")
    assert done.code == 2
    assert f"rnnsearch: {tmp_path}/corpus/a.txt: internal error: ZeroDivisionError" in done.err
    assert "1 of 2 shards are done" in done.err


def test_one_command_at_a_time(no_ray: list[str], tiny_run: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with only_one(tmp_path / "out", "translating"):
        done = command("translate", tiny_run, tmp_path / "a.txt", "--ray", "--out", tmp_path / "out")
    assert done.code == 2
    assert "is translating here" in done.err


def test_the_benchmark_translates_every_line_in_every_turn(
    no_ray: list[str], tiny_corpus: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["ray_workers.py", str(tiny_run), str(tiny_corpus / "dev.en"), "--lines", "6", "--shards", "2", "--turns", "1", "--json"]
    monkeypatch.setattr(sys, "argv", words)
    runpy.run_path(str(Path(__file__).parents[2] / "benchmarks/ray_workers.py"), run_name="__main__")
    found = json.loads(capsys.readouterr().out)
    assert no_ray == ["part-000.txt", "part-001.txt"] * 2
    one, two = (found["turns"][f"ray {number}"][0]["seconds"] for number in (1, 2))
    assert found["lines_per_second"] == pytest.approx({"ray 1": 6 / one, "ray 2": 6 / two})
    assert found["ratio"]["ray"] == pytest.approx(one / two)
