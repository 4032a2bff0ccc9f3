"""Draws BLEU against pairs of text, without and with the loss on α: the numbers of the table on the
page docs/studies/alignment.md.

python scripts/amount_figure.py
"""

from __future__ import annotations

import re
from pathlib import Path

from rnnsearch.lab.figures import Curve, curve_figure

STUDIES = Path(__file__).parents[1] / "docs" / "studies"
ROW = re.compile(
    r"^\| ([\d,]+) \| \d \| ([\d.]+)[^|]*\| (?:\*\*)?([\d.]+)[^|]*\| [+−]", re.MULTILINE
)


def main() -> None:
    rows = ROW.findall((STUDIES / "alignment.md").read_text("utf-8"))
    pairs, without, taught = zip(*rows, strict=True)
    places = list(map(float, range(len(rows))))
    curves = [
        Curve("no loss on α", 0, places, list(map(float, without))),
        Curve("factor 0.1", 1, places, list(map(float, taught))),
    ]
    figure = curve_figure(curves, "pairs of text", "BLEU", ticks=pairs)
    figure.savefig(STUDIES / "figures" / "alignment-amount-bleu.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
