"""Whoever edits an equation of README's table in a copy of the source trains with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = re.findall(
    r"^\|.*\[`(\w+/[\w/]+\.py:[\w.]+)`\]", (ROOT / "README.md").read_text("utf-8"), re.M
)
EDITS = {
    "model/alignment/additive.py:AdditiveAlignment.energies": ("return e", "return 2.0 * e"),
    "model/decoder.py:Decoder.attend": ("softmax(energies", "softmax(2.0 * energies"),
    "model/decoder.py:Source.context": ("return weights", "return 2.0 * weights"),
    "model/encoder.py:BidirectionalEncoder.forward": ("cat((forwards", "cat((2.0 * forwards"),
    "model/cells.py:GatedCell.forward": ("lerp(state, candidate", "lerp(candidate, state"),
}
"""Function → a part of its source, and the part edited."""
SIZES = ("embedding_size", "hidden_size", "alignment_size", "maxout_size")
SETTINGS = [
    *(f"model.{size}=8" for size in SIZES),
    "model.initialisation=glorot",  # else v_a is 0, and ten updates hardly change it
    *("stopping.max_updates=10", "stopping.validate_bleu=false", "stopping.select_by=nll"),
    *("stopping.samples=0", "training.threads=1"),
]
NOT_IN_A_KERNEL = {"model/encoder.py:BidirectionalEncoder.forward"}


def trained(source: Path, store: Path, run: Path) -> tuple[str, dict[str, Any]]:
    """Returns what ten updates of this source write to stderr, and their statistics."""
    sets = [word for setting in SETTINGS for word in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "rnnsearch", "train", "", "--data", store, "--out", run, *sets],
        env=os.environ | {"PYTHONPATH": str(source)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stderr, json.loads((run / "log" / "statistics.json").read_text())


@pytest.fixture(scope="module")
def unedited(tmp_path_factory: pytest.TempPathFactory, tiny_store: Path) -> dict[str, Any]:
    said, statistics = trained(
        ROOT / "src", tiny_store, tmp_path_factory.mktemp("unedited") / "run"
    )
    assert "edited" not in said
    assert statistics["edited"] == []
    return statistics


@pytest.mark.slow
@pytest.mark.parametrize("equation", TABLE)
def test_an_edit_trains(
    equation: str, unedited: dict[str, Any], tiny_store: Path, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "src" / "rnnsearch", tmp_path / "src" / "rnnsearch")
    name, _, function = equation.partition(":")
    file, (old, new) = tmp_path / "src" / "rnnsearch" / name, EDITS[equation]
    begin, body, end = file.read_text("utf-8").partition(f"class {function.split('.')[0]}")
    assert old in end
    file.write_text(begin + body + end.replace(old, new, 1), "utf-8")
    said, statistics = trained(tmp_path / "src", tiny_store, tmp_path / "run")
    assert statistics["train_nll"] != unedited["train_nll"]
    line = f"{name}: {function} is edited, so the decoder is computed in plain PyTorch (slower)"
    expected = [] if equation in NOT_IN_A_KERNEL else [line]
    assert [line for line in said.splitlines() if "is edited" in line] == expected
    assert statistics["edited"] == expected


def test_every_equation_of_the_table_is_tried() -> None:
    assert EDITS.keys() == set(TABLE)
