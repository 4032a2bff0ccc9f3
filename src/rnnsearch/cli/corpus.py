"""Commands that make corpora."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, SourceFile, TargetFile, progress_bar


def prepare(
    source: SourceFile,
    target: TargetFile,
    out: Annotated[Path, typer.Option(help="Folder of the prepared corpus.")],
    dev: Annotated[
        tuple[str, str] | None, typer.Option(metavar="SRC TGT", help="Development pairs, for validation while training.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="Take the [data] settings of this recipe: a built-in name or a TOML file.")] = "",
    set_: Set = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a corpus that is there already.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes that tokenise; 0 = as many as there are cores.")] = 0,
) -> None:
    """Clean, tokenise and number parallel text, and say what was dropped and why."""
    from rnnsearch.config import load_config
    from rnnsearch.text.prepare import prepare as prepare_corpus

    settings = load_config(recipe, tuple(set_ or ())).data
    workers = workers or len(os.sched_getaffinity(0))
    with progress_bar() as progress:
        report = prepare_corpus(source, target, out, dev=dev, settings=settings, overwrite=overwrite, workers=workers, progress=progress)
    print(report.text(), end="")
