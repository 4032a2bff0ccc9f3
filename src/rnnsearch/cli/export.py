"""`rnnsearch export`: a trained model as a page that translates in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import say


def export(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Trained runs or names of models; a page can offer several."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write.")],
) -> None:
    """Export models as a page that translates in any browser, without a server."""
    from rnnsearch.exporting.static_page import export_page

    made = export_page(runs, out)
    for name, size in made.model_bytes.items():
        say(f"{name}: {size / 1e6:.1f} MB")
    say(f"the page itself: {made.page_bytes / 1e6:.2f} MB")
    say(f"put {out} on any web host, or look at it now: python -m http.server -d {out}")
