"""Files of this machine, and files at any URL that fsspec knows: listed, copied here, and written whole or
not at all."""

from __future__ import annotations

import contextlib
import posixpath
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.core import has_magic, url_to_fs
from fsspec.implementations.local import LocalFileSystem

from rnnsearch.errors import InputError
from rnnsearch.system.files import PARTIAL, written_whole

_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
"""Names that file systems use for a value that changes with a file's content, the best first."""


@dataclass(frozen=True)
class Place:
    """A file or a folder, there or not. It can be pickled, its file system and the keys to it included."""

    system: AbstractFileSystem
    path: str

    @classmethod
    def at(cls, name: str) -> Place:
        """Returns the place of a path, or of a URL such as s3://bucket/folder. Raises InputError for a URL of
        no known kind."""
        try:
            return cls(*url_to_fs(name))
        except (ImportError, ValueError) as error:
            raise InputError(
                f"cannot be used: {error}", file=name, remedy="install the package that fsspec needs for it"
            ) from None

    @property
    def local(self) -> Path | None:
        """Returns the path on this machine; None for a URL."""
        return Path(self.path) if isinstance(self.system, LocalFileSystem) else None

    def __str__(self) -> str:
        return self.path if self.local else str(self.system.unstrip_protocol(self.path))

    def __truediv__(self, name: str) -> Place:
        return Place(self.system, posixpath.join(self.path, name))

    def is_empty(self) -> bool:
        """Tells whether nothing is there, or a folder with nothing in it but hidden files."""
        with faults_of(self, "cannot be read"):
            if not self.system.exists(self.path):
                return True
            return self.system.isdir(self.path) and not list(
                _visible(self.path, self.system.find(self.path, detail=True))
            )

    def files(self) -> dict[str, StoredFile]:
        """Returns the files of a file's name, a folder or a pattern such as `part-*.txt`, by their names
        below the folder, sorted.

        Files and folders whose names begin with a dot or an underscore are left out. Raises InputError if
        there are none.
        """
        with faults_of(self, "cannot be read"):
            if self.system.isfile(self.path):
                root, found = posixpath.dirname(self.path), {self.path: self.system.info(self.path)}
            elif self.system.isdir(self.path):
                root, found = self.path, self.system.find(self.path, detail=True)
            elif has_magic(self.path):
                root, found = _before_pattern(self.path), self.system.glob(self.path, detail=True)
            else:
                raise InputError("no such file or folder", file=str(self), remedy="check the path or URL")
        files = {
            name: StoredFile(Place(self.system, path), _fingerprint(info))
            for name, path, info in _visible(root, found)
        }
        if not files:
            raise InputError("there are no files", file=str(self), remedy="check the path or URL")
        return dict(sorted(files.items()))

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """Yields the file on this machine: itself, or a copy of the same name, which is removed
        afterwards."""
        if self.local:
            yield self.local
            return
        with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
            copy = Path(folder) / posixpath.basename(self.path)
            with faults_of(self, "cannot be read"):
                self.system.get_file(self.path, str(copy))
            yield copy

    def read(self) -> bytes | None:
        """Returns the content of a small file, None if there is no file."""
        with faults_of(self, "cannot be read"), contextlib.suppress(FileNotFoundError):
            content: bytes = self.system.cat_file(self.path)
            return content
        return None

    def write(self, text: str) -> None:
        """Writes a small file whole, and its folder if there is none."""
        with self.replaced() as path:
            path.write_text(text, encoding="utf-8", newline="\n")

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """Yields a path of this machine to write; its file is put here at the end, and on an exception
        removed.

        At a URL it is sent under another name first, so that what has the name is whole.
        """
        if self.local:
            with faults_of(self, "cannot be written"):
                self.local.parent.mkdir(parents=True, exist_ok=True)
            try:
                with written_whole(self.local) as path:
                    yield path
            except OSError as error:
                remedy = "check the disk and permissions"
                raise InputError(
                    f"cannot be written: {error.strerror}", file=str(self), remedy=remedy
                ) from None
            return
        with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
            file = Path(folder) / "file"
            yield file
            folder_path, name = posixpath.split(self.path)
            partial = posixpath.join(folder_path, f".{name}{PARTIAL}")
            with faults_of(self, "cannot be written"):
                self.system.makedirs(folder_path, exist_ok=True)
                self.system.put_file(str(file), partial)
                self.remove()  # some file systems rename only to a name that is free
                self.system.mv(partial, self.path)

    def remove(self) -> None:
        """Removes the file, if there is one."""
        with faults_of(self, "cannot be removed"), contextlib.suppress(FileNotFoundError):
            self.system.rm_file(self.path)


@dataclass(frozen=True)
class StoredFile:
    """A file that was found. fingerprint: changes with its content, as far as its size and its date of change
    tell."""

    place: Place
    fingerprint: str


@contextmanager
def faults_of(place: Place, what: str) -> Iterator[None]:
    """Turns whatever a file system raises into an InputError."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", file=str(place), remedy="check the path or URL") from None
    except Exception as error:  # each file system has classes of its own
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
        raise InputError(
            f"{what}: {reason}", file=str(place), remedy="check the path or URL, and permissions"
        ) from None


def _visible(
    root: str, found: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yields (name below root, path, what is known of it) of each visible file."""
    for path, info in found.items():
        name = path.removeprefix(root).lstrip("/")
        if info.get("type") == "file" and not any(part.startswith((".", "_")) for part in name.split("/")):
            yield name, path, info


def _before_pattern(path: str) -> str:
    """Returns the folder of a pattern: the part before the first name with a `*`, `?` or `[`."""
    parts = path.split("/")
    return "/".join(parts[: next(number for number, part in enumerate(parts) if has_magic(part))])


def _fingerprint(info: Mapping[str, Any]) -> str:
    stamp = next((info[key] for key in _STAMPS if info.get(key) is not None), "")
    return f"{info.get('size')} bytes, {stamp}"
