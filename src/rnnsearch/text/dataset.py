"""The prepared dataset on disk: its files are written, verified and memory-mapped; both sides'
codecs, and sentence pairs as ids."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import tomli_w
from jaxtyping import Int64, Integer, UInt
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rnnsearch.arguments import require
from rnnsearch.config import first_fault
from rnnsearch.errors import InputError
from rnnsearch.settings import DataSettings
from rnnsearch.system.files import (
    check_regular,
    checksum,
    file_checksum,
    holds_only,
    read_text,
    read_toml,
    reading,
)
from rnnsearch.text.codec import SIDES, Codec, load_codecs

STORE_FORMAT = 2
"""Version of a dataset's layout. It grows when an older program would misread a newer dataset, or
the reverse."""

CHECKSUMS, SETTINGS = "checksums.sha256", "data.toml"
_SENTENCES = re.compile(r" (?:train|dev)\.(?:source|target)\.")

CHECKED_BYTES = 1 << 28
"""Bytes whose checksums are verified whenever a dataset is opened, small files first. This takes a
fraction of a second."""

REMEDY = "make it with `rnnsearch prepare`"
AGAIN = "prepare the corpus again"

_WRITTEN = 1 << 16  # rows rearranged at a time

Integers = Integer[np.ndarray, " _"]
StoredIds = UInt[np.ndarray, " _"]


class TrainContents(BaseModel):
    """The training part of a dataset. shards: number of pairs in each. links: whether they have
    word links."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)
    shards: list[Annotated[int, Field(ge=0, lt=2**63)]]
    links: bool


class StoreContents(BaseModel):
    """The content of data.toml, except its format. Earlier versions also wrote the size of each
    file."""

    data: DataSettings
    train: TrainContents


def offsets_of(lengths: Integer[np.ndarray, " n"]) -> Int64[np.ndarray, " n+1"]:
    """Returns the cumulative sum of the lengths, beginning with 0."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


class Ragged(NamedTuple):
    """Concatenated rows of different lengths: row i is values[offsets[i] : offsets[i + 1]]."""

    values: Integers
    lengths: Integers

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Concatenates rows, their values in 16 or 32 bits."""
        values = np.fromiter(chain.from_iterable(rows), np.uint32)
        small = not (values >> 16).any()
        return cls(
            values.astype(np.uint16) if small else values, np.fromiter(map(len, rows), np.int32)
        )

    def take(self, rows: Integers) -> Ragged:
        """Returns these rows, in this order."""
        lengths = self.lengths[rows]
        offsets = offsets_of(lengths)
        # values before each row that are not taken
        skipped = offsets_of(self.lengths)[rows] - offsets[:-1]
        return Ragged(self.values[np.repeat(skipped, lengths) + np.arange(offsets[-1])], lengths)


