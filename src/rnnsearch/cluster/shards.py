"""The shards of a corpus, on this machine or at any URL that fsspec knows: listing, copying and atomic
writing. A shard is one file, or one file for each side."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from fsspec import AbstractFileSystem
from fsspec.core import has_magic, url_to_fs
from fsspec.implementations.local import LocalFileSystem

from rnnsearch.errors import InputError, escaped
from rnnsearch.system.files import PARTIAL, written_whole
from rnnsearch.text.formats.arrow import read_tables
from rnnsearch.text.formats.lines import IGNORED, read_lines, read_pairs
from rnnsearch.text.formats.opening import COMPRESSIONS
from rnnsearch.text.formats.records import Layout, LinePair, OneSide, read_json_lines

ShardFormat = Literal["lines", "jsonl", "parquet"]
FORMATS: tuple[ShardFormat, ...] = get_args(ShardFormat)
Item = str | LinePair
"""A line to be translated, or a pair of lines."""

_SUFFIXES: dict[str, ShardFormat] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
"""Keys under which file systems have a value that changes with a file's content, the best first."""


@dataclass(frozen=True)
class Place:
    """A file or a folder, which need not exist. It is picklable, with its file system and credentials."""

    system: AbstractFileSystem
    path: str

    @classmethod
    def at(cls, name: str) -> Place:
        """Returns the place of a path, or of a URL such as s3://bucket/folder. Raises InputError for a URL of
        no known kind."""
        try:
            return cls(*url_to_fs(name))
        except (ImportError, ValueError) as error:
            remedy = "install the package that fsspec needs for it"
            raise InputError(f"cannot be used: {error}", file=name, remedy=remedy) from None

    @property
    def local(self) -> Path | None:
        """Returns the path on this machine; None for a URL."""
        return Path(self.path) if isinstance(self.system, LocalFileSystem) else None

    def __str__(self) -> str:
        return self.path if self.local else str(self.system.unstrip_protocol(self.path))

    def __truediv__(self, name: str) -> Place:
        return Place(self.system, posixpath.join(self.path, name))

    def is_empty(self) -> bool:
        """Tells whether nothing exists there, or a folder with hidden files only."""
        with self._faults("read"):
            if not self.system.isdir(self.path):
                return not self.system.exists(self.path)
            return not any(_visible(self.path, self.system.find(self.path, detail=True)))

    def files(self) -> dict[str, tuple[Place, str]]:
        """Returns the file itself, the files of a folder, or those that match a pattern such as `part-*.txt`,
        as name below the folder → (place, fingerprint), sorted. A fingerprint has the file's size and date of
        change.

        Files and folders whose names begin with a dot or an underscore are left out. Raises InputError if no
        file remains.
        """
        with self._faults("read"):
            if self.system.isfile(self.path):
                root, found = posixpath.dirname(self.path), {self.path: self.system.info(self.path)}
            elif self.system.isdir(self.path):
                root, found = self.path, self.system.find(self.path, detail=True)
            elif has_magic(self.path):
                parts = self.path.split("/")
                named = next(number for number, part in enumerate(parts) if has_magic(part))
                root, found = "/".join(parts[:named]), self.system.glob(self.path, detail=True)
            else:
                raise InputError("no such file or folder", file=str(self), remedy="check the path or URL")
        files = {}
        for name, path, info in _visible(root, found):
            stamp = next((info[key] for key in _STAMPS if info.get(key) is not None), "")
            files[name] = Place(self.system, path), f"{info.get('size')} bytes, {stamp}"
        if not files:
            raise InputError("there are no files", file=str(self), remedy="check the path or URL")
        return dict(sorted(files.items()))

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """Yields the path of the file on this machine: its own, or that of a copy of the same name, removed
        afterwards."""
        if self.local:
            yield self.local
            return
        with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
            copy = Path(folder) / posixpath.basename(self.path)
            with self._faults("read"):
                self.system.get_file(self.path, str(copy))
            yield copy

    def read(self) -> bytes | None:
        """Returns the content of a small file; None if it does not exist."""
        with self._faults("read"), suppress(FileNotFoundError):
            content: bytes = self.system.cat_file(self.path)
            return content
        return None

    def write(self, text: str) -> None:
        """Writes a small file atomically, and makes its folder."""
        with self.replaced() as path:
            path.write_text(text, encoding="utf-8", newline="\n")

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """Yields a local path to write to. At the end its file replaces this one; on an exception it is
        removed.

        At a URL the file is sent under another name and then renamed, so that the named file is always whole.
        """
        if self.local:
            with self._faults("written"):
                self.local.parent.mkdir(parents=True, exist_ok=True)
            try:
                with written_whole(self.local) as path:
                    yield path
            except OSError as error:
                what, remedy = f"cannot be written: {error.strerror}", "check the disk and permissions"
                raise InputError(what, file=str(self), remedy=remedy) from None
            return
        with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
            file = Path(folder) / "file"
            yield file
            above, name = posixpath.split(self.path)
            partial = posixpath.join(above, f".{name}{PARTIAL}")
            with self._faults("written"):
                self.system.makedirs(above, exist_ok=True)
                self.system.put_file(str(file), partial)
                self.remove()  # some file systems rename only to an unused name
                self.system.mv(partial, self.path)

    def remove(self) -> None:
        """Removes the file, if there is one."""
        with self._faults("removed"), suppress(FileNotFoundError):
            self.system.rm_file(self.path)

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        """Turns an error of a file system into an InputError. what: "read", "written" or "removed", for the
        message."""
        try:
            yield
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError("no such file", file=str(self), remedy="check the path or URL") from None
        except Exception as error:  # each file system has classes of its own
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
            remedy = "check the path or URL, and permissions"
            raise InputError(f"cannot be {what}: {reason}", file=str(self), remedy=remedy) from None


