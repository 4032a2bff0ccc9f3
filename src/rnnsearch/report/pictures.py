"""The pictures of a report: each becomes two files, for other papers, and a part of the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.drawing.document import Picture
from rnnsearch.drawing.figures import inline_svg, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Album:
    """Writes pictures into a folder as they are added, and remembers their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []

    def add(self, figure: Figure, name: str, caption: str, alt: str) -> Picture:
        """name: of its files and ids; caption: below it; alt: what it shows, in words."""
        self.names.append(name)
        for suffix in (".svg", ".pdf"):
            save_figure(figure, self.folder / f"{name}{suffix}")
        return Picture(name, caption, alt, inline_svg(figure, name, caption, alt))
