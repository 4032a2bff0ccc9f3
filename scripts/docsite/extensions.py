"""Markdown's extensions of the site: formulas and code inside a sentence.

Formulas become MathML while the site is built: the browser loads no script for them. The pages
write them as GitHub does: $`x`$ inside a line, and a fenced block `math` for a formula of its own.
"""

from __future__ import annotations

from html import unescape
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE
from math_core import LatexError, LatexToMathML

# Not "fancy": a bar covers one letter and does not stretch, and undefined commands raise errors,
# which end the build.
_CONVERTER = LatexToMathML(fancy_error=False)
LONGEST = 30
"""Characters of code that is one word; longer code may be broken, so that it fits a phone."""


class FormulaError(Exception):
    """Raised if a formula cannot be converted; has the reason."""


def mathml(formula: str, *, display: bool) -> str:
    """Returns the element `math`. Raises FormulaError."""
    try:
        return _CONVERTER.convert_with_local_state(formula.strip(), displaystyle=display)
    except LatexError as error:
        raise FormulaError(f"{formula.strip()!r}: {error}") from None


def block(source: str, *_: Any, **__: Any) -> str:
    """Returns a fenced block `math`, for pymdownx.superfences."""
    return f'<div class="formula">{mathml(source, display=True)}</div>'


class _Inline(InlineProcessor):
    def handleMatch(self, match: Any, data: str) -> tuple[Any, int, int]:  # type: ignore[override]  # noqa: N802
        return (
            self.md.htmlStash.store(mathml(match[1], display=False)),
            match.start(0),
            match.end(0),
        )


class _Whole(Treeprocessor):
    def run(self, root: Element) -> None:
        stashed = self.md.htmlStash.rawHtmlBlocks  # where inline highlighting puts the text
        for code in root.iter("code"):
            text = HTML_PLACEHOLDER_RE.sub(
                lambda place: str(stashed[int(place[1])]), code.text or ""
            )
            if len(unescape(text)) <= LONGEST:
                code.set("class", "whole")


class Sentences(Extension):
    """Converts $`x`$ before Markdown interprets the backquotes as code. Marks short code with the
    class `whole`, so that lines are not broken at the hyphens of `--option`."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.inlinePatterns.register(_Inline(r"\$`([^`]+)`\$", md), "formula", 200)
        md.treeprocessors.register(_Whole(md), "whole_code", 5)  # after the inline patterns
