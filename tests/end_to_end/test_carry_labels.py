"""The how-to page that carries entity labels across languages: its code runs with the shipped models, and its
labels arrive."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.installed import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/carry-labels.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_labels_of_the_page_are_carried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other weights may miss a label or two; what the page shows is what most of them say."""
    monkeypatch.setenv(VARIABLE, str(ROOT / "models/src/rnnsearch_models"))
    names: dict[str, Any] = {}
    for code, said, cut in zip(blocks("python"), blocks("text"), (str.splitlines, str.split), strict=True):
        exec(code, names)
        found, expected = cut(capsys.readouterr().out), cut(said)
        assert len(found) == len(expected)
        assert sum(one == other for one, other in zip(found, expected, strict=True)) >= 0.8 * len(expected)
    assert names["aligner"].reverse is not None
