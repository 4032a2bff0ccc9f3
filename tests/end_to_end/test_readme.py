"""The README's commands and its ten lines of Python do what they say; only the network and the corpus are
small here."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return next(text for text in blocks if containing in text)


@pytest.mark.slow
def test_the_commands(
    tmp_path: Path, tiny_corpus: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in tiny_corpus.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = []
    for line in block("sh", "rnnsearch prepare").strip().split("\n"):
        words, _, redirected = line.split("#")[0].partition(">")
        name, *arguments = shlex.split(words)
        assert name == "rnnsearch"
        if arguments[0] == "try":  # all of the others in one: tests/test_quick_start.py
            continue
        if arguments[0] == "prepare":
            arguments += ["--set", "data.vocabulary_size=120"]
        if arguments[0] == "train":
            small = (
                "embedding_size=16",
                "hidden_size=16",
                "encoder_size=16",
                "alignment_size=16",
                "maxout_size=16",
            )
            arguments += [word for size in small for word in ("--set", f"model.{size}")]
            arguments += [
                "--set",
                "training.max_updates=4",
                "--set",
                "training.validate_bleu=false",
                "--set",
                "training.samples=0",
            ]
        outcome = command(*arguments)
        assert outcome.code == 0, outcome.err
        if redirected:
            Path(redirected.strip()).write_text(outcome.out, encoding="utf-8")
        ran.append(arguments[0])
    assert ran == ["prepare", "train", "translate", "evaluate", "align", "report"]
    assert Path("report/index.html").exists()
    lines = Path("test.en").read_text(encoding="utf-8").count("\n")
    assert Path("test.out").read_text(encoding="utf-8").count("\n") == lines
    assert Path("test.links").read_text(encoding="utf-8").count("\n") == lines


def test_the_ten_lines(tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demo").mkdir()
    shutil.copytree(tiny_run, tmp_path / "demo" / "run")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block("python", "Translator.load"), names)
    assert names["result"].alignment.shape == (
        len(names["result"].tokens),
        len(names["result"].source_tokens),
    )
    assert (tmp_path / "alignment.svg").read_text(encoding="utf-8").startswith("<?xml")
