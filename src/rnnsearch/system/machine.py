"""The machine: threads, memory allocator, memory, and devices."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from rnnsearch.arguments import require
from rnnsearch.errors import InputError
from rnnsearch.system.cores import core_count

os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))  # see `core_count`

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""Name in the settings → dtype of products."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_ALLOCATION, KEPT_IN_ALL = 256 << 20, 512 << 20
"""In bytes. Freed allocations up to the first size are kept for reuse, as long as the free end of
the heap is below the second."""
SHAPES_KEPT = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""Numbers of shapes of bfloat16 products in the caches of oneDNN and of torch's interface to it
(ideep)."""


def set_up_cpu(threads: int, processes: int = 1) -> int:
    """Sets the number of threads (0: the cores that this process may use, divided by `processes`),
    keeps freed memory for reuse, and limits oneDNN's caches of shapes, unless the environment sets
    their sizes.

    Returns the number of threads. Call it before the first bfloat16 product, which reads the sizes
    of the caches.
    """
    chosen = threads or max(1, core_count() // processes)
    torch.set_num_threads(chosen)
    for variable, shapes in SHAPES_KEPT.items():
        # Each shape takes half a MiB in the two caches together, and every batch of real sentences
        # has new shapes. The default is a thousand, but only the shapes of one update's time steps
        # are used again.
        os.environ.setdefault(variable, shapes)
    if platform.libc_ver()[0] == "glibc":
        # By default freed memory of large tensors returns to the system. Page faults for the next
        # tensors then take a fifth of the time of an update.
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
        name = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    threads = torch.get_num_threads()
    return f"{name}, {threads} thread{'s' if threads > 1 else ''}"


def check_memory(needed: int, what: str) -> None:
    """Raises InputError if `needed` bytes are more than this machine or container has, without swap
    space. The system would kill the process without a message."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            there = min(there, int(Path(file).read_text(encoding="ascii")))
    if needed > there:
        line = (
            f"{what} need {needed / 1e9:,.1f} GB of memory, and this machine has {there / 1e9:,.1f}"
        )
        raise InputError(line, "choose smaller sizes or a smaller vocabulary")


def usable_device(name: str) -> torch.device:
    """Returns the device. Raises InputError for one that this machine or this torch does not have,
    and for kinds of devices that rnnsearch does not support."""
    require("device", name, str)
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", name):
        raise InputError(f"device {name!r} cannot be used", "cpu, cuda or cuda:N")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter from a torch built for CPUs only
        raise InputError(
            f"device {name!r} cannot be used: {str(error).splitlines()[0]}", "cpu, cuda or cuda:N"
        ) from None
    return device


def fastest_precision(device: torch.device) -> str:
    """Returns bfloat16 if its products are faster on this device, else float32.

    CPUs with AMX, and AMD's with AVX-512 BF16, are twice as fast in bfloat16. Intel's AVX-512 BF16
    without AMX, as in many virtual machines, is slower than float32, and a CPU without AVX-512 is
    twenty times slower. If torch does not know the CPU's features, the result is float32.
    """
    if device.type != "cpu":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    cpu: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    amd = cpu.get("avx512_bf16") and "Intel" not in cpu.get("cpu_name", "Intel")
    return "bfloat16" if cpu.get("amx_bf16") or amd else "float32"


def used_precision(precision: str, device: str | torch.device) -> str:
    """Returns the precision of a setting: itself, or for `fastest` that of this device."""
    return fastest_precision(torch.device(device)) if precision == "fastest" else precision
