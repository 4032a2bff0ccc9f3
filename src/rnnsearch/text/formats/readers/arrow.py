"""Parquet files and the folders of Hugging Face's `datasets`: a record is a row."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.system.parsing import check_regular
from rnnsearch.text.formats.lines import InputWarnings, plain_field
from rnnsearch.text.formats.readers.layout import NO_TEXT, Layout, LinePair

_ROWS = 1 << 10  # read at a time
_SHARD = re.compile(r"(?P<name>.*)-(?P<number>\d{5})-of-(?P<shards>\d{5})\b.*")
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_AGAIN = "the file is damaged or incomplete: get it again"

_Path = tuple[str, ...]  # a column, and the fields inside it that lead to the text


def read_parquet(path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings) -> Iterator[LinePair]:
    """Two columns of text of a Parquet file; null is an empty side.

    Raises InputError for a damaged file, missing columns, columns that hold no text, and where pyarrow is missing.
    """
    return _read([Path(path)], layout, source_warnings, target_warnings)


def read_dataset(path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings) -> Iterator[LinePair]:
    """A folder that `save_to_disk` wrote, one of Parquet files as downloaded, or an .arrow file of the cache: its files in their order.

    Raises InputError as `read_parquet` does, and for a folder with several splits, with missing files, or without any.
    """
    return _read(_files(Path(path)), layout, source_warnings, target_warnings)


def _read(files: list[Path], layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings) -> Iterator[LinePair]:
    before = 0
    for file in files:
        row = 0
        with _faults(file):
            for row, (source, target) in enumerate(_rows(file, layout), 1):
                number = before + row
                yield _text(source, number, source_warnings), _text(target, number, target_warnings)
        before += row


def _text(value: str | None, number: int, warnings: InputWarnings) -> str:
    if value is None:
        warnings.note(NO_TEXT, number)
        return ""
    return plain_field(value, number, warnings)


def _rows(file: Path, layout: Layout) -> Iterator[tuple[str | None, str | None]]:
    compute = _pyarrow(file, "compute")
    check_regular(file)
    schema, batches = _parquet(file, layout) if file.suffix == ".parquet" else _arrow(file)
    paths = _paths(schema, layout, file)
    for batch in batches:
        batch.validate(full=True)  # Arrow trusts what it maps: in a damaged file, offsets lead out of the file and end the process
        columns = [
            batch.column(path[0]) if len(path) == 1 else compute.struct_field(batch.column(path[0]), list(path[1:])) for path in paths
        ]
        for start in range(0, len(batch), _ROWS):  # a batch of an .arrow file may be large
            source, target = (column.slice(start, _ROWS).to_pylist() for column in columns)
            yield from zip(source, target, strict=True)


def _parquet(file: Path, layout: Layout) -> tuple[Any, Iterator[Any]]:
    """(schema, batches with the two columns alone). Read in small pieces: a row group may be as large as the file."""
    parquet = _pyarrow(file, "parquet").ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
    schema = parquet.schema_arrow
    columns = [".".join(path) for path in _paths(schema, layout, file)]
    return schema, parquet.iter_batches(batch_size=_ROWS, columns=columns, use_threads=False)


def _arrow(file: Path) -> tuple[Any, Iterator[Any]]:
    """(schema, batches) of a stream, mapped into memory and not read ahead."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - len(_END_OF_STREAM)))
        if stream.read() != _END_OF_STREAM:
            raise InputError("does not end like an Arrow stream", file=file, remedy=_AGAIN)
    arrow = _pyarrow(file)
    reader = arrow.ipc.open_stream(arrow.memory_map(str(file)))
    return reader.schema, reader


def _paths(schema: Any, layout: Layout, file: Path) -> tuple[_Path, _Path]:
    """Where the two sides stand: a column by its name, or a field inside one by the path that the dots make."""
    for names in layout.names():
        paths = [_path(schema, name) for name in names]
        if all(paths):
            for name, path in zip(names, paths, strict=True):
                _check_text(_type(schema, path), name, file, layout)
            return paths[0], paths[1]
    what = f"has no columns {layout.wanted()}; it has: {', '.join(f'{field.name} ({field.type})' for field in schema)}"
    raise InputError(what[:400], file=file, remedy=layout.remedy("column"))


def _path(schema: Any, name: str) -> _Path:
    """Empty if there is no such column."""
    if schema.get_field_index(name) >= 0:
        return (name,)
    path = tuple(name.split("."))
    return path if len(path) > 1 and _type(schema, path) is not None else ()


def _type(schema: Any, path: _Path) -> Any:
    """The type of what lies there, None for nothing."""
    place = schema.get_field_index(path[0])
    kind: Any = schema.field(place).type if place >= 0 else None
    for step in path[1:]:
        names = [kind.field(number).name for number in range(kind.num_fields)] if str(kind).startswith("struct<") else []
        kind = kind.field(names.index(step)).type if step in names else None
    return kind


def _check_text(kind: Any, name: str, file: Path, layout: Layout) -> None:
    if getattr(kind, "value_type", kind) not in {_pyarrow(file).string(), _pyarrow(file).large_string(), _pyarrow(file).string_view()}:
        raise InputError(f"its column '{name}' holds {kind}, not text", file=file, remedy=layout.remedy("column"))


def _files(path: Path) -> list[Path]:
    """The files of a dataset in the order of its rows."""
    if not path.is_dir():
        return [path]
    if (path / "dataset_dict.json").is_file():
        inner = sorted(folder.name for folder in path.iterdir() if (folder / "state.json").is_file())
        raise InputError(f"holds several datasets: {', '.join(inner)}", file=path, remedy=f"name one of its folders: {path}/SPLIT")
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
        raise InputError(f"is damaged: {error!r}", file=path / "state.json", remedy="save the dataset again") from None
    return files


def _check_shards(path: Path, files: list[Path]) -> None:
    """A download that lacks a file, and test data among the training data, must not go unnoticed."""
    shards: dict[tuple[str, int], set[int]] = defaultdict(set)
    for match in filter(None, (_SHARD.fullmatch(file.stem) for file in files)):
        shards[match["name"], int(match["shards"])].add(int(match["number"]))
    splits = sorted({name for name, _ in shards})
    if len(splits) > 1:
        remedy = f"name the files of one: {path}/{splits[0]}-*{files[0].suffix}"
        raise InputError(f"holds several splits: {', '.join(splits)}", file=path, remedy=remedy)
    for (name, count), found in shards.items():
        if missing := sorted(set(range(count)) - found):
            raise InputError(f"lacks {len(missing)} of the {count} files of {name}, the first is {missing[0]:05}", file=path, remedy=_AGAIN)


@contextmanager
def _faults(file: Path) -> Iterator[None]:
    """Whatever pyarrow finds wrong with a file becomes an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file", file=file, remedy="check the path") from None
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, NotImplementedError, MemoryError) as error:
        # pyarrow's own exceptions are kinds of these; a damaged header may claim any size, and any type
        text = str(error).partition("\n")[0][:200]
        raise InputError(f"cannot be read: {text or type(error).__name__}", file=file, remedy=_AGAIN) from None


def _pyarrow(file: Path, module: str = "") -> Any:
    """pyarrow, or a module of it: loaded only where it is needed, and not part of every installation."""
    from importlib import import_module

    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError:
        raise InputError(
            "reading Parquet and datasets needs the package pyarrow", file=file, remedy="pip install 'rnnsearch[arrow]'"
        ) from None
