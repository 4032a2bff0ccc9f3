"""What several files of these tests compare with."""

from __future__ import annotations

from pathlib import Path

import pytest
from started_commands import start, train_words


@pytest.fixture(scope="session")
def whole_run(tiny_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two processes, undisturbed."""
    folder = tmp_path_factory.mktemp("whole")
    assert start(train_words(tiny_store, folder / "run", "training.processes=2"), folder / "said").wait(240) == 0
    return folder / "run"
