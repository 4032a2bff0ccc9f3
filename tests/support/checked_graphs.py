"""Captured graphs that are pretended: what was recorded is run again, and compared with the record.

A real graph repeats its kernels on the addresses and with the numbers of the recording, whatever the program has come to since. So what
is run again must ask for the very same operators, with the same numbers, on tensors that it made itself, in the same order, or on those
outside it that it had when it was recorded. Otherwise `StaleError` is raised: the GPU would have gone on with an old value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pretended_device import Device, PretendedTensor
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

Call = tuple[Any, ...]
"""Operator, and for every argument: a number of the host, or where a tensor is."""


class StaleError(Exception):
    """A graph would have read what is no longer there."""


class Checked:
    """Graphs as `training/capture.py` asks for them. device: the pretended one, in which nothing recorded may wait or upload."""

    def __init__(self, device: Device | None = None) -> None:
        self.device = device
        self.run_plainly = self.recorded = self.repeated = 0

    def run(self, work: Callable[[], None]) -> None:
        self.run_plainly += 1
        work()

    def record(self, work: Callable[[], None]) -> Callable[[], None]:
        self.recorded += 1
        first: list[Call] = []

        def replay() -> None:
            self.repeated += 1
            calls = self._traced(work)
            if not first:
                first.extend(calls)
            for number, (old, new) in enumerate(zip(first, calls, strict=False)):
                if old != new:
                    raise StaleError(f"operator {number} was {old}, and would now be {new}")
            if len(first) != len(calls):
                raise StaleError(f"{len(first)} operators were recorded, and would now be {len(calls)}")

        return replay

    def _traced(self, work: Callable[[], None]) -> list[Call]:
        before = [] if self.device is None else [*self.device.waits, *self.device.uploads]
        with Trace() as trace:
            work()
        if self.device is not None:
            after = [*self.device.waits, *self.device.uploads]
            if len(after) > len(before):
                raise StaleError(f"the host waits for the device, or the device for the host, in what is recorded: {after[-1]}")
        return trace.calls


class Trace(TorchDispatchMode):
    """What operators are called on. What they make is kept, so that no address is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.made: dict[int, int] = {}
        self.kept: list[Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "profiler":  # no kernel
            return func(*args, **kwargs)
        seen: set[int] = set()
        self.calls.append((str(func), self._place(args, seen), self._place(sorted(kwargs.items()), seen)))
        result = func(*args, **kwargs)
        for tensor in _tensors(result):
            storage = _storage(tensor)
            if storage not in seen and storage not in self.made:
                self.made[storage] = len(self.made)
                self.kept.append(tensor)
        return result

    def _place(self, one: Any, seen: set[int]) -> Any:
        if isinstance(one, Tensor):
            storage = _storage(one)
            seen.add(storage)
            where = ("made", self.made[storage]) if storage in self.made else ("given", storage)
            return (*where, one.storage_offset(), tuple(one.shape), tuple(one.stride()))
        if isinstance(one, list | tuple):
            return tuple(self._place(each, seen) for each in one)
        return one


def _storage(tensor: Tensor) -> int:
    own = tensor.values if isinstance(tensor, PretendedTensor) else tensor
    return own.untyped_storage().data_ptr()


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    return [tensor for one in result for tensor in _tensors(one)] if isinstance(result, list | tuple) else []
