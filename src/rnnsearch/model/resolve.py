"""The class of a network's part from its name in a recipe: a built-in name, or the user's own
`package.module:Class`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from torch import nn

from rnnsearch.errors import InputError

Part = TypeVar("Part", bound=nn.Module)


def resolve(
    setting: str, name: str, built_in: Mapping[str, type[Part]], base: type[Part], trust_code: bool
) -> type[Part]:
    """Returns the class with the `name` that the setting has: one of `built_in`, or a user's own subclass of
    `base`.

    A user's own code is imported only with `trust_code`, also from the current directory. Raises InputError
    for a name that is neither built in nor importable, and for a user's own code without `trust_code`.
    """
    if name in built_in:
        return built_in[name]
    module_name, colon, class_name = name.partition(":")
    if not colon or not module_name or module_name.startswith("."):
        raise InputError(
            f"{setting} = {name!r} is unknown",
            remedy=f"use one of {', '.join(built_in)}, or package.module:Class",
        )
    if not trust_code:
        raise InputError(
            f"{setting} = {name!r} names code outside rnnsearch",
            remedy="add --trust-code if you trust the author of this run",
        )
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        part = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{setting} = {name!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        raise InputError(
            f"{setting} = {name!r} cannot be imported: it raised {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(part, type) and issubclass(part, base)):
        raise InputError(f"{setting} = {name!r} is not a subclass of {base.__module__}:{base.__name__}")
    return part
