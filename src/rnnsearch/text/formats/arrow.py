"""Parquet files and the folders of Hugging Face's `datasets`: a record is a row."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.system.parsing import check_regular
from rnnsearch.text.formats.lines import SideWarnings
from rnnsearch.text.formats.records import Layout, LinePair, Record, find_keys, texts_at

_ROWS = 1 << 10  # read at a time
_SHARD = re.compile(r"(?P<name>.*)-(?P<number>\d{5})-of-(?P<shards>\d{5})\b.*")
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
# pyarrow's exceptions are subclasses of these; a damaged header may claim any size or type.
_FAULTS = (OSError, ValueError, ArithmeticError, LookupError, TypeError, NotImplementedError, MemoryError)
_AGAIN = "the file is damaged or incomplete: get it again"


def read_tables(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields two columns of text of a Parquet file, of a folder that `save_to_disk` wrote or that holds
    downloaded Parquet files, or of an .arrow file. Null is an empty side; rows are counted through all files.

    Raises InputError for a damaged file, missing columns, rows without text, a folder with several splits,
    with missing files, or without any, and where pyarrow is missing.
    """
    number = 0
    for file in _files(Path(path)):
        with _faults(file):
            keys, batches = _opened(file, layout)
            for batch in batches:
                # Arrow does not check mapped files: bad offsets of a damaged file would crash the process.
                batch.validate(full=True)
                for start in range(0, len(batch), _ROWS):  # a batch of an .arrow file may be large
                    for row in batch.slice(start, _ROWS).to_pylist():
                        number += 1
                        yield texts_at(row, keys, path, number, warnings)


def _shape(fields: Iterable[Any]) -> Record:
    """Returns a record with the keys of these fields, and their types as values."""
    return {
        field.name: _shape(field.type) if str(field.type).startswith("struct<") else field.type
        for field in fields
    }


def _opened(file: Path, layout: Layout) -> tuple[tuple[str, str], Iterator[Any]]:
    """Returns the names of the two columns, and batches of them that are not read ahead: a row group of a
    Parquet file may be as large as the file, and a stream is mapped into memory."""
    arrow = _pyarrow(file)
    check_regular(file)
    if file.suffix == ".parquet":
        parquet = arrow.parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        keys = find_keys(_shape(parquet.schema_arrow), layout, "column", file)
        columns = list(dict.fromkeys(keys))
        return keys, parquet.iter_batches(batch_size=_ROWS, columns=columns, use_threads=False)
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - len(_END_OF_STREAM)))
        if stream.read() != _END_OF_STREAM:
            raise InputError("does not end like an Arrow stream", file=file, remedy=_AGAIN)
    reader = arrow.ipc.open_stream(arrow.memory_map(str(file)))
    keys = find_keys(_shape(reader.schema), layout, "column", file)
    columns = [key if key in reader.schema.names else key.partition(".")[0] for key in keys]
    return keys, (batch.select(list(dict.fromkeys(columns))) for batch in reader)


def _files(path: Path) -> list[Path]:
    """Returns the files of a dataset in the order of its rows."""
    if not path.is_dir():
        return [path]
    if (path / "dataset_dict.json").is_file():
        inner = sorted(folder.name for folder in path.iterdir() if (folder / "state.json").is_file())
        remedy = f"name one of its folders: {path}/SPLIT"
        raise InputError(f"holds several datasets: {', '.join(inner)}", file=path, remedy=remedy)
    if (path / "state.json").is_file():
        return _saved_files(path)
    for suffix in (".parquet", ".arrow"):
        if files := sorted(path.glob(f"*{suffix}")):
            _check_shards(path, files)
            return files
    inner = sorted({str(file.parent.relative_to(path)) for file in path.rglob("*.parquet")})
    what = (
        f"has .parquet files only in these folders: {', '.join(inner)}"
        if inner
        else "is not a dataset: the folder has no .arrow or .parquet files"
    )
    raise InputError(what[:300], file=path, remedy="give these files, or the folder that holds them")


def _saved_files(path: Path) -> list[Path]:
    try:
        names = [entry["filename"] for entry in json.loads((path / "state.json").read_bytes())["_data_files"]]
        files = [path / Path(name).name for name in names]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        file, remedy = path / "state.json", "save the dataset again"
        raise InputError(f"is damaged: {error!r}", file=file, remedy=remedy) from None
    return files


def _check_shards(path: Path, files: list[Path]) -> None:
    """Raises InputError if a file of a download is missing, or if there are several splits."""
    shards: dict[tuple[str, int], set[int]] = defaultdict(set)
    for match in filter(None, (_SHARD.fullmatch(file.stem) for file in files)):
        shards[match["name"], int(match["shards"])].add(int(match["number"]))
    splits = sorted({name for name, _ in shards})
    if len(splits) > 1:
        remedy = f"name the files of one: {path}/{splits[0]}-*{files[0].suffix}"
        raise InputError(f"holds several splits: {', '.join(splits)}", file=path, remedy=remedy)
    for (name, count), found in shards.items():
        if missing := sorted(set(range(count)) - found):
            what = f"lacks {len(missing)} of the {count} files of {name}, the first is {missing[0]:05}"
            raise InputError(what, file=path, remedy=_AGAIN)


@contextmanager
def _faults(file: Path) -> Iterator[None]:
    """Converts pyarrow's errors about a file to InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file", file=file, remedy="check the path") from None
    except _FAULTS as error:
        text = str(error).partition("\n")[0][:200] or type(error).__name__
        raise InputError(f"cannot be read: {text}", file=file, remedy=_AGAIN) from None


def _pyarrow(file: Path) -> Any:
    """Returns the package pyarrow, which is not part of every installation."""
    try:
        import_module("pyarrow.parquet")
        return import_module("pyarrow")
    except ImportError:
        what, remedy = (
            "reading Parquet and datasets needs the package pyarrow",
            "pip install 'rnnsearch[arrow]'",
        )
        raise InputError(what, file=file, remedy=remedy) from None
