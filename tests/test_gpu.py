"""benchmarks/gpu.py, which looks at a real GPU: here its parts compare the CPU with itself."""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.trainer import Trainer

GPU = Path(__file__).parents[1] / "benchmarks" / "gpu.py"
sys.path.insert(0, str(GPU.parent))

from gpu_parts import speed, values  # noqa: E402
from gpu_parts.common import Options, Row, held, relative, row, small_network, small_settings  # noqa: E402


def rows_of(part: Callable[[Options, Callable[[Row], None]], None], device: str) -> list[Row]:
    rows: list[Row] = []
    part(Options(device, small=True, batches=(2,), length=3, repetitions=1), rows.append)
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
    settings = small_settings("cpu", ())
    trainer = Trainer(small_network(settings, torch.float32), settings.training, 0)
    save_checkpoint(tmp_path / "state", trainer, TrainingProgress())
    load_checkpoint(tmp_path / "state", trainer)


@pytest.mark.parametrize("part", ["updates", "translation", "waits", "profile"])
def test_every_measurement_has_its_figures(part: str) -> None:
    rows = rows_of(speed.PARTS[part], "cpu")
    wanted = {
        "updates": "share of the ceiling",
        "translation": "target words/s",
        "waits": "waits",
        "profile": "kernels",
    }
    assert rows
    assert all(one[wanted[part]] >= 0 and "error" not in one for one in rows)
    if part == "updates":
        for one in rows:
            assert one["operations/s"] == pytest.approx(one["operations"] / one["seconds"])
            assert one["pairs/s"] == pytest.approx(one["updates/s"] * one["batch size"])


def test_a_row_fails_alone() -> None:
    rows: list[Row] = []
    with row(rows.append, "first"):
        raise ValueError("one\nline")
    with row(rows.append, "second") as found:
        held(found, float("nan"), 1.0)
    assert rows[0] == {"what": "first", "error": "ValueError: one line"}
    assert rows[1]["ok"] is False


def test_relative_differences() -> None:
    expected = {
        "large": torch.tensor([3.0, 4.0]),
        "small": torch.tensor([1e-4]),
        "rows": torch.eye(2).to_sparse(),
    }
    assert relative(expected, expected) == 0.0
    assert relative(expected | {"large": torch.tensor([3.0, 4.5])}, expected) == pytest.approx(0.1)
    assert relative(expected | {"small": torch.tensor([2e-4])}, expected) == pytest.approx(1e-4 / 5e-3)
    assert relative(expected | {"rows": torch.eye(2)}, expected) == 0.0
    broken = relative(expected | {"large": torch.tensor([3.0, float("nan")])}, expected)
    assert broken != broken
    with pytest.raises(ValueError, match="small"):
        relative({"large": expected["large"], "rows": expected["rows"]}, expected)


@pytest.mark.parametrize(
    ("code", "limit", "fault"),
    [
        ("", 60, ""),
        ("import sys; sys.exit('no such driver')", 60, "no such driver (exit code 1)"),
        ("raise ValueError('deep down')", 60, "ValueError: deep down (exit code 1)"),
        ("import os; os.kill(os.getpid(), 11)", 60, "ended by SIGSEGV: "),
        ("import time; time.sleep(60)", 0.5, "out of time after 0 s"),
    ],
)
def test_a_part_that_ends_badly_keeps_its_rows(code: str, limit: float, fault: str) -> None:
    isolated = runpy.run_path(str(GPU))["isolated"]
    rows: list[Row] = []
    program = f'print(\'{{"what": "first"}}\', flush=True)\n{code}'
    # The time of the start counts: a slow machine may print nothing before the limit.
    found = isolated([sys.executable, "-S", "-E", "-c", program], limit, rows.append)
    assert found == fault
    assert rows == [{"what": "first"}] or limit < 1


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part that is fine; one for whose device there is none; one for which no time is left."""
    script = runpy.run_path(str(GPU))
    out = tmp_path / "gpu.json"
    monkeypatch.setattr(
        sys, "argv", ["gpu.py", "--device", "cpu", "--small", "--parts", "machine", "--out", str(out)]
    )
    with pytest.raises(SystemExit) as leaving:
        script["main"]()
    printed = capsys.readouterr()
    result = json.loads(out.read_text())
    assert leaving.value.code == 0, printed
    assert result["parts"]["machine"]["state"] == "done"
    assert [one["what"] for one in result["parts"]["machine"]["rows"]][:2] == [
        "device",
        "square products in float32",
    ]
    assert "| machine | done |" in printed.out
    assert "machine: device" in printed.err

    monkeypatch.setattr(
        sys, "argv", ["gpu.py", "--small", "--parts", "model", "runs", "--limit", "1.2", "--out", str(out)]
    )
    fails = lambda *_: time.sleep(0.3) or "there is no such device (exit code 1)"  # noqa: E731
    monkeypatch.setitem(script["measure"].__globals__, "isolated", fails)
    with pytest.raises(SystemExit) as leaving:
        script["main"]()
    states = [part["state"] for part in json.loads(out.read_text())["parts"].values()]
    assert leaving.value.code == 1
    assert states == ["failed: there is no such device (exit code 1)", "not run: no time was left"]


def test_the_table_names_every_failure() -> None:
    script = runpy.run_path(str(GPU))
    good: Row = {"what": "a", "difference": 2e-6, "limit": 1e-4, "ok": True}
    bad: Row = {"what": "c", "error": "E: no"}
    parts = {
        "model": {
            "state": "done",
            "seconds": 3.0,
            "rows": [good, good | {"what": "b", "difference": 0.1, "ok": False}],
        },
        "updates": {
            "state": "failed: out of time after 5 s",
            "rows": [bad, {"what": "d", "operations/s": 2.5e14}],
        },
    }
    text = script["table"]({"parts": parts})
    assert "| model | done | 3.0 | 2 | 1 | 1e+03 |" in text
    assert "| d | operations/s 250 TFLOP/s |" in text
    assert text.splitlines()[-3:] == [
        "model: b: 0.1, at most 0.0001",
        "updates: failed: out of time after 5 s",
        "updates: c: E: no",
    ]
    assert text.count("holds") == 0
