"""What all tests share: one thread, fixed seeds, shapes checked in the model, and the way to real data."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

# Before torch and matplotlib are imported, and inherited by every command that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "agg"
os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"  # on some CI machines Typer colours its help although nobody watches

if find_spec("jaxtyping") and find_spec("beartype"):
    from jaxtyping import install_import_hook

    # Must precede the first import of the model: its signatures' shapes are then checked at every call.
    install_import_hook("rnnsearch.model", "beartype.beartype")

import numpy as np
import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)

# A slow machine is no failure; CI draws the same examples every time, a person's machine new ones.
settings.register_profile("rnnsearch", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("rnnsearch")


@pytest.fixture(autouse=True)
def _seeds() -> None:
    """No test depends on which tests ran before it."""
    torch.manual_seed(1)
    np.random.seed(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora: $RNNSEARCH_DATA, else ../shared/data beside the repository; the test is skipped without it."""
    named = os.environ.get("RNNSEARCH_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs real corpora, and {folder} is no folder (name one in RNNSEARCH_DATA)")
    return folder
