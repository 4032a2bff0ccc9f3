"""The one line with which wrong input is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rnnsearch.errors import InputError


@contextmanager
def refusal(said: str) -> Iterator[Any]:
    """Expects an InputError of one line that says this, a regular expression."""
    with pytest.raises(InputError, match=said) as error:
        yield error
    assert "\n" not in str(error.value)
