"""Tables and figures of systems: scores, differences, scores by length, links, learning. A report
has one run of each system; a study has one run of each variant for each seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.lab.figures import Curve, curve_figure
from rnnsearch.lab.length_bands import LengthBand, buckets, length_tokenisation
from rnnsearch.lab.measures import ALL, KNOWN, Measures, Statistics, SystemScore
from rnnsearch.lab.metrics import (
    AER,
    BLEU,
    LEARNING,
    METRICS,
    MULTI_BLEU,
    NLL_PER_SENTENCE,
    OF_TEXTS,
    SCORES,
)
from rnnsearch.lab.outputs import OpenedRun
from rnnsearch.lab.page import Block, Column, Picture, Pictures, Rows, Table, Value, columns
from rnnsearch.lab.run_study import Measured
from rnnsearch.lab.significance import (
    FEWEST_SENTENCES,
    TRIALS,
    Comparison,
    difference_over_seeds,
    holm,
    interval,
    p_statement,
)
from rnnsearch.run import read_statistics
from rnnsearch.word_links import GoldLinks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE_1 = [
    (metric, pairs)
    for metric in sorted(SCORES, key=lambda metric: not SCORES[metric].known)
    for pairs in (ALL, KNOWN)[: 1 + SCORES[metric].known]
]
"""(metric, pairs) of Table 1, which has the interval of BLEU, too."""
IN_STUDY = {
    metric: shown.short or shown.heading for metric, shown in METRICS.items() if shown.in_study
}
"""Metric → heading of its column in the tables of a study."""
SIGNIFICANT = 0.05
STUDY_BOUNDS = (0, 10, 20, 30, 40, 50, 60, 80)
"""Bounds of a study's bands of source lengths, in words."""
POINTS = {"a quarter": 0.25, "half": 0.5, "the end": 1.0}
"""Points of training that the table of a study shows."""
DEVELOPMENT = {"dev_nll": NLL_PER_SENTENCE, "dev_bleu": BLEU}
"""Key of a validation → its score."""
RunsBySeed = Mapping[int, Measured]
Variants = Mapping[str, RunsBySeed]
"""Variant → seed → run; only runs that count."""


def signatures(measures: Measures, metrics: Sequence[str] = OF_TEXTS) -> list[str]:
    """Returns `metric: signature` for each of these metrics that has a signature."""
    signed = measures.signatures
    return [f"{metric}: {signed[metric]}" for metric in metrics if metric in signed]


def score_table(measures: Measures, prefix: str = "") -> Table:
    """Returns Table 1: a row for each system."""
    names = list(measures.statistics)
    cells: dict[Column, list[Value]] = {}
    for metric, pairs in TABLE_1:
        scores = [measures.score(name, metric, pairs) for name in names]
        if any(scores):
            column, more = METRICS[metric].column, ", No UNK" if pairs == KNOWN else ""
            cells[replace(column, name=column.name + more)] = [
                one.value if one else None for one in scores
            ]
            if (metric, pairs) == (BLEU, ALL):
                cells[Column("95 % interval")] = [one.interval if one else None for one in scores]
    return Table(
        f"{prefix}table-1",
        f"Table 1. Scores on {measures.test.name}, {len(measures.test.source):,} sentences",
        [Column("System"), *cells],
        list(zip(names, *cells.values(), strict=True)),
        list(_notes(measures)),
        signatures(measures),
        latex=True,
    )


def _notes(measures: Measures) -> Iterator[str]:
    case = "case does not count" if "case:lc" in measures.signatures.get(BLEU, "") else "cased"
    yield f"BLEU is sacreBLEU's, {case}, on detokenised text; the interval is from the bootstrap."
    if MULTI_BLEU in measures.signatures:
        yield "multi-BLEU is that of Moses's multi-bleu.perl on tokenised text, as in the paper."
    if measures.known:
        yield (
            f"No UNK: only the {len(measures.known):,} pairs whose words, in source and reference,"
            " all of our runs know. On these pairs our runs may not write UNK. All systems are"
            " scored on the same pairs."
        )
    elif measures.runs:
        yield "Every pair has an unknown word, so there are no columns for pairs without one."
    yield from vocabulary_notes(measures)


def vocabulary_notes(measures: Measures) -> Iterator[str]:
    """Yields a warning if the runs know other words, which are UNK to the others. All subwords make
    the same words."""
    codecs = [run.run.target for run in measures.runs.values()]
    of_words = [codec for codec in codecs if codec.subwords is None]
    split = {(codec.tokeniser.kind, codec.tokeniser.lowercase) for codec in codecs}
    if len(split) > 1 or any(
        one.vocabulary != of_words[0].vocabulary for one in codecs if of_words
    ):
        yield (
            "The runs write in different vocabularies or words: their NLL per word and perplexity"
            " cannot be compared."
        )


