"""One-line messages for errors that no other code has explained."""

from __future__ import annotations

import errno
from typing import NamedTuple

from rnnsearch.errors import InputError, one_line
from rnnsearch.installed import extra_of, missing_message

BAD_INPUT, INTERNAL = 2, 1
"""Exit codes for faults of the input or the machine, and for errors inside rnnsearch."""

_MEMORY = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "unable to allocate",
    "bad_alloc",
    "alloc_failed",
)
_SIZES = (
    "overflow",
    "is too large",
    "invalid shape dimension",
    "negative dimension",
    "exceeds the limit",
    "too big",
)
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EBADF}


class ExitMessage(NamedTuple):
    """How the command ends after an error. code: the exit code. line: the message, with the remedy."""

    code: int
    line: str


def exit_message(error: Exception) -> ExitMessage:
    """Returns the exit code and message of an error. An error that is no fault of the input, the settings or
    the machine is one inside rnnsearch."""
    if isinstance(error, InputError):
        return ExitMessage(BAD_INPUT, str(error))
    if isinstance(error, ModuleNotFoundError) and (
        extra := extra_of(package := (error.name or "").split(".")[0])
    ):
        return ExitMessage(BAD_INPUT, missing_message(package, extra))
    text = one_line(str(error)) or type(error).__name__
    words = text.lower()
    if isinstance(error, OSError) and error.errno != errno.ENOMEM:
        place = error.filename or ("the output cannot be written" if error.errno in _DISK else "")
        return ExitMessage(BAD_INPUT, one_line(f"{place}: {error.strerror or error}" if place else text))
    if isinstance(error, MemoryError | OSError) or (
        isinstance(error, RuntimeError) and any(sign in words for sign in _MEMORY)
    ):
        remedy = "smaller batches, a smaller beam, shorter sentences or a smaller network need less"
        return ExitMessage(BAD_INPUT, f"there is not enough memory: {text} ({remedy})")
    if isinstance(error, RecursionError):
        return ExitMessage(BAD_INPUT, "the input is nested too deeply")
    if isinstance(error, OverflowError) or (
        isinstance(error, RuntimeError | ValueError) and any(sign in words for sign in _SIZES)
    ):
        return ExitMessage(BAD_INPUT, f"a number or a size is too large: {text}")
    return ExitMessage(
        INTERNAL,
        f"internal error: {type(error).__name__}: {text} (run `rnnsearch --debug …` for the traceback, and "
        "report it)",
    )
