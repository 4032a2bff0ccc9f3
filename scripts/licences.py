"""Prints docs/reference/licences.md: what `pip install rnnsearch` brings, with versions and licences, from
the installed packages.

python scripts/licences.py > docs/reference/licences.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import PackageNotFoundError, distribution
from typing import cast

INTRODUCTION = """\
# Licences

<!-- Written by `python scripts/licences.py > docs/reference/licences.md`, in the environment of constraints.txt. -->

RNNsearch is under the [MIT licence](../../LICENSE). `pip install rnnsearch` also installs these packages, which it imports but does not
contain. Versions are the tested ones; licences are those that each package declares. PyTorch's CUDA build also brings NVIDIA's
libraries, under NVIDIA's own licence; the CPU build brings none.

The formulas of this site are drawn with the font STIX Two Math (SIL Open Font License 1.1), and the site itself is made with Material for
MkDocs (MIT).
"""
LONGEST = 60
"""Characters of a licence that somebody wrote out instead of naming."""


def requirements(name: str, extra: str = "") -> Iterator[str]:
    """The packages that one needs on this platform, without those of extras that are not asked for."""
    from packaging.requirements import Requirement

    for line in distribution(name).requires or []:
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed.name


def closure(name: str) -> list[str]:
    """A package's requirements and theirs, sorted; those of one's own first environment only."""
    found: dict[str, str] = {}
    waiting = [*requirements(name)]
    while waiting:
        each = waiting.pop()
        key = re.sub(r"[-_.]+", "-", each).lower()
        if key in found:
            continue
        found[key] = each
        try:
            waiting += requirements(each)
        except PackageNotFoundError:
            found[key] = ""
    return sorted(key for key, installed in found.items() if installed)


def licence(name: str) -> str:
    """What the package's metadata says: the SPDX expression, else the classifiers, else the old free text."""
    metadata = cast(Message, distribution(name).metadata)
    if expression := metadata.get("License-Expression"):
        return expression
    classified = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier", [])
        if each.startswith("License ::")
    ]
    named = [each for each in classified if each != "OSI Approved"]
    text = " ".join((metadata.get("License") or "").split())
    return ", ".join(named) or (text if len(text) <= LONGEST else text[:LONGEST] + "…") or "not stated"


def page() -> str:
    rows = [
        f"| {name} | {distribution(name).version.partition('+')[0]} | {licence(name)} |"
        for name in closure("rnnsearch")
        if name != "pip"
    ]
    return "\n".join([INTRODUCTION, "| package | version | licence |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
