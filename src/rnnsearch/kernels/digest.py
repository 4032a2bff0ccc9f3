"""Digests of the source of plain functions. A kernel equals functions as they were when it was
written; once one of them is edited, plain PyTorch computes in its place."""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import json
import textwrap
import tokenize
from collections.abc import Iterable
from functools import cache
from importlib import import_module, resources
from typing import Any

from rnnsearch.system.progress import note

DIGESTS = resources.files(__package__) / "digests.json"
"""Function, as `module:name` under rnnsearch → the digest of the source that the kernels equal;
written by `make digests`, which first tests that they do."""
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


@cache
def source_digest(name: str) -> str | None:
    """Returns a digest of a function's source without comments, docstring and layout; None if there
    is no source."""
    module, _, path = name.partition(":")
    found: Any = import_module(f"rnnsearch.{module}")
    for part in path.split("."):
        found = getattr(found, part)
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(getattr(found, "fget", found))))
    except OSError:
        return None
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    words = [token.string for token in tokens if token.type not in _LAYOUT]
    if doc := ast.get_docstring(ast.parse(source).body[0], clean=False):  # type: ignore[arg-type]
        words = [word for word in words if doc not in word]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:8]


def edited(names: Iterable[str]) -> list[str]:
    """Returns those of the functions whose source differs from the one that the kernels equal, each
    as `model/decoder.py: Decoder.attend`."""
    known, found = json.loads(DIGESTS.read_text("utf-8")), []
    for name in names:
        if source_digest(name) not in (None, known.get(name)):
            module, _, path = name.partition(":")
            found.append(f"{module.replace('.', '/')}.py: {path}")
    return found


@cache
def plain_instead(names: tuple[str, ...], what: str) -> list[str]:
    """Returns a line for each edited function, which says that plain PyTorch computes in place of
    its kernel; the first call also prints them. what: such as "the decoder is computed"."""
    lines = [f"{name} is edited, so {what} in plain PyTorch (slower)" for name in edited(names)]
    for line in lines:
        note(line)
    return lines
