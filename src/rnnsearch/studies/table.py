"""The tables and figures of a study, from its measured runs: scores over seeds, differences with intervals
and p, scores by length, learning."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rnnsearch.drawing.figures import Album, Curve, curve_figure
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
from rnnsearch.evaluation.test_set import System, read_hypotheses
from rnnsearch.installed import package_version
from rnnsearch.studies.run import DEPARTURE, Measured, Row
from rnnsearch.studies.study import StudyFolder, StudyTest

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
    variants: Variants = {name: {} for name in folder.study.variants}
    for run in runs:
        if run.usable:
            variants[run.row["variant"]][run.row["seed"]] = run
    variants = {name: found for name, found in variants.items() if found}
    remarks = [
        f"{run.row['run']} is not averaged in. It {run.row['status']}: {run.row['error']}"
        for run in runs
        if not run.usable
    ]
    if missing := sorted({run.name for run in folder.runs} - {run.row["run"] for run in runs}):
        remarks.append(f"Not done yet: {', '.join(missing)}.")
    album, count = Album(folder / "figures"), max(map(len, variants.values()), default=0)
    learning = [*_learning(folder.tests, variants, album), *map(Paragraph, remarks)]
    document = Document(
        folder.study.title or Path(folder.name).stem,
        f"Mean ± sample standard deviation over {count} seeds." if count > 1 else "One seed.",
        [
            *(_test_section(folder, name, variants, album) for name in folder.tests),
            Section("learning", "Learning and cost", learning),
        ],
        made=[("rnnsearch", package_version()), ("Study", Path(folder.name).name)],
        beside=BESIDE,
        command=command,
    )
    latex = [f"{kind}-{name}" for name in folder.tests for kind in ("scores", "differences")]
    page = write_page(document, folder.path, "table", latex)
    return (folder / "table.md").read_text("utf-8"), page


def _test_section(folder: StudyFolder, name: str, variants: Variants, album: Album) -> Section:
    test = folder.read_test(name)
    found = {variant: [run.statistics[name] for run in seeds.values()] for variant, seeds in variants.items()}
    systems = folder.tests[name].systems if folder.sentences is None else {}
    others = {
        system: [system_statistics(test, System(system, read_hypotheses(path, len(test.source)).texts))]
        for system, path in systems.items()
    }
    every = found | others
    shown = [metric for metric in METRICS if any(metric.name in seeds[0] for seeds in every.values())]
    rows = [[one, *(_mean_and_spread(metric, seeds) for metric in shown)] for one, seeds in every.items()]
    signatures = {
        f"{metric}: {seeds[0][metric].signature}"
        for seeds in found.values()
        for metric in (BLEU, CHRF)
        if metric in seeds[0]
    }
    caption = f"Scores on {name} ({len(test.source):,} sentences)"
    table = _table(f"scores-{name}", caption, ["Variant", *(metric.heading for metric in shown)], rows)
    blocks: list[Block] = [replace(table, made=sorted(signatures))]
    if len(test.source) >= FEWEST:
        blocks += _differences(folder.study.pairs_to_compare, name, variants, shown)
        blocks += _by_length(name, bleu.lengths(test.source), found, album)
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
    pairs: Sequence[tuple[str, str]], name: str, variants: Variants, shown: Sequence[Metric]
) -> list[Block]:
    """Returns a table of the differences between variants, with 95 % intervals and p, corrected for the
    number of pairs in each column."""
    cells: dict[tuple[str, str], list[Value]] = {
        pair: [f"{pair[1]} − {pair[0]}"] for pair in pairs if all(one in variants for one in pair)
    }
    for metric in shown:
        column = {}
        for pair in cells:
            seeds = sorted(variants[pair[0]].keys() & variants[pair[1]].keys())
            sides = [[variants[one][seed].statistics[name] for seed in seeds] for one in pair]
            if seeds and all(metric.name in each for side in sides for each in side):
                ours, theirs = ([each[metric.name] for each in side] for side in sides)
                column[pair] = difference_over_seeds(ours, theirs)
        corrected = dict(zip(column, holm([one.p for one in column.values()]), strict=True))
        for pair, row in cells.items():
            if pair not in column:
                row.append(None)
                continue
            value, low, high = (metric.format(number, "+") for number in column[pair][:3])
            row.append(f"{value} [{low}, {high}] {p_statement(corrected[pair])}")
    if not cells:
        return []
    note = (
        "Mean difference over the seeds that both have, 95 % interval, and p. Seeds and sentences are both "
        "samples: the variance is that between seeds plus that of a bootstrap over sentences, the test is "
        "Student's with the degrees of freedom of Welch and Satterthwaite, and p is corrected for the number "
        "of differences in its column (Holm). With one seed, only sentences vary."
    )
    heads = ["Difference", *(metric.heading for metric in shown)]
    return [_table(f"differences-{name}", "Differences between variants", heads, [*cells.values()], note)]


def _by_length(
    name: str, lengths: Sequence[int], found: dict[str, list[Statistics]], album: Album
) -> list[Block]:
    """Returns a table and a figure of each metric by source length."""
    bands = [band for band in buckets(lengths, BOUNDS) if band.sentences >= FEWEST]
    ticks = [(float(place), str(band), f"n = {band.sentences}") for place, band in enumerate(bands)]
    blocks: list[Block] = []
    for key, metric in BY_LENGTH.items() if len(bands) > 1 else ():
        rows, curves = [], []
        for place, (variant, seeds) in enumerate(found.items()):
            if metric.name in seeds[0]:
                of_bands = ([one[metric.name].score(band.chosen).value for one in seeds] for band in bands)
                means = [metric.factor * statistics.fmean(values) for values in of_bands]
                rows.append([variant, *(f"{mean:,.2f}" for mean in means)])
                curves.append(Curve(variant, place, range(len(means)), means))
        if curves:
            caption = f"{metric.heading} by source length on {name}"
            heads = ["Variant", *(f"{band} words" for band in bands)]
            blocks.append(_table(f"{key}-by-length-{name}", caption, heads, rows))
            figure = curve_figure(curves, "source words", metric.heading, ticks=ticks)
            blocks.append(_pictures(album, figure, f"{key}-by-length-{name}", caption))
    return blocks


def _learning(tests: dict[str, StudyTest], variants: Variants, album: Album) -> list[Block]:
    """Returns a table of sizes, times and development scores at three points of training, the learning
    curves, and a figure of each variant's gain against its cost."""
    curves: dict[tuple[str, str], list[Curve]] = {}
    rows: list[list[Value]] = []
    gains = []
    for place, (variant, seeds) in enumerate(variants.items()):
        every = [run.row for run in seeds.values()]
        hours = [one["hours"] for one in every if one.get("hours")]
        minutes = 60 * statistics.fmean(hours) if hours else None
        row: list[Value] = [variant, f"{(every[0].get('parameters') or 0) / 1e6:.2f}"]
        row.append(None if minutes is None else f"{minutes:,.0f}")
        for key in DEVELOPMENT:
            updates, times, scores = _development(every, key)
            for part in PARTS.values():
                before = sum(update <= part * every[0]["updates"] for update in updates)
                row.append(f"{scores[before - 1]:.2f}" if before else None)
            if len(updates) > 1:
                curves.setdefault((key, "updates"), []).append(Curve(variant, place, updates, scores))
                curves.setdefault((key, "minutes"), []).append(Curve(variant, place, times, scores))
        rows.append(row)
        name = next((name for name, test in tests.items() if test.translate), None)
        if name and minutes is not None:
            bleus = [run.statistics[name][BLEU].score().value for run in seeds.values()]
            gains.append(Curve(variant, place, [minutes], [statistics.fmean(bleus)]))
    note = (
        "Minutes of training, validation included; NLL per sentence and BLEU (greedy search) of the "
        "development set."
    )
    heads = ["Variant", "million parameters", "minutes"]
    heads += [f"{score}, {part}" for score in ("NLL", "BLEU") for part in PARTS]
    blocks: list[Block] = [_table("cost", "Size, time and development scores", heads, rows, note)]
    for (key, axis), lines in curves.items():
        caption = f"Development {DEVELOPMENT[key]}, mean of the seeds, against {axis} of training"
        figure = curve_figure(lines, f"{axis} of training", DEVELOPMENT[key])
        blocks.append(_pictures(album, figure, f"{key.replace('_', '-')}-by-{axis}", caption))
    if len(gains) > 1:
        figure = curve_figure(gains, "minutes of training", "BLEU")
        blocks.append(
            _pictures(album, figure, "gain-and-cost", f"BLEU on {name} against the time of training")
        )
    return blocks


