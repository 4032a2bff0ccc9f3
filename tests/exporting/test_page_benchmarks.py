"""What a visitor, and a person at a terminal, wait for: the commands that measure it measure what they say. Never a time."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import pytest
from browser import NEEDS_CHROMIUM

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.slow


@NEEDS_CHROMIUM
def test_an_exported_page_is_timed(tiny_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["exported_page.py", str(tiny_run), "--sentences", "3"])
    runpy.run_path(str(BENCHMARKS / "exported_page.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "WebAssembly SIMD" in said
    assert re.findall(r"median of (\d+)", said) == ["3", "3"]
    assert re.findall(r"beam (\d) +(\d) of 3 translations are Python's", said) == [("1", "3"), ("5", "3")]


def test_a_cold_start_is_compared_with_torch_alone(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cold_start.py", str(tiny_run), "--repeat", "1", "--json"])
    runpy.run_path(str(BENCHMARKS / "cold_start.py"), run_name="__main__")
    found = json.loads(capsys.readouterr().out)
    assert found["ratio"]["processor"] == pytest.approx(
        found["processor_seconds"]["translate"] / found["processor_seconds"]["import torch"]
    )
