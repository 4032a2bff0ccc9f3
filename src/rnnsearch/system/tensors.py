"""Tensors and JSON notes in one safetensors file, written atomically and with a checksum, and their
int8 form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.system.files import check_regular, checksum, parse_json, written_whole

Tensors = Mapping[str, Tensor]
LARGEST_HEADER = 1 << 24
"""Largest size of a header (names, shapes and notes), in bytes."""
MOST_TENSORS = 50_000
"""Largest number of tensors; a header with more JSON objects is refused before it is parsed."""

DTYPES = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""The format's names of types, in the order in which the library writes tensors."""
_UNREADABLE = (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, AttributeError)
"""Errors that a damaged or forged file can cause."""


def save_tensors(path: Path, tensors: Tensors, notes: dict[str, Any]) -> None:
    """Writes tensors and JSON notes into one safetensors file, whole or not at all. Tensors that
    share memory are all written. Equal ones give equal bytes.

    The file also has a SHA-256, which `load_tensors` checks. Raises OSError if the disk is full.
    """
    # The library writes with mode 600, and the metadata in random order.
    order, text, end = list(DTYPES), json.dumps(notes), 0
    ordered = sorted(tensors.items(), key=lambda entry: (order.index(entry[1].dtype), entry[0]))
    header: dict[str, Any] = {"__metadata__": {"notes": text, "sha256": _checksum(tensors, text)}}
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        kind, shape = DTYPES[tensor.dtype], list(tensor.shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        file.writelines(_bytes_of(tensor) for _, tensor in ordered)


def load_tensors(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads a file of `save_tensors`. Raises InputError if it is missing, or damaged by as little
    as one bit.

    Files without a checksum are read unchecked.
    """
    try:
        check_regular(path)
        with path.open("rb") as named:
            _check_header(named)
            # The library accepts only names in UTF-8.
            place = str(path) if str(path).isprintable() else f"/proc/self/fd/{named.fileno()}"
            with safe_open(place, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                metadata = file.metadata() or {}
        if "notes" not in metadata:
            raise ValueError("it has no notes, so rnnsearch has not written it")
        if strange := metadata.keys() - {"notes", "sha256"}:
            raise ValueError(f"its metadata has {min(strange)!r}")
        notes = parse_json(metadata["notes"])
        if not isinstance(notes, dict):
            raise TypeError("its notes are no table")
        if metadata.get("sha256") not in (None, _checksum(tensors, metadata["notes"])):
            raise ValueError("it does not hold what was written (its checksum differs)")
    except FileNotFoundError:
        raise InputError("is missing", remedy, file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except _UNREADABLE as error:
        raise InputError(f"is damaged: {error}", file=path) from None
    return tensors, notes


def difference(found: Tensors, expected: Tensors) -> str:
    """Describes the first difference in names, shapes and dtypes; "" if there is none."""
    for name in [*expected, *found]:
        there, wanted = (_kind_and_shape(tensors.get(name)) for tensors in (found, expected))
        if there != wanted:
            return f"the tensor {name} is {there}, but must be {wanted}"
    return ""


def _kind_and_shape(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else f"{tensor.dtype} of shape {list(tensor.shape)}"


def _check_header(file: BinaryIO) -> None:
    """Raises ValueError for a header that would take too long to parse."""
    length = int.from_bytes(file.read(8), "little")
    if length > LARGEST_HEADER:
        raise ValueError(f"its header is longer than {LARGEST_HEADER:,} bytes")
    if file.read(length).count(b"{") > MOST_TENSORS:
        raise ValueError(f"its header lists more than {MOST_TENSORS:,} tensors")


def _bytes_of(tensor: Tensor) -> memoryview:
    """Returns the values of a tensor as bytes."""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data


def _checksum(tensors: Tensors, notes: str) -> str:
    """Returns the checksum of the notes, and of each tensor's name, dtype, shape and data, sorted
    by name."""
    parts: list[str | memoryview] = [notes]
    for name, tensor in sorted(tensors.items()):
        parts += [name, str(tensor.dtype), str(list(tensor.shape)), _bytes_of(tensor)]
    return checksum(*parts)


# int8 weights take a quarter of the space: every matrix becomes 8-bit integers with a scale for
# each row. A search in int8 computes the same integers and scales, but does not round the
# embeddings.

WEIGHT_LIMIT = 127
"""Largest absolute value of the quantised weights."""
FEWEST_OUTPUTS = 16
"""Layers with fewer outputs, such as v_a, stay in float32: they are small, and quantising their
input would take longer."""
SCALE = ".scale"
"""Suffix of a matrix's name for its scales."""
OUTPUT, EMBEDDING = "output.weight", "target_embedding.weight"


def scales_of(rows: Tensor, limit: int) -> Tensor:
    """Returns the scale of each row, (rows, 1), with which no quantised value is above the
    limit."""
    largest = torch.maximum(rows.amax(1, keepdim=True), rows.amin(1, keepdim=True).neg_())
    return (largest / limit).clamp_min(torch.finfo(torch.float32).tiny)


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Quantises a matrix (out, in). Returns (its int8 form, its scales (out,))."""
    weights = matrix.detach().float()
    scales = scales_of(weights, WEIGHT_LIMIT)
    return (weights / scales).round_().to(torch.int8), scales.squeeze(1)


def quantise(tensors: Tensors, *, tied: bool) -> dict[str, Tensor]:
    """Quantises float32 tensors to int8 matrices with scales; vectors and matrices with few rows
    are unchanged.

    tied: whether W_o is the target embedding; `output.weight` is then left out.
    """
    kept: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tied and name == OUTPUT:
            continue
        if tensor.dim() == 2 and len(tensor) >= FEWEST_OUTPUTS:
            kept[name], kept[name + SCALE] = quantised(tensor)
        else:
            kept[name] = tensor
    return kept


def dequantise(tensors: Tensors, *, tied: bool, file: Path | None = None) -> dict[str, Tensor]:
    """Returns the float32 tensors of `quantise`'s result; others are unchanged. Raises InputError
    for missing or wrong scales. tied: as in `quantise`. file: in the message."""
    whole = dict(tensors)
    for name, matrix in tensors.items():
        if matrix.dtype == torch.int8:
            scales = whole.pop(name + SCALE, torch.empty(0))
            fits = scales.dtype == torch.float32 and scales.shape == matrix.shape[:1]
            if matrix.dim() != 2 or not fits:
                raise InputError(f"does not hold the scales of the int8 matrix {name}", file=file)
            whole[name] = matrix.float() * scales.unsqueeze(1)
    if tied and EMBEDDING in whole:
        whole.setdefault(OUTPUT, whole[EMBEDDING])
    return whole
