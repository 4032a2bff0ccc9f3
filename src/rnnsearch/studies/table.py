"""The tables and figures of a study, from its measured runs: scores over seeds, differences with intervals
and p, scores by length, learning."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.drawing.figures import Curve, add_picture, curve_figure
from rnnsearch.drawing.page import (
    Block,
    Column,
    Document,
    Paragraph,
    Pictures,
    Section,
    Table,
    Value,
    write_page,
)
from rnnsearch.evaluation import bleu
from rnnsearch.evaluation.measures import AER, BLEU, CHRF, NLL_PER_WORD, Statistics, system_statistics
from rnnsearch.evaluation.statistics import FEWEST, SufficientStatistics, buckets, p_statement
from rnnsearch.evaluation.test_set import read_hypotheses
from rnnsearch.installed import package_version
from rnnsearch.studies.run import DEPARTURE, Measured, Row
from rnnsearch.studies.study import StudyFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOUNDS = (0, 10, 20, 30, 40, 50, 60, 80)
"""Bounds of the bands of source lengths, in words."""
BESIDE = (
    ("table.md", "this page in Markdown"),
    ("table.tex", "scores and differences in LaTeX"),
    ("results.jsonl", "one run per line"),
    ("translations/", "the translations"),
    ("runs/", "the runs"),
)


class Metric(NamedTuple):
    """A metric, as a column. factor: multiplies the value where it is shown."""

    name: str
    heading: str
    factor: float = 1.0
    digits: int = 2

    def format(self, value: float, sign: str = "") -> str:
        return f"{value * self.factor:{sign},.{self.digits}f}".replace("-", "−")


METRICS = (
    Metric(BLEU, "BLEU"),
    Metric(CHRF, "chrF2"),
    Metric(NLL_PER_WORD, "NLL/word", digits=3),
    Metric(AER, "AER % by α", 100.0),
    Metric(f"posterior {AER}", "AER % by the posterior", 100.0),
    Metric(DEPARTURE, "α off the links, %", 100.0),
)
BY_LENGTH = {"bleu": METRICS[0], "departure": METRICS[-1]}
PARTS = {"a quarter": 0.25, "half": 0.5, "the end": 1.0}
"""Points of training that a table shows."""
DEVELOPMENT = {"dev_nll": "NLL per sentence", "dev_bleu": "BLEU"}
"""Development scores, and what a figure calls them."""
Variants = dict[str, dict[int, Measured]]
"""variant → seed → run; only runs that count"""


def write_study(folder: StudyFolder, runs: Sequence[Measured], command: str = "") -> tuple[str, Path]:
    """Writes index.html, table.md, table.json, table.tex, tables/ and figures/. Returns the Markdown, and the
    path of the page.

    command: the command line shown on the page.
    """
    variants = {
        name: {run.row["seed"]: run for run in runs if run.usable and run.row["variant"] == name}
        for name in folder.study.variants
    }
    variants = {name: seeds for name, seeds in variants.items() if seeds}
    remarks = [
        f"{run.row['run']} is not averaged in. It {run.row['status']}: {run.row['error']}"
        for run in runs
        if not run.usable
    ]
    if missing := sorted({run.name for run in folder.runs} - {run.row["run"] for run in runs}):
        remarks.append(f"Not done yet: {', '.join(missing)}.")
    count = max(map(len, variants.values()), default=0)
    learning = [*_learning(folder, variants), *map(Paragraph, remarks)]
    document = Document(
        folder.study.title or Path(folder.name).stem,
        f"Mean ± sample standard deviation over {count} seeds." if count > 1 else "One seed.",
        [
            *(_test_section(folder, name, variants) for name in folder.tests),
            Section("learning", "Learning and cost", learning),
        ],
        made=[("rnnsearch", package_version()), ("Study", Path(folder.name).name)],
        beside=BESIDE,
        command=command,
    )
    latex = [f"{kind}-{name}" for name in folder.tests for kind in ("scores", "differences")]
    page = write_page(document, folder.path, "table", latex)
    return (folder / "table.md").read_text("utf-8"), page


def _test_section(folder: StudyFolder, name: str, variants: Variants) -> Section:
    """Returns the tables and figures of one test set."""
    test = folder.read_test(name)
    found = {variant: [run.statistics[name] for run in seeds.values()] for variant, seeds in variants.items()}
    systems = folder.tests[name].systems if folder.sentences is None else {}
    every = found | {
        system: [system_statistics(test, read_hypotheses(path, len(test.source)))]
        for system, path in systems.items()
    }
    shown = [metric for metric in METRICS if any(metric.name in seeds[0] for seeds in every.values())]
    scores = _table(
        f"scores-{name}",
        f"Scores on {name} ({len(test.source):,} sentences)",
        ["Variant", *(metric.heading for metric in shown)],
        [[one, *(_mean_and_spread(metric, seeds) for metric in shown)] for one, seeds in every.items()],
    )
    first = next(iter(every.values()), [{}])[0]
    signatures = [f"{metric}: {first[metric].signature}" for metric in (BLEU, CHRF) if metric in first]
    blocks: list[Block] = [replace(scores, made=signatures)]
    if len(test.source) >= FEWEST:
        blocks += _differences(folder.study.pairs_to_compare, name, variants, shown)
        blocks += _by_length(folder, name, bleu.lengths(test.source), found)
    return Section(f"test-{name}", f"Results on {name}", blocks)


def _table(
    name: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[Value]], *notes: str
) -> Table:
    """Returns a table whose columns but the first hold numbers as text."""
    columns = [Column(head, numeric=place > 0) for place, head in enumerate(heads)]
    return Table(name, caption, columns, rows, notes)


def _mean_and_spread(metric: Metric, seeds: Sequence[Statistics]) -> str | None:
    values = [one[metric.name].score().value for one in seeds if metric.name in one]
    if not values:
        return None
    mean = metric.format(statistics.fmean(values))
    return mean if len(values) == 1 else f"{mean} ± {metric.format(statistics.stdev(values))}"


def _differences(
    pairs: Sequence[tuple[str, str]], test: str, variants: Variants, shown: Sequence[Metric]
) -> list[Block]:
    """Returns a table of the differences between variants, with 95 % intervals and p, corrected for the
    number of pairs in each column."""
    rows: dict[tuple[str, str], list[Value]] = {
        (one, other): [f"{other} − {one}"] for one, other in pairs if {one, other} <= variants.keys()
    }
    for metric in shown:
        found = {}
        for one, other in rows:
            seeds = sorted(variants[one].keys() & variants[other].keys())
            ours, theirs = (
                [variants[name][seed].statistics[test] for seed in seeds] for name in (one, other)
            )
            if seeds and all(metric.name in each for each in ours + theirs):
                sides = ([each[metric.name] for each in side] for side in (ours, theirs))
                found[one, other] = difference_over_seeds(*sides)
        corrected = dict(zip(found, holm([each.p for each in found.values()]), strict=True))
        for pair, row in rows.items():
            if pair in found:
                value, low, high = (metric.format(number, "+") for number in found[pair][:3])
                row.append(f"{value} [{low}, {high}] {p_statement(corrected[pair])}")
            else:
                row.append(None)
    note = (
        "Mean difference over the seeds that both have, 95 % interval, and p. Seeds and sentences are both "
        "samples: the variance is that between seeds plus that of a bootstrap over sentences, the test is "
        "Student's with the degrees of freedom of Welch and Satterthwaite, and p is corrected for the number "
        "of differences in its column (Holm). With one seed, only sentences vary."
    )
    heads = ["Difference", *(metric.heading for metric in shown)]
    caption = "Differences between variants"
    return [_table(f"differences-{test}", caption, heads, [*rows.values()], note)] if rows else []


def _by_length(
    folder: StudyFolder, test: str, lengths: Sequence[int], found: dict[str, list[Statistics]]
) -> Iterator[Block]:
    """Yields a table and a figure of each metric by source length."""
    bands = [band for band in buckets(lengths, BOUNDS) if band.sentences >= FEWEST]
    ticks = [(float(place), str(band), f"n = {band.sentences}") for place, band in enumerate(bands)]
    for key, metric in BY_LENGTH.items() if len(bands) > 1 else ():
        rows, curves = [], []
        for place, (variant, seeds) in enumerate(found.items()):
            if metric.name in seeds[0]:
                of_bands = ([one[metric.name].score(band.chosen).value for one in seeds] for band in bands)
                means = [metric.factor * statistics.fmean(values) for values in of_bands]
                rows.append([variant, *(f"{mean:,.2f}" for mean in means)])
                curves.append(Curve(variant, place, range(len(means)), means))
        if curves:
            name, caption = f"{key}-by-length-{test}", f"{metric.heading} by source length on {test}"
            yield _table(name, caption, ["Variant", *(f"{band} words" for band in bands)], rows)
            figure = curve_figure(curves, "source words", metric.heading, ticks=ticks)
            yield _pictures(folder, figure, name, caption)


def _learning(folder: StudyFolder, variants: Variants) -> Iterator[Block]:
    """Yields a table of sizes, times and development scores at three points of training, the learning curves,
    and a figure of each variant's gain against its cost."""
    rows: list[list[Value]] = []
    curves: dict[tuple[str, str], list[Curve]] = {}
    gains = []
    translated = next((name for name, test in folder.tests.items() if test.translate), None)
    for place, (variant, seeds) in enumerate(variants.items()):
        runs = [run.row for run in seeds.values()]
        hours = [run["hours"] for run in runs if run["hours"]]
        minutes = 60 * statistics.fmean(hours) if hours else None
        row: list[Value] = [variant, f"{(runs[0]['parameters'] or 0) / 1e6:.2f}"]
        row.append(None if minutes is None else f"{minutes:,.0f}")
        for key in DEVELOPMENT:
            points = _development(runs, key)
            for part in PARTS.values():
                before = [score for update, _, score in points if update <= part * runs[0]["updates"]]
                row.append(f"{before[-1]:.2f}" if before else None)
            if len(points) > 1:
                updates, times, scores = zip(*points, strict=True)
                for axis, x in (("updates", updates), ("minutes", times)):
                    curves.setdefault((key, axis), []).append(Curve(variant, place, x, scores))
        rows.append(row)
        if translated and minutes is not None:
            scored = [run.statistics[translated][BLEU].score().value for run in seeds.values()]
            gains.append(Curve(variant, place, [minutes], [statistics.fmean(scored)]))
    note = (
        "Minutes of training, validation included; NLL per sentence and BLEU (greedy search) of the "
        "development set."
    )
    heads = ["Variant", "million parameters", "minutes"]
    heads += [f"{score}, {part}" for score in ("NLL", "BLEU") for part in PARTS]
    yield _table("cost", "Size, time and development scores", heads, rows, note)
    for (key, axis), lines in curves.items():
        figure = curve_figure(lines, f"{axis} of training", DEVELOPMENT[key])
        caption = f"Development {DEVELOPMENT[key]}, mean of the seeds, against {axis} of training"
        yield _pictures(folder, figure, f"{key.replace('_', '-')}-by-{axis}", caption)
    if len(gains) > 1:
        figure = curve_figure(gains, "minutes of training", "BLEU")
        caption = f"BLEU on {translated} against the time of training"
        yield _pictures(folder, figure, "gain-and-cost", caption)


