"""The tables and figures of a study, from its measured runs: scores over seeds, differences with intervals
and p, scores by length, learning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

from rnnsearch.evaluation import bleu
from rnnsearch.evaluation.statistics import FEWEST_SENTENCES, buckets
from rnnsearch.installed import package_version
from rnnsearch.lab.figures import Curve, curve_figure
from rnnsearch.lab.measures import AER, BLEU, CHRF, DEPARTURE, NLL_PER_WORD, Statistics, system_statistics
from rnnsearch.lab.page import (
    Block,
    Column,
    Document,
    Paragraph,
    Picture,
    Pictures,
    Section,
    Table,
    Value,
    columns,
    write_page,
)
from rnnsearch.lab.run_study import Measured
from rnnsearch.lab.significance import difference_over_seeds, holm, p_statement
from rnnsearch.lab.study import StudyFolder
from rnnsearch.lab.test_set import read_hypotheses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOUNDS = (0, 10, 20, 30, 40, 50, 60, 80)
"""Bounds of the bands of source lengths, in words."""
BESIDE_STUDY = (
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
    translated = next((name for name, test in folder.tests.items() if test.translate), None)
    learning = [*_learning(variants, translated), *map(Paragraph, remarks)]
    document = Document(
        folder.study.title or Path(folder.name).stem,
        f"Mean ± sample standard deviation over {count} seeds; no ±: one seed." if count > 1 else "One seed.",
        [
            *(_test_section(folder, name, variants) for name in folder.tests),
            Section("learning", "Learning and cost", learning),
        ],
        made=[("rnnsearch", package_version()), ("Study", Path(folder.name).name)],
        beside=BESIDE_STUDY,
        command=command,
    )
    page = write_page(document, folder.path, "table")
    return (folder.path / "table.md").read_text("utf-8"), page


def _test_section(folder: StudyFolder, name: str, variants: Variants) -> Section:
    """Returns the tables and figures of one test set."""
    test = folder.read_test(name)
    found = {variant: [run.statistics[name] for run in seeds.values()] for variant, seeds in variants.items()}
    every = dict(found)
    for system, path in folder.tests[name].systems.items() if folder.sentences is None else ():
        every[system] = [system_statistics(test, read_hypotheses(path, len(test.source)))]
    shown = [metric for metric in METRICS if any(metric.name in seeds[0] for seeds in every.values())]
    first = next(iter(every.values()), [{}])[0]
    scores = Table(
        f"scores-{name}",
        f"Scores on {name} ({len(test.source):,} sentences)",
        columns("Variant", *(metric.heading for metric in shown)),
        [[one, *(_mean_and_spread(metric, seeds) for metric in shown)] for one, seeds in every.items()],
        made=[f"{metric}: {first[metric].signature}" for metric in (BLEU, CHRF) if metric in first],
        latex=True,
    )
    blocks: list[Block] = [scores]
    if len(test.source) >= FEWEST_SENTENCES:
        blocks += _differences(folder.study.pairs_to_compare, name, variants, shown)
        blocks += _by_length(name, bleu.lengths(test.source), found)
    return Section(f"test-{name}", f"Results on {name}", blocks)


def _mean_and_spread(metric: Metric, seeds: Sequence[Statistics]) -> str | None:
    values = [one[metric.name].score().value for one in seeds if metric.name in one]
    if not values:
        return None
    mean = metric.format(fmean(values))
    return mean if len(values) == 1 else f"{mean} ± {metric.format(stdev(values))}"


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
            sides = [[variants[name][seed].statistics[test] for seed in seeds] for name in (one, other)]
            if seeds and all(metric.name in each for side in sides for each in side):
                ours, theirs = ([each[metric.name] for each in side] for side in sides)
                found[one, other] = difference_over_seeds(ours, theirs)
        corrected = dict(zip(found, holm([each.p for each in found.values()]), strict=True))
        for pair, row in rows.items():
            if pair in found:
                value, low, high = (metric.format(number, "+") for number in found[pair][:3])
                row.append(f"{value} [{low}, {high}] {p_statement(corrected[pair])}")
            else:
                row.append(None)
    note = (
        "Mean difference over the seeds that both have, 95 % interval, and p. Seeds and sentences are both "
        "samples, and Student's quantiles of both are combined (Banerjee 1961), so that equal variants are "
        "called different no more often than p says. p is corrected for the number of differences in its "
        "column (Holm). With one seed, only sentences vary."
    )
    name, heads = f"differences-{test}", columns("Difference", *(metric.heading for metric in shown))
    table = Table(name, "Differences between variants", heads, list(rows.values()), [note], latex=True)
    return [table] if rows else []


def _by_length(test: str, lengths: Sequence[int], found: dict[str, list[Statistics]]) -> Iterator[Block]:
    """Yields a table and a figure of each metric by source length."""
    bands = [band for band in buckets(lengths, BOUNDS) if band.sentences >= FEWEST_SENTENCES]
    for key, metric in BY_LENGTH.items() if len(bands) > 1 else ():
        curves = []
        for place, (variant, seeds) in enumerate(found.items()):
            if metric.name in seeds[0]:
                of_bands = ([one[metric.name].score(band.chosen).value for one in seeds] for band in bands)
                means = [metric.factor * fmean(values) for values in of_bands]
                curves.append(Curve(variant, place, range(len(means)), means))
        if curves:
            name, caption = f"{key}-by-length-{test}", f"{metric.heading} by source length on {test}"
            heads = [Column("Variant"), *(Column(f"{band} words", ",.2f") for band in bands)]
            yield Table(name, caption, heads, [[curve.name, *curve.y] for curve in curves])
            ticks = [f"{band}\nn = {band.sentences}" for band in bands]
            yield _picture(name, caption, curve_figure(curves, "source words", metric.heading, ticks=ticks))


def _learning(variants: Variants, test: str | None) -> Iterator[Block]:
    """Yields a table of sizes, times and development scores at three points of training, the learning curves,
    and a figure of each variant's BLEU on a test set against its cost."""
    rows: list[list[Value]] = []
    for variant, seeds in variants.items():
        run = next(iter(seeds.values())).row
        row: list[Value] = [variant, (run["parameters"] or 0) / 1e6, _minutes(seeds)]
        for key in DEVELOPMENT:
            for part in PARTS.values():
                points = _development(seeds, key)
                before = [point["score"] for point in points if point["updates"] <= part * run["updates"]]
                row.append(before[-1] if before else None)
        rows.append(row)
    note = (
        "Minutes of training, validation included; NLL per sentence and BLEU (greedy search) of the "
        "development set."
    )
    heads = [Column("Variant"), Column("million parameters", ".2f"), Column("minutes", ",.0f")]
    heads += [Column(f"{score}, {part}", ".2f") for score in ("NLL", "BLEU") for part in PARTS]
    yield Table("cost", "Size, time and development scores", heads, rows, [note])
    for (key, score), axis in product(DEVELOPMENT.items(), ("updates", "minutes")):
        curves = []
        for place, (variant, seeds) in enumerate(variants.items()):
            points = _development(seeds, key)
            x, y = ([point[name] for point in points] for name in (axis, "score"))
            curves += [Curve(variant, place, x, y)] if len(points) > 1 else []
        if curves:
            caption = f"Development {score}, mean of the seeds, against {axis} of training"
            figure = curve_figure(curves, f"{axis} of training", score)
            yield _picture(f"{key.replace('_', '-')}-by-{axis}", caption, figure)
    gains = []
    for place, (variant, seeds) in enumerate(variants.items()):
        if test and (minutes := _minutes(seeds)) is not None:
            scores = [run.statistics[test][BLEU].score().value for run in seeds.values()]
            gains.append(Curve(variant, place, [minutes], [fmean(scores)]))
    if len(gains) > 1:
        caption = f"BLEU on {test} against the time of training"
        yield _picture("gain-and-cost", caption, curve_figure(gains, "minutes of training", "BLEU"))


def _minutes(seeds: Mapping[int, Measured]) -> float | None:
    """Returns the mean time of training."""
    hours = [run.row["hours"] for run in seeds.values() if run.row["hours"]]
    return 60 * fmean(hours) if hours else None


def _development(seeds: Mapping[int, Measured], key: str) -> list[dict[str, float]]:
    """Returns updates, minutes and the development score, as means over the runs, of each validation that all
    runs have."""
    validations = zip(*(run.row["validations"] or [] for run in seeds.values()), strict=False)
    means = (
        [fmean(one[name] for one in runs) for name in ("update", "seconds", key)]
        for runs in validations
        if all(one.get(key) is not None for one in runs)
    )
    return [{"updates": update, "minutes": seconds / 60, "score": score} for update, seconds, score in means]


def _picture(name: str, caption: str, figure: Figure) -> Pictures:
    """Returns a figure of one picture, whose numbers are in a table."""
    picture = Picture(name, caption, f"{caption}: the numbers of the table", figure)
    return Pictures(f"figure-{name}", caption, [picture])
