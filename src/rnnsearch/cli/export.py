"""`rnnsearch export`: a trained model as a page that translates in the browser, or as ONNX files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import say
from rnnsearch.errors import InputError


class Format(StrEnum):
    """The form of an exported model."""

    PAGE = "page"
    ONNX = "onnx"


def export(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Trained runs or names of models; a page can offer several."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write.")],
    format: Annotated[
        Format,
        typer.Option(
            help="page: static files that translate in any browser. onnx: encoder and decoder step as ONNX "
            "graphs."
        ),
    ] = Format.PAGE,
) -> None:
    """Export models as a page that translates in any browser, without a server; or one model as ONNX
    files."""
    if format is Format.ONNX:
        _export_onnx(runs, out)
        return
    from rnnsearch.exporting.static_page import export_page

    made = export_page(runs, out)
    for name, size in made.model_bytes.items():
        say(f"{name}: {size / 1e6:.1f} MB")
    say(f"the page itself: {made.page_bytes / 1e6:.2f} MB")
    say(f"put {out} on any web host, or look at it now: python -m http.server -d {out}")


def _export_onnx(runs: list[Path], out: Path) -> None:
    from rnnsearch.exporting.onnx_model import export_onnx

    if len(runs) > 1:
        raise InputError("ONNX files hold one model", remedy="export each run into a folder of its own")
    for name, size in export_onnx(runs[0], out).items():
        say(f"{name}: {size / 1e6:.1f} MB")
    say(f"{out / 'README.md'} describes the inputs and outputs")
