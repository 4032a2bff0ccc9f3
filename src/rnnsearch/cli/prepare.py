"""`rnnsearch prepare`: parallel text to a prepared dataset."""

from __future__ import annotations

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

    say(f"{store}: the checksums of all {check_store(store)} files are correct")
    raise typer.Exit


def prepare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Source and target files alternating, or bilingual files. .gz, .xz and .zst are decompressed; - is stdin.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the prepared dataset.")],
    dev: Annotated[
        list[str] | None, typer.Option(metavar="FILE...", help="Development pairs for validation during training; files as above.")
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Word links in Pharaoh format: one file per corpus, one line per pair."),
    ] = None,
    links_reversed: Annotated[bool, typer.Option("--links-reversed", help="The link files list target-source, not source-target.")] = False,
    links_words: Annotated[
        str, typer.Option(help="Which words links refer to: words as `given` (split at spaces), `tokenised` words, or `auto`: detect it.")
    ] = "auto",
    columns: Columns = None,
    format_: Format = "",
    recipe: Annotated[str, typer.Option(help="Use the data settings of this recipe: a built-in name or a TOML file.")] = "",
    set_: Set = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing prepared dataset.")] = False,
    workers: Annotated[int, typer.Option(min=0, max=1_024, help="Worker processes; 0 = one per core.")] = 0,
    check: Annotated[
        Path | None,
        typer.Option(metavar="STORE", callback=_check, is_eager=True, help="Only verify the checksums of this prepared dataset."),
    ] = None,
) -> None:
    """Clean, tokenise and encode parallel text, and report which pairs were dropped and why."""
    from rnnsearch.config import load_config
    from rnnsearch.system.workers import core_count
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
            workers=workers or core_count(),
            command=shlex.join(["rnnsearch", *sys.argv[1:]]),
            progress=progress,
        )
    print(report.text(), end="")
