"""A device that is pretended: its tensors have values, which lie on the CPU, and say that they lie elsewhere.

    with pretended_device() as device:
        trainer = Trainer(network.to(device.name), settings, 0)     # settings with training.device = device.name

So the code for a GPU runs where there is none, with numbers that can be compared. What a GPU refuses is refused: two tensors in one
operator, one here and one there, unless the one here is a single number. What makes the host wait is noted, with the place in the code:
every value, or number of values, that is asked for, and every tensor brought to the host (`waits`); every tensor taken there (`uploads`).

The device borrows the name `meta`: of all devices but the CPU it is the one for which torch computes gradients without a driver.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import rnnsearch
from rnnsearch.model.network import TranslationNetwork

PACKAGE = f"{Path(rnnsearch.__file__).parent}/"
NAME = "meta"
CPU = torch.device("cpu")
optimisers = import_module("torch.optim.optimizer")  # torch.optim hides it
aten = torch.ops.aten
LOOKS = {aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten._unique2, aten.unique_dim, aten.unique_consecutive, aten.equal}
"""Operators whose result, or whose result's shape, the host learns from values."""
INDEXED = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}
"""They learn it where an index is a mask."""


class PretendedTensor(Tensor):
    """`values` is the CPU's tensor."""

    values: Tensor
    is_meta = False  # else torch takes it for a tensor without values when it loads a state

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, values: Tensor) -> PretendedTensor:
        return Tensor._make_wrapper_subclass(
            cls, values.shape, values.stride(), values.storage_offset(), dtype=values.dtype, layout=values.layout, device=NAME
        )

    def __init__(self, values: Tensor) -> None:
        self.values = values

    def data_ptr(self) -> int:
        return self.values.data_ptr()

    def tolist(self) -> Any:
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func}: the pretended device is gone")


class Device(TorchDispatchMode):
    """waits, uploads: where, as `module.py:function`, one for each."""

    name = NAME

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[str] = []
        self.uploads: list[str] = []

    def forget(self) -> None:
        self.waits, self.uploads = [], []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [*_tensors(args), *_tensors(kwargs.values())]
        target = None if kwargs.get("device") is None else kwargs["device"].type
        if target == NAME:
            kwargs["device"] = CPU
        operator = func.overloadpacket
        if operator is aten._to_copy or operator is aten.copy_:
            source = tensors[-1]
            comes, goes = _is_there(source), _is_there(tensors[0]) if target is None else target == NAME
            if comes != goes:
                (self.waits if comes else self.uploads).append(_place())
            return _called(func, args, kwargs, there=goes)
        if target != NAME and not any(map(_is_there, tensors)):
            return func(*args, **kwargs)
        for tensor in tensors:
            if tensor.dim() and not _is_there(tensor):
                raise RuntimeError(f"{func}: tensors on two devices, one of {list(tensor.shape)} on the CPU, in {_place()}")
        if operator in LOOKS or (operator in INDEXED and any(tensor.dtype == torch.bool for tensor in _tensors(args[1]))):
            self.waits.append(_place())
        return _called(func, args, kwargs, there=True)


def _is_there(tensor: Tensor) -> bool:
    return type(tensor) is PretendedTensor


def _tensors(arguments: Iterable[Any]) -> list[Tensor]:
    """Those among arguments, and in their lists. (torch's pytree does it, and takes more time than the operators.)"""
    found = []
    for one in arguments:
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, list | tuple):
            found += _tensors(one)
    return found


def _mapped(function: Callable[[Tensor], Tensor], one: Any) -> Any:
    """`one` with a function applied to every tensor in it."""
    if isinstance(one, Tensor):
        return function(one)
    return type(one)(_mapped(function, each) for each in one) if isinstance(one, list | tuple) else one


def _called(func: Any, args: Any, kwargs: Any, *, there: bool) -> Any:
    """The operator on the values; what it makes is on the device if `there`, and what it changes in place is the tensor that came in."""
    given: dict[int, Tensor] = {}

    def values(tensor: Tensor) -> Tensor:
        own = tensor.values if isinstance(tensor, PretendedTensor) else tensor
        given[id(own)] = tensor
        return own

    def wrapped(tensor: Tensor) -> Tensor:
        made = given.get(id(tensor))
        return made if made is not None else PretendedTensor(tensor) if there else tensor

    return _mapped(wrapped, func(*_mapped(values, args), **{name: _mapped(values, one) for name, one in kwargs.items()}))


def _place() -> str:
    """Where in rnnsearch the operator was called, as package/module.py:function."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename.startswith(PACKAGE):
            return f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_code.co_name}"
    return "outside"


def _moved(network: TranslationNetwork, place: Any) -> TranslationNetwork:
    """`network.to(place)` as for a GPU: what shares a parameter goes on sharing it."""
    moved: dict[int, tuple[nn.Parameter, nn.Parameter]] = {}  # the old one too: else another may get its id
    for module in network.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                if id(parameter) not in moved:
                    moved[id(parameter)] = parameter, nn.Parameter(parameter.detach().to(place), parameter.requires_grad)
                module._parameters[name] = moved[id(parameter)][1]
    return network


@contextmanager
def pretended_device() -> Iterator[Device]:
    """While it is open `torch.device("meta")` is a device with values."""
    to, fused = TranslationNetwork.to, optimisers._get_fused_kernels_supported_devices

    def network_to(network: TranslationNetwork, place: Any, *more: Any, **named: Any) -> TranslationNetwork:
        return _moved(network, place) if isinstance(place, str | torch.device) else to(network, place, *more, **named)

    patches: list[tuple[Any, str, Callable[..., Any]]] = [
        (TranslationNetwork, "to", network_to),
        (optimisers, "_get_fused_kernels_supported_devices", lambda: [*fused(), NAME]),
    ]
    with ExitStack() as stack:
        for owner, attribute, function in patches:
            stack.enter_context(patch.object(owner, attribute, function))
        yield stack.enter_context(Device())
