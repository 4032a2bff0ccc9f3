"""benchmarks/gpu.py, which looks at a real GPU: here its parts compare the CPU with itself."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.trainer import Trainer

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import gpu
from gpu_parts import speed, values
from gpu_parts.common import Options, Row, small


def rows_of(part: Callable[[Options, Callable[[Row], None]], None], device: str) -> list[Row]:
    rows: list[Row] = []
    part(Options(device, small=True), rows.append)
    return rows


@pytest.mark.parametrize("part", values.PARTS)
def test_values_of_the_cpu_are_its_own(part: str) -> None:
    """The comparison itself; what differs on a GPU only a GPU shows."""
    rows = rows_of(values.PARTS[part], "cpu")
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
    trainer = Trainer(network, settings.training, 0)
    save_checkpoint(tmp_path / "state", trainer, TrainingProgress())
    load_checkpoint(tmp_path / "state", trainer)


@pytest.mark.parametrize(
    ("part", "figure"),
    [
        ("updates", "share of the ceiling"),
        ("translation", "target words/s"),
        ("waits", "waits"),
        ("profile", "kernels"),
    ],
)
def test_every_measurement_has_its_figures(part: str, figure: str) -> None:
    rows = rows_of(speed.PARTS[part], "cpu")
    assert rows
    assert all(one[figure] >= 0 and "error" not in one for one in rows)


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A part that is fine; one for whose device there is none; one for which no time is left."""
    out = tmp_path / "gpu.jsonl"

    def run(*words: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["gpu.py", "--small", "--out", str(out), *words])
        with pytest.raises(SystemExit) as leaving:
            gpu.main()
        return leaving.value.code, *capfd.readouterr()

    code, printed, said = run("--device", "cpu", "--parts", "machine")
    assert code == 0, said
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["what"] for one in rows][:2] == ["device", "square products in float32"]
    assert "| machine | done |" in printed
    assert "machine: device" in said

    fails = lambda *_: time.sleep(0.3) or "exit code 1"  # noqa: E731
    monkeypatch.setattr(gpu, "state_after", fails)
    code, printed, _ = run("--parts", "model", "runs", "--limit", "1.2")
    assert code == 1
    assert printed.splitlines()[-2:] == ["model: exit code 1", "runs: not run"]
