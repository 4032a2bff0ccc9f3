"""`rnnsearch aer`: word links against gold links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import GoldFrom, LinksReversed, say
from rnnsearch.cli.output import write


def aer(
    links: Annotated[
        list[str],
        typer.Option(
            metavar="FILE...",
            help="Word links of one or more systems, one sentence per line: Pharaoh, JSON lines or TMX.",
        ),
    ],
    gold: Annotated[
        str,
        typer.Option(metavar="FILE", help="Gold links: as --links (i-j sure, i?j possible), or NAACL .wa."),
    ],
    links_reversed: LinksReversed = False,
    gold_reversed: Annotated[
        bool, typer.Option("--gold-reversed", help="The gold file lists target-source, not source-target.")
    ] = False,
    gold_from: GoldFrom = None,
    alpha: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Weight of precision in the F-measure; 0.5 is balanced.")
    ] = 0.5,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object, with counts, agreement of the systems and share of monotone jumps.",
        ),
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the tables in LaTeX, for a paper.")] = False,
    per_sentence: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a table with the scores of each sentence.")
    ] = None,
) -> None:
    """Score word links against gold links: alignment error rate, precision, recall and F-measure."""
    from rnnsearch.drawing.tables import as_latex
    from rnnsearch.evaluation.alignment_error import read_gold
    from rnnsearch.evaluation.statistics import FEW, FEWEST
    from rnnsearch.report.alignments import (
        link_differences,
        link_tables,
        links_as_json,
        links_as_text,
        links_by_sentence,
        read_links,
    )

    truth = read_gold(gold, first=gold_from)
    truth = [sentence.reversed() for sentence in truth] if gold_reversed else truth
    systems = read_links(links, truth, links_reversed, gold if gold_from is None else "")
    if per_sentence:
        write(per_sentence, "".join(f"{line}\n" for line in links_by_sentence(systems, truth)))
    compared = link_differences(systems)
    if systems[1:] and len(truth) < FEWEST:
        say(FEW)
    if json:
        print(links_as_json(systems, compared, gold, alpha))
        return
    tables = link_tables(systems, truth, compared, alpha)
    print(as_latex(tables) if latex else links_as_text(tables, systems, alpha), end="" if latex else "\n")
