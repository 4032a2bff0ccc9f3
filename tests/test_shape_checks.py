"""The tests' own check of shapes: it refuses what does not fit, in every test anew, and stops after many
calls."""

from __future__ import annotations

import numpy as np
import pytest

shape_checks = pytest.importorskip("shape_checks", reason="needs jaxtyping and beartype")


@pytest.mark.parametrize("time", ["once", "again"])
def test_shapes_are_checked_at_the_first_calls_of_every_test(time: str) -> None:
    from jaxtyping import TypeCheckError

    from rnnsearch.text.batches import pad

    fits, does_not = [np.array([1, 0], np.uint16)], [np.array([1.5, 0.0])]
    pad(fits)
    with pytest.raises(TypeCheckError):
        pad(does_not)
    for _ in range(shape_checks.CHECKED_CALLS):
        pad(fits)
    pad(does_not)  # nobody looks any more
