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
        typer.Argument(metavar="FILE...", help="Source and target files by turns, or bilingual files, as for prepare; aligned together."),
    ] = None,
    out: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Pharaoh file to write; repeat the option for several corpora.")
    ] = None,
    symmetrise: Annotated[
        str,
        typer.Option(
            help="How the directions become one: grow-diag-final-and, grow-diag-final, grow-diag, grow, intersection, union, forward, "
            "reverse; or none, which writes them as OUT.forward and OUT.reverse."
        ),
    ] = "grow-diag-final-and",
    words: Annotated[
        str, typer.Option(help="What the links count: `tokenised` words, or what is `given` between blanks in the files.")
    ] = "tokenised",
    forward: Annotated[
        str, typer.Option(metavar="FILE", help="Align nothing: take the links of another aligner, a source word for each target word.")
    ] = "",
    reverse: Annotated[str, typer.Option(metavar="FILE", help="And those of its other direction.")] = "",
    swap_forward: Annotated[bool, typer.Option("--swap-forward", help="The --forward file is written target-source.")] = False,
    swap_reverse: Annotated[bool, typer.Option("--swap-reverse", help="The --reverse file is written target-source.")] = False,
    columns: Columns = None,
    format_: Format = "",
    recipe: Annotated[str, typer.Option(help="Take the languages and the tokeniser of this recipe: a built-in name or a TOML file.")] = "",
    set_: Set = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")] = False,
) -> None:
    """Align the words of a corpus in both directions with eflomal, and make one set of links of them, for prepare --links."""
    from rnnsearch.config import load_config
    from rnnsearch.text.formats.readers import Layout, parallel_texts
    from rnnsearch.text.links.corpora import NONE, Direction, link_files, link_texts
    from rnnsearch.text.links.symmetrise import METHODS

    one_of(symmetrise, "--symmetrise", (*METHODS, NONE))
    one_of(words, "--words", ("tokenised", "given"))
    outs = _checked(out or [], files or [], forward, reverse, overwrite)
    settings = load_config(recipe, tuple(set_ or ())).data
    sides = columns or ("", "")
    layout = Layout(format_, *sides, settings.source_language, settings.target_language)  # type: ignore[arg-type]  # checked there
    with progress_bar() as progress:
        if forward:
            directions = Direction(forward, swap_forward), Direction(reverse, swap_reverse)
            report = link_files(*directions, outs[0], method=symmetrise, progress=progress)
        else:
            texts = parallel_texts(files or [], layout=layout)
            report = link_texts(texts, outs, settings=settings, method=symmetrise, words=words, progress=progress)  # type: ignore[arg-type]
    print(report.text(), end="")


def _checked(out: list[Path], files: list[str], forward: str, reverse: str, overwrite: bool) -> list[Path]:
    """What the options must have in common; the files to write."""
    if bool(forward) != bool(reverse):
        raise InputError("the links of both directions are needed", remedy="give --forward and --reverse")
    if bool(forward) == bool(files):
        raise InputError("links needs a corpus, or the files of an aligner", remedy="name the texts, or give --forward and --reverse")
    if not out or (forward and len(out) > 1):
        raise InputError("links does not know where to write", remedy="give --out, with one file for each corpus")
    for path in out:
        if path.is_dir() or (path.exists() and not overwrite):
            raise InputError("is there already", file=path, remedy="name another file, or give --overwrite")
        path.parent.mkdir(parents=True, exist_ok=True)
    return out
