"""What the tests of texts share."""

from __future__ import annotations

import pytest

from rnnsearch.drawing.document import Pictures


@pytest.fixture(autouse=True)
def _no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of preparations need not draw four charts each: test_preparation_page.py does, and every fixture of a wider scope."""
    monkeypatch.setattr("rnnsearch.text.preparing.preparation_page.charts", lambda report: Pictures("charts", "", []))
