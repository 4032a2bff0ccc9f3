"""Table 1 with tests of significance, Figure 2 (scores over the length of the source), and the speed of each
run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.page import Block, Column, Picture, Pictures, Section, Table, Value
from rnnsearch.evaluation.measures import (
    ALL,
    BLEU,
    CHRF,
    KNOWN,
    LENGTH_RATIO,
    MULTI_BLEU,
    NLL_PER_SENTENCE,
    NLL_PER_WORD,
    OF_TEXTS,
    PERPLEXITY,
    TER,
)
from rnnsearch.evaluation.score_tables import COLUMNS as NUMBER_COLUMNS
from rnnsearch.evaluation.score_tables import number_rows
from rnnsearch.evaluation.statistics import FEWEST, TRIALS, Comparison, SystemScore, p_statement
from rnnsearch.report.part import Part

COLUMNS = (
    (Column(BLEU, ".2f", best="highest"), BLEU, ALL),
    (Column("95 % interval", numeric=True), "", ALL),
    (Column("BLEU, No UNK", ".2f", best="highest"), BLEU, KNOWN),
    (Column(MULTI_BLEU, ".2f", best="highest"), MULTI_BLEU, ALL),
    (Column("multi-BLEU, No UNK", ".2f", best="highest"), MULTI_BLEU, KNOWN),
    (Column(CHRF, ".2f", best="highest"), CHRF, ALL),
    (Column(TER, ".2f", best="lowest"), TER, ALL),
    (Column("Length ratio", ".3f"), LENGTH_RATIO, ALL),
    (Column(NLL_PER_SENTENCE, ".2f", best="lowest"), NLL_PER_SENTENCE, ALL),
    (Column(NLL_PER_WORD, ".3f", best="lowest"), NLL_PER_WORD, ALL),
    (Column("Perplexity", ".2f", best="lowest"), PERPLEXITY, ALL),
)
"""(column, metric, pairs)"""
SIGNIFICANT = 0.05
WINDOW = (10, 2)
"""Width and step of the sliding window, in words."""
DRAWN = {BLEU: BLEU, CHRF: CHRF, NLL_PER_WORD: "NLL per word, in nats", LENGTH_RATIO: "Length ratio"}
"""Metric → label of the axis, for the pictures."""
BELOW = "source words; below: sentences"

Points = dict[str, list[SystemScore]]
"""System → its points."""


def scores(part: Part) -> Section:
    """Returns Table 1, and a matrix of the differences between all systems."""
    measures = part.measures
    names = [system.name for system in measures.systems]
    columns = {
        column: [_cell(part, name, metric, pairs) for name in names] for column, metric, pairs in COLUMNS
    }
    used = {column: cells for column, cells in columns.items() if any(cell is not None for cell in cells)}
    table = part.table(
        "table-1",
        f"Table 1. Scores on {measures.test.name}, {len(measures.test.source):,} sentences",
        ["System", *used],
        list(zip(names, *used.values(), strict=True)),
        list(_notes(part)),
        part.signatures(OF_TEXTS),
    )
    blocks: list[Block] = [table, _significance(part, names)] if measures.comparisons else [table]
    return part.section("scores", "Scores", blocks)


def measures_file(part: Part) -> Table:
    """Returns all measured numbers, with the columns of `evaluate --tsv`."""
    rows = [[row.get(column) for column in NUMBER_COLUMNS] for row in number_rows(part.measures)]
    return part.table("measures", "All measures, with 95 % bootstrap intervals", NUMBER_COLUMNS, rows)


def _cell(part: Part, system: str, metric: str, pairs: str) -> Value:
    if metric:
        return part.measures.value(system, metric, pairs)
    score = part.measures.score(system, BLEU)
    return None if score is None else f"{score.low:.1f}–{score.high:.1f}"


def _notes(part: Part) -> Iterator[str]:
    yield "BLEU is sacreBLEU's, cased, on detokenised text; the interval is from the bootstrap."
    if MULTI_BLEU in part.measures.signatures:
        yield "multi-BLEU is that of Moses's multi-bleu.perl on tokenised text, as in the paper."
    if part.measures.known:
        yield (
            f"No UNK: only the {len(part.measures.known):,} pairs whose words, in source and reference, "
            "all of our runs know. On these pairs our runs may not write UNK. All systems are scored on the "
            "same pairs."
        )
    elif part.runs:
        yield "Every pair has an unknown word, so there are no columns for pairs without one."
    vocabularies = [run.target.vocabulary for _, run in part.runs]
    if any(vocabulary != vocabularies[0] for vocabulary in vocabularies):
        yield (
            "The runs write in different vocabularies: their NLL per word and perplexity cannot be compared."
        )


def _significance(part: Part, names: Sequence[str]) -> Table:
    """Returns the differences in BLEU, row minus column, with the p-values of approximate randomisation."""
    found = [each for each in part.measures.comparisons if each.metric == BLEU]
    cells = {(each.other, each.system): _difference(each.difference, each) for each in found}
    cells |= {(each.system, each.other): _difference(-each.difference, each) for each in found}
    note = (
        f"p: approximate randomisation (Riezler and Maxwell 2005), two-sided, {TRIALS:,} trials. * marks "
        f"p < {SIGNIFICANT}. p is not corrected for the number of comparisons."
    )
    made = f"Bootstrap intervals, chrF2 and all p-values unrounded: tables/{part.prefix}measures.csv"
    return part.table(
        "significance",
        "Differences in BLEU, the row's system minus the column's",
        ["System", *names],
        [[name, *(cells.get((name, other)) for other in names)] for name in names],
        [note],
        [made, *part.signatures([BLEU])],
    )


def _difference(difference: float, comparison: Comparison) -> str:
    star = "*" if comparison.p < SIGNIFICANT else ""
    return f"{difference:+.2f}{star} ({p_statement(comparison.p)})".replace("-", "−")


def by_length(part: Part) -> Section:
    """Returns the scores by source length, as pictures and a table."""
    measures, prefix = part.measures, part.prefix
    points = {metric: _points(measures.by_length, metric) for metric in DRAWN}
    sliding = _points(measures.windows, BLEU)
    pictures = [_over_buckets(part, metric, found) for metric, found in points.items() if found]
    if any(len(found) > 1 for found in sliding.values()):
        pictures.insert(1, _over_windows(part, sliding))
    bands = (
        "Bands: 95 % of 1,000 bootstrap resamples of the sentences. Lengths: words of BLEU's 13a "
        "tokenisation."
    )
    signed = part.signatures([BLEU])
    caption = "Figure 2. Scores over the length of the source sentence"
    figure = Pictures(f"{prefix}figure-2", caption, pictures, [bands, *_few_note(part)], signed)
    rows = [
        [name, *(f"{one.value:.1f} ({one.low:.1f}–{one.high:.1f})" for one in found)]
        for name, found in points[BLEU].items()
    ]
    table = part.table(
        "bleu-by-length",
        "BLEU by source length, with 95 % intervals",
        ["Source words", *map(str, measures.buckets)],
        [["Sentences", *(stretch.sentences for stretch in measures.buckets)], *rows],
        made=[*signed, f"Unrounded, with all other measures: tables/{prefix}measures.csv"],
    )
    return part.section("figure-2-section", "Length of the sentence", [figure, table])


def _points(scores: Sequence[SystemScore], metric: str) -> Points:
    """Returns the points of one metric that have a value."""
    points: Points = {}
    for one in scores:
        if one.metric == metric and one.value is not None:
            points.setdefault(one.system, []).append(one)
    return points


def _few_note(part: Part) -> list[str]:
    """Says how to read hollow points, if there are any."""
    note = (
        f"Hollow points: fewer than {FEWEST} sentences, too few to compare. They are outside the line "
        "and the band."
    )
    return [note] if any(stretch.sentences < FEWEST for stretch in part.measures.buckets) else []


def _over_buckets(part: Part, metric: str, points: Points) -> Picture:
    """Draws points at equal distances, one per bucket, with the number of sentences below."""
    level = 1.0 if metric == LENGTH_RATIO else None
    curves = _curves(part, points, [range(len(found)) for found in points.values()])
    figure = curve_figure(curves, BELOW, DRAWN[metric], ticks=_ticks(part), level=level)
    spoken = (
        f"{name}: {', '.join(f'{one.value:.2f} at {one.words}' for one in found)}"
        for name, found in points.items()
    )
    alt = f"{DRAWN[metric]} by source length. {'; '.join(spoken)}."
    caption = f"{DRAWN[metric].partition(',')[0]} by length"
    return part.picture(figure, f"figure-2-{metric.lower().replace(' ', '-')}", caption, alt)


def _over_windows(part: Part, points: Points) -> Picture:
    """Draws BLEU over a sliding window of lengths."""
    width = WINDOW[0]
    middles = [
        [one.words.shortest + (width - 1) / 2 for one in found if one.words] for found in points.values()
    ]
    figure = curve_figure(
        _curves(part, points, middles), f"source words, middle of a window of {width}", BLEU
    )
    ends = (f"{name} from {found[0].value:.1f} to {found[-1].value:.1f}" for name, found in points.items())
    alt = f"BLEU in a window of {width} lengths that slides from short to long sentences: {'; '.join(ends)}."
    return part.picture(figure, "figure-2-window", "BLEU in a sliding window", alt)


def _ticks(part: Part) -> list[tuple[float, str, str]]:
    stretches = enumerate(part.measures.buckets)
    return [(float(place), str(stretch), f"{stretch.sentences:,}") for place, stretch in stretches]


def _curves(part: Part, points: Points, x: Sequence[Sequence[float]]) -> list[Curve]:
    return [
        Curve(
            name,
            part.places[name],
            places,
            [one.value for one in found],
            [one.low for one in found],
            [one.high for one in found],
            [one.sentences < FEWEST for one in found],
        )
        for (name, found), places in zip(points.items(), x, strict=True)
    ]


def timing(part: Part) -> Section | None:
    """Returns the speed of our runs, measured while they translated, by source length; None if there are
    none."""
    if not part.runs:
        return None
    buckets, lengths = part.measures.buckets, np.asarray(part.measures.lengths)
    few = [stretch.sentences < FEWEST for stretch in buckets]
    rows: list[list[Value]] = []
    curves: list[Curve] = []
    made: list[str] = []
    for name, run in part.runs:
        seconds, search = np.array(run.seconds), run.search
        speeds = [_rate(lengths[each.chosen].sum(), seconds[each.chosen].sum()) for each in buckets]
        whole = float(seconds.sum())
        rates = _rate(len(seconds), whole), _rate(lengths.sum(), whole)
        rows.append([name, part.measures.value(name, BLEU), whole, *rates, *speeds])
        curves.append(Curve(name, part.places[name], range(len(speeds)), speeds, few=few))
        made.append(
            f"{name}: {run.hardware}, beam {search['beam']}, batches of {search['batch_size']}, "
            f"{search['precision']} products"
        )
    columns: list[Column | str] = [
        "System",
        Column(BLEU, ".2f", best="highest"),
        Column("Seconds", ",.1f"),
        Column("Sentences per second", ",.2f", best="highest"),
        Column("Source words per second", ",.0f", best="highest"),
        *(Column(str(stretch), ",.0f") for stretch in buckets),
    ]
    machines = "; ".join(sorted({run.hardware for _, run in part.runs}))
    note = (
        "The last columns are source words per second for sentences of that length. Wall-clock time of "
        f"search in batches of similar length, on {machines}; other programs of the machine slow it down. "
        "Other systems are not timed."
    )
    table = part.table("timing", "Time of translation", columns, rows, [note], made)
    spoken = (
        f"{curve.name}: {', '.join('none' if y is None else f'{y:.0f}' for y in curve.y)}" for curve in curves
    )
    figure = curve_figure(curves, BELOW, "source words per second", ticks=_ticks(part))
    caption = "Source words translated per second"
    picture = part.picture(figure, "speed", caption, f"{caption}, by length. {'; '.join(spoken)}")
    pictures = Pictures(f"{part.prefix}figure-speed", "Speed by length", [picture], _few_note(part), made)
    return part.section("timing-section", "Time of translation", [table, pictures])


def _rate(count: float, seconds: float) -> float | None:
    return float(count / seconds) if seconds > 0 and count else None
