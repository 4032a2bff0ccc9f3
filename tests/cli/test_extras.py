"""Without an extra, what needs it says in one line what to install; everything else works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import Command
from refusals import refusal

from rnnsearch import Translator
from rnnsearch.cli.commands import installed_commands
from rnnsearch.installed import EXTRAS

EXTRA = {
    command.__name__.strip("_"): extra
    for command in installed_commands()
    if (extra := command.extra)  # type: ignore[attr-defined]
}
WORDS = {
    "demo": "--out demo",
    "try": "a.en b.fr",
    "train": "demo --data store --out run",
    "serve": "run",
    "experiment": "study.toml --out out",
    "reproduce": "europarl-small --out out",
    "evaluate": "--hyp a --ref b",
    "report": "run --test a b --out out",
    "ray": "translate run corpus --out out",
}


def test_every_command_with_an_extra_is_tried() -> None:
    assert WORDS.keys() == EXTRA.keys()


@pytest.mark.parametrize(
    ("name", "package"), [(name, each) for name in WORDS for each in EXTRAS[EXTRA[name]]]
)
def test_a_command_says_what_it_needs(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, package: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    done = command(name, *WORDS[name].split())
    said = f"rnnsearch: needs {package}: pip install 'rnnsearch[{EXTRA[name]}]'\n"
    assert (done.code, done.out, done.err) == (2, "", said)
    assert not list(tmp_path.iterdir())
    assert command(f"{name} --help").code == 0


def test_pictures_need_matplotlib(
    command: Command, monkeypatch: pytest.MonkeyPatch, tiny_run: Path, tmp_path: Path
) -> None:
    text, plots = tmp_path / "text", tmp_path / "plots"
    text.write_text("The man sees.\n")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert command(f"translate {tiny_run} {text}").code == 0
    done = command(f"translate {tiny_run} {text} --alignment-plots {plots}")
    assert (done.code, done.out) == (2, "")
    assert done.err == "rnnsearch: needs matplotlib: pip install 'rnnsearch[plot]'\n"
    assert not plots.exists()
    with refusal(r"^needs matplotlib: pip install 'rnnsearch\[plot\]'$"):
        Translator.load(tiny_run).translate("The man sees.")[0].plot()
