"""The tables and figures of a study, from its measured runs: scores over seeds, differences with intervals
and p, scores by length, learning and cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.drawing.figures import Album, Curve, curve_figure
from rnnsearch.drawing.page import (
    Block,
    Column,
    Document,
    Paragraph,
    Picture,
    Pictures,
    Section,
    Table,
    Value,
    write_page,
)
from rnnsearch.evaluation import bleu
from rnnsearch.evaluation.measures import AER, BLEU, CHRF, NLL_PER_WORD, Statistics, system_statistics
from rnnsearch.evaluation.statistics import FEWEST, LengthBand, SufficientStatistics, buckets, p_statement
from rnnsearch.evaluation.test_set import System, read_hypotheses
from rnnsearch.installed import package_version
from rnnsearch.studies.run import DEPARTURE, Measured
from rnnsearch.studies.significance import Difference, difference_over_seeds, holm
from rnnsearch.studies.study import StudyFolder

BOUNDS = (0, 10, 20, 30, 40, 50, 60, 80)
"""Bounds of the bands of source lengths, in words."""
BESIDE = (
    ("table.md", "this page in Markdown"),
    ("table.tex", "scores and differences in LaTeX"),
    ("results.jsonl", "one run per line"),
    ("translations/", "the translations"),
    ("runs/", "the runs"),
)
PARTS = {"a quarter": 0.25, "half": 0.5, "the end": 1.0}
"""Points of training that a table shows."""


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
BY_LENGTH = tuple(metric for metric in METRICS if metric.name in (BLEU, DEPARTURE))
Variants = dict[str, dict[int, Measured]]
"""variant → seed → run; only runs that count"""


def write_study(folder: StudyFolder, runs: Sequence[Measured], command: str = "") -> tuple[str, Path]:
    """Writes index.html, table.md, table.json, table.tex, tables/ and figures/. Returns the Markdown, and the
    path of the page.

    command: the command line shown on the page.
    """
    document = replace(study_document(folder, runs, Album(folder / "figures")), command=command)
    latex = [f"{kind}-{name}" for name in folder.tests for kind in ("scores", "differences")]
    page = write_page(document, folder.path, "table", latex)
    return (folder / "table.md").read_text("utf-8"), page


def study_document(folder: StudyFolder, runs: Sequence[Measured], album: Album) -> Document:
    """Returns the page as data. album: receives the figures."""
    variants: Variants = {name: {} for name in folder.study.variants}
    for run in runs:
        if run.usable:
            variants[run.row["variant"]][run.row["seed"]] = run
    variants = {name: found for name, found in variants.items() if found}
    count = max(map(len, variants.values()), default=0)
    left_out = [
        Paragraph(f"{run.row['run']} is not averaged in. It {run.row['status']}: {run.row['error']}")
        for run in runs
        if not run.usable
    ]
    missing = sorted({run.name for run in folder.runs} - {run.row["run"] for run in runs})
    if missing:
        left_out.append(Paragraph(f"Not done yet: {', '.join(missing)}."))
    sections = [_test_section(folder, name, variants, album) for name in folder.tests]
    return Document(
        folder.study.title or Path(folder.name).stem,
        f"Mean ± sample standard deviation over {count} seeds." if count > 1 else "One seed.",
        [
            *sections,
            Section("learning", "Learning and cost", [*_learning(folder, variants, album), *left_out]),
        ],
        made=[("rnnsearch", package_version()), ("Study", Path(folder.name).name)],
        beside=BESIDE,
    )


def _test_section(folder: StudyFolder, name: str, variants: Variants, album: Album) -> Section:
    test = folder.read_test(name)
    found = {variant: [run.statistics[name] for run in seeds.values()] for variant, seeds in variants.items()}
    others = {
        system: [system_statistics(test, System(system, read_hypotheses(path, len(test.source)).texts))]
        for system, path in folder.tests[name].systems.items()
        if folder.sentences is None
    }
    shown = [
        metric
        for metric in METRICS
        if any(metric.name in each[0] for each in (*found.values(), *others.values()))
    ]
    rows: list[list[Value]] = [
        [system, *(_mean_and_spread(metric, each) for metric in shown)]
        for system, each in (found | others).items()
    ]
    signatures = {
        f"{metric}: {each[0][metric].signature}"
        for each in found.values()
        for metric in (BLEU, CHRF)
        if metric in each[0]
    }
    caption = f"Scores on {name} ({len(test.source):,} sentences)"
    columns = [Column("Variant"), *(Column(metric.heading, numeric=True) for metric in shown)]
    blocks: list[Block] = [Table(f"scores-{name}", caption, columns, rows, made=sorted(signatures))]
    if len(test.source) >= FEWEST:
        blocks += _differences(folder, name, variants, shown)
        blocks += _by_length(name, bleu.lengths(test.source), found, album)
    return Section(f"test-{name}", f"Results on {name}", blocks)


def _mean_and_spread(metric: Metric, seeds: Sequence[Statistics]) -> str | None:
    values = [one[metric.name].score().value for one in seeds if metric.name in one]
    if not values:
        return None
    mean = metric.format(math.fsum(values) / len(values))
    return mean if len(values) == 1 else f"{mean} ± {metric.format(statistics.stdev(values))}"


def _differences(folder: StudyFolder, name: str, variants: Variants, shown: Sequence[Metric]) -> list[Block]:
    """Returns a table of the differences between variants, with 95 % intervals and p, corrected for the
    number of pairs in each column."""
    pairs = [pair for pair in folder.study.pairs_to_compare if all(one in variants for one in pair)]
    columns: list[dict[int, Difference]] = []
    for metric in shown:
        column = {}
        for place, (variant, other) in enumerate(pairs):
            seeds = sorted(variants[variant].keys() & variants[other].keys())
            sides = [[variants[one][seed].statistics[name] for seed in seeds] for one in (variant, other)]
            if seeds and all(metric.name in each for side in sides for each in side):
                ours, theirs = ([each[metric.name] for each in side] for side in sides)
                column[place] = difference_over_seeds(ours, theirs)
        columns.append(column)
    corrected = [
        dict(zip(column, holm([one.p for one in column.values()]), strict=True)) for column in columns
    ]

    def cell(metric: Metric, place: int, which: int) -> str | None:
        if place not in columns[which]:
            return None
        one, p = columns[which][place], p_statement(corrected[which][place])
        low, high = (metric.format(value, "+") for value in (one.low, one.high))
        return f"{metric.format(one.value, '+')} [{low}, {high}] {p}"

    rows: list[list[Value]] = [
        [f"{other} − {variant}", *(cell(metric, place, which) for which, metric in enumerate(shown))]
        for place, (variant, other) in enumerate(pairs)
    ]
    if not rows:
        return []
    notes = [
        "Mean difference over the seeds that both have, 95 % interval, and p. Seeds and sentences are both "
        "samples: the variance is that between seeds plus that of a bootstrap over sentences, the test is "
        "Student's with the degrees of freedom of Welch and Satterthwaite, and p is corrected for the number "
        "of differences in its column (Holm). With one seed, only sentences vary."
    ]
    heads = [Column("Difference"), *(Column(metric.heading, numeric=True) for metric in shown)]
    return [Table(f"differences-{name}", "Differences between variants", heads, rows, notes=notes)]


def _by_length(
    name: str, lengths: Sequence[int], found: dict[str, list[Statistics]], album: Album
) -> list[Block]:
    """Returns a table and a figure of each metric by source length."""
    bands = [band for band in buckets(lengths, BOUNDS) if band.sentences >= FEWEST]
    blocks: list[Block] = []
    for metric in BY_LENGTH:
        curves = {
            variant: [_mean([one[metric.name] for one in seeds], band) for band in bands]
            for variant, seeds in found.items()
            if metric.name in seeds[0]
        }
        if len(bands) < 2 or not curves:
            continue
        rows: list[list[Value]] = [
            [variant, *(metric.format(value) for value in values)] for variant, values in curves.items()
        ]
        caption = f"{metric.heading} by source length on {name}"
        key = f"{'bleu' if metric.name == BLEU else 'departure'}-by-length-{name}"
        columns = [Column("Variant"), *(Column(f"{band} words", numeric=True) for band in bands)]
        blocks.append(Table(key, caption, columns, rows))
        drawn = [
            Curve(
                variant, place, [*map(float, range(len(bands)))], [metric.factor * value for value in values]
            )
            for place, (variant, values) in enumerate(curves.items())
        ]
        ticks = [(float(place), str(band), f"n = {band.sentences}") for place, band in enumerate(bands)]
        figure = curve_figure(drawn, "source words", metric.heading, ticks=ticks)
        blocks.append(_pictures(album, figure, key, caption))
    return blocks


def _mean(seeds: Sequence[SufficientStatistics], band: LengthBand) -> float:
    return math.fsum(one.score(band.chosen).value for one in seeds) / len(seeds)


def _learning(folder: StudyFolder, variants: Variants, album: Album) -> list[Block]:
    """Returns a table of the development scores at three points of training, the learning curves, and what
    each variant gains for its cost."""
    rows: list[list[Value]] = []
    columns = [Column("Variant"), Column("million parameters", numeric=True), Column("minutes", numeric=True)]
    columns += [Column(f"{what}, {part}", numeric=True) for what in ("NLL", "BLEU") for part in PARTS]
    for variant, seeds in variants.items():
        every = [run.row for run in seeds.values()]
        minutes = [60 * row["hours"] for row in every if row.get("hours")]
        row: list[Value] = [variant, f"{(every[0].get('parameters') or 0) / 1e6:.2f}"]
        row.append(f"{math.fsum(minutes) / len(minutes):,.0f}" if minutes else None)
        for key, digits in (("dev_nll", 2), ("dev_bleu", 2)):
            for part in PARTS.values():
                values = [value for one in every if (value := _at(one, key, part)) is not None]
                row.append(f"{math.fsum(values) / len(values):.{digits}f}" if values else None)
        rows.append(row)
    notes = [
        "NLL per sentence and BLEU (greedy search) of the development set; minutes of training, validation "
        "included."
    ]
    blocks: list[Block] = [
        Table(
            "development-scores", "Development scores at three points of training", columns, rows, notes=notes
        )
    ]
    for key, what in (("dev_nll", "NLL per sentence"), ("dev_bleu", "BLEU")):
        for axis, label in (("update", "updates"), ("minutes", "minutes of training")):
            curves = [
                _curve(name, place, seeds, key, axis) for place, (name, seeds) in enumerate(variants.items())
            ]
            curves = [curve for curve in curves if len(curve.x) > 1]
            if curves:
                name, caption = f"{key.replace('_', '-')}-by-{axis}", f"Development {what} against {label}"
                blocks.append(_pictures(album, curve_figure(curves, label, what), name, caption))
    return blocks + _gain_and_cost(folder, variants, album)


def _gain_and_cost(folder: StudyFolder, variants: Variants, album: Album) -> list[Block]:
    """Returns a figure of each variant's BLEU on the first translated test set against its training time."""
    name = next((name for name, test in folder.tests.items() if test.translate), "")
    points = []
    for place, (variant, seeds) in enumerate(variants.items()):
        runs = [
            run for run in seeds.values() if name and BLEU in run.statistics[name] and run.row.get("hours")
        ]
        if runs:
            values = [run.statistics[name or ""][BLEU].score().value for run in runs]
            minutes = statistics.fmean(60 * run.row["hours"] for run in runs)
            points.append(Curve(variant, place, [minutes], [statistics.fmean(values)]))
    if len(points) < 2:
        return []
    caption = f"BLEU on {name} against the time of training"
    figure = curve_figure(points, "minutes of training", "BLEU")
    return [_pictures(album, figure, "gain-and-cost", caption)]


def _at(row: dict[str, Any], key: str, part: float) -> float | None:
    """Returns a development score after a part of the updates; None if no validation was there."""
    found = [one for one in row.get("validations") or [] if one["update"] <= part * row["updates"]]
    return found[-1].get(key) if found else None


def _curve(variant: str, place: int, seeds: dict[int, Measured], key: str, axis: str) -> Curve:
    """Returns the mean over seeds of a development score, at the validations that all seeds have."""
    points = list(zip(*(run.row.get("validations") or [] for run in seeds.values()), strict=False))
    points = [point for point in points if all(one.get(key) is not None for one in point)]

    def mean(name: str) -> list[float]:
        return [statistics.fmean(one[name] for one in point) for point in points]

    x = mean("update") if axis == "update" else [seconds / 60 for seconds in mean("seconds")]
    return Curve(variant, place, x, mean(key))


def _pictures(album: Album, figure: Any, name: str, caption: str) -> Pictures:
    picture: Picture = album.add(figure, name, caption, f"{caption}: the numbers of the table")
    return Pictures(f"figure-{name}", caption, [picture])
