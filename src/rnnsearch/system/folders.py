"""Folders that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.system.files import PARTIAL, make_parents, open_locked

REPLACED = ".old"
"""Ending of the hidden name of a folder that is being replaced."""


@contextmanager
def whole_folder(out: Path, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """Yields a new folder to write into, which becomes `out` at the end; on an exception it is removed.

    After kill -9 its remains are beside `out` under a hidden name; the next call for `out` removes them.

    replaceable: tells whether an existing `out` that is not empty may be replaced. Only the folder that
    existed at the beginning is ever replaced.

    Raises InputError if `out` may not be replaced, while another process is writing it, and for every error
    of the file system, such as a full disk. If something else became `out` meanwhile, the temporary folder
    stays, and the InputError names it.
    """
    out = out.resolve()
    folder, replaced = (out.with_name(f".{out.name}{ending}") for ending in (PARTIAL, REPLACED))
    try:
        make_parents(out)
        if replaced.exists() and not out.exists():  # a process was killed between the two renames
            replaced.rename(out)
        before = _check(out, replaceable)
        folder.mkdir(exist_ok=True)
        handle = open_locked(folder, os.O_RDONLY)
        try:
            shutil.rmtree(replaced, ignore_errors=True)
            for entry in folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
            yield folder
            if _identity(out) not in (before, None) or not _renamed(folder, out, replaced):
                folder = folder.rename(_unused(out))
                raise InputError(
                    f"appeared or was replaced meanwhile; the temporary folder {folder} was not renamed",
                    file=out,
                    remedy="keep one of the two",
                )
        except BaseException:
            if folder.name.startswith("."):
                shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what, remedy = "no space left on the disk", "free some, or write to another disk"
        else:
            what, remedy = f"cannot be written: {error.strerror or error}", "check path and permissions"
        raise InputError(what, file=out, remedy=remedy) from None


def _check(out: Path, replaceable: Callable[[Path], bool]) -> tuple[int, int] | None:
    """Returns the identity of `out`. Raises InputError if it may not be replaced."""
    if out.exists() and not out.is_dir():
        raise InputError("is a file, not a folder", file=out, remedy="name another folder")
    if out.exists() and any(out.iterdir()) and not replaceable(out):
        raise InputError(
            "exists and is not empty", file=out, remedy="name another folder, or remove this one"
        )
    return _identity(out)


def _identity(path: Path) -> tuple[int, int] | None:
    """Returns numbers that tell a file or folder from others; None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _renamed(folder: Path, out: Path, replaced: Path) -> bool:
    """Renames the folder to `out`. Returns False if something is there that must not be replaced."""
    if out.exists():
        out.rename(replaced)
    try:
        folder.rename(out)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        if replaced.exists():
            replaced.rename(out)
        raise
    shutil.rmtree(replaced, ignore_errors=True)
    return True


def _unused(out: Path) -> Path:
    """Returns a name beside `out` that nothing has."""
    names = (out.with_name(f"{out.name}.finished{number or ''}") for number in range(1_000))
    return next(name for name in names if not name.exists())
