"""The code for a GPU, on a pretended one: what it computes, where it waits; and the command that looks at a real one."""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pretended_device import Device, pretended_device
from torch import Tensor, nn

from rnnsearch.config import load_config
from rnnsearch.model.cells import GatedCell
from rnnsearch.training.checkpoint import load_checkpoint, save_checkpoint
from rnnsearch.training.optimiser import make_optimiser
from rnnsearch.training.progress import TrainingProgress
from rnnsearch.training.trainer import Trainer

GPU = Path(__file__).parents[1] / "benchmarks" / "gpu.py"
sys.path.insert(0, str(GPU.parent))

from gpu_parts import runs, speed, values  # noqa: E402
from gpu_parts.common import Options, Row, held, relative, row, small_batch, small_network, small_settings  # noqa: E402

EXPECTED_WAITS = {
    "an update": {"training/trainer.py:numbers_here"},
    "a search": {f"translation/steps_ahead.py:{name}" for name in ("search_ahead", "on_host")},
}


@pytest.fixture
def device() -> Iterator[Device]:
    with pretended_device() as opened:
        yield opened


def rows_of(part: Callable[[Options, Callable[[Row], None]], None], device: str) -> list[Row]:
    rows: list[Row] = []
    part(Options(device, small=True, batches=(2,), length=3, repetitions=1), rows.append)
    return rows


@pytest.mark.parametrize("part", values.PARTS)
def test_values_there_are_those_of_the_cpu(part: str, device: Device) -> None:
    rows = rows_of(values.PARTS[part], device.name)
    assert len(rows) >= 7
    assert [one for one in rows if not one.get("ok")] == []


@pytest.mark.slow
def test_a_run_moves_there_and_back(device: Device) -> None:
    rows = rows_of(runs.runs, device.name)
    assert [one for one in rows if not one.get("ok")] == []
    assert [one["bit for bit"] for one in rows if "bit for bit" in one] == [True]  # it draws from the CPU's stream, which is resumed


@pytest.mark.parametrize("optimiser", ["adadelta", "adam"])
def test_a_training_moves_there_and_back(optimiser: str, device: Device, tmp_path: Path) -> None:
    """Adadelta's state has another form on a CPU, where it knows the rows of the embeddings."""
    changes = (f"training.optimiser={optimiser}", "training.average_decay=0.9")
    found = []
    for places in (("cpu",) * 3, ("cpu", device.name, "cpu")):
        for number, place in enumerate(places, 1):
            settings = small_settings(place, changes)
            trainer = Trainer(small_network(settings, torch.float64).to(place), settings.training, 0)
            if number > 1:
                load_checkpoint(tmp_path / "state", trainer.network, trainer.optimiser, trainer.average)
            trainer.update([small_batch(torch.float64).to(place)], number)
            progress = TrainingProgress(update=number)
            save_checkpoint(tmp_path / "state", trainer.network, trainer.optimiser, trainer.average, progress)
        found.append(trainer.network.state_dict())
    assert relative(*found) < 1e-10


