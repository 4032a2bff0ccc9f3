"""The type of NumPy arrays inside jaxtyping's."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

Scalar = TypeVar("Scalar", bound=np.generic)

Array = np.ndarray[tuple[Any, ...], np.dtype[Scalar]]
"""What `numpy.typing.NDArray` was before NumPy 2.5. jaxtyping does not accept the later one."""
