"""`rnnsearch lexicon`: a lexical translation table of a prepared dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import progress_bar, say
from rnnsearch.errors import InputError


def lexicon(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="Prepared dataset with word links (`prepare --links`).")
    ],
    out: Annotated[Path, typer.Option(help="File to write; it is compressed if its name ends in .gz.")],
    best: Annotated[
        int, typer.Option(min=1, max=10**6, help="Keep this many best translations of each source word.")
    ] = 50,
    least: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Leave out translations with a lower probability than this."),
    ] = 0.0005,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Make a lexical translation table for `translate --lexical-shortlist`, from the word links of a
    corpus."""
    from rnnsearch.system.files import prepare_output
    from rnnsearch.text.lexicon import LexicalTable
    from rnnsearch.text.store.corpus import Corpus

    prepare_output(out, overwrite)
    corpus = Corpus.open(store)
    if not corpus.train.linked:
        remedy = (
            "make links with `rnnsearch links`, or with a trained model and `rnnsearch align --out`, "
            "and give them to `prepare --links`"
        )
        raise InputError("has no word links to make a table from", file=store, remedy=remedy)
    source, target = corpus.source.vocabulary, corpus.target.vocabulary
    with progress_bar() as progress:
        table = LexicalTable.of_links(corpus.train, len(source), len(target), progress)
        table = table.pruned(best, least)
        table.write(out, source, target)
    say(f"{out}: {len(table):,} translations of {len(source):,} source words")