def test_a_wrong_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a branch for GPUs were wrong."""
    honest = GatedCell.project

    def wrong(self: GatedCell, inputs: Tensor) -> Tensor:
        return honest(self, inputs) * (1.0 if inputs.device.type == "cpu" else 1.01)

    monkeypatch.setattr(GatedCell, "project", wrong)
    monkeypatch.setattr(values, "FEWER_NETWORKS", [("model.cell=gated",), ("model.cell=lstm",)])
    with pretended_device() as device:
        rows = rows_of(values.model, device.name)
    assert [one["ok"] for one in rows[:2]] == [False, True]
    with pretended_device() as device:
        monkeypatch.setattr(GatedCell, "project", lambda self, inputs: honest(self, inputs) + torch.zeros(1, 1, 1))
        assert "two devices" in rows_of(values.model, device.name)[0]["error"]


@pytest.mark.parametrize("changes", [(), ("training.optimiser=adam", "training.average_decay=0.9", "training.dropout_readout=0.2")])
def test_an_update_waits_once(changes: tuple[str, ...], device: Device) -> None:
    settings = small_settings(device.name, changes)
    trainer = Trainer(small_network(settings, torch.float32).to(device.name), settings.training, 0)
    batch = small_batch(torch.float32).to(device.name)
    device.forget()
    trainer.update([batch, batch], 1)
    assert device.waits == [*EXPECTED_WAITS["an update"]]
    assert device.uploads == []


def test_search_waits_where_it_looks_at_what_it_has_chosen(device: Device) -> None:
    """Once for the lengths of the sentences, and then once for several words (tests/translation/test_steps_ahead.py)."""
    network = small_network(small_settings(device.name), torch.float32).to(device.name)
    given = small_batch(torch.float32).to(device.name)
    (reader,) = values.begin_search([network], [values.InferenceWeights()], given.source, given.source_lengths)
    device.forget()
    values.search([reader], given.source_lengths, load_config().search)
    assert set(device.waits) == EXPECTED_WAITS["a search"]
    assert len(device.waits) <= 1 + 2  # at most ten words


def test_the_pretended_device(device: Device) -> None:
    there = torch.arange(6.0).to(device.name)
    assert device.uploads == ["outside"]
    made = torch.zeros(6, device=device.name).add_(there)
    half = made.view(2, 3)[1]
    half.mul_(2.0)
    assert device.waits == []
    assert made.tolist() == [0, 1, 2, 6, 8, 10]
    for number, look in enumerate((float, bool, lambda one: one.nonzero(), lambda one: one.cpu()), 2):
        look(made[1])
        assert len(device.waits) == number
    made[made > 3]
    made[made > 3] = 1.0
    assert len(device.waits) == 7
    with pytest.raises(RuntimeError, match="two devices"):
        made + torch.ones(6)
    assert (made + torch.tensor(1.0)).device.type == device.name
    weight = nn.Parameter(torch.ones(6).to(device.name))
    (weight * made).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == made.tolist()


def test_random_numbers_of_a_gpu_are_asked_for_only_in_training_on_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: Any) -> None:
        raise AssertionError("a training on the CPU has started the driver")

    for name in ("get_rng_state", "set_rng_state"):
        monkeypatch.setattr(torch.cuda, name, asked)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    network = nn.Linear(2, 2)
    optimiser = make_optimiser(network.parameters(), load_config().training)
    save_checkpoint(tmp_path / "state", network, optimiser, None, TrainingProgress())
    load_checkpoint(tmp_path / "state", network, optimiser, None)


@pytest.mark.parametrize("part", ["updates", "translation", "waits", "profile"])
def test_every_measurement_has_its_figures(part: str) -> None:
    rows = rows_of(speed.PARTS[part], "cpu")
    wanted = {"updates": "share of the ceiling", "translation": "target words/s", "waits": "waits", "profile": "kernels"}
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
    expected = {"large": torch.tensor([3.0, 4.0]), "small": torch.tensor([1e-4]), "rows": torch.eye(2).to_sparse()}
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


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A part that is fine; one for whose device there is none; one for which no time is left."""
    script = runpy.run_path(str(GPU))
    out = tmp_path / "gpu.json"
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--device", "cpu", "--small", "--parts", "machine", "--out", str(out)])
    with pytest.raises(SystemExit) as leaving:
        script["main"]()
    printed = capsys.readouterr()
    result = json.loads(out.read_text())
    assert leaving.value.code == 0, printed
    assert result["parts"]["machine"]["state"] == "done"
    assert [one["what"] for one in result["parts"]["machine"]["rows"]][:2] == ["device", "square products in float32"]
    assert "| machine | done |" in printed.out
    assert "machine: device" in printed.err

    monkeypatch.setattr(sys, "argv", ["gpu.py", "--small", "--parts", "model", "runs", "--limit", "1.2", "--out", str(out)])
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
        "model": {"state": "done", "seconds": 3.0, "rows": [good, good | {"what": "b", "difference": 0.1, "ok": False}]},
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
