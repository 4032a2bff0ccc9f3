"""Folders that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.system.files import PARTIAL, fsync, is_abandoned, lock, make_parents

ASIDE, FINISHED = ".old", ".finished"

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@contextmanager
def whole_folder(out: Path, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """Yields a new folder to write into. At the end it is flushed to disk and becomes `out`; on an exception
    it is removed.

    After kill -9 or a power cut its remains are beside `out` under a hidden name; the next call for `out`
    removes them.

    replaceable: tells whether an existing `out` that is not empty may be replaced. Only the folder that
    existed at the beginning is ever replaced.

    Raises InputError if `out` may not be replaced, and for every error of the file system, such as a full
    disk. If something else became `out` meanwhile, the finished folder is kept beside it, and the InputError
    names it.
    """
    out = out.resolve()
    try:
        make_parents(out)
        _clear_left_behind(out)
        _check(out, replaceable)
        unique = uuid.uuid4().hex[:8]
        folder = out.with_name(f".{out.name}.{unique}{PARTIAL}")
        folder.mkdir()
        handle = os.open(folder, os.O_RDONLY)
        # While it is open, its inode is not reused. At the end this shows whether `out` is still the folder
        # that may be replaced.
        before = os.open(out, os.O_RDONLY) if out.exists() else None
        try:
            lock(handle)  # as long as this process lives
            yield folder
            for path in [*folder.rglob("*"), folder]:
                fsync(path)
            _replace(
                out,
                folder,
                before,
                aside=out.with_name(f".{out.name}.{unique}{ASIDE}"),
                kept=f"{out.name}.{unique}{FINISHED}",
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)
            if before is not None:
                os.close(before)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                "no space left on the disk", file=out, remedy="free some, or write to another disk"
            ) from None
        raise InputError(
            f"cannot be written: {error.strerror or error}", file=out, remedy="check path and permissions"
        ) from None


def _check(out: Path, replaceable: Callable[[Path], bool]) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError("is a file, not a folder", file=out, remedy="name another folder")
    if any(out.iterdir()) and not replaceable(out):
        raise InputError(
            "exists and is not empty", file=out, remedy="name another folder, or remove this one"
        )


def _clear_left_behind(out: Path) -> None:
    """Removes the remains of processes that have ended; the kernel has released their locks."""
    for aside in _hidden_folders(out, ASIDE):
        partial = aside.with_suffix(PARTIAL)
        if not partial.exists() or is_abandoned(partial):
            if out.exists():
                shutil.rmtree(aside, ignore_errors=True)
            else:  # it ended between the two renames: the old folder is the only whole one
                aside.rename(out)
    for folder in _hidden_folders(out, PARTIAL):
        if folder.is_dir() and is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _hidden_folders(out: Path, ending: str) -> list[Path]:
    """Returns the hidden folders `.NAME.UNIQUE` + ending of this `out`, not those of a folder whose name only
    begins with NAME."""
    form = re.compile(rf"\.{re.escape(out.name)}\.[0-9a-f]+{re.escape(ending)}")
    return [
        path for path in out.parent.glob(".*") if form.fullmatch(path.name)
    ]  # none where the parent may not be listed


def _replace(out: Path, folder: Path, before: int | None, aside: Path, kept: str) -> None:
    """Renames `folder` to `out`. before: file descriptor of the `out` at the beginning; that folder is moved
    to `aside`, and removed afterwards."""
    if (
        before is not None and _is_same(out, before) and any(out.iterdir())
    ):  # a rename replaces an empty folder only
        out.rename(aside)
        if not _is_same(aside, before):  # another process replaced it: its folder is moved back
            aside.rename(out if not out.exists() else out.with_name(f"{kept}.other"))
    try:
        folder.rename(out)
    except OSError as error:
        if error.errno not in _TAKEN:
            with suppress(OSError):
                aside.rename(out)
            raise
        place = out.with_name(kept)
        folder.rename(place)
        fsync(out.parent)
        what = (
            "appeared, or was replaced, while this was at work: it is left as it is, and what was made here "
            f"is whole in {place}"
        )
        raise InputError(what, file=out, remedy="keep one of the two, and rename it if need be") from None
    fsync(out.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _is_same(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(handle))
    return False
