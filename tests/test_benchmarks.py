"""The benchmark of the parts does what it says: the same gradients either way, deferred in one and not in the other. Never a time."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

from rnnsearch.model.alignment import ALIGNMENTS
from rnnsearch.model.cells import CELLS
from rnnsearch.model.sequence_linear import Maps, SequenceLinear, sequence

PARTS = Path(__file__).parents[1] / "benchmarks" / "parts.py"
OWN = """
from rnnsearch.model.alignment import GeneralAlignment

class Mine(GeneralAlignment): pass
"""


def deferred(module: SequenceLinear, x: torch.Tensor) -> bool:
    with sequence(Maps()):
        node = module(x).grad_fn
    return node is not None and node.name() == "_UseBackward"


def test_plain_autograd_is_plain() -> None:
    plain_autograd = runpy.run_path(str(PARTS))["plain_autograd"]
    module, x = SequenceLinear(3, 4), torch.randn(2, 3)
    assert deferred(module, x)
    with plain_autograd():
        assert not deferred(module, x)
    assert deferred(module, x)


@pytest.mark.parametrize(("precision", "parts"), [("float32", "alignment"), ("bfloat16", "cell")])
def test_a_row_for_every_part(
    precision: str, parts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_scorer.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    small = ["--hidden", "4", "--alignment", "3", "--words", "9", "--length", "2", "--batch", "2", "--updates", "1", "--threads", "1"]
    own = ["--own", "my_scorer:Mine", "--json"]
    monkeypatch.setattr(sys, "argv", ["parts.py", *small, "--precision", precision, "--parts", parts, *own])
    runpy.run_path(str(PARTS), run_name="__main__")
    result = json.loads(capsys.readouterr().out)
    names = {"alignment": ALIGNMENTS, "cell": CELLS}[parts]
    assert [(row["part"], row["name"]) for row in result["rows"]] == [*((parts, name) for name in names), ("alignment", "my_scorer:Mine")]
    for row in result["rows"]:
        assert row["smallest_ratio"] == row["ratio"] == row["largest_ratio"] == row["plain_seconds"] / row["deferred_seconds"]
