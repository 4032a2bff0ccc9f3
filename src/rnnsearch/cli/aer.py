"""`rnnsearch aer`: word links against gold links."""

from __future__ import annotations

from typing import Annotated

import typer

from rnnsearch.cli.options import GoldFrom, LinksReversed, say


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
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object, with counts, agreement of the systems and share of monotone jumps.",
        ),
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the tables in LaTeX, for a paper.")] = False,
) -> None:
    """Score word links against gold links: alignment error rate, precision, recall and F-measure."""
    from rnnsearch.drawing.page import as_latex
    from rnnsearch.evaluation.alignment_error import read_gold
    from rnnsearch.evaluation.statistics import FEW, FEWEST
    from rnnsearch.report.scores import link_tables, links_as_json, links_as_text, read_links

    truth = read_gold(gold, first=gold_from)
    truth = [sentence.reversed() for sentence in truth] if gold_reversed else truth
    systems = read_links(links, truth, links_reversed, gold if gold_from is None else "")
    if systems[1:] and len(truth) < FEWEST:
        say(FEW)
    if json:
        print(links_as_json(systems, gold))
    elif latex:
        print(as_latex(link_tables(systems, truth)), end="")
    else:
        print(links_as_text(systems, truth))
