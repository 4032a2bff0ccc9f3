"""Checks what an alignment model of one's own returns."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor

from rnnsearch.model.alignment.base import Alignment

_SIZES = (2, 3, 5), (1, 1, 4)
"""Batch, hypotheses and source that a scorer is tried with: different ones, by which axes are told
apart, and single ones, which `squeeze` removes."""


@torch.no_grad()
def check_results(scorer: Alignment, state_size: int, annotation_size: int) -> None:
    """Calls each method of a scorer with small inputs. Raises ValueError for one that fails, or
    whose results have other shapes than those of `Alignment`, or other numbers than float32."""
    for sizes in _SIZES:
        _check(scorer, sizes, state_size, annotation_size)


def _check(
    scorer: Alignment, given: tuple[int, int, int], state_size: int, annotation_size: int
) -> None:
    batch, hypotheses, source = given
    sizes = {"batch": batch, "hypotheses": hypotheses, "source": source, "1": 1}
    tried = f"batch {batch}, hypotheses {hypotheses}, source {source}"
    state = torch.zeros(batch, hypotheses, state_size)
    annotations = torch.zeros(batch, source, annotation_size)

    def called(method: str, *arguments: Any) -> Any:
        try:
            return getattr(scorer, method)(*arguments)
        except Exception as error:  # foreign code may raise anything
            shapes = ", ".join(map(_described, arguments))
            what = f"{method} raised {type(error).__name__}: {error}"
            raise ValueError(f"{what} ({tried}; arguments: {shapes})") from error

    def check(what: str, result: Any, *axes: str, further: bool = True) -> None:
        wanted = " ".join(str(sizes[axis]) for axis in axes) + " ..." * further
        if not isinstance(result, Shaped[Tensor, wanted]):  # type: ignore[arg-type]
            names = f"({', '.join(axes)}{', …' * further})"
            here = f"with {tried}: {_described(result)}"
            raise ValueError(f"{what} must have the shape {names}, and has {here}")

    keys = called("keys", annotations)
    check("the result of keys", keys, "batch", "source")
    memory = called("start", keys, torch.arange(source, source - batch, -1))
    if memory is not None:
        check("the memory from start", memory, "batch", "1")
        memory = memory.expand(-1, hypotheses, *memory.shape[2:])
    results = called("energies", state, keys, memory)
    if not (isinstance(results, tuple) and len(results) == 2):
        what = "energies must return two values, such as `return energies, None`"
        raise ValueError(f"{what}; it returned {_described(results)}")
    energies, memory = results
    check("the energies", energies, "batch", "hypotheses", "source", further=False)
    if energies.dtype != state.dtype:
        what = f"the energies must be {state.dtype}, and are {energies.dtype}"
        raise ValueError(f"{what}: end with .to(state.dtype)")
    for method in ("energies", "attended"):
        if method == "attended":
            memory = called(
                method, state, keys, memory, torch.softmax(torch.zeros_like(energies), -1)
            )
        if memory is not None:
            check(f"the memory from {method}", memory, "batch", "hypotheses")


def _described(value: Any) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__
