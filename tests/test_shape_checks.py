"""The tests' own check of shapes: it refuses what does not fit, in every test anew, and stops after many
calls."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest

shape_checks = pytest.importorskip("shape_checks", reason="needs jaxtyping and beartype")


@pytest.mark.parametrize("time", ["once", "again"])
def test_shapes_are_checked_at_the_first_calls_of_every_test(time: str) -> None:
    from jaxtyping import TypeCheckError

    from rnnsearch.batch import pad

    fits, does_not = [np.array([1, 0], np.uint16)], [np.array([1.5, 0.0])]
    pad(fits)
    with pytest.raises(TypeCheckError):
        pad(does_not)
    for _ in range(shape_checks.CHECKED_CALLS):
        pad(fits)
    pad(does_not)  # nobody looks any more


def test_the_package_loads_with_numpy_2_5() -> None:
    """Later versions of Python install it; its NDArray is simulated, because this one may not."""
    program = """
        import importlib, pathlib, numpy.typing, rnnsearch
        from typing import Any, TypeVar
        from typing_extensions import TypeAliasType
        Scalar = TypeVar("Scalar", bound=numpy.generic)
        array = numpy.ndarray[tuple[Any, ...], numpy.dtype[Scalar]]
        numpy.typing.NDArray = TypeAliasType("NDArray", array, type_params=(Scalar,))
        folder = pathlib.Path(rnnsearch.__file__).parent
        users = [file for file in folder.rglob("*.py") if "numpy.typing" in file.read_text(encoding="utf-8")]
        assert len(users) > 9
        for file in [*users, folder / "text" / "batches.py", folder / "lab" / "selection.py"]:
            importlib.import_module(".".join(("rnnsearch", *file.relative_to(folder).with_suffix("").parts)))
    """
    subprocess.run([sys.executable, "-c", dedent(program)], check=True)
