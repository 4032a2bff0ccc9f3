"""Prints docs/reference/licences.md: the packages that `pip install rnnsearch` installs, with
versions and licences.

python scripts/licences.py > docs/reference/licences.md
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from email.message import Message
from importlib.metadata import PackageNotFoundError, distribution
from typing import cast

from packaging.requirements import Requirement

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
"""Maximum characters of a licence's name: longer texts are the licence itself."""


def closure(name: str) -> list[str]:
    """Returns the dependencies of a package on this platform without extras, recursively,
    sorted."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for line in distribution(waiting.pop()).requires or []:
            needed = Requirement(line)
            key = re.sub(r"[-_.]+", "-", needed.name).lower()
            if key in found or (needed.marker and not needed.marker.evaluate({"extra": ""})):
                continue
            with suppress(PackageNotFoundError):
                distribution(key)
                found.add(key)
                waiting.append(key)
    return sorted(found)


def licence(name: str) -> str:
    """Returns the SPDX expression of the package's metadata, else the classifiers, else the old
    free text."""
    metadata = cast(Message, distribution(name).metadata)
    if expression := metadata.get("License-Expression"):
        return expression
    classified = [each.split(" :: ") for each in metadata.get_all("Classifier", [])]
    named = [
        last for first, *_, last in classified if first == "License" and last != "OSI Approved"
    ]
    text = " ".join((metadata.get("License") or "").split())
    return (
        ", ".join(named) or (text if len(text) <= LONGEST else text[:LONGEST] + "…") or "not stated"
    )


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
