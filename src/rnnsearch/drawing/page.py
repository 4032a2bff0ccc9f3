"""Pages from templates: one environment, one style sheet, one palette. A page is a single file that works
offline.

The templates extend `base.html`, which holds the style sheet and a Content-Security-Policy. Whatever comes
from text is escaped.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

from rnnsearch.drawing.palette import properties

if TYPE_CHECKING:
    from jinja2 import Environment

    from rnnsearch.drawing.document import Document

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$])")
_BLANK_LINES = re.compile(r"\n{3,}")


def render(template: str, **values: Any) -> str:
    """Fills in a template of this package.

    Raises jinja2's UndefinedError for a value that it needs and does not get.
    """
    text = _environment().get_template(template).render(values) + "\n"
    return text.encode("utf-8", "backslashreplace").decode(
        "utf-8"
    )  # the name of a file may hold bytes that are no text


def as_html(document: Document, made_everywhere: bool = False) -> str:
    """Returns the document as a page.

    made_everywhere: say under every table and figure how it was made: they may be copied one by one.
    """
    return render("document.html", document=document, made_everywhere=made_everywhere)


def as_markdown(document: Document, tables: str = "") -> str:
    """Returns the document in Markdown, with its pictures in figures/ beside it.

    tables: the folder beside it where each table is a CSV file.
    """
    return _BLANK_LINES.sub("\n\n", render("document.md", document=document, tables=tables)).strip() + "\n"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    folder = resources.files("rnnsearch.drawing")
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=lambda name: not (name or "").endswith(".md"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["palette"] = Markup(properties())
    environment.filters |= {"md": _markdown, "script_hash": _script_hash}
    # For `tojson`, which also escapes what could end a script element.
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    return environment


def _markdown(text: str) -> str:
    """Returns text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def _script_hash(script: str) -> str:
    """Returns what a Content-Security-Policy calls a script that it allows."""
    return f"sha256-{b64encode(sha256(str(script).encode()).digest()).decode()}"