def _development(rows: Sequence[Row], key: str) -> tuple[list[float], list[float], list[float]]:
    """Returns updates, minutes and a development score, as means over the runs, at each validation that all
    runs have."""
    points = zip(*(one.get("validations") or [] for one in rows), strict=False)
    found = [
        [statistics.fmean(one[name] for one in point) for name in ("update", "seconds", key)]
        for point in points
        if all(one.get(key) is not None for one in point)
    ]
    return [one[0] for one in found], [one[1] / 60 for one in found], [one[2] for one in found]


def _pictures(album: Album, figure: Figure, name: str, caption: str) -> Pictures:
    picture = album.add(figure, name, caption, f"{caption}: the numbers of the table")
    return Pictures(f"figure-{name}", caption, [picture])


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
    """Returns the two-sided p of Student's t.

    With t = √ν tan θ, its density is proportional to cos^(ν−1) θ, which is integrated numerically.
    """
    freedom = min(freedom, 10_000.0)  # normal, in effect
    angles = np.linspace(0.0, math.pi / 2, 100_001)
    density = np.cos(angles) ** (freedom - 1)
    density[-1] = 0.0 if freedom > 1 else 1.0
    share = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    inside = np.interp(math.atan(t / math.sqrt(freedom)), angles, share)
    return float(1.0 - inside / share[-1])


def student_quantile(p: float, freedom: float) -> float:
    """Returns the t whose two-sided p is this."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > p else (low, middle)
    return high


def holm(ps: Sequence[float]) -> list[float]:
    """Corrects p-values for the number of comparisons (Holm 1979), in their order."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected
