"""A whole study: its rows say what its files say, and nothing that ends it changes them."""

from __future__ import annotations

import csv
import json
import math
import shutil
import signal
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from command_line import Command, assert_refused
from eflomal_stand_in import diagonal, stand_in
from folders import names
from pairs import lines_of, write
from refusals import refusal
from study_files import study_in

from rnnsearch.evaluation.bleu import bleu
from rnnsearch.lab.measures import departure
from rnnsearch.lab.report import write_study
from rnnsearch.lab.run_study import Measured, run_study
from rnnsearch.lab.tables import score_at
from rnnsearch.records import Translation
from rnnsearch.text.formats.lines import read_lines

STUDY = """
title = "Tiny"
recipe = "demo"
seeds = [1, 2]

[corpus]
builtin = true
pairs = 200
held_out = 40

[settings]
model = {embedding_size = 8, hidden_size = 8, alignment_size = 8, maxout_size = 8}
search = {beam = 2, max_length_ratio = 1.2}

[settings.training]
batch_size = 10
threads = 1

[settings.stopping]
max_updates = 8
validate_every = 2
samples = 0
save_every = 1
validate_bleu = false
select_by = "nll"

[variants.additive]

[variants.general]
model.alignment = "general"

[variants.broken]
seeds = [1]
optimiser.learning_rate = 1e30
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Measured]]:
    """A folder with study.toml and out, and what came out."""
    folder = tmp_path_factory.mktemp("study")
    return folder, run_study(study_in(folder, STUDY), jobs=2)


@pytest.fixture
def copy(finished: tuple[Path, list[Measured]], tmp_path: Path) -> Path:
    """As `finished` left it, to be changed."""
    shutil.copytree(finished[0], tmp_path / "copy")
    return tmp_path / "copy"


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]


def scores(out: Path) -> dict[str, Any]:
    """What does not depend on the time that it took."""
    return {row["run"]: (row["status"], row["tests"]) for row in rows_of(out)}


def test_rows_say_what_the_files_say(finished: tuple[Path, list[Measured]]) -> None:
    out = finished[0] / "out"
    rows = {row["run"]: row for row in rows_of(out)}
    assert {name.split("-")[0] for name in rows} == {"additive", "general", "broken"}
    for name, row in rows.items():
        if row["status"] == "done":
            hypotheses = list(read_lines(out / "translations" / name / "test.txt"))
            references = list(read_lines(out / "corpus" / "test.fr"))
            assert row["tests"]["test"]["BLEU"] == pytest.approx(bleu(hypotheses, references).value)
            assert [one["update"] for one in row["validations"]] == [0, 2, 4, 6, 8]


def test_a_failing_run_is_recorded_and_not_averaged_in(
    finished: tuple[Path, list[Measured]], copy: Path
) -> None:
    folder, runs = study_in(copy, STUDY), finished[1]
    assert {run.row["run"] for run in runs if not run.usable} == {"broken-1"}
    markdown, page = write_study(folder, runs)
    assert "broken-1 is not averaged in. It failed: " in markdown
    assert "| broken |" not in markdown
    values = [
        run.row["tests"]["test"]["NLL per word"] for run in runs if run.row["variant"] == "general"
    ]
    mean, spread = sum(values) / 2, abs(values[0] - values[1]) / math.sqrt(2)
    assert f"| {mean:.3f} ± {spread:.3f} |" in markdown
    assert "general − additive" in markdown
    assert page.read_text("utf-8").count("<svg") >= 1


def test_a_diverged_run_is_shown_as_diverged(copy: Path) -> None:
    statistics = copy / "out" / "runs" / "general-1" / "log" / "statistics.json"
    content = json.loads(statistics.read_text("utf-8"))
    content["validations"][-1]["dev_nll"] = 1e6
    statistics.write_text(json.dumps(content), "utf-8")
    folder = study_in(copy, STUDY)
    runs = run_study(folder, only=["general"])
    assert [(run.row["run"], run.row["status"]) for run in runs] == [
        ("general-1", "diverged"),
        ("general-2", "done"),
    ]
    assert "It diverged: development NLL" in write_study(folder, runs)[0]


def test_what_is_finished_is_not_made_again(
    finished: tuple[Path, list[Measured]], copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)  # no command may start, and no network is loaded
    monkeypatch.setattr("rnnsearch.translation.translator.Translator.load", None)
    recipe = copy / "out" / "recipes" / "additive-1.toml"  # as an earlier version wrote it
    table = tomllib.loads(recipe.read_text("utf-8"))
    table["training"]["optimiser"] = table["optimiser"].pop("method")
    recipe.write_text(tomli_w.dumps(table), "utf-8")
    runs = run_study(study_in(copy, STUDY), only=["additive", "general"])
    before = scores(finished[0] / "out")
    assert {run.row["run"]: (run.row["status"], run.row["tests"]) for run in runs} == {
        name: row for name, row in before.items() if row[0] == "done"
    }
    assert scores(copy / "out") == before  # with the rows of the variant that was left out


@pytest.mark.parametrize(
    ("old", "new"),
    [("pairs = 200", "pairs = 199"), ("[settings]", "[settings]\ndata = {vocabulary_size = 9}")],
)
def test_another_corpus_is_refused(copy: Path, old: str, new: str) -> None:
    with refusal("belongs to other files or settings"):
        run_study(study_in(copy, STUDY.replace(old, new)))


def test_more_updates_are_more_to_do_also_after_a_kill(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = STUDY.replace("seeds = [1, 2]", "seeds = [1]")
    study = study_in(copy, once.replace("max_updates = 8", "max_updates = 10"))
    with monkeypatch.context() as killed:
        killed.setattr("rnnsearch.lab.run_study.Training.error", lambda _: "ended by SIGKILL")
        run_study(study, only=["additive"])
    (first,) = run_study(study, only=["additive"])
    assert (first.row["status"], first.row["updates"]) == ("done", 10)


def test_weights_of_another_learning_rate_are_not_the_variants(copy: Path) -> None:
    once = STUDY.replace("seeds = [1, 2]", "seeds = [1]")
    recipe = copy / "out" / "recipes" / "additive-1.toml"
    before = recipe.read_bytes()
    other = once.replace("[settings]", "[settings]\noptimiser.learning_rate = 0.5")
    (run,) = run_study(study_in(copy, other), only=["additive"])
    assert run.row["status"] == "failed"
    assert "was trained with optimiser.learning_rate = " in run.row["error"]
    assert recipe.read_bytes() == before
    (run,) = run_study(study_in(copy, once), only=["additive"])
    assert run.row["status"] == "done"


def test_variants_are_scored_by_the_datasets_letters(copy: Path) -> None:
    """A recipe's `data` has no effect on training, as the dataset has its own."""
    (copy / "lower.toml").write_text("[data]\nlowercase = true\n", "utf-8")
    study = study_in(copy, STUDY)
    name = "additive-1"
    before = scores(copy / "out")[name]
    study.variants["additive"] = study.variants["additive"].model_copy(
        update={"data": study.variants["additive"].data.model_copy(update={"lowercase": True})}
    )
    results = copy / "out" / "results.jsonl"
    results.unlink()
    run_study(study, only=["additive"])
    assert scores(copy / "out")[name] == before


