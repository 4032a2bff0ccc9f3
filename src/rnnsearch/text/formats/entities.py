"""HTML entities that a text was left with, such as `&amp;`."""

from __future__ import annotations

import html
import re
from html.entities import html5

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\t\n\r]")


def resolve_entities(line: str) -> str:
    """The line with its HTML entities replaced by their characters, once (`&amp;lt;` becomes `&lt;`); unknown names are left alone.

    For `entities = "resolve"`: before the line is tokenised and before the filters see it. An entity of a control character or of a
    line end becomes a space, so that a line stays one line.
    """
    return ENTITY.sub(_character, line) if "&" in line else line


def _character(entity: re.Match[str]) -> str:
    text = entity.group()
    if text[1] != "#" and text[1:] not in html5:  # html.unescape would make "©right;" of "&copyright;"
        return text
    character = html.unescape(text)
    return " " if not character or _UNPRINTABLE.search(character) else character
