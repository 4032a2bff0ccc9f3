"""benchmarks/gpu.py, which looks at a real GPU: here its parts compare the CPU with itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import sizes

from rnnsearch.config import load_config
from rnnsearch.training.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from rnnsearch.training.trainer import Trainer

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

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
