"""`rnnsearch links`: word links of a whole corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Columns, Format, Set, one_of, progress_bar
from rnnsearch.errors import InputError


def links(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...", help="Source and target files alternating, or bilingual files, as for `prepare`. They are aligned together."
        ),
    ] = None,
    out: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Pharaoh file to write; repeat the option for several corpora.")
    ] = None,
    symmetrise: Annotated[
        str,
        typer.Option(
            help="How to symmetrise the links of both directions: grow-diag-final-and, grow-diag-final, grow-diag, grow, intersection, "
            "union, forward, reverse; or none, which writes OUT.forward and OUT.reverse."
        ),
    ] = "grow-diag-final-and",
    words: Annotated[
        str, typer.Option(help="Which words links refer to: `tokenised` words, or words as `given` (split at spaces).")
    ] = "tokenised",
    forward: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Do not align. Read another aligner's links from this file, with one source word per target word."
        ),
    ] = "",
    reverse: Annotated[
        str, typer.Option(metavar="FILE", help="With --forward: the links of the other direction, with one target word per source word.")
    ] = "",
    swap_forward: Annotated[
        bool, typer.Option("--swap-forward", help="The --forward file lists target-source, not source-target.")
    ] = False,
    swap_reverse: Annotated[
        bool, typer.Option("--swap-reverse", help="The --reverse file lists target-source, not source-target.")
    ] = False,
    columns: Columns = None,
    format_: Format = "",
    recipe: Annotated[str, typer.Option(help="Use the languages and the tokeniser of this recipe: a built-in name or a TOML file.")] = "",
    set_: Set = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
) -> None:
    """Align the words of a corpus with eflomal in both directions and symmetrise the links, for `prepare --links`."""
    from rnnsearch.config import load_config
    from rnnsearch.text.formats.readers import Layout, parallel_texts
    from rnnsearch.text.links.corpora import NONE, DirectionFile, link_files, link_texts
    from rnnsearch.text.links.symmetrise import METHODS

    one_of(symmetrise, "--symmetrise", (*METHODS, NONE))
    one_of(words, "--words", ("tokenised", "given"))
    outs = _checked(out or [], files or [], forward, reverse, overwrite)
    settings = load_config(recipe, tuple(set_ or ())).data
    sides = columns or ("", "")
    layout = Layout(format_, *sides, settings.source_language, settings.target_language)  # type: ignore[arg-type]  # checked there
    with progress_bar() as progress:
        if forward:
            directions = DirectionFile(forward, swap_forward), DirectionFile(reverse, swap_reverse)
            report = link_files(*directions, outs[0], method=symmetrise, progress=progress)
        else:
            texts = parallel_texts(files or [], layout=layout)
            report = link_texts(texts, outs, settings=settings, method=symmetrise, words=words, progress=progress)  # type: ignore[arg-type]
    print(report.text(), end="")


def _checked(out: list[Path], files: list[str], forward: str, reverse: str, overwrite: bool) -> list[Path]:
    """What the options must have in common; the files to write."""
    if bool(forward) != bool(reverse):
        raise InputError("links needs both directions", remedy="give --forward and --reverse")
    if bool(forward) == bool(files):
        raise InputError(
            "links needs a corpus or the files of an aligner, and not both", remedy="give the texts, or give --forward and --reverse"
        )
    if not out or (forward and len(out) > 1):
        raise InputError("links needs one --out file for each corpus", remedy="give --out FILE")
    for path in out:
        if path.is_dir() or (path.exists() and not overwrite):
            raise InputError("already exists", file=path, remedy="choose another file, or add --overwrite")
        path.parent.mkdir(parents=True, exist_ok=True)
    return out
