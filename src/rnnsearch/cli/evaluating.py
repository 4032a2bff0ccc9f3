"""The command that scores word links."""

from __future__ import annotations

from typing import Annotated

import typer


def aer(
    links: Annotated[str, typer.Option(help="Word links in Pharaoh format, one sentence a line; - is stdin.")],
    gold: Annotated[str, typer.Option(help="Gold links: Pharaoh (i-j sure, i?j possible) or NAACL .wa.")],
) -> None:
    """Alignment error rate, precision and recall against gold links."""
    from rnnsearch.evaluation.alignment import alignment_error
    from rnnsearch.evaluation.links import read_gold, read_pharaoh

    print(alignment_error(read_pharaoh(links), read_gold(gold)))
