"""Benchmarks do the work that they name. Never a time. The parts of gpu.py, which looks at a real GPU, compare the
CPU with itself here."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import sizes
from gpu_parts import captured, speed, values
from gpu_parts.common import Options, Row, small
from small import small_network

from rnnsearch.builtin.corpus import write
from rnnsearch.config import load_config
from rnnsearch.kernels import convert
from rnnsearch.kernels.gated import FastDecoder
from rnnsearch.model.decoder import Decoder
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.setup import trainer_of

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def growth(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs growth.py in a process of its own: it counts the memory of those that it starts."""
    command = [sys.executable, BENCHMARKS / "growth.py", *words]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_page_of_the_study_has_the_bounds_that_are_computed() -> None:
    bounds = runpy.run_path(str(BENCHMARKS / "interval_bounds.py"))
    page = bounds["PAGE"].read_text("utf-8")
    assert "\n".join(bounds["rows"](page)) in page


@pytest.mark.slow
def test_the_textbook_network_is_compared_with_ours() -> None:
    command = [sys.executable, BENCHMARKS / "plain_pytorch.py", *["--size", "tiny", "--autocast"]]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    rows = re.findall(
        r"^(ours|textbook|textbook, autocast) .* ours is [0-9.]+ times", done.stdout, re.M
    )
    assert rows == ["ours", "textbook", "textbook, autocast"]


@pytest.mark.slow
def test_growth_measures_every_command_on_files_of_each_size(tmp_path: Path) -> None:
    write(tmp_path, 600, 3)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("\n".join([*sizes(8), "training.batch_size=10", "search.beam=1"]))
    sides = ["--source", tmp_path / "dev.en", tmp_path / "train.en"]
    sides += ["--target", tmp_path / "dev.fr", tmp_path / "train.fr"]
    done = growth(*sides, "--sizes", 12, 602, "--recipe", recipe, "--updates", 2, "--sentences", 16)
    assert done.returncode == 0, done.stderr
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in done.stdout.splitlines()[2:]
    ]
    assert all(float(figure.replace(",", "")) for row in rows for figure in row[3:])
    small, large = (
        [(row[1], int(row[2])) for row in rows if row[0] == size] for size in ("12", "602")
    )
    assert small == [("prepare", 12), ("train", 20), ("translate --out", 12), ("align --out", 12)]
    whole = [pair for pair in large if pair[1] == 602]
    assert [name for name, _ in whole] == ["prepare"]
    assert [name for name, pairs in large if pairs < 602] == [
        "train",
        "translate --out",
        "align --out",
    ]


@pytest.mark.slow
def test_kernel_prices_leave_each_kernel_out() -> None:
    command = [sys.executable, BENCHMARKS / "kernel_prices.py", "--size", "tiny", "--rounds", "1"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    head, everything, *others, none = [line.split("\t") for line in done.stdout.splitlines()]
    assert head == ["without", "an update takes", "a search takes"]
    assert everything == ["–", *["+0.0 % (+0.0 to +0.0)"] * 2]
    assert none[0] == "all"
    assert all(
        re.fullmatch(r"[+-]\d+\.\d % \(.+\)", cell) for row in [*others, none] for cell in row[1:]
    )


def test_kernel_prices_leave_out_what_they_name() -> None:
    prices = runpy.run_path(str(BENCHMARKS / "kernel_prices.py"))
    network = small_network()
    with prices["without"](prices["WITHOUT"]["decoder's loop"]):
        assert type(convert(network).decoder) is Decoder
    assert type(convert(network).decoder) is FastDecoder


def rows_of(part: Callable[[Options, Callable[[Row], None]], None], device: str) -> list[Row]:
    rows: list[Row] = []
    part(Options(device, small=True), rows.append)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("part", [*values.PARTS.values(), captured.compare])
def test_values_of_the_cpu_are_its_own(
    part: Callable[[Options, Callable[[Row], None]], None],
) -> None:
    """The comparison itself; what differs on a GPU only a GPU shows."""
    rows = rows_of(part, "cpu")
    assert len(rows) >= 7
    assert [one for one in rows if not one.get("ok")] == []


def test_random_numbers_of_a_gpu_are_asked_for_only_in_training_on_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any) -> None:
        raise AssertionError("a training on the CPU has started the driver")

    for name in ("get_rng_state", "set_rng_state"):
        monkeypatch.setattr(torch.cuda, name, asked)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    settings, network, _ = small("cpu")
    trainer = trainer_of(network, settings)
    save_checkpoint(tmp_path / "state", trainer, TrainingProgress())
    load_checkpoint(tmp_path / "state", trainer)


@pytest.mark.parametrize(
    ("part", "figure"),
    [
        (speed.updates, "share of the ceiling"),
        (speed.translation, "target words/s"),
        (speed.waits, "waits"),
        (speed.kernels, "kernels"),
        (captured.measure, "times as fast"),
    ],
)
def test_every_measurement_has_its_figures(
    part: Callable[[Options, Callable[[Row], None]], None], figure: str
) -> None:
    rows = rows_of(part, "cpu")
    assert rows
    assert all(one[figure] >= 0 and "error" not in one for one in rows)


def test_operations_are_those_of_the_products() -> None:
    """Three products of the output layer for each of 3 · 6 words, forward and twice backward; with them, all
    that depends on K."""
    tiny = [*sizes(8), "training.batch_size=3"]
    settings = load_config("", tiny)
    few, many = (speed.operations_of_update(settings, words=words, length=5) for words in (20, 50))
    assert many - few == 3 * 2 * (3 * 6) * 8 * (50 - 20)
    twice = load_config("", [*tiny, "training.batch_size=6"])
    assert speed.operations_of_update(twice, words=20, length=5) == 2 * few
    halves = load_config("", [*tiny, "training.precision=bfloat16"])
    assert speed.operations_of_update(halves, words=20, length=5) == few


@pytest.mark.processes
@pytest.mark.slow
def test_checkpoints_are_kept_at_each_quarter_of_the_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    minutes = runpy.run_path(str(BENCHMARKS / "equal_minutes.py"))
    counting = """if True:
        import os, time
        for n in range(1, 1000):
            end = time.process_time() + 0.05
            while time.process_time() < end: pass
            open("new", "w").write(str(n))
            os.replace("new", f"step_{n}")"""
    toolkit = minutes["Toolkit"](
        [sys.executable, "-c", counting],
        lambda: minutes["newest_of"](Path().glob("step_*")),
        lambda checkpoint, part, out: [],
    )
    kept = minutes["trained"]("counting", toolkit, 0.12)
    counts = [int(file.read_text()) for _, file in kept]
    assert [end for end, _ in kept] == pytest.approx([0.03, 0.06, 0.09, 0.12])
    assert counts == sorted(set(counts))  # each later than the one before

    rows = [
        {"toolkit": name, "minutes": end, "part": "dev", "BLEU": end, "chrF2": 2 * end}
        for name in ("a", "b")
        for end in (1.0, 2.0)
    ]
    assert minutes["table"](rows)[2:] == [
        "| a | 1.0 / 2.0 | 2.0 / 4.0 |",
        "| b | 1.0 / 2.0 | 2.0 / 4.0 |",
    ]
