"""What all commands share: --version, --quiet and --debug, completion in a shell, and help that helps from an
installed package alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest
from command_line import Command, assert_refused, sets, sizes
from tables import rows

import rnnsearch
from rnnsearch.config import built_in
from rnnsearch.run import Run
from rnnsearch.settings import Settings
from rnnsearch.translation.translator import Translator


def test_the_version(command: Command) -> None:
    shown = command("--version")
    assert (shown.code, shown.out, shown.err) == (0, f"rnnsearch {rnnsearch.__version__}\n", "")
    assert command("--quiet --version").out == shown.out


def test_quiet_leaves_results_only(command: Command, tiny_store: Path, tmp_path: Path) -> None:
    settings = ("max_updates=1", "validate_bleu=false", "select_by=nll")
    limits = sets(*sizes(4), *(f"stopping.{setting}" for setting in settings))
    done = command(f"train --quiet demo --data {tiny_store} --out {tmp_path}/run {limits}")
    assert (done.code, done.out, done.err) == (0, f"{tmp_path / 'run'}\n", "")


def test_quiet_silences_warnings_and_notes_of_its_own_command_only(
    command: Command, tiny_unknown_run: Path
) -> None:
    line, stdin = f"translate {tiny_unknown_run}", b"Nobody xyzzy.\n"
    loud, quiet = command(line, stdin=stdin), command(line.replace(" ", " -q ", 1), stdin=stdin)
    assert loud.err
    assert (quiet.err, quiet.out, quiet.code) == ("", loud.out, loud.code)
    assert command(line, stdin=stdin).err == loud.err


def test_quiet_silences_no_error_and_debug_shows_where_it_was_found(command: Command) -> None:
    plain = command("translate nosuch").err
    assert command("-q translate nosuch").err == plain != ""
    assert "Traceback" not in plain
    for line in ("--debug translate nosuch", "translate nosuch --debug"):
        debugged = command(line)
        assert debugged.code == 2
        assert "Traceback" in debugged.err
        assert debugged.err.endswith(plain)


MEANT = """
trian → Did you mean 'train'?
translate run --baem 3 → --beam
train multi30 --data s --out r → did you mean 'multi30k'?
train demo --data s --out r --set model.hiden_size=3 → unknown setting model.hiden_size (did you mean 'model.hidden_size'?
train demo --data s --out r --set modle.hidden_size=3 → unknown setting modle.hidden_size (did you mean 'model.hidden_size'?
train demo --data s --out r --set training.hidden_size=3 → unknown setting training.hidden_size (did you mean 'model.hidden_size'?
train demo --data s --out r --set hidden_size=3 → is not section.key=value (did you mean 'model.hidden_size'?)
train {recipe} --data s --out r → mine.toml: unknown setting training.bacth_size (did you mean 'training.batch_size'?
train demo --data s --out r --modle.hidden_size 3 → unknown setting modle.hidden_size (did you mean 'model.hidden_size'?
translate run --search.baem 3 → unknown setting search.baem (did you mean 'search.beam'?
translate run --serach.beam=3 → unknown setting serach.beam (did you mean 'search.beam'?
translate run --beem.search 3 → unknown setting beem.search (
translate run --training.seed 3 → training.seed has no effect here
translate run --search.beam → --search.beam needs a value
translate run --search.beam --json → --search.beam needs a value
translate run --search.beam 3 --search.beam=4 → --search.beam is given twice
translate run --search.beam 3 --beam 4 → beam and search.beam are the same
translate run --search.beam 0 → search.beam: Input should be greater than 0
align run a b --search.beam 3 → search.beam has no effect here
aer --search.beam 3 → No such option: --search.beam
translate run --beam 3 --beam=4 → --beam is given 2 times (give it once)
score run a b --device cpu --device cuda → --device is given 2 times
prepare a b --out s --out t → --out is given 2 times
report run --test a b --out s -q --out t → --out is given 2 times
experiment alignmnt --out s → did you mean 'alignment'?
experiment {study} --out s → unknown setting variants.small.recpie (did you mean 'variants.small.recipe'?
links a b --out c --symmetrise gorw → did you mean 'grow'?
settings trainig.seed → did you mean 'training.seed'?
settings --recipe multi30 → did you mean 'multi30k'?
"""


@pytest.mark.parametrize(("words", "said"), rows(MEANT))
def test_what_was_meant_is_named(command: Command, tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text("[training]\nbacth_size = 3\n")
    (tmp_path / "study.toml").write_text(
        "[corpus]\nbuiltin = true\n[variants.small]\nrecpie = 'demo'\n"
    )
    done = command(words.format(recipe=tmp_path / "mine.toml", study=tmp_path / "study.toml"))
    assert_refused(done, said)


def test_settings_are_listed(command: Command) -> None:
    every = command("settings").out
    for section in Settings.model_fields:
        for key, field in type(getattr(Settings(), section)).model_fields.items():
            assert f"{section}.{key} = " in every
            assert str(field.description).split()[0] in every
    assert all(name in every for name in (*built_in("recipe"), *built_in("study")))
    assert command("settings model").out.count("\nmodel.") == len(
        type(Settings().model).model_fields
    )
    first, *rest = command("settings search.beam").lines
    assert first.startswith("search.beam = 12    # integer > 0")
    assert (
        " ".join(map(str.strip, rest)) == type(Settings().search).model_fields["beam"].description
    )


def test_built_in_recipes_and_studies_are_printed(command: Command, tmp_path: Path) -> None:
    from rnnsearch.config import load_config
    from rnnsearch.lab.study import open_study

    (tmp_path / "mine.toml").write_text(command("settings --recipe multi30k").out)
    assert load_config(tmp_path / "mine.toml") == load_config("multi30k")
    (tmp_path / "study.toml").write_text(command("settings --study alignment").out)
    assert open_study(tmp_path / "study.toml").study == open_study("alignment").study


def files(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from files(entry)
        elif not entry.name.endswith(".pyc"):
            yield entry


def test_nothing_installed_points_to_pages_that_are_not(command: Command) -> None:
    """A wheel holds the package alone: help, messages and recipes in it may not name the repository's docs/,
    nor its Markdown files."""
    page = re.compile(r"\bdocs/[a-z]|\b[A-Za-z0-9_-]+/[A-Za-z0-9_/-]+\.md\b")
    assert page.search("see docs/reference/settings.md")
    named = [
        entry.name
        for entry in files(resources.files("rnnsearch"))
        if page.search(entry.read_bytes().decode("utf-8", "replace"))
    ]
    assert named == []


def test_the_shell_is_answered(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(line: str) -> set[str]:
        monkeypatch.setenv("_RNNSEARCH_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        return set(command().out.split())

    assert completed("rnnsearch tr") == {"train", "translate", "try"}
    assert completed("rnnsearch translate --be") == {"--beam"}


def test_every_setting_is_an_option(
    command: Command, tiny_run: Path, tiny_store: Path, tmp_path: Path
) -> None:
    """In the three ways of writing it, of a number, a word and a truth value; repeated settings add up."""
    settings = [
        ("search", "nbest", 2),
        ("search", "normalise", "length"),
        ("search", "no_unk", "true"),
    ]
    (expected,) = Translator.load(tiny_run).translate(
        ["The man sees."], nbest=2, normalise="length", settings={"search.no_unk": True}
    )
    for form in ("--{}.{} {}", "--{}.{}={}", "--set {}.{}={}"):
        line = " ".join(form.format(*setting) for setting in settings)
        printed = command(f"translate {tiny_run} {line} --json", stdin=b"The man sees.\n")
        assert json.loads(printed.out) == expected.to_dict()
    limits = "--stopping.max_updates 1 --stopping.validate_bleu=false --set stopping.select_by=nll"
    line = f"--model.hidden_size=4 {limits}"
    assert command(f"train demo --data {tiny_store} --out {tmp_path}/run {line}").code == 0
    settings_of_run = Run.open(tmp_path / "run").settings
    assert (settings_of_run.model.hidden_size, settings_of_run.stopping.max_updates) == (4, 1)


def test_the_help_of_translate_fits_on_one_screen(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert len(command("translate --help").lines) <= 40