def _visible(
    root: str, found: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yields (name below root, path, information) for each visible file."""
    for path, info in found.items():
        name = path.removeprefix(root).lstrip("/")
        if info.get("type") == "file" and not any(part.startswith((".", "_")) for part in name.split("/")):
            yield name, path, info


@dataclass(frozen=True)
class Shard:
    """A file of a corpus, or a file of each side. name: relative to the corpus's folder; of two files, that
    of the source. files: one, or (source, target) for lines. fingerprint: changes with the content."""

    name: str
    files: tuple[Place, ...]
    format: ShardFormat
    fingerprint: str

    @property
    def label(self) -> str:
        """Returns the names of its files, for messages."""
        return " | ".join(map(str, self.files))


def text_shards(corpus: str, format: ShardFormat | None) -> list[Shard]:
    """Returns the shards of a corpus to be translated, sorted by name.

    corpus: a file, a folder, a pattern or a URL of these. format: of all files; None: each file's suffix
    decides. Raises InputError if there is no shard.
    """
    return [
        Shard(name, (place,), format or _format(name), fingerprint)
        for name, (place, fingerprint) in Place.at(corpus).files().items()
    ]


def pair_shards(corpora: list[str], format: ShardFormat | None) -> list[Shard]:
    """Returns the shards of pairs: of one corpus whose records hold both sides, or of two corpora of parallel
    lines.

    The shards of two corpora must have the same names, apart from their last suffix, such as the language.
    Raises InputError for a shard without its other side, for one corpus of lines, and for two corpora of
    records.
    """
    found = [text_shards(corpus, format) for corpus in corpora]
    for shard in (shard for side in found for shard in side):
        what = ""
        if len(found) == 1 and shard.format == "lines":
            what, remedy = f"the shard {shard.name} has one text only", "name the other side, too"
        elif len(found) > 1 and shard.format != "lines":
            what, remedy = f"is {shard.format}, which holds both sides", "name one corpus, not two"
        if what:
            raise InputError(what, file=shard.label, remedy=remedy)
    if len(found) == 1:
        return found[0]
    sources, targets = map(_by_stem, found, corpora)
    for here, there, other in ((sources, targets, corpora[1]), (targets, sources, corpora[0])):
        for stem, shard in here.items():
            if stem not in there:
                remedy = "shards of both sides need the same names"
                raise InputError(f"has no other side in {other}", file=shard.label, remedy=remedy)
    pairs = []
    for stem, shard in sources.items():
        both = f"{shard.fingerprint} | {targets[stem].fingerprint}"
        pairs.append(replace(shard, files=(*shard.files, *targets[stem].files), fingerprint=both))
    return pairs


def _by_stem(shards: list[Shard], corpus: str) -> dict[str, Shard]:
    stems: dict[str, Shard] = {}
    for shard in shards:
        if stems.setdefault(_stem(shard.name), shard) is not shard:
            what = f"two shards are called {_stem(shard.name)}"
            raise InputError(what, file=corpus, remedy="give each side a folder, or a pattern, of its own")
    return stems


def _format(name: str) -> ShardFormat:
    return _SUFFIXES.get(PurePosixPath(_uncompressed(name)).suffix.lower(), "lines")


def _stem(name: str) -> str:
    return str(PurePosixPath(_uncompressed(name)).with_suffix(""))


def _uncompressed(name: str) -> str:
    path = PurePosixPath(name)
    return str(path.with_suffix("")) if path.suffix in COMPRESSIONS else name


@contextmanager
def lines_of(shard: Shard, layout: Layout) -> Iterator[Callable[[], Iterator[Item]]]:
    """Yields a function that reads the whole shard at each call. A shard at a URL is copied to this machine
    meanwhile.

    layout: a OneSide for lines to be translated, another Layout for pairs. The N-th item is the N-th line, or
    row. Raises InputError, with the shard's file and line, for text that cannot be read.
    """
    with ExitStack() as stack:
        here = [stack.enter_context(place.fetched()) for place in shard.files]
        try:
            yield lambda: _items(here, shard, layout)
        except InputError as error:
            line = str(error)
            for copy, place in zip(here, shard.files, strict=True):
                line = line.replace(escaped(copy), escaped(place))
            raise InputError(line) from None


def _items(files: list[Path], shard: Shard, layout: Layout) -> Iterator[Item]:
    if len(files) == 2:
        return read_pairs(files[0], files[1])
    if shard.format == "lines":
        return read_lines(files[0])
    pairs = (read_json_lines if shard.format == "jsonl" else read_tables)(
        files[0], layout, (IGNORED, IGNORED)
    )
    return (text for text, _ in pairs) if isinstance(layout, OneSide) else pairs