class SentenceIds:
    """Sentences of ids, each with its end of sentence, or rows of links, in one or more arrays:
    sentence i of a part is ids[offsets[i] : offsets[i + 1]].

    lengths: of all sentences, int32; by default from the offsets.
    """

    def __init__(
        self, *parts: tuple[StoredIds, Int64[np.ndarray, " _"]], lengths: Integers | None = None
    ) -> None:
        self._parts = parts
        self._starts = [0, *accumulate(len(offsets) - 1 for _, offsets in parts)]
        self._lengths = lengths

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, number: int) -> StoredIds:
        number = range(len(self))[number]
        part = bisect_right(self._starts, number) - 1
        ids, offsets = self._parts[part]
        place = number - self._starts[part]
        return ids[offsets[place] : offsets[place + 1]]

    @cached_property
    def lengths(self) -> Integers:
        if self._lengths is not None:
            return self._lengths
        return np.concatenate([np.diff(offsets) for _, offsets in self._parts]).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sentence pairs as ids: views into the dataset.

    source, target: sentence i of each makes pair i. links: rows of positions in source and target
    ids, alternating and sorted; the ends of sentence have none. None: the pairs have no word links.
    """

    source: SentenceIds
    target: SentenceIds
    links: SentenceIds | None = None

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A prepared dataset, as `prepare` makes it.

    settings: those it was prepared with. source, target: the codecs of both sides. train: the
    training pairs, shuffled once. dev: every development pair, in the order of its files; None if
    there are none.
    dev_source_lines, dev_target_lines: the text of dev, for BLEU."""

    path: Path
    settings: DataSettings
    source: Codec
    target: Codec
    train: Pairs
    dev: Pairs | None
    dev_source_lines: list[str]
    dev_target_lines: list[str]

    @property
    def checksum(self) -> str:
        """Identifies the sentences, without their links."""
        lines = read_text(self.path / CHECKSUMS).split("\n")
        return checksum(*(line for line in lines if _SENTENCES.search(line)))

    @classmethod
    def open(cls, path: str | Path) -> Corpus:
        """Opens a prepared dataset; ids and lengths stay on disk until they are read, so any number
        of processes may open it.

        The checksums of the smaller files are verified, up to CHECKED_BYTES. Raises InputError
        if the dataset is missing, damaged or of another format."""
        require("the dataset", path, str, Path)
        folder = Path(path)
        contents = read_contents(folder)
        _check_sums(folder)
        codecs = load_codecs(folder, contents.data)
        shards = len(contents.train.shards)
        source, target = (_training_ids(folder, side, shards) for side in SIDES)
        links = _training_ids(folder, "links", shards) if contents.train.links else None
        pairs = Pairs(source, target, links)
        dev, lines = None, []
        if any(folder.glob("dev.*")):
            dev = Pairs(*(SentenceIds(map_rows(folder, f"dev.{side}")) for side in SIDES))
            for file in (folder / f"dev.{side}.txt" for side in SIDES):
                with reading(file, AGAIN):
                    lines.append(read_text(file).split("\n")[:-1])
        return cls(folder, contents.data, *codecs, pairs, dev, *(lines or ([], [])))


def shard_name(kind: str, number: int) -> str:
    """Returns the name of a shard. kind: source, target or links. number: from 0."""
    return f"train.{kind}.{number:04d}"


def write_rows(folder: Path, name: str, rows: Ragged, order: Integers) -> None:
    """Writes the rows in this order: their values to <name>.ids.npy (links: <name>.positions.npy),
    and <name>.offsets.npy."""
    offsets = offsets_of(rows.lengths[order])
    write_array(folder / f"{name}.offsets.npy", offsets.dtype, len(offsets), [offsets])
    starts = range(0, len(order), _WRITTEN)
    values = (rows.take(order[start : start + _WRITTEN]).values for start in starts)
    write_array(_values(folder, name), rows.values.dtype, int(offsets[-1]), values)


def write_array(path: Path, dtype: np.dtype[Any], length: int, chunks: Iterable[Integers]) -> None:
    """Writes the concatenated chunks, `length` numbers in all, as a .npy file."""
    # Plain writes raise a clear OSError on a full disk; a memory map would crash the process, and
    # np.save gives no reason.
    header = {
        "descr": dtype.str,
        "fortran_order": False,
        "shape": (length,),
    }
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            file.write(chunk.astype(dtype, copy=False).tobytes())


