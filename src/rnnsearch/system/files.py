"""Reads and writes files and folders. What is written is whole or absent: Ctrl-C, kill -9 or a full
disk leaves the previous version (a power cut may not). Locks are released by the kernel when a
process ends.

Files to be read are untrusted: pipes are refused, and every fault is an OSError or a ValueError."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rnnsearch.errors import InputError

PARTIAL, REPLACED_ENDING = ".partial", ".old"
"""Endings of the hidden names of what is being written, and of a folder that is being replaced."""
LARGEST_FILE = 1 << 28
"""Largest size of a small file, in bytes."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`, whose file replaces it on success; on an exception it
    is removed. The next writer of `path` overwrites what a killed process has left.

    A link stays, and the file that it points to is replaced. A stream gets what the whole file
    has. Raises InputError if `path` is a folder, and while another process is writing it; OSError
    as the system does.
    """
    if is_stream(path):
        with TemporaryDirectory(prefix="rnnsearch-") as folder, path.open("ab") as stream:
            yield Path(folder) / path.name
            stream.write((Path(folder) / path.name).read_bytes())
        return
    path = end_of_link(path)
    temporary = path.with_name(f".{path.name}{PARTIAL}")
    handle = open_locked(temporary)
    try:
        yield temporary
        os.fsync(handle)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not error.filename:  # of a full disk
            error.filename = str(path)
        raise
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a small text file atomically."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove_partial_files(folder: Path) -> None:
    """Removes what killed processes left in a folder in which no other process writes."""
    for path in folder.glob(f".*{PARTIAL}"):
        with contextlib.suppress(OSError):
            path.unlink()


@contextmanager
def writing(path: Path | None) -> Iterator[None]:
    """Turns an OSError into an InputError that names the file, or `path` if the error names
    none."""
    try:
        yield
    except OSError as error:
        remedy = "check path, permissions and free space"
        what = f"cannot be written: {error.strerror or error}"
        raise InputError(what, remedy, file=error.filename or path) from None


def is_stream(path: Path) -> bool:
    """Tells whether `path` is a pipe, a device or a socket, or the file to which this process
    prints, such as /dev/stdout: text is added to it, and it is never replaced."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    for printed in (1, 2):
        with contextlib.suppress(OSError):  # closed
            if os.path.samestat(found, os.fstat(printed)):
                return True
    return not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def end_of_link(path: Path) -> Path:
    """Returns the path of the file that is written at `path`: of that to which a link points, even
    if it does not exist yet. Raises InputError for a folder, for a link to itself, and for `-`."""
    if path == Path("-"):
        raise InputError(
            "an output is not named -", "name /dev/stdout to print, or give the whole path"
        )
    file = Path(os.path.realpath(path)) if path.is_symlink() else path
    if file.is_dir() or file.is_symlink():
        raise InputError("is not a regular file", "name another file", file=path)
    return file


def prepare_output(file: Path, overwrite: bool) -> None:
    """Makes the folder of a file to be written. Raises InputError if the file exists and may not be
    replaced."""
    if end_of_link(file).exists() and not overwrite and not is_stream(file):
        raise InputError("already exists", "choose another file, or add --overwrite", file=file)
    make_folder(file.parent)


