"""Counts the verdicts of docs/studies/everyday-sentences.tsv.

    python scripts/verdicts.py

For each kind, direction and judge: usable before and after, better, worse, and p of a sign test;
the same for the inputs that stand in none of the phrases of shipped_model.py.
"""

from __future__ import annotations

import re
from itertools import product
from math import comb

from shipped_model import KINDS, OWN, PHRASES, read_rows


def plain(text: str) -> str:
    """Returns the words of a text in lowercase, without marks."""
    return " ".join(re.findall(r"\w+", text.lower()))


def show(title: str, verdicts: list[tuple[str, str]]) -> None:
    """Prints a line of pairs of verdicts, before and after."""
    before, after = ([one[k] for one in verdicts].count("yes") for k in (0, 1))
    better, worse = verdicts.count(("no", "yes")), verdicts.count(("yes", "no"))
    most, changed = max(better, worse), better + worse
    p = min(1.0, 2 * sum(comb(changed, k) for k in range(most, changed + 1)) / 2**changed)
    print(f"{title}: {before} → {after} of {len(verdicts)}; +{better} −{worse}, p = {p:.4f}")


def main() -> None:
    _, *rows = read_rows(KINDS.with_name("everyday-sentences.tsv"))
    taught = {
        plain(side) for name in OWN for row in read_rows(PHRASES / f"{name}.tsv") for side in row
    }
    for kind, direction, judge in product(("everyday", "first"), ("en-fr", "fr-en"), (0, 1)):
        some = [row for row in rows if row[:2] == [kind, direction]]
        new = [row for row in some if plain(row[2]) not in taught]
        for title, each in (("", some), (", in no phrase", new)):
            pairs = [(row[4 + judge], row[7 + judge]) for row in each]
            show(f"{kind}, {direction}, judge {judge + 1}{title}", pairs)


if __name__ == "__main__":
    main()
