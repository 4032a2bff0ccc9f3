"""Shapes and types of arguments and results, checked at the first calls of every test: checking every call
triples a training's time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from beartype import beartype
from jaxtyping import config

CHECKED_CALLS = 500
"""In each test, of all checked functions together: more than an update of a small network makes."""

Function = TypeVar("Function", bound=Callable[..., Any])

_calls = 0


def start() -> None:
    """Before each test."""
    global _calls
    _calls = 0
    config.update("jaxtyping_disable", False)


def check(function: Function) -> Function:
    """What jaxtyping checks the arguments of a function with, and its result."""
    checked = beartype(function)
    if isinstance(function, type):
        return checked

    @wraps(function)
    def counted(*arguments: Any, **named: Any) -> Any:
        global _calls
        _calls += 1
        if _calls == CHECKED_CALLS:
            config.update("jaxtyping_disable", True)
        return checked(*arguments, **named)

    return counted  # type: ignore[return-value]