def _development(runs: Sequence[Row], key: str) -> list[tuple[float, float, float]]:
    """Returns (update, minutes, development score), as means over the runs, of each validation that all runs
    have."""
    points = zip(*(run["validations"] or [] for run in runs), strict=False)
    means = [
        [statistics.fmean(one[name] for one in point) for name in ("update", "seconds", key)]
        for point in points
        if all(one.get(key) is not None for one in point)
    ]
    return [(update, seconds / 60, score) for update, seconds, score in means]


def _pictures(folder: StudyFolder, figure: Figure, name: str, caption: str) -> Pictures:
    alt = f"{caption}: the numbers of the table"
    return Pictures(f"figure-{name}", caption, [add_picture(folder / "figures", figure, name, caption, alt)])


class Difference(NamedTuple):
    """A difference of two variants: mean over seeds, 95 % interval, and p. With one seed, only sentences
    vary: interval and p are then about other sentences, not about other seeds."""

    value: float
    low: float
    high: float
    p: float


def difference_over_seeds(
    ours: Sequence[SufficientStatistics], theirs: Sequence[SufficientStatistics]
) -> Difference:
    """Compares two variants; element s of both has seed s, all on the same sentences.

    Seeds and sentences are both samples. The variance of the mean difference is that between the seeds,
    divided by their number, plus that of a bootstrap of the sentences (the same sentences for all seeds and
    both variants). The interval and p are Student's, with the degrees of freedom of Welch and Satterthwaite.
    The variance between seeds has a part of that between sentences in it, so the test is conservative.
    """
    seeds, sentences = len(ours), len(ours[0])
    pairs = list(zip(ours, theirs, strict=True))
    each = [other.score().value - one.score().value for one, other in pairs]
    mean = statistics.fmean(each)
    resampled = np.mean(
        [other.bootstrap(samples=1000, seed=1) - one.bootstrap(samples=1000, seed=1) for one, other in pairs],
        axis=0,
    )
    of_seeds = float(np.var(each, ddof=1)) / seeds if seeds > 1 else 0.0
    of_sentences = float(np.var(resampled, ddof=1))
    variance = of_seeds + of_sentences
    if not variance:  # the same outputs, or the same difference everywhere
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    freedom = variance**2 / (of_seeds**2 / max(seeds - 1, 1) + of_sentences**2 / max(sentences - 1, 1))
    error = math.sqrt(variance)
    reach = student_quantile(0.05, freedom) * error
    return Difference(mean, mean - reach, mean + reach, student_p(abs(mean) / error, freedom))


def student_p(t: float, freedom: float) -> float:
    """Returns the two-sided p of Student's t."""
    angles, inside = _student(freedom)
    return float(1.0 - np.interp(math.atan(t / math.sqrt(freedom)), angles, inside))


def student_quantile(p: float, freedom: float) -> float:
    """Returns the t whose two-sided p is this."""
    angles, inside = _student(freedom)
    return math.sqrt(freedom) * math.tan(np.interp(1.0 - p, inside, angles))


def _student(freedom: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns angles θ from 0 to π/2, and the probability of |t| < √ν tan θ for each.

    The density of θ is proportional to cos^(ν−1) θ, which is integrated numerically.
    """
    angles = np.linspace(0.0, math.pi / 2, 100_001)
    density = np.cos(angles) ** (freedom - 1)
    density[-1] = 0.0 if freedom > 1 else 1.0
    inside = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return angles, inside / inside[-1]


def holm(ps: Sequence[float]) -> list[float]:
    """Corrects p-values for the number of comparisons (Holm 1979), in their order."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected
