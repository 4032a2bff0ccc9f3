"""How fast each run translated, by the length of the source, beside how well."""

from __future__ import annotations

import numpy as np

from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.document import Block, Column, Pictures, Section, Table, Value
from rnnsearch.evaluation.by_length import FEWEST
from rnnsearch.report.figure_2 import few_note, used_buckets
from rnnsearch.report.measures import Measures, RunOutput
from rnnsearch.report.pictures import Album


def timing(measures: Measures, album: Album, prefix: str) -> Section | None:
    """Measured while the translations were made, so only for our own runs: None without any."""
    runs = [output for output in measures.outputs if isinstance(output, RunOutput)]
    if not runs:
        return None
    lengths = np.asarray(measures.lengths)
    stretches = used_buckets(measures.lengths)
    few = [stretch.sentences < FEWEST for stretch in stretches]
    rows: list[list[Value]] = []
    curves: list[Curve] = []
    for run in runs:
        seconds = np.array([line.seconds for line in run.lines])
        speeds = [_rate(int(lengths[stretch.chosen].sum()), float(seconds[stretch.chosen].sum())) for stretch in stretches]
        whole, quality = float(seconds.sum()), measures.bleu[run.name].score().value
        rows.append([run.name, quality, whole, _rate(len(seconds), whole), _rate(int(lengths.sum()), whole), *speeds])
        curves.append(Curve(run.name, run.place, list(range(len(stretches))), speeds, few=few))
    columns = [
        Column("System"),
        Column("BLEU", ".2f", best="highest"),
        Column("Seconds", ",.1f"),
        Column("Sentences per second", ",.2f", best="highest"),
    ]
    columns += [Column("Source words per second", ",.0f", best="highest"), *(Column(str(stretch), ",.0f") for stretch in stretches)]
    machines = {run.hardware for run in runs}
    made = [f"{run.name}: {run.hardware}, beam {run.loaded.search['beam']}, {_batches(run)}" for run in runs]
    table = Table(
        f"{prefix}timing",
        "Time of translation",
        columns,
        rows,
        notes=[
            "The last columns are source words per second for sentences of that length. Wall-clock time of search in batches of similar "
            f"length, on {'; '.join(sorted(machines))}; other work of that machine is included. Outside systems are not timed."
        ],
        made=made,
    )
    alt = "Source words translated per second, by length. " + "; ".join(
        f"{curve.name}: {', '.join('none' if y is None else f'{y:.0f}' for y in curve.y)}" for curve in curves
    )
    ticks = [(float(place), str(stretch), f"{stretch.sentences:,}") for place, stretch in enumerate(stretches)]
    figure = curve_figure(curves, "source words; below: sentences", "source words per second", ticks=ticks)
    picture = album.add(figure, f"{prefix}speed", "Source words translated per second", alt)
    blocks: list[Block] = [table, Pictures(f"{prefix}figure-speed", "Speed by length", [picture], few_note(stretches), made)]
    return Section(f"{prefix}timing-section", "Time of translation", blocks)


def _batches(run: RunOutput) -> str:
    return f"batches of {run.loaded.search['batch_size']}, {run.loaded.search['precision']} products"


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if seconds > 0 and count else None
