"""Bounds the intervals of docs/studies/alignment.md where three seeds are compared.

    python benchmarks/interval_bounds.py

The outputs of that study are not kept; its first intervals are (below). They were Welch's: √(a + b)
times Student's quantile with the degrees of freedom of Welch and Satterthwaite, where a is the
variance over seeds and b that over sentences. How large a is they leave open; the page's standard
deviations limit it. Each line has the widest interval and the largest p of today's test
(`rnnsearch.lab.significance`) for any a and b that fit, and p after Holm's correction for the 17
differences of BLEU (with that of RNNencdec) or the 16 of AER. Rows of one seed stay; their p is
read off their interval.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from rnnsearch.lab.significance import LEVELS, half_width, holm, student_quantile

PAGE = Path(__file__).parents[1] / "docs" / "studies" / "alignment.md"
COLUMNS = (0, 3000), (4, 3000), (5, 200), (6, 200)
"""For each column of differences: its column of standard deviations, and the number of sentences,
of which thousands are as good as any."""
FIRST = """
additive-loss − additive | −2.04 [−2.41, −1.66] | −1.58 [−2.09, −1.08] | −4.71 [−5.83, −3.59] | −3.58 [−4.65, −2.52]
additive-loss-forcing − additive | −1.53 [−1.82, −1.23] | −1.11 [−2.32, 0.09] | −3.92 [−5.16, −2.68] | −5.50 [−7.21, −3.79]
recurrent − additive | −0.32 [−0.98, 0.34] | −0.47 [−0.65, −0.28] | +5.13 [3.51, 6.74] | +4.05 [0.81, 7.30]
recurrent-loss − additive | −1.55 [−1.82, −1.28] | −1.39 [−1.85, −0.93] | −4.50 [−5.68, −3.32] | −3.58 [−4.63, −2.53]
bidirectional − additive | +0.49 [0.29, 0.69] | +0.26 [−0.03, 0.55] | −7.96 [−9.74, −6.19] | −4.76 [−6.12, −3.39]
additive-loss-forcing − additive-loss | +0.51 [−0.07, 1.08] | +0.47 [−0.87, 1.80] | +0.79 [−0.13, 1.71] | −1.92 [−2.96, −0.87]
recurrent-loss − recurrent | −1.23 [−2.14, −0.32] | −0.92 [−1.43, −0.41] | −9.63 [−11.37, −7.89] | −7.64 [−11.29, −3.98]
recurrent-loss − additive-loss | +0.49 [−0.16, 1.14] | +0.20 [−0.13, 0.52] | +0.21 [−0.67, 1.09] | 0.00 [−1.16, 1.16]
"""  # noqa: E501
SEEDS, ROUNDING = 3, 0.005


def bound(
    low: float, high: float, least: float, most: float, sentences: int
) -> tuple[float, float]:
    """Returns the widest half interval and the largest p that fit the first interval. least, most:
    limits of the variance over seeds."""
    mean, reach = abs(low + high) / 2, (high - low) / 2 + ROUNDING
    widest, largest = 0.0, 0.0
    for share in np.linspace(0, 1, 101):
        freedom = 1 / (share**2 / (SEEDS - 1) + (1 - share) ** 2 / (sentences - 1))
        variance = float(reach / student_quantile(0.05, freedom)) ** 2
        if not least <= share * variance <= most:
            continue
        parts = (share * variance, SEEDS - 1), ((1 - share) * variance, sentences - 1)
        widest = max(widest, float(half_width(0.05, *parts)))
        largest = max(largest, p_of(mean, *parts))
    return widest, largest


def p_of(mean: float, *variances: tuple[float, int]) -> float:
    """Returns the p at which an interval reaches from the mean to 0."""
    return math.exp(np.interp(-mean, -half_width(LEVELS, *variances), np.log(LEVELS)))


def numbers(text: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(r"[−-]?\d+\.\d+", text)]


def shown(value: float, reach: float) -> str:
    """Formats a difference as the page does."""
    interval = f"[{value - reach:.2f}, {value + reach:.2f}]"
    return f"{'+' * (value > 0)}{value:.2f} {interval}".replace("-", "−")


def rows(page: str) -> list[str]:
    """Returns the rows of the page's table, each followed by that of its p."""
    deviations = {
        name: numbers(re.sub(r"\S+ ±", "", row))
        for name, row in re.findall(r"^\| ([\w-]+) \|(.*± .*)$", page, re.MULTILINE)[:7]
    }
    first = dict(line.split(" | ", 1) for line in FIRST.strip().split("\n"))
    cells: dict[str, list[tuple[str, float]]] = {}
    for name, row in re.findall(r"^\| ([\w-]+ − [\w-]+) \| (.* \[.*) \|$", page, re.MULTILINE):
        cells[name] = []
        ours, theirs = (deviations.get(side, []) for side in name.split(" − "))
        for cell, (column, sentences) in zip(
            first.get(name, row).split(" | "), COLUMNS, strict=True
        ):
            value, low, high = numbers(cell)
            if name in first:
                one, other = ours[column], theirs[column]
                least = max(abs(one - other) - 2 * ROUNDING, 0.0) ** 2 / SEEDS
                most = (one + other + 2 * ROUNDING) ** 2 / SEEDS
                reach, p = bound(low, high, least, most, sentences)
                cells[name].append((shown(value, reach), p))
            else:
                variance = ((high - low) / 2 / float(student_quantile(0.05, sentences - 1))) ** 2
                cells[name].append((cell, p_of(abs(value), (variance, sentences - 1))))
    found = []
    corrected = [
        holm([*(row[place][1] for row in cells.values()), *([0.0] * (place < 2))])
        for place in range(4)
    ]
    for at, (name, row) in enumerate(cells.items()):
        ps = [f"{column[at]:.3f}" if column[at] >= 0.001 else "< 0.001" for column in corrected]
        found += [
            f"| {name} | {' | '.join(cell for cell, _ in row)} |",
            f"| p | {' | '.join(ps)} |",
        ]
    return found


if __name__ == "__main__":
    print(*rows(PAGE.read_text("utf-8")), sep="\n")