@pytest.mark.parametrize("line", ["{}", "7", "{"])
def test_results_that_are_not_rows_are_named(copy: Path, line: str) -> None:
    (copy / "out" / "results.jsonl").write_text(f"{line}\n", "utf-8")
    said = r"results\.jsonl: cannot be read: .* \(remove it: the same command writes it again\)"
    with refusal(said):
        run_study(study_in(copy, STUDY))


def test_a_missing_file_is_named_before_anything_is_made(tmp_path: Path) -> None:
    text = '[corpus]\ntrain = ["a.en", "a.fr"]\n[tests.t]\nsource = "t.en"\nreference = "t.fr"\n[variants.one]\n'
    with refusal(r"a\.en: no such file"):
        run_study(study_in(tmp_path, text))
    (tmp_path / "a.en").write_text("a\n")
    (tmp_path / "a.fr").write_text("b\n")
    with refusal(r"t\.en"):
        run_study(study_in(tmp_path, text))
    for name in ("t.en", "t.fr", "t.short"):
        write(tmp_path / name, ["a b"] * (2 if name == "t.short" else 3))
    write(tmp_path / "t.long", ["0-0"] * 4)
    for line, said in (
        ('links = "none"', r"none: no such file"),
        ('links = "t.long"', r"t\.long.*4 .*3"),
        ('systems.moses = "none"', r"none: no such file"),
        ('systems.moses = "t.short"', r"t\.short.*2 .*3"),
    ):
        with refusal(said):
            run_study(study_in(tmp_path, text.replace("[var", f"{line}\n[var")))
    with refusal(r"t\.long has 4 lines and a\.en has 1|t\.long has 4 lines and .*a\.en has 1"):
        links = text.replace("[tests", 'links = "t.long"\npairs = 1\n[tests')
        run_study(study_in(tmp_path, links))
    assert not (tmp_path / "out" / "store").exists()
    assert not (tmp_path / "out" / "runs").exists()


