"""The machine: its threads, its memory allocator, its name, its devices."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
from pathlib import Path

import torch

from rnnsearch.errors import InputError
from rnnsearch.system.workers import core_count

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""What the settings call the dtypes of products."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_ALLOCATION, KEPT_IN_ALL = 256 << 20, 512 << 20
"""Bytes. Freed allocations up to the first are kept for the next ones, as long as no more than the second
lies idle at the heap's end."""
SHAPES_KEPT = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""How many shapes of bfloat16 products oneDNN and torch's interface to it (ideep) each keep prepared."""


def set_up_cpu(threads: int, processes: int = 1) -> int:
    """Sets the number of threads (0: the cores that this process may use, over `processes`), keeps freed
    memory at hand, and bounds what is kept for every shape of a product, unless the environment says how
    much.

    Returns the number. Call it before the first product in bfloat16: how many shapes to keep is read then,
    once.
    """
    chosen = threads or max(1, core_count() // processes)
    torch.set_num_threads(chosen)
    for variable, shapes in SHAPES_KEPT.items():
        # Each shape takes half a MiB in the two caches together, and every batch of real sentences has new
        # shapes. A thousand are kept by default. Few come back: those of the time steps of an update.
        os.environ.setdefault(variable, shapes)
    if platform.libc_ver()[0] == "glibc":
        # By default the memory of every large tensor goes back to the system when it is freed. Faulting in
        # the pages of the next one takes a fifth of the time of an update.
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, KEPT_ALLOCATION)
        libc.mallopt(M_TRIM_THRESHOLD, KEPT_IN_ALL)
    return chosen


def hardware(device: str) -> str:
    """Returns the name of the device, for the learning statistics."""
    if device.startswith("cuda") and torch.cuda.is_available():
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    threads = torch.get_num_threads()
    return f"{name}, {threads} thread{'s' if threads > 1 else ''}"


def memory() -> int:
    """Returns the bytes of memory that this machine or container may use, without swap space; 0 if
    unknown."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 0
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            total = min(total or 1 << 62, int(Path(file).read_text(encoding="ascii")))
    return total


def check_memory(needed: int, what: str) -> None:
    """Raises InputError if `needed` bytes are more than the machine has: else the system would end the
    process without a word."""
    there = memory()
    if there and needed > there:
        line = f"{what} need {needed / 1e9:,.1f} GB of memory, and this machine has {there / 1e9:,.1f}"
        raise InputError(line, remedy="choose smaller sizes or a smaller vocabulary")


def usable_device(name: str) -> torch.device:
    """Returns the device. Raises InputError for one that this machine or this torch does not have, and for
    kinds of devices that rnnsearch does not support."""
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", name):
        raise InputError(f"device {name!r} cannot be used", remedy="cpu, cuda or cuda:N")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter from a torch built for CPUs only
        raise InputError(
            f"device {name!r} cannot be used: {str(error).splitlines()[0]}", remedy="cpu, cuda or cuda:N"
        ) from None
    return device
