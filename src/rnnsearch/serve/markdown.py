"""Translates the text of Markdown and keeps its marks in their places, as those of HTML."""

from __future__ import annotations

import re
from typing import Any

from rnnsearch.serve.html import Tagged, translate_page
from rnnsearch.translation.copied import LINK_ADDRESS
from rnnsearch.translation.translator import Translator

_FENCE = re.compile(r"(?:[\s>]|[-*+]\s|\d{1,9}[.)]\s)*(`{3,}(?![^`\n]*`)|~{3,})")
_FENCE_END = re.compile(r"[\s>]*(`{3,}|~{3,})\s*$")
_FRONT = re.compile(r"\s*(?:>\s*|(?:[-*+]|\d{1,9}[.)]|#{1,6}|\[[ xX]\]|\[\^[^\[\]]+\]:)(?:\s+|$))*")
"""What is in front of the text of a line: marks of quotes, lists, tasks and headings."""
_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?=[\w-]+:)(?:(?!---|\.\.\.)(?:[\w-]+:|[ \t#\-\]}])[^\n]*\n)+"
    r"(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
"""What generators of sites read before a text: its title, its tags."""
_DEFINITION = re.compile(r"\s*\[(?!\^)[^\[\]]+\]:\s")
_INLINE = re.compile(
    r"(?P<code>(?P<ticks>(?<!`)`+(?!`)).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<address>https?://[^\s<>()\[\]]+)"
    r"|(?P<note>\[\^[^\[\]]+\]|<[^<>\s][^<>]*>|\\[^\w\s])"
    rf"|(?P<stop>\](?:\({LINK_ADDRESS}\)|\[[^\[\]]*\]))|(?P<start>!?\[)"
    r"|(?P<mark>\*{1,3}|_{1,3}|~~)|(?P<cell>\|)"
)
"""Kind → what it looks like inside of a line. A note stands alone; start and stop are those of a
link."""


class Markdown(Tagged):
    """A Markdown text. Each line stays a line; code, addresses and definitions of links stay as
    they are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        fence, listed, blank = "", False, True
        matter = _FRONT_MATTER.match(text)
        start = matter.end() if matter else 0
        self._parts.append(text[:start])
        for line in re.split(r"(?<=\n)", text[start:]):
            found = (_FENCE_END if fence else _FENCE).match(line)
            indented = line.startswith(("    ", "\t"))
            if fence or found:
                self._parts.append(line)
                if found and not fence:
                    fence = found[1]
                elif found and found[1].startswith(fence):
                    fence = ""
            elif (indented and blank and not listed) or _DEFINITION.match(line):
                self._parts.append(line)
                continue  # with the next indented line, whatever is before it
            else:
                self._line(line)
            blank = not line.strip()
            if not (blank or indented):
                listed = bool(re.match(r"[\s>]*(?:[-*+]|\d{1,9}[.)])\s", line))

    def _line(self, line: str) -> None:
        front = _FRONT.match(line)
        place = front.end() if front else 0
        self._parts.append(line[:place])
        for found in _INLINE.finditer(line, place):
            self._add(line[place : found.start()])
            place = found.end()
            self._inline(found, str(found.lastgroup), line)
        end = line[place:].removesuffix("\n")
        self._add(end)
        self._end_block(line[place + len(end) :])

    def _inline(self, found: re.Match[str], kind: str, line: str) -> None:
        """Adds what was found in a line to its block."""
        text, before, after = found[0], line[: found.start()][-1:], line[found.end() :][:1]
        inside = text[0] == "_" and before.isalnum() and after.isalnum()
        if kind == "code":
            self._start(found["ticks"], kind, verbatim=True)
            self._add(text.removeprefix(found["ticks"]).removesuffix(found["ticks"]))
            self._stop(found["ticks"], kind)
        elif kind == "note":
            self._mark(text)
        elif kind == "cell":
            self._end_block(text)
        elif kind == "start":
            self._start(text, "link")
        elif kind == "stop":
            self._stop(text, "link")
        elif kind == "address" or inside or (not before.strip() and not after.strip()):
            self._add(text)
        elif before.strip() and any(one.tag == text for one in self._open):
            self._stop(text, text)
        else:
            self._start(text, text)


def translate_markdown(translator: Translator, text: str, settings: dict[str, Any]) -> str:
    """Returns the Markdown with its text translated."""
    return translate_page(translator, Markdown(text), settings)
