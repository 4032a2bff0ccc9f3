"""Figure 2: scores over the length of the source, and how fast each run translated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.document import Column, Picture, Pictures, Section, Table, Value
from rnnsearch.evaluation.by_length import FEWEST, ScoreOfLength
from rnnsearch.evaluation.measures import BLEU, CHRF, LENGTH_RATIO, NLL_PER_WORD
from rnnsearch.report.part import Part

WINDOW = (10, 2)
"""Width and step of the sliding window, in words."""
DRAWN = {BLEU: BLEU, CHRF: CHRF, NLL_PER_WORD: "NLL per word, in nats", LENGTH_RATIO: "Length ratio"}
"""Metrics of the pictures, with the names of their axes."""
BELOW = "source words; below: sentences"

Points = dict[str, list[ScoreOfLength]]
"""System → its points."""


def by_length(part: Part) -> Section:
    """Returns the scores of each length, as pictures and a table."""
    measures, prefix = part.measures, part.prefix
    points = {metric: _points(measures.by_length, metric) for metric in DRAWN}
    sliding = _points(measures.windows, BLEU)
    pictures = [_over_buckets(part, metric, found) for metric, found in points.items() if found]
    if any(len(found) > 1 for found in sliding.values()):
        pictures.insert(1, _over_windows(part, sliding))
    figure = Pictures(
        f"{prefix}figure-2",
        "Figure 2. Scores over the length of the source sentence",
        pictures,
        notes=[
            "Bands: 95 % of 1,000 bootstrap resamples of the sentences. Lengths: words of BLEU's 13a "
            "tokenisation.",
            *_few_note(part),
        ],
        made=part.signatures([BLEU]),
    )
    heading = [Column("Source words"), *(Column(str(stretch)) for stretch in measures.buckets)]
    counts: list[Value] = ["Sentences", *(stretch.sentences for stretch in measures.buckets)]
    rows: list[list[Value]] = [
        [name, *(f"{one.value:.1f} ({one.low:.1f}–{one.high:.1f})" for one in found)]
        for name, found in points[BLEU].items()
    ]
    table = Table(
        f"{prefix}bleu-by-length",
        "BLEU by source length, with 95 % intervals",
        heading,
        [counts, *rows],
        made=[*part.signatures([BLEU]), f"Unrounded, with all other measures: tables/{prefix}measures.csv"],
    )
    return Section(f"{prefix}figure-2-section", "Length of the sentence", [figure, table])


def _points(scores: Sequence[ScoreOfLength], metric: str) -> Points:
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
    curves = _curves(part, points, lambda place, _: float(place))
    figure = curve_figure(curves, BELOW, DRAWN[metric], ticks=_ticks(part), level=level)
    spoken = (
        f"{name}: {', '.join(f'{one.value:.2f} at {one.words}' for one in found)}"
        for name, found in points.items()
    )
    alt = f"{DRAWN[metric]} by source length. {'; '.join(spoken)}."
    stem = metric.lower().replace(" ", "-")
    caption = f"{DRAWN[metric].partition(',')[0]} by length"
    return part.album.add(figure, f"{part.prefix}figure-2-{stem}", caption, alt)


def _over_windows(part: Part, points: Points) -> Picture:
    """Draws a curve over a window that slides."""
    curves = _curves(part, points, lambda _, one: (one.shortest + (one.longest or one.shortest)) / 2)
    figure = curve_figure(curves, f"source words, middle of a window of {WINDOW[0]}", BLEU)
    ends = (f"{name} from {found[0].value:.1f} to {found[-1].value:.1f}" for name, found in points.items())
    alt = (
        f"BLEU in a window of {WINDOW[0]} lengths that slides from short to long sentences: "
        f"{'; '.join(ends)}."
    )
    return part.album.add(figure, f"{part.prefix}figure-2-window", "BLEU in a sliding window", alt)


def _ticks(part: Part) -> list[tuple[float, str, str]]:
    stretches = enumerate(part.measures.buckets)
    return [(float(place), str(stretch), f"{stretch.sentences:,}") for place, stretch in stretches]


def _curves(part: Part, points: Points, x: Callable[[int, ScoreOfLength], float]) -> list[Curve]:
    return [
        Curve(
            name,
            part.places[name],
            [x(place, one) for place, one in enumerate(found)],
            [one.value for one in found],
            [one.low for one in found],
            [one.high for one in found],
            [one.sentences < FEWEST for one in found],
        )
        for name, found in points.items()
    ]


def timing(part: Part) -> Section | None:
    """Returns the speed of our runs, measured while they translated, by the length of the source; None
    without any."""
    if not part.runs:
        return None
    measures = part.measures
    lengths = np.asarray(measures.lengths)
    rows: list[list[Value]] = []
    curves: list[Curve] = []
    for name, run in part.runs:
        seconds = np.array(run.seconds)
        speeds = [
            _rate(int(lengths[each.chosen].sum()), float(seconds[each.chosen].sum()))
            for each in measures.buckets
        ]
        whole = float(seconds.sum())
        rates = _rate(len(seconds), whole), _rate(int(lengths.sum()), whole)
        rows.append([name, measures.value(name, BLEU), whole, *rates, *speeds])
        few = [stretch.sentences < FEWEST for stretch in measures.buckets]
        curves.append(Curve(name, part.places[name], list(range(len(speeds))), speeds, few=few))
    columns = [
        Column("System"),
        Column(BLEU, ".2f", best="highest"),
        Column("Seconds", ",.1f"),
        Column("Sentences per second", ",.2f", best="highest"),
        Column("Source words per second", ",.0f", best="highest"),
        *(Column(str(stretch), ",.0f") for stretch in measures.buckets),
    ]
    machines = sorted({run.hardware for _, run in part.runs})
    made = [
        f"{name}: {run.hardware}, beam {run.search['beam']}, batches of {run.search['batch_size']}, "
        f"{run.search['precision']} products"
        for name, run in part.runs
    ]
    note = (
        "The last columns are source words per second for sentences of that length. Wall-clock time of "
        "search in "
        f"batches of similar length, on {'; '.join(machines)}; other work of that machine is included. "
        "Outside "
        "systems are not timed."
    )
    table = Table(f"{part.prefix}timing", "Time of translation", columns, rows, notes=[note], made=made)
    spoken = (
        f"{curve.name}: {', '.join('none' if y is None else f'{y:.0f}' for y in curve.y)}" for curve in curves
    )
    alt = f"Source words translated per second, by length. {'; '.join(spoken)}"
    figure = curve_figure(curves, BELOW, "source words per second", ticks=_ticks(part))
    picture = part.album.add(figure, f"{part.prefix}speed", "Source words translated per second", alt)
    pictures = Pictures(f"{part.prefix}figure-speed", "Speed by length", [picture], _few_note(part), made)
    return Section(f"{part.prefix}timing-section", "Time of translation", [table, pictures])


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if seconds > 0 and count else None
