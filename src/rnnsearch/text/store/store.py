"""Names, writes, verifies and memory-maps the files of a prepared dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import tomli_w
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rnnsearch.config import DataSettings, first_fault
from rnnsearch.errors import InputError
from rnnsearch.system.files import file_checksum
from rnnsearch.system.parsing import check_regular, read_text, read_toml, reading
from rnnsearch.text.store.blocks import Integers, offsets_of

FORMAT = 2
"""Version of a dataset's layout. It grows when an older program would misread a newer dataset, or the
reverse."""

CHECKSUMS, SETTINGS = "checksums.sha256", "data.toml"

CHECKED_BYTES = 1 << 28
"""Bytes whose checksums are verified whenever a dataset is opened, small files first. This takes a fraction
of a second."""

REMEDY = "make it with `rnnsearch prepare`"
AGAIN = "prepare the corpus again"


_Count = Annotated[int, Field(ge=0, lt=2**63)]


class TrainContents(BaseModel):
    """The training part of a dataset. shards: number of pairs in each. links: whether they have word
    links."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)
    shards: list[_Count]
    links: bool


class StoreContents(BaseModel):
    """The content of data.toml, except its format. bytes: size of each file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    data: DataSettings
    train: TrainContents
    bytes: dict[Annotated[str, Field(pattern=r"^[\w.-]+$")], _Count]


def shard_name(kind: str, number: int) -> str:
    """Returns the name of a shard. kind: source, target or links. number: from 0."""
    return f"train.{kind}.{number:04d}"


def write_rows(
    folder: Path, name: str, lengths: Integers, values: Iterable[Integers], dtype: np.dtype[Any]
) -> None:
    """Writes the concatenated chunks of `values` to <name>.ids.npy (links: <name>.positions.npy), and
    <name>.offsets.npy."""
    offsets = offsets_of(lengths)
    write_array(folder / f"{name}.offsets.npy", offsets.dtype, len(offsets), [offsets])
    write_array(_values(folder, name), dtype, int(offsets[-1]), values)


def write_array(path: Path, dtype: np.dtype[Any], length: int, chunks: Iterable[Integers]) -> None:
    """Writes the concatenated chunks, `length` numbers in all, as a .npy file."""
    # Plain writes raise a clear OSError on a full disk; a memory map would crash the process, and np.save
    # gives no reason.
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            file.write(chunk.astype(dtype, copy=False).tobytes())


def map_rows(folder: Path, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Returns (values, offsets) as `write_rows` wrote them. Raises InputError if a file is missing or
    damaged."""
    values, offsets = map_array(_values(folder, name)), map_array(folder / f"{name}.offsets.npy")
    if not len(offsets) or int(offsets[-1]) != len(values):
        raise damaged("does not fit its offsets", _values(folder, name), f"the dataset is damaged: {AGAIN}")
    return values, offsets


def _values(folder: Path, name: str) -> Path:
    return folder / f"{name}.{'positions' if '.links.' in name else 'ids'}.npy"


def map_array(path: Path) -> NDArray[Any]:
    """Returns a one-dimensional array of integers. Raises InputError if the file is missing or holds anything
    else."""
    try:
        check_regular(path)
        # A plain array over the map: slicing np.memmap is ten times slower.
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise damaged(f"cannot be read: {error.strerror or error}", path) from None
    except Exception as error:  # numpy parses the header as Python source: any error is possible
        raise damaged(f"is damaged: {error}", path) from None
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise damaged(f"is damaged: it holds {array.ndim} dimensions of {array.dtype}", path)
    return array


def damaged(what: str, file: Path, remedy: str = AGAIN) -> InputError:
    """Returns the InputError for a damaged dataset."""
    return InputError(what, file=file, remedy=remedy)


def write_contents(folder: Path, settings: DataSettings, shards: list[int], links: bool) -> None:
    """Writes the checksums, then data.toml with the size of every file. A folder without data.toml is no
    dataset, so it is written last."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    sizes = {path.name: path.stat().st_size for path in files}
    sizes[CHECKSUMS] = sum(64 + len(f"  {name}\n") for name in [*sizes, SETTINGS])
    train = {"shards": shards, "links": links}
    table = {"format": FORMAT, "data": settings.model_dump(), "train": train, "bytes": sizes}
    text = tomli_w.dumps(table)
    lines = [f"{_sha256(path)}  {path.name}\n" for path in files]
    lines.append(f"{hashlib.sha256(text.encode()).hexdigest()}  {SETTINGS}\n")
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
    (folder / SETTINGS).write_text(text, encoding="utf-8")


def read_contents(folder: Path) -> StoreContents:
    """Reads data.toml. Raises InputError unless this is a dataset of this format, whose files have the sizes
    that they were written with."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(what, file=folder, remedy=REMEDY)
    path = folder / SETTINGS
    try:
        table = read_toml(path)
    except FileNotFoundError:
        what = "is not a prepared dataset: it has no data.toml"
        raise InputError(what, file=folder, remedy=REMEDY) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError as error:
        raise damaged(f"is damaged: {error}", path) from None
    if (theirs := table.pop("format", None)) != FORMAT:
        what = f"is a prepared dataset of format {theirs}, and this version reads format {FORMAT}"
        raise InputError(what, file=folder, remedy="prepare it again with this version")
    try:
        contents = StoreContents.model_validate(table)
    except ValidationError as error:
        raise damaged(f"is damaged: {first_fault(error)}", path) from None
    for name, size in contents.bytes.items():
        if (found := _size(folder / name)) != size:
            raise damaged(f"is damaged: it has {found:,} bytes, and {size:,} were written", folder / name)
    return contents


def is_store(folder: Path) -> bool:
    """Tells whether this folder is a prepared dataset of any format."""
    return (folder / SETTINGS).is_file() and any(folder.glob("train.source.*"))


def check_store(folder: Path, at_most: int | None = None) -> int:
    """Compares the files with their checksums, and returns the number of files compared. at_most: maximum
    bytes to read, small files first.

    Raises InputError for the first file that differs.
    """
    read_contents(folder)
    try:
        *lines, end = read_text(folder / CHECKSUMS).split("\n")
        expected = {name: total for total, name in (line.split("  ", 1) for line in lines)}
        if end:
            raise ValueError
    except (OSError, ValueError):
        raise damaged("is damaged", folder / CHECKSUMS) from None
    done = read = 0
    for size, name in sorted((_size(folder / name), name) for name in expected):
        read += size
        if at_most is not None and read > at_most:
            break
        if _sha256(folder / name) != expected[name]:
            raise damaged("is not what was written: its checksum differs", folder / name)
        done += 1
    return done


def _size(path: Path) -> int:
    with reading(path, AGAIN):
        check_regular(path)
        return path.stat().st_size


def _sha256(path: Path) -> str:
    with reading(path, AGAIN):
        return file_checksum(path)
