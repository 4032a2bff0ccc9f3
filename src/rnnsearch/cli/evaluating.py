"""Commands that score, without any run."""

from __future__ import annotations

from typing import Annotated

import typer


def evaluate(
    hyp: Annotated[str, typer.Option(help="Translations of any system, detokenised, one a line; - is stdin.")],
    ref: Annotated[str, typer.Option(help="References, line by line.")],
    tokenise: Annotated[str, typer.Option(help="sacreBLEU's tokenisation for BLEU.")] = "13a",
) -> None:
    """BLEU and chrF, each with the signature that says how it was computed."""
    from rnnsearch.evaluation.bleu import bleu, chrf
    from rnnsearch.text.reading import read_pairs

    pairs = list(read_pairs(hyp, ref))
    hypotheses, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    print(bleu(hypotheses, references, tokenise=tokenise))
    print(chrf(hypotheses, references))


def aer(
    links: Annotated[str, typer.Option(help="Word links in Pharaoh format, one sentence a line; - is stdin.")],
    gold: Annotated[str, typer.Option(help="Gold links: Pharaoh (i-j sure, i?j possible) or NAACL .wa.")],
) -> None:
    """Alignment error rate, precision and recall against gold links."""
    from rnnsearch.evaluation.alignment import alignment_error
    from rnnsearch.evaluation.links import read_gold, read_pharaoh

    print(alignment_error(read_pharaoh(links), read_gold(gold)))
