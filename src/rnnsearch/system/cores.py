"""The cores that this process may use."""

from __future__ import annotations

import os

_IMPORTER = os.getpid()


def core_count() -> int:
    """Returns the number of cores that this process may use. It is 1 in a fork of the process that
    imported this module, in which threads would wait forever for those of the parent."""
    if os.getpid() != _IMPORTER:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