def map_rows(folder: Path, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Returns (values, offsets) as `write_rows` wrote them. Raises InputError if a file is missing
    or damaged."""
    values, offsets = map_array(_values(folder, name)), map_array(folder / f"{name}.offsets.npy")
    if not len(offsets) or int(offsets[-1]) != len(values):
        raise _damaged("does not fit its offsets", _values(folder, name))
    return values, offsets


def _training_ids(folder: Path, kind: str, shards: int) -> SentenceIds:
    """Maps the rows of a side of the training pairs, or those of their links, which have no
    lengths."""
    rows = (map_rows(folder, shard_name(kind, number)) for number in range(shards))
    lengths = None if kind == "links" else map_array(folder / f"train.{kind}.lengths.npy")
    return SentenceIds(*rows, lengths=lengths)


def _values(folder: Path, name: str) -> Path:
    return folder / f"{name}.{'positions' if '.links.' in name else 'ids'}.npy"


def map_array(path: Path) -> NDArray[Any]:
    """Returns a one-dimensional array of integers. Raises InputError if the file is missing or
    holds anything else."""
    try:
        check_regular(path)
        # A plain array over the map: slicing np.memmap is ten times slower.
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", AGAIN, file=path) from None
    except Exception as error:  # numpy parses the header as Python source: any error is possible
        raise _damaged(str(error), path) from None
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _damaged(f"it holds {array.ndim} dimensions of {array.dtype}", path)
    return array


def _damaged(what: str, file: Path) -> InputError:
    return InputError(f"is damaged: {what}", AGAIN, file=file)


def write_contents(folder: Path, settings: DataSettings, shards: list[int], links: bool) -> None:
    """Writes the checksums, then data.toml. A folder without data.toml is no dataset, so it is
    written last."""
    contents = StoreContents(data=settings, train=TrainContents(shards=shards, links=links))
    text = tomli_w.dumps({"format": STORE_FORMAT} | contents.model_dump())
    lines = [f"{file_checksum(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    lines.append(f"{hashlib.sha256(text.encode()).hexdigest()}  {SETTINGS}\n")
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
    (folder / SETTINGS).write_text(text, encoding="utf-8")


def read_contents(folder: Path) -> StoreContents:
    """Reads data.toml. Raises InputError unless this is a dataset of this format."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(what, REMEDY, file=folder)
    if not (path := folder / SETTINGS).exists():
        raise InputError("is not a prepared dataset: it has no data.toml", REMEDY, file=folder)
    with reading(path, AGAIN, "is damaged"):
        table = read_toml(path)
    if (theirs := table.pop("format", None)) != STORE_FORMAT:
        what = (
            f"is a prepared dataset of format {theirs}, and this version reads format"
            f" {STORE_FORMAT}"
        )
        raise InputError(what, "prepare it again with this version", file=folder)
    try:
        return StoreContents.model_validate(table)
    except ValidationError as error:
        raise _damaged(first_fault(error), path) from None


def is_store(folder: Path) -> bool:
    """Tells whether this folder is a prepared dataset of any format, and holds nothing else."""
    written = re.compile(
        rf"{SETTINGS}|{CHECKSUMS}|dropped\.tsv\.gz|report\.(json|txt)"
        r"|(train|dev)\.(source|target|links)\..+"
        r"|(vocabulary|subwords|words)\.(source|target)\.(txt|model|bloom)"
    )
    is_ours = (folder / SETTINGS).is_file() and any(folder.glob("train.source.*"))
    return is_ours and holds_only(folder, written.fullmatch)


def _check_sums(folder: Path) -> None:
    """Compares CHECKED_BYTES of files with their checksums, small files first."""
    try:
        *lines, end = read_text(folder / CHECKSUMS).split("\n")
        expected = {name: total for total, name in (line.split("  ", 1) for line in lines)}
        if end or SETTINGS not in expected:  # its line is the last
            raise ValueError
    except (OSError, ValueError):
        raise _damaged("it cannot be read", folder / CHECKSUMS) from None
    sizes: dict[Path, int] = {}
    for path in (folder / name for name in expected):
        with reading(path, AGAIN):
            check_regular(path)
            sizes[path] = path.stat().st_size
    left = CHECKED_BYTES
    for path in sorted(sizes, key=sizes.__getitem__):
        left -= sizes[path]
        if left >= 0 and file_checksum(path) != expected[path.name]:
            raise _damaged("its checksum differs", path)
