"""Tensors and JSON notes in one safetensors file, which is whole or absent, with a checksum of both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.system.files import checksum, written_whole
from rnnsearch.system.parsing import check_regular, parse_json

DTYPES = {
    torch.float64: "F64",
    torch.int64: "I64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""What the format calls them."""

LARGEST_HEADER = 1 << 24
"""Bytes of names, shapes and notes before the numbers."""
MOST_TENSORS = 50_000
"""More JSON objects than this are no header of a network: it is refused before it is parsed."""

_UNREADABLE = (
    SafetensorError,
    KeyError,
    TypeError,
    ValueError,
    RuntimeError,
    AttributeError,
)  # from a header that was made up


def save_tensors(path: Path, tensors: Mapping[str, Tensor], notes: dict[str, Any]) -> None:
    """Writes tensors and JSON notes into one safetensors file, whole or not at all. Tensors that share memory
    are written each.

    With them goes their SHA-256, which `load_tensors` compares. No second copy of a tensor is made, unless it
    is on a GPU. Raises OSError if the disk is full.
    """
    # The format wants large numbers first, so that each lies where its size divides.
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, Any] = {"__metadata__": {"notes": json.dumps(notes)}}
    end = 0
    for name in order:
        start, end = end, end + tensors[name].numel() * tensors[name].element_size()
        header[name] = {
            "dtype": DTYPES[tensors[name].dtype],
            "shape": list(tensors[name].shape),
            "data_offsets": [start, end],
        }
    header["__metadata__"]["sha256"] = _checksum(tensors, header["__metadata__"]["notes"])
    packed = json.dumps(header, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % 8)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(len(packed).to_bytes(8, "little") + packed)
        for name in order:
            file.write(_bytes(tensors[name]))


def load_tensors(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what `save_tensors` wrote. Raises InputError for a file that is missing or damaged: one bit is
    enough.

    Files of earlier versions have no checksum, and are read as they are.
    """
    with _opened(path, remedy) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
        notes = _notes(metadata)
        whole = "sha256" not in metadata or metadata["sha256"] == _checksum(tensors, metadata["notes"])
    if not whole:
        raise InputError("is damaged: it does not hold what was written (its checksum differs)", file=path)
    return tensors, notes


def load_notes(path: Path, remedy: str = "") -> dict[str, Any]:
    """Returns the notes of a file that `save_tensors` wrote; no tensor is read. Raises InputError if it is
    missing or damaged."""
    with _opened(path, remedy) as file:
        return _notes(file.metadata())


def tensor_bytes(tensors: Mapping[str, Tensor]) -> int:
    """Returns the bytes of memory that the tensors take, or would take."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def difference(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> str:
    """Returns the first difference in names, shapes and types, in words; "" if there is none."""
    for name in [*expected, *found]:
        if name not in found:
            return f"there is no tensor {name}"
        if name not in expected:
            return f"there is a tensor {name}, which does not belong to it"
        for what in ("shape", "dtype"):
            one, other = getattr(found[name], what), getattr(expected[name], what)
            if one != other:
                shown = (list(one), list(other)) if what == "shape" else (one, other)
                return f"the {what} of {name} is {shown[0]}, and {shown[1]} is expected"
    return ""


@contextmanager
def _opened(path: Path, remedy: str) -> Iterator[Any]:
    try:
        check_regular(path)
        with path.open("rb") as named:
            _check_header(named)
            # The library takes no name that is not UTF-8.
            place = str(path) if str(path).isprintable() else f"/proc/self/fd/{named.fileno()}"
            with safe_open(place, framework="pt") as file:
                yield file
    except FileNotFoundError:
        raise InputError("is missing", file=path, remedy=remedy) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except _UNREADABLE as error:
        raise InputError(f"is damaged: {error}", file=path) from None


def _check_header(file: BinaryIO) -> None:
    """Raises ValueError for a header that would take long to parse."""
    length = int.from_bytes(file.read(8), "little")
    if length > LARGEST_HEADER:
        raise ValueError(f"its header is longer than {LARGEST_HEADER:,} bytes")
    if file.read(length).count(b"{") > MOST_TENSORS:
        raise ValueError(f"its header lists more than {MOST_TENSORS:,} tensors")


def _notes(metadata: dict[str, str]) -> dict[str, Any]:
    if strange := metadata.keys() - {"notes", "sha256"}:
        raise ValueError(f"its metadata has {min(strange)!r}")
    notes = parse_json(metadata["notes"])
    if not isinstance(notes, dict):
        raise TypeError("its notes are no table")
    return notes


def _checksum(tensors: Mapping[str, Tensor], notes: str) -> str:
    """Returns the checksum of the notes and, in the order of their names, of each tensor's name, type, shape
    and numbers."""
    parts: list[str | memoryview] = [notes]
    for name in sorted(tensors):
        parts += [name, str(tensors[name].dtype), str(list(tensors[name].shape)), _bytes(tensors[name])]
    return checksum(*parts)


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data


# Weights stored in a quarter of the space: every matrix as 8-bit integers with a scale for each row. A search
# in int8 makes the same integers and scales of a matrix; only the embeddings, which it reads as they are, are
# rounded too.

WEIGHT_LIMIT = 127
"""Largest absolute value of the 8-bit integers that stand for the weights of a row."""
FEWEST_OUTPUTS = 16
"""Layers with fewer outputs, such as v_a, stay in float32: there is little to read, and quantising their
input would take the time."""
SCALE = ".scale"
"""Ends the name of the scales of a matrix."""
OUTPUT, EMBEDDING = "output.weight", "target_embedding.weight"


def scales_of(rows: Tensor, limit: int) -> Tensor:
    """Returns (rows, 1), what one integer step stands for in each row: no quantised value is above the
    limit."""
    return (rows.abs().amax(1, keepdim=True) / limit).clamp_min(torch.finfo(torch.float32).tiny)


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Returns (the integers of a matrix (out, in) as int8, their scales (out,))."""
    weights = matrix.detach().float()
    scales = scales_of(weights, WEIGHT_LIMIT)
    return (weights / scales).round_().to(torch.int8), scales.squeeze(1)


def quantise(tensors: Mapping[str, Tensor], *, tied: bool) -> dict[str, Tensor]:
    """Returns float32 tensors as int8 matrices with their scales; vectors and matrices of few rows stay as
    they are.

    tied: W_o is the target embedding, and `output.weight` is left out.
    """
    kept: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tied and name == OUTPUT:
            continue
        if tensor.dim() != 2 or tensor.shape[0] < FEWEST_OUTPUTS:
            kept[name] = tensor
            continue
        kept[name], kept[name + SCALE] = quantised(tensor)
    return kept


def dequantise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns float32 tensors from what `quantise` made; without an int8 matrix they stay as they are. Wrong
    scales raise InputError."""
    if not any(tensor.dtype == torch.int8 for tensor in tensors.values()):
        return dict(tensors)
    whole: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            scales = tensors.get(name + SCALE)
            if (
                scales is None
                or tensor.dim() != 2
                or scales.shape != tensor.shape[:1]
                or scales.dtype != torch.float32
            ):
                raise InputError(f"does not hold the scales of the int8 matrix {name}")
            whole[name] = tensor.float() * scales.unsqueeze(1)
        elif not (name.endswith(SCALE) and name.removesuffix(SCALE) in tensors):
            whole[name] = tensor
    if OUTPUT not in whole and EMBEDDING in whole:
        whole[OUTPUT] = whole[EMBEDDING]
    return whole