LINKED = """
recipe = "demo"
[corpus]
train = ["a/train.en", "train.fr"]
dev = ["b/train.en", "dev.fr"]
align = "union"
[tests.t]
source = "t.en"
reference = "t.fr"
links = "eflomal"
[settings.stopping]
max_updates = 1
[variants.one]
"""


def test_nothing_of_a_test_is_in_the_links_of_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a changed file is noticed, also one of the same size and name."""
    seen = stand_in(monkeypatch, lambda *pair: (diagonal(*pair),) * 2)
    monkeypatch.setattr(
        "rnnsearch.lab.run_study.train_runs",
        lambda _, runs, jobs: ((run, "not now") for run in runs),
    )
    for name in ("a/train.en", "train.fr", "b/train.en", "dev.fr", "t.en", "t.fr"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, [f"alpha {name[0]} 1", f"beta {name[0]} 2"])
    study = study_in(tmp_path, LINKED)
    run_study(study)
    assert [len(side) for side in seen] == [2, 2, 4, 4]
    for name in ("train", "t"):
        assert lines_of(tmp_path / f"out/corpus/{name}.links") == ["0-0 1-1 2-2"] * 2
    run_study(study)
    assert len(seen) == 4
    for name in ("a/train.en", "b/train.en", "t.fr"):
        whole = (tmp_path / name).read_text()
        (tmp_path / name).write_text(whole.replace("alpha", "omega"))
        with refusal("belongs to other files or settings"):
            run_study(study)
        (tmp_path / name).write_text(whole)


def test_a_folder_with_other_files_is_no_study(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with refusal("out: belongs to other files or settings"):
        run_study(study_in(tmp_path, STUDY))
    assert names(tmp_path / "out") == ["mine"]


def test_each_run_is_read_at_its_own_parts() -> None:
    """Of two runs that ended after 4 and 8 updates: half is the score at 2 and at 4."""
    runs = {
        seed: Measured(
            {
                "updates": most,
                "validations": [
                    {"update": each, "dev_bleu": 10.0 * seed + each} for each in range(1, most + 1)
                ],
            },
            {},
        )
        for seed, most in ((1, 4), (2, 8))
    }
    for seeds in (runs, dict(reversed(runs.items()))):
        assert score_at(seeds, "dev_bleu", 0.5) == (12 + 24) / 2
        assert score_at(seeds, "dev_bleu", 1.0) == (14 + 28) / 2
        assert score_at(seeds, "dev_bleu", 0.1) is None
        assert score_at(seeds, "dev_nll", 1.0) is None


def test_distance_from_links_by_hand() -> None:
    weights = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]], np.float32)
    one = Translation("", ["x", "y", "z"], ["a", "b", "</s>"], 0.0, [], weights)
    # x is linked with a: 1 − 0.7; y with both: 1 − 0.9; z has no link; (5, 0) and (0, 9) are outside
    found = departure([one], [[(0, 0), (0, 1), (1, 1), (5, 0), (0, 9)]])
    assert found.score().value == pytest.approx((0.3 + 0.1) / 2)


ENDING = """
import os, signal
from pathlib import Path
import rnnsearch.cli
from rnnsearch.lab import run_study

