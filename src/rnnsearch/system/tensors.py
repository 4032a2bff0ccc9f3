"""Tensors and JSON notes in one safetensors file, which is whole or absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.system.files import written_whole


def save_tensors(path: Path, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
    """Writes tensors and JSON notes into one safetensors file, whole or not at all. Tensors that share memory are written each.

    Raises OSError if the disk is full.
    """
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    with written_whole(path) as temporary:
        try:
            save_file(own, temporary, metadata={"notes": json.dumps(notes)})
        except SafetensorError as error:  # its name for what the system says of a write
            raise OSError(str(error)) from None


def load_tensors(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `save_tensors` wrote. Raises InputError for a file that is missing or damaged."""
    if not path.exists():
        raise InputError("is missing", file=path, remedy=remedy)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["notes"])  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"is damaged: {error}", file=path) from None


def load_notes(path: Path) -> dict[str, Any]:
    """The notes of a file that `save_tensors` wrote. Raises InputError if it is missing or damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            notes: dict[str, Any] = json.loads(file.metadata()["notes"])
            return notes
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"is missing or damaged: {error}", file=path) from None
