"""Figure 2: BLEU over the length of the source, and the same for other measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.document import Column, Picture, Pictures, Section, Table, Value
from rnnsearch.evaluation.by_length import FEWEST, ScoreOfLength, Stretch, buckets, by_length, windows
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.report.measures import Measures, Statistics
from rnnsearch.report.pictures import Album
from rnnsearch.report.table_1 import signatures

WIDTH, STEP = 10, 2
"""Of the sliding window, in words."""
SAMPLES = 1000
"""Bootstrap resamples of each point."""

Points = dict[str, list[ScoreOfLength]]


def figure_2(measures: Measures, album: Album, prefix: str) -> tuple[Section, Table]:
    """The section, and all its numbers as a table for a file."""
    stretches = used_buckets(measures.lengths)
    nll = {name: likelihood.per_word() for name, likelihood in measures.nll.items()}
    bleu = _points(measures.bleu, stretches)
    others = {"chrF2": measures.chrf, "NLL per word, in nats": nll, "Length ratio": measures.length_ratio}
    points = {"BLEU": bleu} | {name: _points(statistics, stretches) for name, statistics in others.items() if statistics}
    sliding = _points(measures.bleu, windows(measures.lengths, WIDTH, STEP))
    draw = _Drawing(measures, album, prefix)
    pictures = [draw.over_buckets("BLEU", bleu)]
    if any(len(found) > 1 for found in sliding.values()):
        pictures.append(draw.over_windows(sliding))
    pictures += [
        draw.over_buckets(name, found, 1.0 if name == "Length ratio" else None) for name, found in points.items() if name != "BLEU"
    ]
    figure = Pictures(
        f"{prefix}figure-2",
        "Figure 2. Scores over the length of the source sentence",
        pictures,
        notes=[
            f"Bands: 95 % of {SAMPLES:,} bootstrap resamples of the sentences. Lengths: words of BLEU's 13a tokenisation.",
            *few_note(stretches),
        ],
        made=signatures(measures)[:1],
    )
    points["BLEU, sliding window"] = sliding
    return Section(f"{prefix}figure-2-section", "Length of the sentence", [figure, _table(bleu, stretches, prefix, measures)]), _file(
        points, prefix
    )


def few_note(stretches: Sequence[Stretch]) -> list[str]:
    """How to read hollow points, if there are any."""
    hollow = any(stretch.sentences < FEWEST for stretch in stretches)
    return [f"Hollow points: fewer than {FEWEST} sentences, too few to compare. They are outside the line and the band."] if hollow else []


def used_buckets(lengths: Sequence[int]) -> list[Stretch]:
    """1–10, 11–20 … words, those without any sentence left out."""
    return [stretch for stretch in buckets(lengths) if stretch.sentences]


def _points(systems: Statistics | dict[str, SufficientStatistics], stretches: Sequence[Stretch]) -> Points:
    return {name: by_length(statistics, stretches, samples=SAMPLES) for name, statistics in systems.items()}


class _Drawing:
    """Draws points of all systems, each in its own colour throughout the report."""

    def __init__(self, measures: Measures, album: Album, prefix: str) -> None:
        self.places = {output.name: output.place for output in measures.outputs}
        self.album, self.prefix = album, prefix

    def over_buckets(self, metric: str, points: Points, level: float | None = None) -> Picture:
        """Points at equal distances, one per bucket, with the number of sentences below."""
        first = next(iter(points.values()))
        ticks = [(float(place), named(point), f"{point.sentences:,}") for place, point in enumerate(first)]
        curves = self._curves(points, lambda place, point: float(place))
        figure = curve_figure(curves, "source words; below: sentences", metric, ticks=ticks, level=level)
        alt = f"{metric} by source length. " + "; ".join(_spoken(name, found) for name, found in points.items()) + "."
        return self.album.add(figure, f"{self.prefix}figure-2-{_stem(metric)}", f"{metric.partition(',')[0]} by length", alt)

    def over_windows(self, points: Points) -> Picture:
        """A curve over a window that slides."""
        curves = self._curves(points, lambda _, point: (point.shortest + (point.longest or point.shortest)) / 2)
        figure = curve_figure(curves, f"source words, middle of a window of {WIDTH}", "BLEU")
        ends = (f"{name} from {found[0].value:.1f} to {found[-1].value:.1f}" for name, found in points.items())
        alt = f"BLEU in a window of {WIDTH} lengths that slides from short to long sentences: {'; '.join(ends)}."
        return self.album.add(figure, f"{self.prefix}figure-2-window", "BLEU in a sliding window", alt)

    def _curves(self, points: Points, x: Callable[[int, ScoreOfLength], float]) -> list[Curve]:
        return [
            Curve(
                name,
                self.places[name],
                [x(place, point) for place, point in enumerate(found)],
                [point.value for point in found],
                [point.low for point in found],
                [point.high for point in found],
                [point.sentences < FEWEST for point in found],
            )
            for name, found in points.items()
        ]


def named(point: ScoreOfLength) -> str:
    """A bucket's lengths."""
    return f"{point.shortest}+" if point.longest is None else f"{point.shortest}–{point.longest}"


def _spoken(name: str, points: Sequence[ScoreOfLength]) -> str:
    return f"{name}: " + ", ".join(f"{point.value:.2f} at {named(point)}" for point in points if point.value is not None)


def _stem(metric: str) -> str:
    return metric.partition(",")[0].lower().replace(" ", "-")


def _table(points: Points, stretches: Sequence[Stretch], prefix: str, measures: Measures) -> Table:
    counts: list[Value] = ["Sentences", *(stretch.sentences for stretch in stretches)]
    rows: list[list[Value]] = [[name, *(_written(point) for point in found)] for name, found in points.items()]
    return Table(
        f"{prefix}bleu-by-length",
        "BLEU by source length, with 95 % intervals",
        [Column("Source words"), *(Column(str(stretch)) for stretch in stretches)],
        [counts, *rows],
        made=[*signatures(measures)[:1], f"Unrounded, with all other measures: tables/{prefix}by-length.csv"],
    )


def _written(point: ScoreOfLength) -> str | None:
    if point.value is None or point.low is None or point.high is None:
        return None
    return f"{point.value:.1f} ({point.low:.1f}–{point.high:.1f})"


def _file(points: dict[str, Points], prefix: str) -> Table:
    rows: list[list[Value]] = [
        [metric, name, point.shortest, point.longest, point.sentences, point.value, point.low, point.high]
        for metric, systems in points.items()
        for name, found in systems.items()
        for point in found
    ]
    columns = [Column(name) for name in ("measure", "system", "shortest", "longest", "sentences", "value", "low", "high")]
    return Table(f"{prefix}by-length", "Scores by source length, with 95 % bootstrap intervals", columns, rows)