def seeds_table(test: str, sentences: int, systems: Mapping[str, Sequence[Statistics]]) -> Table:
    """Returns the mean and the spread over the runs of each system, a row for each."""
    shown = _shown(systems.values())
    rows = [
        [name, *(_mean_and_spread(metric, runs) for metric in shown)]
        for name, runs in systems.items()
    ]
    first = next(iter(systems.values()), [{}])[0]
    return Table(
        f"scores-{test}",
        f"Scores on {test} ({sentences:,} sentences)",
        columns("Variant", *map(IN_STUDY.__getitem__, shown)),
        rows,
        made=[f"{metric}: {first[metric].signature}" for metric in OF_TEXTS if metric in first],
        latex=True,
    )


def _shown(systems: Iterable[Sequence[Statistics]]) -> list[str]:
    """Returns the metrics that a system has."""
    first = [runs[0] for runs in systems]
    return [metric for metric in IN_STUDY if any(metric in statistics for statistics in first)]


def _mean_and_spread(metric: str, runs: Sequence[Statistics]) -> str | None:
    values = [one[metric].score().value for one in runs if metric in one]
    shown = [METRICS[metric].format(number(values)) for number in (fmean, stdev)[: len(values)]]
    return " ± ".join(shown) or None


def difference_table(
    comparisons: Sequence[Comparison], names: Sequence[str], metric: str, factor: float = 1.0
) -> Table:
    """Returns the differences of all pairs of systems by one metric, row minus column, with
    p-values. factor: multiplies the differences."""
    cells: dict[tuple[str, str], str] = {}
    for each in comparisons:
        star = "*" if each.p < SIGNIFICANT else ""
        for pair, sign in (
            ((each.other, each.system), factor),
            ((each.system, each.other), -factor),
        ):
            shown = f"{sign * each.difference:+z.2f}{star} ({p_statement(each.p)})"
            cells[pair] = shown.replace("-", "−")
    note = (
        f"p: approximate randomisation (Riezler and Maxwell 2005), two-sided, {TRIALS:,} trials. *"
        f" marks p < {SIGNIFICANT}. p is not corrected for the number of comparisons."
    )
    return Table(
        "significance",
        f"Differences in {metric}, the row's system minus the column's",
        columns("Row" if "System" in names else "System", *names),
        [[name, *(cells.get((name, other)) for other in names)] for name in names],
        [note],
        latex=True,
    )


def seeds_differences(
    pairs: Sequence[tuple[str, str]], test: str, variants: Variants
) -> list[Block]:
    """Returns a table of the differences between variants, with 95 % intervals and p, corrected for
    the number of pairs in each column; none if there is no pair."""
    rows: dict[tuple[str, str], list[Value]] = {
        (one, other): [f"{other} − {one}"]
        for one, other in pairs
        if {one, other} <= variants.keys()
    }
    statistics = {
        name: {seed: run.statistics[test] for seed, run in seeds.items()}
        for name, seeds in variants.items()
    }
    shown = _shown([*seeds.values()] for seeds in statistics.values())
    for metric in shown:
        found = {}
        for pair in rows:
            sides = [statistics[name] for name in pair]
            seeds = sorted(set.intersection(*map(set, sides)))
            if seeds and all(metric in side[seed] for side in sides for seed in seeds):
                ours, theirs = ([side[seed][metric] for seed in seeds] for side in sides)
                found[pair] = difference_over_seeds(ours, theirs)
        corrected = dict(zip(found, holm([each.p for each in found.values()]), strict=True))
        for pair, row in rows.items():
            cell = None
            if pair in found:
                value, low, high = (
                    METRICS[metric].format(number, "+") for number in found[pair][:3]
                )
                cell = f"{value} [{low}, {high}] {p_statement(corrected[pair])}"
            row.append(cell)
    note = (
        "Mean difference over the seeds that both have, 95 % interval, and p. Seeds and sentences"
        " are both samples, and Student's quantiles of both are combined (Banerjee 1961), so that"
        " equal variants are called different no more often than p says. p is corrected for the"
        " number of differences in its column (Holm). With one seed, only sentences vary."
    )
    heads = columns("Difference", *map(IN_STUDY.__getitem__, shown))
    caption = "Differences between variants"
    table = Table(f"differences-{test}", caption, heads, [*rows.values()], [note], latex=True)
    return [table] if rows else []


