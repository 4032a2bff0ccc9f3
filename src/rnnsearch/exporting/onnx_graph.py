"""An ONNX graph, written one operator at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.system.version import package_version

OPSET, IR_VERSION = 17, 8
"""Of 2022: what ONNX Runtime 1.13 and everything later runs."""


@dataclass(frozen=True)
class Port:
    """An input or output. dtype: "float32", "int64" or "bool". shape: sizes, and names of those that vary."""

    name: str
    dtype: str
    shape: Sequence[int | str]


@dataclass
class Graph:
    """Operators and weights in the order in which they are added; values are known by their names. inputs: in the caller's order."""

    name: str
    inputs: Sequence[Port]
    _nodes: list[Any] = field(default_factory=list)
    _weights: dict[str, Any] = field(default_factory=dict)

    def op(self, kind: str, *values: str, outputs: int = 1, name: str = "", **attributes: Any) -> Any:
        """Adds an operator. Returns the name of its output (`name`, or a fresh one), or the list of their names."""
        helper = require_onnx().helper
        fresh = [f"{kind}_{len(self._nodes)}_{place}" for place in range(outputs)]
        made = [name] if name else fresh
        self._nodes.append(helper.make_node(kind, list(values), made, **attributes))
        return made[0] if outputs == 1 else made

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """A constant. Two of one name are the same."""
        if name not in self._weights:
            self._weights[name] = require_onnx().numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def numbers(self, *values: int) -> str:
        """A constant vector of integers: the shapes, axes and indices of operators."""
        return self.weight("_".join(["numbers", *map(str, values)]), np.array(values, dtype=np.int64))

    def scalar(self, value: float) -> str:
        return self.weight(f"scalar_{value}", np.array(value, dtype=np.float32))

    def save(self, file: Path, outputs: Sequence[Port], metadata: dict[str, str]) -> None:
        """Checks the graph, and writes it with its weights into one file."""
        onnx = require_onnx()
        types = {"float32": onnx.TensorProto.FLOAT, "int64": onnx.TensorProto.INT64, "bool": onnx.TensorProto.BOOL}

        def ports(several: Sequence[Port]) -> list[Any]:
            return [onnx.helper.make_tensor_value_info(port.name, types[port.dtype], list(port.shape)) for port in several]

        graph = onnx.helper.make_graph(self._nodes, self.name, ports(self.inputs), ports(outputs), list(self._weights.values()))
        opset = [onnx.helper.make_opsetid("", OPSET)]
        model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="rnnsearch")
        model.producer_version = package_version()
        onnx.helper.set_model_props(model, metadata)
        onnx.checker.check_model(model, full_check=True)
        file.write_bytes(model.SerializeToString())


def require_onnx() -> Any:
    """The package `onnx`. Raises InputError where it is not installed."""
    try:
        import onnx
    except ImportError:
        raise InputError("ONNX files need the package onnx", remedy='pip install "rnnsearch[onnx]"') from None
    return onnx
