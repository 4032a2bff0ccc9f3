"""Formulas become MathML while the site is built: the browser loads no script for them.

The pages write them as GitHub does: $`x`$ inside a line, and a fenced block `math` for a formula of its own.
"""

from __future__ import annotations

from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from math_core import LatexError, LatexToMathML

# Without stretching: a bar over one letter; and the cross of an undefined command must end the build, so
# errors are raised.
_CONVERTER = LatexToMathML(fancy_error=False)


class FormulaError(Exception):
    """A formula that cannot be converted, with the reason."""


def mathml(formula: str, *, display: bool) -> str:
    """The element `math`. Raises FormulaError."""
    try:
        return _CONVERTER.convert_with_local_state(formula.strip(), displaystyle=display)
    except LatexError as error:
        raise FormulaError(f"{formula.strip()!r}: {error}") from None


class _Inline(InlineProcessor):
    def handleMatch(self, match: Any, data: str) -> tuple[Any, int, int]:  # type: ignore[override]  # noqa: N802
        return self.md.htmlStash.store(mathml(match[1], display=False)), match.start(0), match.end(0)


class Formulas(Extension):
    """$`x`$, before the backquotes of code are looked at."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.inlinePatterns.register(_Inline(r"\$`([^`]+)`\$", md), "formula", 200)


def makeExtension(**options: Any) -> Formulas:  # noqa: N802
    return Formulas(**options)


def block(source: str, language: str, css_class: str, options: Any, md: Markdown, **_: Any) -> str:
    """A fenced block `math`, for pymdownx.superfences."""
    return f'<div class="formula">{mathml(source, display=True)}</div>'
