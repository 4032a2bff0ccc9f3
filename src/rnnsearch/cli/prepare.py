"""`rnnsearch prepare`: parallel text to a prepared dataset."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Columns, Format, Set, one_of, progress_bar, say


def _check(store: Path | None) -> None:
    """Compares a store with its checksums, and ends the command."""
    if store is None:
        return
    from rnnsearch.text.store.store import check_store

    say(f"{store}: all {check_store(store)} files are as they were written")
    raise typer.Exit


def prepare(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Source and target files by turns, or bilingual files; .gz is read as is, - is stdin."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the prepared corpus.")],
    dev: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Development pairs, for validation while training: named as the others are.")
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Word links (Pharaoh), a file for each corpus, a line for each pair."),
    ] = None,
    links_reversed: Annotated[bool, typer.Option("--links-reversed", help="The links are written target-source.")] = False,
    links_words: Annotated[
        str, typer.Option(help="What links count: `given` (between blanks in the files), `tokenised` words, or `auto`: whichever they fit.")
    ] = "auto",
    columns: Columns = None,
    format_: Format = "",
    recipe: Annotated[str, typer.Option(help="Take the data settings of this recipe: a built-in name or a TOML file.")] = "",
    set_: Set = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a corpus that is there already.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes that clean; 0 = as many as there are cores.")] = 0,
    check: Annotated[
        Path | None,
        typer.Option(metavar="STORE", callback=_check, is_eager=True, help="Make nothing; compare a corpus with its checksums."),
    ] = None,
) -> None:
    """Clean, tokenise and number parallel text, and say what was dropped and why."""
    from rnnsearch.config import load_config
    from rnnsearch.text.formats.readers import Layout, parallel_texts
    from rnnsearch.text.preparing.prepare import prepare_texts

    settings = load_config(recipe, tuple(set_ or ())).data
    source, target = columns or ("", "")
    layout = Layout(format_, source, target, settings.source_language, settings.target_language)  # type: ignore[arg-type]  # checked there
    with progress_bar() as progress:
        report = prepare_texts(
            parallel_texts(files, layout=layout),
            out,
            dev=parallel_texts(dev, layout=layout) if dev else [],
            links=links or [],
            links_reversed=links_reversed,
            link_words=one_of(links_words, "--links-words", ("auto", "given", "tokenised")),  # type: ignore[arg-type]
            settings=settings,
            overwrite=overwrite,
            workers=workers or len(os.sched_getaffinity(0)),
            command=shlex.join(["rnnsearch", *sys.argv[1:]]),
            progress=progress,
        )
    print(report.text(), end="")
