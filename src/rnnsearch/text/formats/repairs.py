"""Repairs of a line before it is tokenised: HTML entities that were left in it, and the spelling of
French."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass
from html.entities import html5

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\t\n\r]")

_ELIDED = "c|d|j|l|m|n|s|t|qu|jusqu|lorsqu|puisqu|quoiqu|quelqu|presqu|aujourd"
_WITHOUT_LIGATURE = {
    **{"v?ux": "vœux", "vux": "vœux", "c?ur": "cœur", "cur": "cœur", "c?urs": "cœurs", "curs": "cœurs"},
    **{"?uvre": "œuvre", "uvre": "œuvre", "?uvres": "œuvres", "uvres": "œuvres", "man?uvre": "manœuvre"},
    **{"manuvre": "manœuvre", "man?uvres": "manœuvres", "manuvres": "manœuvres"},
    **{"m?urs": "mœurs", "s?ur": "sœur", "s?urs": "sœurs"},  # murs, sur and surs are French words
}
"""Words whose œ was lost on the way, or became a question mark."""

_FRENCH: dict[str, tuple[re.Pattern[str], str]] = {
    "typographic apostrophe": (re.compile(r"(?<=\w)[’ʼ]"), "'"),
    "elision with a space": (re.compile(rf"\b({_ELIDED})' (?=\w)", re.IGNORECASE), r"\1'"),
    "lost œ": (
        re.compile(rf"(?<![\w?])(?:{'|'.join(map(re.escape, _WITHOUT_LIGATURE))})(?!\w)", re.IGNORECASE),
        "",
    ),
    "no space before ? ! ;": (re.compile(rf"{ENTITY.pattern}|(?<=[\w»)\"'])([?!;])(?=\s|$)"), r" \1"),
}


@dataclass(frozen=True, slots=True)
class Repair:
    """The repairs of the lines of one side. entities: they are resolved. french: its spelling is repaired."""

    entities: bool = False
    french: bool = False

    def __call__(self, line: str, counts: Counter[str] | None = None) -> str:
        """Returns the line as it is tokenised, and adds the number of each kind of French repair to
        `counts`."""
        if self.entities:
            line = resolve_entities(line)
        return repair_french(line, counts) if self.french else line


def resolve_entities(line: str) -> str:
    """Replaces HTML entities by their characters, once: `&amp;lt;` becomes `&lt;`. Unknown names stay.

    An entity of a control character or of a line end becomes a space, so that a line stays one line.
    """
    return ENTITY.sub(_character, line) if "&" in line else line


def _character(entity: re.Match[str]) -> str:
    text = entity.group()
    if text[1] != "#" and text[1:] not in html5:  # html.unescape would make "©right;" of "&copyright;"
        return text
    character = html.unescape(text)
    return " " if not character or _UNPRINTABLE.search(character) else character


def repair_french(line: str, counts: Counter[str] | None = None) -> str:
    """Returns a French line with its apostrophes, elisions, ligatures and spaces before signs as they are
    printed.

    `qu' il` and `qu’il` become `qu'il`, `cur` becomes `cœur`, and `Quoi?` becomes `Quoi ?`. A word is changed
    only where the damaged form is no French word. counts: gets the number of changes of each kind.
    """
    for kind, (pattern, replacement) in _FRENCH.items():
        changed = 0

        def mended(found: re.Match[str], replacement: str = replacement) -> str:
            nonlocal changed
            if found.re.groups and found.group(1) is None:  # an entity, which ends in a sign
                return found.group()
            changed += 1
            return found.expand(replacement) if replacement else _with_ligature(found.group())

        line = pattern.sub(mended, line)
        if counts is not None and changed:
            counts[kind] += changed
    return line


def _with_ligature(word: str) -> str:
    whole = _WITHOUT_LIGATURE[word.lower()]
    return whole.upper() if word.isupper() else whole.capitalize() if word[0].isupper() else whole
