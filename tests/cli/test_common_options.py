"""What all commands share: --version, --quiet and --debug, completion in a shell, and help that helps from an installed package alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import pytest
import shellingham
import typer

import rnnsearch
from rnnsearch.cli import app
from rnnsearch.config import Settings, recipe_names
from rnnsearch.studies.study import study_names

Command = Callable[..., Any]

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_the_version(command: Command) -> None:
    shown = command("--version")
    assert (shown.code, shown.out, shown.err) == (0, f"rnnsearch {rnnsearch.__version__}\n", "")
    assert command("--quiet", "--version").out == shown.out


@pytest.mark.parametrize("words", [["-q", "train"], ["train", "--quiet"]], ids=" ".join)
def test_quiet_leaves_results_only(command: Command, tiny_store: Path, tmp_path: Path, words: list[str]) -> None:
    sizes = [word for size in ("embedding", "hidden", "alignment", "maxout") for word in ("--set", f"model.{size}_size=4")]
    limits = ["--set", "training.max_updates=1", "--set", "training.validate_bleu=false", "--set", "training.select_by=nll"]
    done = command(*words, "demo", "--data", tiny_store, "--out", tmp_path / "run", *sizes, *limits)
    assert (done.code, done.out, done.err) == (0, f"{tmp_path / 'run'}\n", "")


def test_quiet_silences_warnings_and_notes_of_its_own_command_only(command: Command, tiny_unknown_run: Path, tiny_store: Path) -> None:
    for words, stdin in ((["translate", tiny_unknown_run], b"Nobody xyzzy.\n"), (["prepare", "--check", tiny_store], b"")):
        loud, quiet = command(*words, stdin=stdin), command(words[0], "-q", *words[1:], stdin=stdin)
        assert loud.err
        assert (quiet.err, quiet.out, quiet.code) == ("", loud.out, loud.code)
        assert command(*words, stdin=stdin).err == loud.err


def test_quiet_silences_no_error(command: Command) -> None:
    assert command("-q", "translate", "nosuch").err == command("translate", "nosuch").err != ""


def test_debug_may_follow_the_command(command: Command) -> None:
    assert "Traceback" in command("translate", "nosuch", "--debug").err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_them(command: Command, name: str) -> None:
    shown = command(name, "--help").out
    assert "--quiet" in shown
    assert "--debug" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("trian", "Did you mean 'train'?"),
        ("translate run --baem 3", "--beam"),
        ("train multi30 --data s --out r", "did you mean 'multi30k'?"),
        ("train demo --data s --out r --set model.hiden_size=3", "unknown setting model.hiden_size (did you mean 'model.hidden_size'?"),
        ("train demo --data s --out r --set modle.hidden_size=3", "unknown setting modle (did you mean 'model'?"),
        (
            "train demo --data s --out r --set training.hidden_size=3",
            "unknown setting training.hidden_size (did you mean 'model.hidden_size'?",
        ),
        ("train demo --data s --out r --set hidden_size=3", "is not section.key=value (did you mean 'model.hidden_size'?)"),
        ("train {recipe} --data s --out r", "mine.toml: unknown setting training.bacth_size (did you mean 'training.batch_size'?"),
        ("experiment alignmnt --out s", "did you mean 'alignment'?"),
        ("experiment {study} --out s", "unknown setting variants.small.recpie (did you mean 'variants.small.recipe'?"),
        ("links a b --out c --symmetrise gorw", "did you mean 'grow'?"),
        ("settings trainig.seed", "did you mean 'training.seed'?"),
        ("settings --recipe multi30", "did you mean 'multi30k'?"),
    ],
)
def test_what_was_meant_is_named(command: Command, tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text("[training]\nbacth_size = 3\n")
    (tmp_path / "study.toml").write_text("[corpus]\nbuiltin = true\n[variants.small]\nrecpie = 'demo'\n")
    done = command(*words.format(recipe=tmp_path / "mine.toml", study=tmp_path / "study.toml").split())
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err


def test_nothing_is_meant_by_a_name_like_no_other(command: Command) -> None:
    done = command(*["train", "demo", "--data", "s", "--out", "r", "--set", "model.qqqqqq=1"])
    assert done.err == "rnnsearch: recipe demo: unknown setting model.qqqqqq (`rnnsearch settings` lists them all)\n"


def test_settings_are_listed(command: Command) -> None:
    every = command("settings").out
    for section in Settings.model_fields:
        for key, field in type(getattr(Settings(), section)).model_fields.items():
            assert f"{section}.{key} = " in every
            assert str(field.description).split()[0] in every
    assert all(name in every for name in (*recipe_names(), *study_names()))
    assert command("settings", "model").out.count("\nmodel.") == len(type(Settings().model).model_fields)
    first, *rest = command("settings", "search.beam").lines
    assert first.startswith("search.beam = 12    # integer > 0")
    assert " ".join(map(str.strip, rest)) == type(Settings().search).model_fields["beam"].description


def test_built_in_recipes_and_studies_are_printed(command: Command, tmp_path: Path) -> None:
    from rnnsearch.config import load_config
    from rnnsearch.studies.study import read_plan

    (tmp_path / "mine.toml").write_text(command("settings", "--recipe", "multi30k").out)
    assert load_config(tmp_path / "mine.toml") == load_config("multi30k")
    (tmp_path / "study.toml").write_text(command("settings", "--study", "alignment").out)
    assert read_plan(tmp_path / "study.toml").study == read_plan("alignment").study


def files(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from files(entry)
        elif not entry.name.endswith(".pyc"):
            yield entry


def test_nothing_installed_points_to_pages_that_are_not(command: Command) -> None:
    """A wheel holds the package alone: help, messages and recipes in it may not name the repository's docs/, nor its Markdown files."""
    page = re.compile(r"\bdocs/[a-z]|\b[A-Za-z0-9_-]+/[A-Za-z0-9_/-]+\.md\b")
    assert page.search("see docs/reference/settings.md")
    named = [entry.name for entry in files(resources.files("rnnsearch")) if page.search(entry.read_bytes().decode("utf-8", "replace"))]
    assert named == []


def test_the_shell_is_answered(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(line: str) -> set[str]:
        monkeypatch.setenv("_RNNSEARCH_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        return set(command().out.split())

    assert completed("rnnsearch tr") == {"train", "translate"}
    assert completed("rnnsearch translate --be") == {"--beam"}
    assert completed("rnnsearch train rnnsearch-5") == {"rnnsearch-50", "rnnsearch-50-star", "rnnsearch-50-aligned"}
    assert completed("rnnsearch train demo --set model.hid") == {"model.hidden_size="}


def test_bash_completes_after_the_installation(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What --install-completion writes makes a real bash complete; --show-completion prints the same."""
    monkeypatch.setattr(shellingham, "detect_shell", lambda *_: ("bash", "/bin/bash"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert command("--install-completion").code == 0
    assert command("--show-completion").out.strip() == (tmp_path / ".bash_completions" / "rnnsearch.sh").read_text().strip()
    program = tmp_path / "bin" / "rnnsearch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rnnsearch "$@"\n')
    program.chmod(0o755)
    script = 'source ~/.bashrc; COMP_WORDS=(rnnsearch tra); COMP_CWORD=1; _rnnsearch_completion rnnsearch; echo "${COMPREPLY[*]}"'
    places = {"HOME": str(tmp_path), "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", script], env=os.environ | places, capture_output=True, encoding="utf-8", timeout=120)
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (0, ["train", "translate"], "")