def by_length(measures: Measures, prefix: str, names: Sequence[str]) -> list[Block]:
    """Returns Figure 2, without lengths that have too few sentences to compare, and the table of
    BLEU by source length. names: all systems; the place of one decides its colour."""
    signed = signatures(measures, [BLEU])
    bands = [b for b in measures.buckets if b.sentences >= FEWEST_SENTENCES]
    rows: Rows = [["Sentences", *(band.sentences for band in measures.buckets)]]
    for name, found in points_of(measures, BLEU).items():
        rows.append(
            [name, *(f"{one.value:.1f} ({one.interval})" for one in found if one.sentences)]
        )
    heads = columns("Source words", *map(str, measures.buckets))
    caption = "BLEU by source length, with 95 % intervals"
    table = Table(prefix + "bleu-by-length", caption, heads, rows, made=signed)
    pictures = []
    for metric, shown in SCORES.items() if bands else ():
        curves, spoken = [], []
        for name, found in points_of(measures, metric).items() if shown.drawn else ():
            drawn = [one for one in found if one.words in bands]
            y, low, high = zip(*((one.value, one.low, one.high) for one in drawn), strict=True)
            curves.append(Curve(name, names.index(name), range(len(y)), y, low, high))
            spoken.append(
                f"{name}: {', '.join(f'{one.value:.2f} at {one.words}' for one in drawn)}"
            )
        if curves:
            label = ", ".join(filter(None, (shown.heading, shown.unit)))
            file = f"{prefix}figure-2-{metric.lower().replace(' ', '-')}"
            alt = f"{label} by source length. {'; '.join(spoken)}."
            figure = _by_length(curves, bands, label)
            pictures.append(Picture(file, f"{shown.heading} by length", alt, figure))
    note = (
        "Bands: 95 % of 1,000 bootstrap resamples of the sentences. Lengths: words of BLEU's"
        f" tokenisation {length_tokenisation(measures.test.source)}; lengths of fewer than"
        f" {FEWEST_SENTENCES} sentences are not drawn."
    )
    title = "Figure 2. Scores over the length of the source sentence"
    figure_2 = Pictures(prefix + "figure-2", title, pictures, [note], signed)
    return [figure_2, table] if pictures else [table]


def _by_length(curves: Sequence[Curve], bands: Sequence[LengthBand], label: str) -> Figure:
    ticks = [f"{band}\n{band.sentences:,}" for band in bands]
    return curve_figure(curves, "source words; below: sentences", label, ticks=ticks)


def points_of(measures: Measures, metric: str) -> dict[str, list[SystemScore]]:
    """Returns the scores by length of one metric, by system."""
    points: dict[str, list[SystemScore]] = {}
    for one in measures.by_length:
        if one.metric == metric:
            points.setdefault(one.system, []).append(one)
    return points


def seeds_by_length(
    test: str, lengths: Sequence[int], systems: Mapping[str, Sequence[Statistics]]
) -> Iterator[Block]:
    """Yields a table and a figure of the mean over the runs, for each metric by source length."""
    bands = [band for band in buckets(lengths, STUDY_BOUNDS) if band.sentences >= FEWEST_SENTENCES]
    drawn = {metric: shown.by_length for metric, shown in METRICS.items() if shown.by_length}
    for metric, key in drawn.items() if len(bands) > 1 else ():
        curves = []
        for place, (name, runs) in enumerate(systems.items()):
            if metric in runs[0]:
                of_bands = (
                    [one[metric].score(band.chosen).value for one in runs] for band in bands
                )
                means = [METRICS[metric].factor * fmean(values) for values in of_bands]
                curves.append(Curve(name, place, range(len(means)), means))
        if curves:
            label = IN_STUDY[metric]
            file, caption = f"{key}-by-length-{test}", f"{label} by source length on {test}"
            heads = [Column("Variant"), *(Column(f"{band} words", ",.2f") for band in bands)]
            yield Table(file, caption, heads, [[curve.name, *curve.y] for curve in curves])
            yield _picture(file, caption, _by_length(curves, bands, label))


def links_table(name: str, systems: Mapping[str, Statistics], gold: Sequence[GoldLinks]) -> Table:
    """Returns a row for each system, with the statistics of its AER, precision and recall (0 to
    1)."""
    rows: Rows = []
    for system, found in systems.items():
        aer, precision, recall = (
            100 * found[rate].score().value for rate in (AER, "precision", "recall")
        )
        f = 2 * precision * recall / ((precision + recall) or 1.0)
        links = int(found["precision"].values[:, 1].sum())
        rows.append([system, aer, percent_interval(found[AER]), precision, recall, f, links])
    note = (
        f"Gold links: {sum(len(each.sure) for each in gold):,} sure,"
        f" {sum(len(each.possible) for each in gold):,} possible with the sure ones; AER as Och and"
        " Ney (2003) define it. The interval is from the bootstrap of the sentences."
    )
    heads = [
        Column("System"),
        Column("AER, %", ".2f", "lowest"),
        Column("95 % interval"),
        *(Column(rate, ".2f", "highest") for rate in ("Precision, %", "Recall, %", "F, %")),
        Column("Links"),
    ]
    return Table(name, "Alignment error rate on the references", heads, rows, [note], latex=True)