signal.signal(signal.SIGINT, signal.default_int_handler)
translate, has_ended = run_study.run_answers, run_study.Training.has_ended

def training_ends(training):
    if (training.run.path / "checkpoints" / "last.safetensors").exists():
        os.kill(os.getpid(), signal.SIGINT)
    return has_ended(training)

def translating_ends(run, test, folder, progress, kinds):
    return translate(run, test, folder, lambda *_: os.kill(os.getpid(), signal.SIGKILL), kinds)

"""
"""The command, for a study that ends itself."""
STUDY_LINE = "experiment study.toml --out out --only additive"


@pytest.mark.processes
@pytest.mark.slow
def test_ended_in_every_way_and_gone_on_with(
    finished: tuple[Path, list[Measured]], tmp_path: Path
) -> None:
    """Ctrl-C while training, kill -9 while translating: the row is that of an undisturbed run."""
    study_in(tmp_path, STUDY)
    out = tmp_path / "out"

    def run(change: str) -> subprocess.CompletedProcess[str]:
        program = f"{ENDING}{change}\nrnnsearch.cli.main()"
        words = [sys.executable, "-c", program, *STUDY_LINE.split(" ")]
        return subprocess.run(
            words, cwd=tmp_path, encoding="utf-8", capture_output=True, check=False
        )

    assert run("run_study.Training.has_ended = training_ends").returncode == 130
    assert run("run_study.run_answers = translating_ends").returncode == -signal.SIGKILL
    assert list((out / "translations" / "additive-1").iterdir())
    done = run("")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Tiny\n")
    expected = {
        name: row
        for name, row in scores(finished[0] / "out").items()
        if name.startswith("additive")
    }
    assert scores(out) == expected


def test_the_command(copy: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    done = command("experiment study.toml --out out --only general --only additive")
    assert (done.code, done.lines[0]) == (0, "# Tiny")
    with (copy / "out" / "tables" / "cost.csv").open(encoding="utf-8", newline="") as file:
        shown = {row["Variant"]: row for row in csv.DictReader(file)}["general"]
    nll = {
        update: statistics.fmean(
            one["dev_nll"]
            for row in rows_of(copy / "out")
            if row["variant"] == "general"
            for one in row["validations"]
            if one["update"] == update
        )
        for update in (2, 4, 8)
    }
    parts = [float(shown[f"NLL, {part}"]) for part in ("a quarter", "half", "the end")]
    assert parts == pytest.approx(list(nll.values()), abs=0.006)
    figures = {path.stem for path in (copy / "out" / "figures").glob("*.svg")}
    assert {"dev-nll-by-updates", "dev-nll-by-minutes", "gain-and-cost"} <= figures
    failed = command("experiment study.toml --out out --only broken")
    assert failed.code == 2
    assert failed.err.split("\n")[-2].startswith(
        "rnnsearch: out/logs/broken-1.log: the run broken-1 failed ("
    )
    unknown = command("experiment study.toml --out out --only nosuch")
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)


def test_a_reproduction_ends_in_a_report(
    copy: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy)
    Path("study.toml").write_text(STUDY.partition("[variants.general]")[0], "utf-8")
    done = command("reproduce study.toml --out out")
    assert (done.code, done.lines[-1]) == (0, "out/report/index.html")
    assert Path("out/report/index.html").exists()


def test_what_a_reproduction_is_not_for(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rnnsearch.lab.commands.studies.carry_out", None)
    done = command(f"reproduce languages --data {tmp_path} --out {tmp_path}/out")
    assert_refused(done, "has one study for each of de, ")
    text = '[corpus]\ntrain = ["a.en", "a.fr"]\n[tests.t]\nsource = "t.en"\nreference = "t.fr"\n'
    (tmp_path / "s.toml").write_text(f"{text}translate = false\n[variants.one]\n")
    done = command(f"reproduce {tmp_path}/s.toml --out {tmp_path}/out")
    assert_refused(done, "no test set is translated, so there is nothing to report")
