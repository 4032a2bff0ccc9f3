"""Benchmarks do what they say: the work that they name, and what is printed follows from what was measured.
Never a time."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_a_toolkit_that_is_not_there_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peers = runpy.run_path(str(BENCHMARKS / "peers.py"))
    for python, fault in ((sys.executable, "No module named 'pymarian'"), ("no-python", "No such file")):
        monkeypatch.setattr(sys, "argv", ["peers.py", "--peers", python, "--toolkits", "rnnsearch", "Marian"])
        with pytest.raises(SystemExit, match="2"):
            peers["main"]()
        printed = capsys.readouterr()
        (line,) = printed.err.splitlines()
        assert fault in line
        assert not printed.out


@pytest.mark.slow
def test_rnnsearch_trains_and_translates_sentences_of_one_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # it goes elsewhere
    peers = runpy.run_path(str(BENCHMARKS / "peers.py"))
    peers["SIZES"]["tiny"] = peers["Size"](8, 10, 8, 4, 60, 5, 2, 2, 128)
    monkeypatch.setattr(sys, "argv", ["peers.py", "--size", "tiny"])
    peers["main"]()
    (ours,) = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in capsys.readouterr().out.splitlines()[2:]
    )
    assert ours[0] == "rnnsearch"
    assert all(float(figure.replace(",", "")) for figure in ours[1:])
