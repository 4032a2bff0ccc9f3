"""`rnnsearch lexicon`: a lexical translation table of a prepared dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import progress_bar, say


def lexicon(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Prepared dataset: a folder made by `rnnsearch prepare`.")],
    out: Annotated[Path, typer.Option(help="File to write; it is compressed if its name ends in .gz.")],
    best: Annotated[int, typer.Option(min=1, max=10**6, help="Number of best translations to keep of each source word.")] = 50,
    least: Annotated[float, typer.Option(min=0.0, max=1.0, help="Leave out translations with a lower probability than this.")] = 0.0005,
    pairs: Annotated[
        int,
        typer.Option(
            min=1, max=10**15, help="Number of sentence pairs that IBM Model 1 reads. Word links are always counted in all pairs."
        ),
    ] = 200_000,
    iterations: Annotated[int, typer.Option(min=1, max=1_000, help="EM iterations of IBM Model 1.")] = 5,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Make a lexical translation table for `translate --lexical-shortlist`, from the word links of a corpus, or else by IBM Model 1."""
    from rnnsearch.system.files import free
    from rnnsearch.text.lexicon.ibm1 import estimate
    from rnnsearch.text.lexicon.table import LexicalTable
    from rnnsearch.text.store.corpus import Corpus

    free(out, overwrite)
    corpus = Corpus.open(store)
    source, target = corpus.source.vocabulary, corpus.target.vocabulary
    with progress_bar() as progress:
        if corpus.train.linked:
            table = LexicalTable.of_links(corpus.train, len(source), len(target), progress)
        else:
            table = estimate(corpus.train, len(source), len(target), most_pairs=pairs, iterations=iterations, progress=progress)
        table = table.pruned(best, least)
        table.write(out, source, target)
    origin = "the corpus's links" if corpus.train.linked else "IBM Model 1"
    say(f"{out}: {len(table):,} translations of {len(source):,} source words, by {origin}")
