"""A whole study: its tables say what its files say, and nothing that ends it changes them."""

from __future__ import annotations

import csv
import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import HEEDING_CTRL_C, Command
from study_files import study_in

from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import alignment_error, read_gold, read_pharaoh
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.studies import runs
from rnnsearch.studies.run_study import Finished, current_states, run_study
from rnnsearch.studies.scores import Results
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.training.checkpoint import read_progress
from rnnsearch.translation.outputs_file import read_outputs
from rnnsearch.word_links import format_links, hard_links

STUDY = """
title = "Tiny"
recipe = "demo"

[corpus]
builtin = true
pairs = 300
held_out = 70

[settings]
model = {embedding_size = 8, hidden_size = 8, alignment_size = 8, maxout_size = 8}
search = {beam = 2, max_length_ratio = 1.2, min_length_ratio = 0.5, batch_size = 1}

[settings.training]
max_updates = 60
validate_every = 30
batch_size = 10
samples = 0
threads = 1
save_every = 5
validate_bleu = false
select_by = "nll"

[variants.additive]

[variants.broken]
training.learning_rate = 1e30

[variants.general]
model.alignment = "general"
"""


def silent(text: str) -> None:
    pass


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished]:
    """A folder with study.toml and out, and what came out."""
    folder = tmp_path_factory.mktemp("study")
    return folder, run_study(study_in(folder, STUDY), say=silent, side_by_side=2)


@pytest.fixture
def copy(finished: tuple[Path, Finished], tmp_path: Path) -> Path:
    """As `finished` left it, to be changed."""
    shutil.copytree(finished[0], tmp_path / "copy")
    return tmp_path / "copy"