def refuse_inputs(outputs: Sequence[Path], inputs: Sequence[str | Path]) -> None:
    """Raises InputError for an output that is one of the inputs or another output, even with
    --overwrite."""
    taken = {Path(one).resolve(): "is an input" for one in inputs}
    for file in outputs:
        if what := taken.get(file.resolve(), ""):
            raise InputError(what, "name another file to write", file=file)
        if not is_stream(file):
            taken[file.resolve()] = "is named twice"


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it. Raises InputError if one of them is a file."""
    for path in (folder, *folder.parents):
        if path.is_file():
            raise InputError("is a file, not a folder", "name another folder", file=path)
    folder.mkdir(parents=True, exist_ok=True)


def file_name(name: str) -> str:
    """Turns a name into a file name: unsuitable characters become hyphens."""
    return re.sub(r"[^\w.-]", "-", name).strip(".") or "unnamed"


def file_checksum(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum(*parts: str | bytes | memoryview) -> str:
    """Returns the SHA-256 of texts and bytes, in hexadecimal. The length of each part counts,
    too."""
    total = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(len(content).to_bytes(8, "little"))
        total.update(content)
    return total.hexdigest()


def content_key(files: Sequence[Path], *others: str) -> str:
    """Returns a checksum of the files' contents and of other texts, by which later work on the same
    input is recognised. Raises InputError for a file that cannot be read twice."""
    for file in files:
        if not file.is_file():
            raise InputError(
                "is no file on disk", "check the path; write a pipe to a file", file=file
            )
    return checksum(*map(file_checksum, files), *others)


def open_locked(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Opens a file or a folder that only this program writes, and locks it until the handle is
    closed. Raises InputError if another process has locked it, and OSError for a link, by which
    another file would be overwritten. A file system without locks refuses nothing."""
    while True:
        handle = os.open(path, flags | os.O_NOFOLLOW, 0o666)
        found = os.fstat(handle)
        is_file = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
        if not (is_file or stat.S_ISDIR(found.st_mode)):
            os.close(handle)
            raise OSError(
                errno.EMLINK, "it is a link to another file, or no file; remove it", str(path)
            )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise InputError(
                "another command is writing it", "wait for it, or end it", file=path
            ) from None
        except OSError:
            return handle
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # its owner has renamed or removed it meanwhile


