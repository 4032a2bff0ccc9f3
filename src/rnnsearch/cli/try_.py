"""`rnnsearch try`: trains a translator on a corpus, and shows its progress on a page."""

from __future__ import annotations

import os
import shlex
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.demo import command_name
from rnnsearch.cli.options import Set, resumable, say


def try_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Text and its translation: corpus.en corpus.fr, .tsv or .tmx."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for everything: dataset, run, page, report.")] = Path(
        "try"
    ),
    minutes: Annotated[
        float, typer.Option(min=0.1, max=1e5, help="Minutes that training may take on this machine, about.")
    ] = 60.0,
    set_: Set = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Train a translator on a corpus (files as for `prepare`), with a page that shows how it learns. After
    Ctrl-C, the same command goes on."""
    from rnnsearch.quick_start import try_corpus

    def show(address: str) -> None:
        say(f"page     {address}")
        if open_ and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            webbrowser.open(address)

    with resumable():
        scores = try_corpus(files, out, minutes, set_ or (), show)
    print("scores   " + ", ".join(f"{name} {value:.2f}" for name, value in scores.items()))
    print(f"page     {out / 'page' / 'index.html'}\n\nWhat to type next:")
    program, run = command_name(), shlex.quote(str(out / "run"))
    print(f"  {program} translate {run}")
    if len(files) == 2:
        print(f"  {program} align {run} {shlex.join(map(str, files))}")
    print(f"  {program} export {run} --out page")