def untimed(folder: Path, name: str = "additive") -> dict[str, Any]:
    """The last row of a run, without what depends on the clock."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").split("\n")[:-1]]
    row: dict[str, Any] = [row for row in rows if row["run"] == name][-1]
    row.pop("hours")
    for scores in row["tests"].values():
        scores.pop("seconds")
    return row


def test_rows_say_what_the_files_say(finished: tuple[Path, Finished]) -> None:
    out = finished[0] / "out"
    for name in ("additive", "general"):
        row = untimed(out, name)
        assert (row["status"], row["updates"], row["seed"]) == ("done", 60, 1)
        references = list(read_lines(out / "corpus" / "test.fr"))
        scores = row["tests"]["test"]
        assert (
            scores["bleu"]
            == bleu(list(read_lines(out / "translations" / name / "test.txt")), references).value
        )
        (file,) = (out / "translations" / name).glob("test.references-posterior.*.jsonl")
        forced = list(read_outputs(file))
        assert scores["nll"] == pytest.approx(-sum(line.translation.score for line in forced) / 70)
        (made,) = (out / "translations" / name).glob("test.translations.*.jsonl")
        seconds = Results(study_in(finished[0], STUDY)).rows[name]["tests"]["test"]["seconds"]
        assert seconds == pytest.approx(sum(line.seconds for line in read_outputs(made)))
        links = (
            [line.translation.links() for line in forced],
            [hard_links(line.posterior) for line in forced if line.posterior is not None],
        )
        for prefix, found in zip(("", "posterior_"), links, strict=True):
            (out / "links").write_text("".join(f"{format_links(each)}\n" for each in found), "utf-8")
            expected = alignment_error(read_pharaoh(out / "links"), read_gold(out / "corpus" / "test.links"))
            rates = (expected.aer, expected.precision, expected.recall)
            assert tuple(
                scores[f"{prefix}{rate}"] for rate in ("aer", "precision", "recall")
            ) == pytest.approx(rates)


def test_tables_say_what_the_rows_say(finished: tuple[Path, Finished]) -> None:
    out, table = finished[0] / "out", finished[1].table
    assert table == json.loads((out / "table.json").read_text("utf-8"))
    (picture,) = re.findall(r"!\[.*\]\((.*)\)", (out / "table.md").read_text("utf-8"))
    assert "<svg" in (out / picture).read_text("utf-8")
    for name in ("additive", "general"):
        for metric in ("bleu", "chrf", "nll_per_word", "aer"):
            value = untimed(out, name)["tests"]["test"][metric]
            assert table["tests"]["test"]["variants"][name][metric] == {
                "mean": value,
                "spread": None,
                "runs": 1,
            }
    with (out / "results.csv").open(encoding="utf-8") as file:
        found = {row["run"]: float(row["test.bleu"]) for row in csv.DictReader(file)}
    assert found == {name: untimed(out, name)["tests"]["test"]["bleu"] for name in ("additive", "general")}
    (difference,) = [entry for entry in table["comparisons"]["test"] if entry["metric"] == "bleu"]
    assert difference["difference"] == pytest.approx(found["general"] - found["additive"])


def test_a_failing_run_is_recorded_and_the_others_go_on(finished: tuple[Path, Finished]) -> None:
    out, result = finished[0] / "out", finished[1]
    assert list(result.failed) == ["broken"]
    assert "gradients in a row were not finite" in result.failed["broken"]
    assert result.table["failed"] == result.failed
    assert "\nbroken failed: " in (out / "table.md").read_text("utf-8")
    assert list(result.table["tests"]["test"]["variants"]) == ["additive", "general"]


def test_what_is_finished_is_not_done_again(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(runs, "_start", refuse)
    (copy / "out" / "index.html").unlink()
    before = {path: path.read_bytes() for path in (copy / "out").rglob("*") if path.is_file()}
    run_study(study_in(copy, STUDY), only=["additive", "general"], say=silent)
    (copy / "out" / "index.html").unlink()  # its date is today's
    assert {path: path.read_bytes() for path in (copy / "out").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "hidden_size = 8",
            "hidden_size = 9",
            r"runs/additive: was trained with model\.hidden_size = 8, which is now 9",
        ),
        (
            "[settings]",
            "[settings]\ndata = {vocabulary_size = 9}",
            r"store: was prepared with data\.vocabulary_size = 30000, which is now 9",
        ),
        ("pairs = 300", "pairs = 301", r"store: was prepared with corpus\.pairs = 300, which is now 301"),
    ],
)
def test_other_settings_are_refused(copy: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_study(study_in(copy, STUDY.replace(old, new)), say=silent)


def test_more_updates_are_more_to_do(copy: Path) -> None:
    longer = study_in(copy, STUDY.replace("max_updates = 60", "max_updates = 90"))
    states = {state.run.name: state for state in current_states(Results(longer))}
    assert (states["general"].trained, states["general"].share) == (False, pytest.approx(2 / 3))
    assert states["general"].whole == pytest.approx(states["general"].minutes * 3 / 2)


@pytest.mark.slow
def test_a_folder_of_others_is_adopted(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store and runs that were made by hand: the runs are measured, not trained."""
    out = copy / "out"
    expected = untimed(out)
    for path in list(out.iterdir()):
        if path.name not in ("store", "runs", "corpus"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    weights = (out / "runs" / "additive" / "checkpoints" / "last.safetensors").read_bytes()
    with pytest.raises(InputError, match=r"was prepared from 300 pairs, but corpus\.pairs is 290"):
        run_study(study_in(copy, STUDY.replace("pairs = 300", "pairs = 290")), say=silent)
    run_study(study_in(copy, STUDY), only=["additive"], say=silent)
    assert untimed(out) == expected
    assert (out / "runs" / "additive" / "checkpoints" / "last.safetensors").read_bytes() == weights


def test_two_commands_in_one_folder(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rnnsearch.studies.study.WAIT", 0.2)
    said: list[str] = []
    with (
        study_in(copy, STUDY).locked(silent),
        pytest.raises(InputError, match="another command is at work here"),
    ):
        run_study(study_in(copy, STUDY), say=said.append)
    assert "waiting" in said[0]


@pytest.mark.slow
def test_ended_in_every_way_and_gone_on_with(finished: tuple[Path, Finished], tmp_path: Path) -> None:
    """Ctrl-C and kill -9 while training, kill -9 while translating: the row is that of an undisturbed run."""
    study_in(tmp_path, STUDY)
    out = tmp_path / "out"
    checkpoint = out / "runs" / "additive" / "checkpoints" / "last.safetensors"

    def start() -> subprocess.Popen[str]:
        line = "experiment study.toml --out out --only additive"
        words = [*HEEDING_CTRL_C, *line.split(" ")]
        return subprocess.Popen(
            words, cwd=tmp_path, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def when(process: subprocess.Popen[str], ready: Callable[[], bool], sent: signal.Signals) -> int:
        while not ready():
            assert process.poll() is None, f"it ended before it could be ended: {process.communicate()[1]}"
            time.sleep(0.002)
        process.send_signal(sent)
        process.communicate(timeout=120)
        return process.returncode

    assert when(start(), checkpoint.exists, signal.SIGINT) == 130
    interrupted_at = read_progress(checkpoint).update
    assert 5 <= interrupted_at < 60
    before = checkpoint.stat().st_mtime_ns
    assert when(start(), lambda: checkpoint.stat().st_mtime_ns > before, signal.SIGKILL) == -signal.SIGKILL
    made = out / "translations" / "additive"
    assert (
        when(
            start(),
            lambda: any(made.glob(".test.translations.*.state")),
            signal.SIGKILL,
        )
        == -signal.SIGKILL
    )
    assert read_progress(checkpoint).finished
    assert not (made / "test.txt").exists()
    process = start()
    table, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert table.startswith("# Tiny\n")
    assert untimed(out) == untimed(finished[0] / "out")


def test_the_command(copy: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    status = command("experiment study.toml --out out --status")
    assert re.fullmatch(r"additive: done, 60 updates in \d+ (s|min)", status.lines[0])
    assert (status.lines[1][:6], status.lines[-1][:16]) == ("broken", "2 of 3 runs done")
    planned = command("experiment study.toml --out new --dry-run").lines
    assert not Path("new").exists()
    said = [line.split()[1] for line in planned if line.startswith("rnnsearch")]
    assert said == ["prepare", *["train", "translate"] * 3]
    assert "--set model.alignment=general" in planned[-2]
    *same, page = command("reproduce study.toml --out new --dry-run").lines
    assert same == planned
    assert page.startswith("rnnsearch report additive=new/runs/additive ")
    assert page.endswith(" --out new/report")
    done = command("experiment study.toml --out out --only general")
    assert (done.code, done.lines[0], done.err.split("\n")[-2]) == (0, "# Tiny", "page: out/index.html")
    page = Path("out/index.html").read_text("utf-8")
    assert "rnnsearch experiment study.toml --out out --only general" in page
    assert "report/index.html" not in page  # there is none
    refused = command("experiment study.toml --out out --only nosuch")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    failed = command("experiment study.toml --out out --only broken")
    assert failed.code == 2
    assert failed.err.split("\n")[-2].startswith(
        "rnnsearch: out/logs/broken.log: the run broken failed (out/runs/broken: 10 gradients"
    )


def test_a_system_may_not_have_a_run_s_name(tmp_path: Path) -> None:
    """Found before anything is trained, since the table and the report could not tell them apart."""
    text = f'{STUDY}\n[tests.other]\nsource = "a.en"\nreference = "a.fr"\nsystems = {{general = "b.fr"}}\n'
    with pytest.raises(InputError, match="the system general has the name of a run"):
        run_study(study_in(tmp_path, text), say=silent)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_reproduction_ends_in_a_report(
    copy: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is not made again; translations without UNK, which only the report wants, are made."""
    monkeypatch.chdir(copy)
    text, files = Path("out/translations/general/test.txt"), Path("out/translations/general")
    before = text.read_text("utf-8")
    (old,) = files.glob("test.translations.*")
    times = old.stat().st_mtime_ns

    done = command("reproduce study.toml --out out --only general")
    assert (done.code, done.lines[0], done.lines[-1]) == (0, "# Tiny", "out/report/index.html"), done.err
    report = Path("out/report/index.html").read_text("utf-8")
    assert "general" in report
    assert 'href="report/index.html"' in Path("out/index.html").read_text("utf-8")
    assert sorted(path.name.split(".")[1] for path in files.iterdir()) == [
        "references-posterior",
        "ter",
        "translations",
        "txt",
        "without-unk",
    ]
    assert old.stat().st_mtime_ns == times
    assert text.read_text("utf-8") == before
    assert Path("out/report/translations/general/test.txt").read_text("utf-8") == before