@contextmanager
def only_one(folder: Path, doing: str) -> Iterator[None]:
    """Keeps other processes from doing the same in `folder`, with a file `.lock` in it. Makes the
    folder.

    doing: the work in the message, such as "training". Raises InputError if another process is
    doing it, or if the folder or one of its parents is a file, and OSError if the folder cannot be
    written."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    make_folder(folder)
    path = folder / ".lock"
    try:
        handle = open_locked(path)
    except InputError:
        number = path.read_text("ascii", "replace").strip() if path.exists() else "?"
        what = f"another process ({number}) is {doing} here"
        raise InputError(
            what, "wait for it or end it, or name another folder", file=folder
        ) from None
    try:
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        # The file is removed before the lock is released: a process that gets the old file's lock
        # sees that it is gone.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(handle)
        with contextlib.suppress(OSError):  # removes new folders that are still empty
            for one in missing:
                one.rmdir()


def remove_path(path: Path) -> None:
    """Removes a file, or a folder with all that is in it; nothing if there is none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def whole_folder(out: Path, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """Yields a new folder to write into, which becomes `out` at the end; on an exception it is
    removed.

    After kill -9 its remains are beside `out` under a hidden name; the next call for `out` removes
    them.

    replaceable: tells whether an existing `out` that is not empty may be replaced; asked before the
    work and after it.

    Raises InputError if `out` may not be replaced, while another process is writing it, and for
    every error of the file system, such as a full disk. If something that must not be replaced
    became `out` meanwhile, the new folder is kept as `out`.finished, and the InputError names it.
    """
    out = out.resolve()
    if not out.name:
        raise InputError("is the root of the file system", "name another folder", file=out)
    if out.is_mount():
        what = "is a mount point, which no new folder can replace"
        raise InputError(what, "name a folder in it", file=out)
    folder, replaced = (
        out.with_name(f".{out.name}{ending}") for ending in (PARTIAL, REPLACED_ENDING)
    )
    with writing(out):
        make_folder(out.parent)
        if replaced.exists() and not out.exists():  # a process was killed between the two renames
            replaced.rename(out)
        check_folder(out, replaceable)
        try:
            folder.mkdir()
        except FileExistsError:
            if folder.lstat().st_uid != os.geteuid():
                raise InputError("belongs to another user", "remove it", file=folder) from None
        handle = open_locked(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            shutil.rmtree(replaced, ignore_errors=True)
            for entry in folder.iterdir():
                remove_path(entry)
            yield folder
            try:
                check_folder(out, replaceable)
            except InputError as error:
                kept = folder.rename(out.with_name(f"{out.name}.finished"))
                raise InputError(
                    f"{error}; the new folder is {kept}", "keep one of the two"
                ) from None
            if out.exists():
                out.rename(replaced)
            folder.rename(out)
            shutil.rmtree(replaced, ignore_errors=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(handle)


def holds_only(folder: Path, is_ours: Callable[[str], object]) -> bool:
    """Tells whether the relative paths of all files in the folder are those that we write."""
    files = (path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    return all(is_ours(path.relative_to(folder).as_posix()) for path in files)


def check_folder(out: Path, replaceable: Callable[[Path], bool]) -> None:
    """Raises InputError if something is at `out` that may not be replaced. A lock and what killed
    processes left count as nothing."""
    if out.exists() and not out.is_dir():
        raise InputError("is a file, not a folder", "name another folder", file=out)
    ours = re.compile(rf"\.lock|\..+{re.escape(PARTIAL)}")
    others = out.exists() and any(not ours.fullmatch(one.name) for one in out.iterdir())
    if others and not replaceable(out):
        raise InputError("exists and is not empty", "name another folder for --out", file=out)


def parse_toml(text: str) -> dict[str, Any]:
    """Parses TOML, also after a byte order mark. Raises ValueError."""
    table: dict[str, Any] = _parsed(tomllib.loads, text.removeprefix("\ufeff"))
    return table


def parse_json(text: str | bytes) -> Any:
    """Parses JSON. Raises ValueError."""
    return _parsed(json.loads, text)


def read_toml(path: Path) -> dict[str, Any]:
    """Reads a TOML file. Raises OSError if it cannot be read, and ValueError if it is not TOML."""
    return parse_toml(read_text(path))


def read_json(path: Path) -> Any:
    """Reads a JSON file. Raises OSError if it cannot be read, and ValueError if it is not JSON."""
    return parse_json(read_text(path))


def read_text(path: Path) -> str:
    """Returns the text of a regular file in UTF-8. Raises OSError if it cannot be read, and
    ValueError if it is not UTF-8 or is larger than LARGEST_FILE."""
    return read_bytes(path).decode("utf-8")


def read_bytes(path: Path) -> bytes:
    """Returns the content of a regular file. Raises OSError if it cannot be read, and ValueError if
    it is larger than LARGEST_FILE."""
    check_regular(path)
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"the file has more than {LARGEST_FILE:,} bytes")
    return content


def read_file(path: Path) -> bytes:
    """Returns the content of a regular file. Raises InputError if it cannot be read or is larger
    than LARGEST_FILE."""
    with reading(path):
        return read_bytes(path)


@contextmanager
def reading(
    file: Path, remedy: str = "", unread: str = "cannot be read", damaged: str = ""
) -> Iterator[None]:
    """Turns OSError and ValueError into an InputError, whose message begins with `unread` and ends
    with the remedy; that of a ValueError is only `damaged`, if given, and the error. A file that
    may not be read is neither damaged nor missing, and says so."""
    try:
        yield
    except PermissionError as error:
        what = f"cannot be read: {error.strerror}"
        raise InputError(what, "check its permissions", file=file) from None
    except (OSError, ValueError) as error:
        if damaged and isinstance(error, ValueError):
            raise InputError(f"{damaged}: {error}", file=file) from None
        what = str(getattr(error, "strerror", None) or error)
        raise InputError(f"{unread}: {what}", remedy, file=file) from None


def check_regular(path: Path) -> None:
    """Raises OSError if there is no file, and for a folder, a pipe, a device or a socket, on which
    reading would wait or fail."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", str(path))


def _parsed(parse: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
