"""`rnnsearch export`: a trained model as a page that translates in the browser, or as ONNX files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import one_of, say

FORMATS = ("page", "onnx")


def export(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Trained runs or names of models; a page can offer several.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write.")],
    format: Annotated[str, typer.Option(help="page: a web page that translates by itself; onnx: encoder and step as ONNX files.")] = "page",
) -> None:
    """Export a model: as a folder of static files that translates in any browser, or as ONNX files."""
    from rnnsearch.exporting.static_page import export_page

    one_of(format, "--format", FORMATS)
    made = export_page(runs, out)
    for name, size in made.model_bytes.items():
        say(f"{name}: {size / 1e6:.1f} MB")
    say(f"the page itself: {made.page_bytes / 1e6:.2f} MB")
    say(f"put {out} on any web host, or look at it now: python -m http.server -d {out}")
