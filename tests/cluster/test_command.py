"""`--ray` as it is typed, and what is refused before any Ray is started."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rnnsearch.cli.on_ray import runs_and_corpora, with_address
from rnnsearch.cluster import actors
from rnnsearch.cluster.worker import Worker
from rnnsearch.errors import InputError
from rnnsearch.system.files import only_one


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
    for words, most, found in (
        ([run, corpus], 1, ([tiny_run], [corpus])),
        ([run, run, "s3://bucket/en", "fr"], 2, ([tiny_run, tiny_run], ["s3://bucket/en", "fr"])),
        (["missing", corpus], 1, ([Path("missing")], [corpus])),  # whoever opens it says what is wrong
    ):
        assert runs_and_corpora(words, most) == found
    for words, most in (([run], 1), ([run, corpus, corpus], 1), ([run], 2), ([run, "a", "b", "c"], 2)):
        with pytest.raises(InputError, match="corpus"):
            runs_and_corpora(words, most)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of one shard of a line."""
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/a.txt").write_text("one\n")
    return tmp_path / "corpus"


@pytest.fixture
def translate(corpus: Path, tiny_run: Path, command: Callable[..., Any]) -> Callable[..., Any]:
    """translate("--beam 1"): the corpus into the folder out beside it."""
    line = f"translate {tiny_run} {corpus} --ray --out {corpus.parent}/out"
    return lambda options="": command(f"{line} {options}".strip())


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
        ("translate RUN --ray --out OUT", "one corpus is needed, but the command line has none"),
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
def test_wrong_options(
    words: str, message: str, tiny_run: Path, corpus: Path, command: Callable[..., Any]
) -> None:
    places = {"RUN": tiny_run, "CORPUS": corpus, "OUT": corpus.parent / "out"}
    for name, place in places.items():
        words = words.replace(name, str(place))
    done = command(words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_without_ray_the_extra_is_named(
    translate: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    done = translate()
    assert (done.code, done.out) == (2, "")
    assert done.err == "rnnsearch: --ray needs the package ray (pip install 'rnnsearch[ray]')\n"


@pytest.mark.parametrize("error", [Exception("the node timed out\nmore"), SystemExit(1)], ids=repr)
def test_a_ray_that_cannot_start_is_one_line(
    error: BaseException, translate: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**_: Any) -> None:
        raise error

    ended: list[bool] = []
    ray = SimpleNamespace(init=init, shutdown=lambda: ended.append(True))
    monkeypatch.setattr(actors, "import_ray", lambda: ray)
    done = translate()
    assert (done.code, done.out, done.err.count("\n"), ended) == (2, "", 1, [True]), done.err
    assert "rnnsearch: Ray cannot start here: " in done.err


def test_a_folder_that_is_not_free_is_left_alone(translate: Callable[..., Any], corpus: Path) -> None:
    out = corpus.parent / "out"
    with only_one(out, "translating"):
        assert "is translating here" in translate().err
    out.mkdir(exist_ok=True)
    (out / "mine").write_text("years")
    done = translate()
    assert (done.code, "exists and holds other files" in done.err) == (2, True)
    assert [path.name for path in out.iterdir()] == ["mine"]


def index(corpus: Path) -> list[Any]:
    return [json.loads(line) for line in (corpus.parent / "out/index.jsonl").read_text().splitlines()]


def test_a_command_that_was_interrupted_goes_on(
    no_ray: list[str], translate: Callable[..., Any], corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (corpus / f"{name}.txt").write_text("A cat .\nA dog .\nA man .\n")
    whole = actors.answered

    def interrupted(*arguments: Any) -> Iterator[actors.Outcome]:
        yield next(iter(whole(*arguments)))
        raise KeyboardInterrupt

    monkeypatch.setattr(actors, "answered", interrupted)
    said = "rnnsearch: interrupted; 1 of 3 shards are done; the same command goes on\n"
    done = translate()
    assert (done.code, done.err) == (130, said)
    assert [entry["shard"] for entry in index(corpus)] == ["a.txt"]
    monkeypatch.setattr(actors, "answered", whole)
    done = translate()
    assert (done.code, no_ray) == (0, ["a.txt", "b.txt", "c.txt"])
    assert "3 of 3 shards are done, 1 of them before; 9 lines" in done.err
    assert translate().code == 0
    assert len(no_ray) == 3
    assert translate("--beam 1").code == 2
    assert translate("--beam 1 --overwrite").code == 0
    assert len(no_ray) == 6
    (corpus / "d.txt").write_text("one\n")
    assert "4 of 4 shards are done, 3 of them before; 10 lines" in translate("--beam 1").err


def test_a_shard_fails_alone_and_then_only_what_is_missing_is_done(
    no_ray: list[str], translate: Callable[..., Any], corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in (("b.txt", b"one\n\xff\n"), ("c.txt", b"one\n")):
        (corpus / name).write_bytes(content)
    answer = Worker.answer
    with monkeypatch.context() as patch:
        patch.setattr(
            Worker, "answer", lambda self, shard: 1 // 0 if shard.name == "a.txt" else answer(self, shard)
        )
        done = translate()
    assert done.code == 2
    assert f"rnnsearch: {corpus}/a.txt: internal error: ZeroDivisionError" in done.err
    assert f"rnnsearch: {corpus}/b.txt:2: byte 1 of the line is not UTF-8" in done.err
    assert done.err.endswith("2 of 3 shards failed (correct them; the same command does what is missing)\n")
    assert ["error" in entry for entry in index(corpus)] == [True, True, False]
    (corpus / "b.txt").write_text("one\ntwo\n")
    assert "3 of 3 shards are done, 1 of them before; 4 lines" in translate().err
    assert no_ray == ["a.txt", "b.txt", "c.txt", "a.txt", "b.txt"]
