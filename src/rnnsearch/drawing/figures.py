"""matplotlib's pictures as files and as elements of a page: with real text, colours for light and dark, and
descriptions for screen readers."""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.drawing.page import Picture
from rnnsearch.drawing.palette import LIGHT, SERIES
from rnnsearch.system.files import writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SALT = "rnnsearch"
"""A fixed salt: without one the ids in an SVG file are random."""
VARIABLES = {
    LIGHT[name]: f"--{name}"
    for name in ("text", "dim", "rule", *(f"series-{place}" for place in range(len(SERIES))))
}
"""Colour of a chart → the page's custom property."""

_ATTRIBUTE = re.compile(r'((?:xlink:)?href="#|url\(#|\bid=")')
_FONT = re.compile(r"font(?:-family)?: *[^;\"]*(?:;|(?=\"))")
_SIZE = re.compile(r"([0-9.]+)px")


def inline_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """Draws the figure as an <svg> element of a page (see `inline`)."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": SALT}):
        file = io.StringIO()
        figure.savefig(
            file,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    return inline(file.getvalue(), name, title, description)


def inline(drawn: str, name: str, title: str, description: str) -> str:
    """Turns matplotlib's SVG file into an element of a page, with the page's colours and font.

    name: prefix of every id, because a page holds several pictures. title, description: for screen readers.
    """
    body = drawn[drawn.index(">", drawn.index("<svg")) + 1 :]
    box = re.search(r'viewBox="([0-9. -]+)"', drawn)
    assert box is not None
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL)
    body = re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)  # it would style the whole page
    body = _ATTRIBUTE.sub(lambda match: match[1] + name + "-", body)
    for colour, variable in VARIABLES.items():
        body = body.replace(colour, f"var({variable})")
    body = re.sub(r'style="([^"]*)"', lambda match: f'style="{_FONT.sub(_only_size, match[1])}"', body)
    width = float(box[1].split()[2])
    opening = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{box[1]}" '
        f'style="--width: {width:.0f}px" role="img" aria-labelledby="{name}-title {name}-description">'
    )
    words = (
        f'<title id="{name}-title">{escape(title)}</title><desc '
        f'id="{name}-description">{escape(description)}</desc>'
    )
    return opening + words + body.strip()


def _only_size(match: re.Match[str]) -> str:
    size = _SIZE.search(match[0])
    return f"font-size: {size[1]}px;" if size else ""


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a picture in the format of its suffix. The same figure gives the same bytes: no date, no random
    ids.

    Raises InputError if the file cannot be written.
    """
    from matplotlib import rc_context

    # SVG embeds no fonts, so letters are outlines. PDF has Type 42 fonts: many conferences refuse Type 3.
    dates = {".svg": {"Date": None, "Creator": None}, ".pdf": {"CreationDate": None}}
    suffix, drawn = path.suffix.lower(), io.BytesIO()  # matplotlib's writer of PDF hides errors of the disk
    with rc_context({"svg.fonttype": "path", "pdf.fonttype": 42, "svg.hashsalt": SALT}):
        figure.savefig(drawn, format=suffix[1:], metadata=dates.get(suffix, {}))
    with writing(path):
        path.write_bytes(drawn.getvalue())


class Album:
    """The pictures of a page. Each becomes an element of the page, and two files in a folder, for use
    elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, figure: Figure, name: str, caption: str, alt: str) -> Picture:
        """Writes a picture. name: of its files and ids. caption: the text below it. alt: describes it in
        words."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for suffix in (".svg", ".pdf"):
            save_figure(figure, self.folder / f"{name}{suffix}")
        return Picture(name, caption, alt, inline_svg(figure, name, caption, alt))
