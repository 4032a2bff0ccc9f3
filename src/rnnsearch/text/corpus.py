"""The prepared store: a folder with both sides' codecs and their sentences as memory-mapped ids."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import tomli_w
from numpy.typing import NDArray
from pydantic import ValidationError

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.codec import Codec, Side

FORMAT = 1
"""Number of the store's layout; raised when an older program could misread a newer store, or the other way round."""

Ids = NDArray[np.unsignedinteger[Any]]

_REMEDY = "make it with `rnnsearch prepare`"


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences of ids end to end: sentence i is ids[offsets[i] : offsets[i + 1]], its end of sentence included."""

    ids: Ids
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> Ids:
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> Self:
        """Sentences held in memory; each must end with its end of sentence."""
        rows = list(sentences)
        ids = np.array([number for row in rows for number in row], dtype=np.uint32)
        return cls(ids, offsets_of(np.array([len(row) for row in rows], dtype=np.int64)))


class Pairs:
    """Sentence pairs as ids. source_lengths, target_lengths: (pairs,) int32, the end of sentence included."""

    def __init__(self, source: Sentences, target: Sentences) -> None:
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source sentences, {len(target)} target sentences")
        self._source, self._target = source, target
        self.source_lengths = np.diff(source.offsets).astype(np.int32)
        self.target_lengths = np.diff(target.offsets).astype(np.int32)

    def __len__(self) -> int:
        return len(self._source)

    def source(self, number: int) -> Ids:
        """(source_lengths[number],) ids, the end of sentence last: a view into the store."""
        return self._source[number]

    def target(self, number: int) -> Ids:
        """(target_lengths[number],) ids, the end of sentence last: a view into the store."""
        return self._target[number]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A store made by `prepare`.

    train: the training pairs, shuffled once. dev: every development pair, in the order of its files; None if there are none.
    dev_source_lines, dev_target_lines: the raw text of dev, for BLEU.
    """

    path: Path
    settings: DataSettings
    source: Codec
    target: Codec
    train: Pairs
    dev: Pairs | None
    dev_source_lines: list[str]
    dev_target_lines: list[str]

    @classmethod
    def open(cls, path: str | Path) -> Corpus:
        """Opens a store; the ids stay on disk until they are read. Raises InputError if it is missing, damaged or of another format."""
        folder = Path(path)
        settings = _read_settings(folder)
        dev = _read_pairs(folder, "dev") if any(folder.glob("dev.*")) else None
        return cls(
            path=folder,
            settings=settings,
            source=Codec.load(folder, "source", settings),
            target=Codec.load(folder, "target", settings),
            train=_read_pairs(folder, "train"),
            dev=dev,
            dev_source_lines=_read_lines(folder, "source", dev),
            dev_target_lines=_read_lines(folder, "target", dev),
        )


def offsets_of(lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """(n,) lengths → (n + 1,) offsets, the first of them 0."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def write_settings(folder: Path, settings: DataSettings) -> None:
    """data.toml: without it a folder is no store, so it is written last."""
    (folder / "data.toml").write_text(tomli_w.dumps({"format": FORMAT, "data": settings.model_dump()}), encoding="utf-8")


def write_sentences(
    folder: Path, name: str, side: Side, lengths: NDArray[np.integer[Any]], ids: Iterable[Ids], dtype: np.dtype[Any]
) -> None:
    """<name>.<side>.ids.npy, which the chunks of `ids` make together, and <name>.<side>.offsets.npy."""
    offsets = offsets_of(lengths)
    _write_array(folder / f"{name}.{side}.offsets.npy", offsets.dtype, len(offsets), [offsets])
    _write_array(folder / f"{name}.{side}.ids.npy", dtype, int(offsets[-1]), ids)


def write_lines(folder: Path, side: Side, lines: Iterable[str]) -> None:
    """dev.<side>.txt"""
    (folder / f"dev.{side}.txt").write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))


def is_store(folder: Path) -> bool:
    """Whether this folder is a store of any format."""
    return (folder / "data.toml").is_file() and (folder / "train.source.ids.npy").is_file()


def _write_array(path: Path, dtype: np.dtype[Any], length: int, chunks: Iterable[NDArray[Any]]) -> None:
    # Plain writes: on a full disk they raise an OSError that says so; a memory map would end the process, and np.save gives no reason.
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in chunks:
            file.write(chunk.astype(dtype, copy=False).tobytes())


def _read_settings(folder: Path) -> DataSettings:
    if not folder.is_dir():
        raise InputError("is not a folder" if folder.exists() else "does not exist", file=folder, remedy=_REMEDY)
    path = folder / "data.toml"
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise InputError("is not a prepared corpus: it has no data.toml", file=folder, remedy=_REMEDY) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is damaged: {error}", file=path, remedy="prepare the corpus again") from None
    if table.get("format") != FORMAT:
        what = f"is a prepared corpus of format {table.get('format')}, and this version reads format {FORMAT}"
        raise InputError(what, file=folder, remedy="prepare it again with this version")
    try:
        return DataSettings.model_validate(table.get("data"))
    except ValidationError as error:
        raise InputError(f"is damaged: {error.errors()[0]['msg']}", file=path, remedy="prepare the corpus again") from None


def _read_pairs(folder: Path, name: str) -> Pairs:
    source, target = _read_sentences(folder, name, "source"), _read_sentences(folder, name, "target")
    if len(source) != len(target):
        raise InputError(f"is damaged: {len(source)} source and {len(target)} target sentences in {name}", file=folder, remedy=_REMEDY)
    return Pairs(source, target)


def _read_sentences(folder: Path, name: str, side: Side) -> Sentences:
    ids = _map(folder / f"{name}.{side}.ids.npy")
    offsets = _map(folder / f"{name}.{side}.offsets.npy")
    if not len(offsets) or int(offsets[-1]) != len(ids):
        raise InputError(
            "does not fit its offsets", file=folder / f"{name}.{side}.ids.npy", remedy="the store is damaged: prepare it again"
        )
    return Sentences(ids, offsets)


def _map(path: Path) -> NDArray[Any]:
    try:
        # A plain array over the map: slices of np.memmap cost ten times as much.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path, remedy="prepare the corpus again") from None
    except (ValueError, EOFError) as error:
        raise InputError(f"is damaged: {error}", file=path, remedy="prepare the corpus again") from None


def _read_lines(folder: Path, side: Side, dev: Pairs | None) -> list[str]:
    if dev is None:
        return []
    path = folder / f"dev.{side}.txt"
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=path, remedy="prepare the corpus again") from None
    if len(lines) != len(dev):
        raise InputError(f"has {len(lines)} lines for {len(dev)} pairs", file=path, remedy="the store is damaged: prepare it again")
    return lines
