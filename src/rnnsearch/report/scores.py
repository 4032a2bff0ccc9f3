"""Measures as tables and curves: Table 1 with tests of significance, Figure 2 (scores over the length of the
source), the speed of each run; as text, TSV and JSON for `evaluate`, and word links for `aer`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch.drawing.figures import Album, Curve, curve_figure
from rnnsearch.drawing.page import Block, Picture, Pictures, Section
from rnnsearch.drawing.tables import Column, Table, Value, as_text
from rnnsearch.evaluation.measures import (
    AER,
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
    Measures,
    Statistics,
)
from rnnsearch.evaluation.statistics import FEWEST, TRIALS, Comparison, SystemScore, p_statement
from rnnsearch.evaluation.test_set import RunAnswers
from rnnsearch.word_links import GoldLinks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBER_COLUMNS = (
    *("table", "system", "other", "metric", "pairs", "shortest", "longest", "sentences"),
    *("value", "low", "high", "p"),
)
"""Columns of the TSV form, which has one row per number. table: scores, lengths, windows or significance."""
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
"""(column, metric, pairs) of Table 1."""
SIGNIFICANT = 0.05
WINDOW = (10, 2)
"""Width and step of the sliding window, in words."""
DRAWN = {BLEU: BLEU, CHRF: CHRF, NLL_PER_WORD: "NLL per word, in nats", LENGTH_RATIO: "Length ratio"}
"""Metric → label of the axis, for the pictures."""
BELOW = "source words; below: sentences"

Points = dict[str, list[SystemScore]]
"""System → its points."""


@dataclass(frozen=True)
class TestSetReport:
    """A test set's part of the report: its measures, and the names and the album of its tables and pictures.

    prefix: of all names in it, because a report may have several test sets. places: system → its position in
    the report, which decides its colour.
    """

    __test__ = False
    measures: Measures
    album: Album
    prefix: str
    places: dict[str, int]

    @property
    def runs(self) -> list[tuple[str, RunAnswers]]:
        """Our runs and their names."""
        return [(system.name, system.run) for system in self.measures.systems if system.run is not None]

    @property
    def attending(self) -> list[tuple[str, RunAnswers]]:
        """Our runs with an attention; RNNencdec has none."""
        return [(name, run) for name, run in self.runs if run.attends]

    def table(
        self,
        name: str,
        caption: str,
        columns: Sequence[Column | str],
        rows: Sequence[Sequence[Value]],
        **below: Sequence[str],
    ) -> Table:
        """Returns a table. columns: a string stands for a column with default options. below: its notes, and
        how it was made."""
        plain = [Column(column) if isinstance(column, str) else column for column in columns]
        return Table(f"{self.prefix}{name}", caption, plain, rows, **below)

    def picture(self, figure: Figure, name: str, caption: str, alt: str) -> Picture:
        """Adds a picture to the album."""
        return self.album.add(figure, f"{self.prefix}{name}", caption, alt)

    def section(self, name: str, title: str, blocks: Sequence[Block]) -> Section:
        """Returns a section."""
        return Section(f"{self.prefix}{name}", title, blocks)


def signatures(measures: Measures, metrics: Sequence[str] = OF_TEXTS) -> list[str]:
    """Returns `metric: signature` for each of these metrics that has a signature."""
    signed = measures.signatures
    return [f"{metric}: {signed[metric]}" for metric in metrics if metric in signed]


def score_table(measures: Measures, prefix: str = "") -> Table:
    """Returns Table 1: a row for each system."""
    names = [system.name for system in measures.systems]
    columns: dict[Column, list[Value]] = {}
    for column, metric, pairs in COLUMNS:
        if metric:
            columns[column] = [measures.value(name, metric, pairs) for name in names]
        else:
            columns[column] = [_interval(measures.score(name, BLEU)) for name in names]
    used = {column: cells for column, cells in columns.items() if any(cell is not None for cell in cells)}
    return Table(
        f"{prefix}table-1",
        f"Table 1. Scores on {measures.test.name}, {len(measures.test.source):,} sentences",
        [Column("System"), *used],
        list(zip(names, *used.values(), strict=True)),
        list(_notes(measures)),
        signatures(measures),
    )


def _interval(score: SystemScore | None) -> str | None:
    return None if score is None or score.low is None else f"{score.low:.1f}–{score.high:.1f}"


def _notes(measures: Measures) -> Iterator[str]:
    runs = [system.run for system in measures.systems if system.run is not None]
    yield "BLEU is sacreBLEU's, cased, on detokenised text; the interval is from the bootstrap."
    if MULTI_BLEU in measures.signatures:
        yield "multi-BLEU is that of Moses's multi-bleu.perl on tokenised text, as in the paper."
    if measures.known:
        yield (
            f"No UNK: only the {len(measures.known):,} pairs whose words, in source and reference, "
            "all of our runs know. On these pairs our runs may not write UNK. All systems are scored on the "
            "same pairs."
        )
    elif runs:
        yield "Every pair has an unknown word, so there are no columns for pairs without one."
    vocabularies = [run.target.vocabulary for run in runs]
    if any(vocabulary != vocabularies[0] for vocabulary in vocabularies):
        yield (
            "The runs write in different vocabularies: their NLL per word and perplexity cannot be compared."
        )


def difference_table(
    comparisons: Sequence[Comparison], names: Sequence[str], metric: str, factor: float = 1.0
) -> Table:
    """Returns the differences of all pairs of systems by one metric, row minus column, with p-values. factor:
    multiplies the differences."""
    cells: dict[tuple[str, str], str] = {}
    for each in comparisons:
        star = "*" if each.p < SIGNIFICANT else ""
        for pair, sign in (((each.other, each.system), factor), ((each.system, each.other), -factor)):
            shown = f"{sign * each.difference:+.2f}{star} ({p_statement(each.p)})"
            cells[pair] = shown.replace("-", "−")
    note = (
        f"p: approximate randomisation (Riezler and Maxwell 2005), two-sided, {TRIALS:,} trials. * marks "
        f"p < {SIGNIFICANT}. p is not corrected for the number of comparisons."
    )
    return Table(
        "significance",
        f"Differences in {metric}, the row's system minus the column's",
        [Column("System"), *(Column(name, numeric=True) for name in names)],
        [[name, *(cells.get((name, other)) for other in names)] for name in names],
        [note],
    )


def links_table(
    name: str,
    systems: Mapping[str, Statistics],
    gold: Sequence[GoldLinks],
    note: str = "",
    alpha: float | None = None,
) -> Table:
    """Returns a row for each system, with the statistics of its AER, precision and recall (0 to 1). alpha: of
    a column with F_α."""
    rows: list[list[Value]] = []
    for system, found in systems.items():
        aer, precision, recall = (100 * found[rate].score().value for rate in (AER, "precision", "recall"))
        low, high = (100 * value for value in found[AER].interval())
        links = int(found["precision"].values[:, 1].sum())
        f = [] if alpha is None else [_f_measure(precision, recall, alpha)]
        rows.append([system, aer, f"{low:.2f}–{high:.2f}", precision, recall, *f, links])
    note += (
        f"Gold links: {sum(len(each.sure) for each in gold):,} sure, "
        f"{sum(len(each.possible) for each in gold):,} possible with the sure ones; AER as Och and Ney "
        "(2003) define it. The interval is from the bootstrap of the sentences."
    )
    rates = ["Precision, %", "Recall, %", *([] if alpha is None else [f"F({alpha:g}), %"])]
    columns = [
        *(Column("System"), Column("AER, %", ".2f", best="lowest"), Column("95 % interval", numeric=True)),
        *(Column(rate, ".2f", "highest") for rate in rates),
        Column("Links"),
    ]
    return Table(name, "Alignment error rate on the references", columns, rows, [note])


def _f_measure(precision: float, recall: float, alpha: float) -> float:
    return 1.0 / (alpha / precision + (1.0 - alpha) / recall) if precision * recall else 0.0


def measures_text(measures: Measures) -> str:
    """Returns tables for a terminal; for a single system, one line per metric with its signature."""
    several = len(measures.systems) > 1
    parts = [] if several else ["\n".join(_lines(measures))]
    if several or measures.known:
        parts.append(as_text(score_table(measures)))
    if measures.known is not None:
        pairs = f"{len(measures.known):,} of {len(measures.test.reference):,}"
        parts.append(f"Without unknown words: {pairs} pairs, on which the runs may not write UNK")
    for title, points in (("", measures.by_length), (", sliding window", measures.windows)):
        for metric in dict.fromkeys(point.metric for point in points):
            found = _points(points, metric, every=True)
            heading = f"By source length in words{title}: {metric} [95 % bootstrap interval]"
            parts.append(f"{heading}\n\n{as_text(_length_table(found))}")
    names = [system.name for system in measures.systems]
    for metric in dict.fromkeys(each.metric for each in measures.comparisons):
        tested = [each for each in measures.comparisons if each.metric == metric]
        table = difference_table(tested, names, metric)
        parts.append(f"{table.caption} (p: approximate randomisation)\n\n{as_text(table)}")
    if several:
        parts.append("\n".join(signatures(measures)))
    return "\n\n".join(parts)


def _lines(measures: Measures) -> Iterator[str]:
    for score in measures.scores:
        if score.pairs == ALL and score.metric in measures.signatures and score.metric != LENGTH_RATIO:
            yield f"{score.metric} {score.value:.2f} ({measures.signatures[score.metric]})"
    for score in measures.scores:
        if score.pairs == ALL and score.metric in (NLL_PER_SENTENCE, NLL_PER_WORD, PERPLEXITY):
            yield f"{score.metric} {score.value:.{3 if score.metric == NLL_PER_WORD else 2}f}"


def _length_table(points: Points) -> Table:
    """Returns a row for each range of lengths, and a column for each system."""
    rows: list[list[Value]] = []
    for scores in zip(*points.values(), strict=True):
        shown = (None if one.value is None else f"{one.value:.2f}{_bracket(one)}" for one in scores)
        rows.append([str(scores[0].words), scores[0].sentences, *shown])
    return Table(
        "", "", [*map(Column, ("words", "pairs")), *(Column(name, numeric=True) for name in points)], rows
    )


def _bracket(score: SystemScore) -> str:
    return "" if score.low is None else f" [{score.low:.2f}, {score.high:.2f}]"


def measures_tsv(measures: Measures) -> str:
    """Returns NUMBER_COLUMNS, and a row for every number; a cell is empty where a column does not apply."""
    rows = [[_cell(row.get(column)) for column in NUMBER_COLUMNS] for row in number_rows(measures)]
    return "\n".join("\t".join(row) for row in (NUMBER_COLUMNS, *rows))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else " ".join(str(value).split())


def measures_json(measures: Measures, about: dict[str, Any]) -> str:
    """Returns one JSON object with all measures; values that are not finite are null. about: further keys,
    which say how it was made."""
    systems = [
        {"name": one.name, "run": one.run and str(one.run.path), "candidates": one.candidates}
        for one in measures.systems
    ]
    known = None if measures.known is None else [number + 1 for number in measures.known]
    whole = about | {
        "sentences": len(measures.test.reference),
        "systems": systems,
        "signatures": measures.signatures,
        "lines_without_unknown_words": known,
        **{table: [] for table in ("scores", "lengths", "windows", "significance")},
    }
    for row in number_rows(measures):
        table = row.pop("table")
        infinite = {
            key for key, value in row.items() if isinstance(value, float) and not math.isfinite(value)
        }
        whole[table].append(row | dict.fromkeys(infinite))
    return json.dumps(whole, ensure_ascii=False)


def number_rows(measures: Measures) -> Iterator[dict[str, Any]]:
    """Yields a row for every number: column → value."""
    tables = {"scores": measures.scores, "lengths": measures.by_length, "windows": measures.windows}
    for table, scores in tables.items():
        for score in scores:
            columns = [name for name in NUMBER_COLUMNS if hasattr(score, name)]
            row = {"table": table, **{name: getattr(score, name) for name in columns}}
            words = score.words
            if words is not None:
                del row["pairs"]
                row |= {"shortest": words.shortest, "longest": words.longest}
            yield row
    for comparison in measures.comparisons:
        fields = asdict(comparison)
        yield {"table": "significance", "value": fields.pop("difference"), **fields}


def scores(part: TestSetReport) -> Section:
    """Returns Table 1, and a matrix of the differences between all systems."""
    measures = part.measures
    names = [system.name for system in measures.systems]
    blocks: list[Block] = [score_table(measures, part.prefix)]
    if measures.comparisons:
        table = difference_table([each for each in measures.comparisons if each.metric == BLEU], names, BLEU)
        made = f"Bootstrap intervals, chrF2 and all p-values unrounded: tables/{part.prefix}measures.csv"
        below = {"notes": table.notes, "made": [made, *signatures(measures, [BLEU])]}
        blocks.append(part.table("significance", table.caption, table.columns, table.rows, **below))
    return part.section("scores", "Scores", blocks)


def measures_file(part: TestSetReport) -> Table:
    """Returns all measured numbers, with the columns of `evaluate --tsv`."""
    rows = [[row.get(column) for column in NUMBER_COLUMNS] for row in number_rows(part.measures)]
    return part.table("measures", "All measures, with 95 % bootstrap intervals", NUMBER_COLUMNS, rows)


def by_length(part: TestSetReport) -> Section:
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
    signed = signatures(measures, [BLEU])
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


def _points(scores: Sequence[SystemScore], metric: str, every: bool = False) -> Points:
    """Returns the points of one metric. every: also those without a value."""
    points: Points = {}
    for one in scores:
        if one.metric == metric and (every or one.value is not None):
            points.setdefault(one.system, []).append(one)
    return points


def _few_note(part: TestSetReport) -> list[str]:
    """Says how to read hollow points, if there are any."""
    note = (
        f"Hollow points: fewer than {FEWEST} sentences, too few to compare. They are outside the line "
        "and the band."
    )
    return [note] if any(stretch.sentences < FEWEST for stretch in part.measures.buckets) else []


def _over_buckets(part: TestSetReport, metric: str, points: Points) -> Picture:
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


def _over_windows(part: TestSetReport, points: Points) -> Picture:
    """Draws BLEU over a sliding window of lengths."""
    width = WINDOW[0]
    middles = [
        [one.words.shortest + (width - 1) / 2 for one in found if one.words] for found in points.values()
    ]
    label = f"source words, middle of a window of {width}"
    figure = curve_figure(_curves(part, points, middles), label, BLEU)
    ends = (f"{name} from {found[0].value:.1f} to {found[-1].value:.1f}" for name, found in points.items())
    alt = f"BLEU in a window of {width} lengths that slides from short to long sentences: {'; '.join(ends)}."
    return part.picture(figure, "figure-2-window", "BLEU in a sliding window", alt)


def _ticks(part: TestSetReport) -> list[tuple[float, str, str]]:
    stretches = enumerate(part.measures.buckets)
    return [(float(place), str(stretch), f"{stretch.sentences:,}") for place, stretch in stretches]


def _curves(part: TestSetReport, points: Points, x: Sequence[Sequence[float]]) -> list[Curve]:
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


def timing(part: TestSetReport) -> Section:
    """Returns the speed of our runs, measured while they translated, by source length."""
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
        *("System", Column(BLEU, ".2f", best="highest"), Column("Seconds", ",.1f")),
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
    table = part.table("timing", "Time of translation", columns, rows, notes=[note], made=made)
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
