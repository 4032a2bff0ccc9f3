"""`rnnsearch calibrate`: fits word confidence on a development set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Threads, load


def calibrate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A trained run, or a model's folder or name.")],
    source: Annotated[str, typer.Argument(metavar="SRC", help="Source text of a development set.")],
    reference: Annotated[str, typer.Argument(metavar="REF", help="Its reference translations.")],
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write the fitted values into the run's config.toml (search.confidence)."
        ),
    ] = False,
    threads: Threads = 0,
) -> None:
    """Fit the confidence of words on a development set, and print how reliable it is before and after."""
    from rnnsearch.evaluation.confidence import (
        IDENTITY,
        calibrated,
        fit,
        reliability,
        reliability_table,
        words_of_translations,
    )
    from rnnsearch.run import Run
    from rnnsearch.text.formats.lines import read_pairs

    translator = load([Path(run)], "cpu", threads, False)
    pairs = list(read_pairs(source, reference))
    translations = translator.translate([line for line, _ in pairs], confidence=IDENTITY)
    references = [translator.target.tokeniser.words(line) for _, line in pairs]
    probability, right = words_of_translations(translations, references)
    found = fit(probability, right)
    for title, confidence in (("before", probability), ("after", calibrated(probability, found))):
        print(title, *reliability_table(reliability(confidence, right)), sep="\n")
    print(f"search.confidence = {list(found)}")
    if write:
        Run.open(run).change_search(confidence=found)
