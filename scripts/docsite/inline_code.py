"""Short code inside a sentence is one word: a line is not broken at the hyphens of `--option`."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

LONGEST = 30
"""Characters; longer code may be broken, so that it fits a phone."""


class _Whole(Treeprocessor):
    def run(self, root: Element) -> None:
        for code in root.iter("code"):
            if len(code.text or "") <= LONGEST:
                code.set("class", "whole")


class InlineCode(Extension):
    """Marks short code with the class `whole`, for the style sheet."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.treeprocessors.register(_Whole(md), "whole_code", 5)  # after the inline patterns


def makeExtension(**options: Any) -> InlineCode:  # noqa: N802
    return InlineCode(**options)
