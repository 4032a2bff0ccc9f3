"""`rnnsearch lexicon`: a lexical translation table of a prepared dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import progress_bar, say


def lexicon(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Folder that `rnnsearch prepare` made.")],
    out: Annotated[Path, typer.Option(help="File of the table; a name that ends in .gz is compressed.")],
    best: Annotated[int, typer.Option(min=1, help="Translations kept of every source word.")] = 50,
    least: Annotated[float, typer.Option(min=0.0, max=1.0, help="Probability below which a translation is left out.")] = 0.0005,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of the corpus that IBM Model 1 reads; links are all counted.")] = 200_000,
    iterations: Annotated[int, typer.Option(min=1, help="Of EM.")] = 5,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there already.")] = False,
) -> None:
    """Make a lexical table, for `translate --candidates`: from the corpus's word links, or by IBM Model 1 where it has none."""
    from rnnsearch.system.files import free
    from rnnsearch.text.lexicon.ibm1 import estimate
    from rnnsearch.text.lexicon.table import Lexicon
    from rnnsearch.text.store.corpus import Corpus

    free(out, overwrite)
    corpus = Corpus.open(store)
    source, target = corpus.source.vocabulary, corpus.target.vocabulary
    with progress_bar() as progress:
        if corpus.train.linked:
            table = Lexicon.of_links(corpus.train, len(source), len(target), progress)
        else:
            table = estimate(corpus.train, len(source), len(target), most_pairs=pairs, iterations=iterations, progress=progress)
        table = table.pruned(best, least)
        table.write(out, source, target)
    origin = "the corpus's links" if corpus.train.linked else "IBM Model 1"
    say(f"{out}: {len(table):,} translations of {len(source):,} source words, by {origin}")
