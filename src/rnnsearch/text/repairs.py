"""Repairs the lines of training text: their characters, and the spelling of French."""

from __future__ import annotations

import re
from collections import Counter

from rnnsearch.text.language_codes import base
from rnnsearch.text.moses import ENTITY
from rnnsearch.text.tokens import Tokeniser, normalise


def repair(line: str, side: Tokeniser, counts: Counter[str] | None = None) -> str:
    """Returns a line of training text normalised and, if it is French, repaired, where its side's
    tokeniser asks for it. The number of changes of each kind is added to `counts`."""
    if side.normalised:
        line = normalise(line, side.language, counts)
    return repair_french(line, counts) if side.french and base(side.language) == "fr" else line


DETACHED = re.compile(
    r"(?<![\w'])(c|d|j|l|m|n|s|t|qu|jusqu|lorsqu|puisqu|quoiqu|quelqu|presqu|aujourd)' (?=\w)",
    re.IGNORECASE,
)
"""An elision of French with a space behind it: *qu' il*."""
_WHOLE = "vœux cœur cœurs œuvre œuvres manœuvre manœuvres mœurs sœur sœurs"
_WITHOUT_LIGATURE = {
    word.replace("œ", left): word
    for word in _WHOLE.split()
    for left in ("?", "")
    if left or word not in ("mœurs", "sœur", "sœurs")  # murs, sur and surs are French words
}
"""Words whose œ was lost, or became a question mark."""

_FRENCH: dict[str, tuple[re.Pattern[str], str]] = {
    "typographic apostrophe": (re.compile(r"(?<=\w)[’ʼ]"), "'"),
    "elision with a space": (DETACHED, r"\1'"),
    "lost œ": (
        re.compile(
            rf"(?<![\w?])(?:{'|'.join(map(re.escape, _WITHOUT_LIGATURE))})(?!\w)", re.IGNORECASE
        ),
        "",
    ),
    "no space before ? ! ;": (
        re.compile(rf"{ENTITY.pattern}|(?<=[\w»)\"'])([?!;])(?=\s|$)"),
        r" \1",
    ),
}


def repair_french(line: str, counts: Counter[str] | None = None) -> str:
    """Repairs the apostrophes, elisions, ligatures and spaces before punctuation of a French line.

    `qu' il` and `qu’il` become `qu'il`, `cur` becomes `cœur`, and `Quoi?` becomes `Quoi ?`. A word
    is changed only if the damaged form is no French word. counts: the number of changes of each
    kind is added to it.
    """
    for kind, (pattern, replacement) in _FRENCH.items():
        changed = 0

        def mended(found: re.Match[str], replacement: str = replacement) -> str:
            nonlocal changed
            if found.re.groups and found.group(1) is None:  # an entity, which ends in punctuation
                return found.group()
            changed += 1
            return found.expand(replacement) if replacement else _with_ligature(found.group())

        line = pattern.sub(mended, line)
        if counts is not None and changed:
            counts[kind] += changed
    return line


def _with_ligature(word: str) -> str:
    whole = _WITHOUT_LIGATURE[word.casefold()]
    return whole.upper() if word.isupper() else whole.capitalize() if word[0].isupper() else whole