def percent_interval(errors: SufficientStatistics) -> str:
    """Returns the bootstrap interval of an error rate, in percent."""
    low, high = interval(errors)
    return f"{100 * low:.2f}–{100 * high:.2f}"


def learning_table(runs: Mapping[str, OpenedRun]) -> Table:
    """Returns Table 2. The row of a run without a log is empty."""
    logs = {
        name: read_statistics(run.run.path) | {"parameters": run.header.get("parameters")}
        for name, run in runs.items()
    }
    heads = [
        Column("System"),
        *(METRICS[key].column for key in LEARNING),
        Column("Machine", numeric=False),
    ]
    note = (
        "NLL is the mean −log p(y | x) of a sentence, in nats: on the training data since the"
        " validation before, on the development data for the weights that the run selected. Hours"
        " count validation too."
    )
    made = [
        f"{name}: {runs[name].run.path / 'log' / 'statistics.json'}, "
        + (log.get("ended_because") or "not finished")
        for name, log in logs.items()
    ]
    rows = [[name, *map(log.get, (*LEARNING, "hardware"))] for name, log in logs.items()]
    return Table("table-2", "Table 2. Learning statistics of the runs", heads, rows, [note], made)


def seeds_learning(variants: Variants, test: str | None) -> Iterator[Block]:
    """Yields a table of sizes, times and development scores at three points of training, the
    learning curves, and a figure of each variant's BLEU on a test set against its cost."""
    rows: Rows = []
    for name, seeds in variants.items():
        parameters = next(iter(seeds.values())).row["parameters"] or 0
        scores = (score_at(seeds, *point) for point in product(DEVELOPMENT, POINTS.values()))
        rows.append([name, parameters / 1e6, _minutes(seeds), *scores])
    note = (
        "Minutes of training, validation included; NLL per sentence and BLEU (greedy search) of the"
        " development set."
    )
    heads = [Column("Variant"), Column("million parameters", ".2f"), Column("minutes", ",.0f")]
    heads += [Column(f"{score}, {part}", ".2f") for score in ("NLL", "BLEU") for part in POINTS]
    yield Table("cost", "Size, time and development scores", heads, rows, [note])
    for (key, score), axis in product(DEVELOPMENT.items(), ("updates", "minutes")):
        found = [_development(seeds, key, axis) for seeds in variants.values()]
        curves = [
            Curve(name, place, *zip(*points, strict=True))
            for place, (name, points) in enumerate(zip(variants, found, strict=True))
            if len(points) > 1
        ]
        if curves:
            caption = f"Development {score}, mean of the seeds, against {axis} of training"
            figure = curve_figure(curves, f"{axis} of training", score)
            yield _picture(f"{key.replace('_', '-')}-by-{axis}", caption, figure)
    gains = []
    for place, (name, seeds) in enumerate(variants.items()):
        if test and (cost := _minutes(seeds)) is not None:
            reached = fmean(run.statistics[test][BLEU].score().value for run in seeds.values())
            gains.append(Curve(name, place, [cost], [reached]))
    if len(gains) > 1:
        caption = f"BLEU on {test} against the time of training"
        yield _picture("gain-and-cost", caption, curve_figure(gains, "minutes of training", "BLEU"))


def _minutes(seeds: RunsBySeed) -> float | None:
    """Returns the mean time of training."""
    hours = [run.row["hours"] for run in seeds.values() if run.row["hours"]]
    return 60 * fmean(hours) if hours else None


def score_at(seeds: RunsBySeed, key: str, part: float) -> float | None:
    """Returns the mean over the runs of the last development score in this part of a run's
    updates; None if a run has none there."""
    last = []
    for run in seeds.values():
        most = part * run.row["updates"]
        scores = [one.get(key) for one in run.row["validations"] or [] if one["update"] <= most]
        last += [score for score in scores if score is not None][-1:]
    return fmean(last) if last and len(last) == len(seeds) else None


def _development(seeds: RunsBySeed, key: str, axis: str) -> list[tuple[float, float]]:
    """Returns (updates or minutes, development score), as means over the runs, of each validation
    that all runs have."""
    validations = zip(*(run.row["validations"] or [] for run in seeds.values()), strict=False)
    name, unit = ("update", 1) if axis == "updates" else ("seconds", 60)
    return [
        (fmean(one[name] for one in runs) / unit, fmean(one[key] for one in runs))
        for runs in validations
        if all(one.get(key) is not None for one in runs)
    ]


def _picture(name: str, caption: str, figure: Figure) -> Pictures:
    """Returns a figure of one picture, whose numbers are in a table."""
    picture = Picture(name, caption, f"{caption}: the numbers of the table", figure)
    return Pictures(f"figure-{name}", caption, [picture])
