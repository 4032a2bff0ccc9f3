"""Table 2, learning statistics, and how the development scores came about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.document import Block, Column, Pictures, Section, Table
from rnnsearch.errors import InputError
from rnnsearch.report.pictures import Album
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import LoadedRun

COLUMNS = (
    Column("System"),
    Column("Updates"),
    Column("Epochs", ".2f"),
    Column("Hours", ".2f"),
    Column("NLL, training", ".2f"),
    Column("NLL, development", ".2f", best="lowest"),
    Column("BLEU, development", ".2f", best="highest"),
    Column("Best update"),
    Column("Pairs seen"),
    Column("Parameters"),
    Column("Machine"),
)


def learning(runs: Sequence[LoadedRun], album: Album) -> Section:
    """Of every run, from its log. Where a run has no log, its row is empty."""
    statistics = {run.name: _statistics(run.run.path) for run in runs}
    table = Table(
        "table-2",
        "Table 2. Learning statistics of the runs",
        COLUMNS,
        [_row(run, statistics[run.name]) for run in runs],
        notes=[
            "NLL is the mean −log p(y | x) of a sentence, in nats: on the training data since the validation before, on the "
            "development data for the weights that the run selected. Hours count validation too.",
            *(f"{name} was not finished." for name, found in statistics.items() if found and not found.get("ended_because")),
        ],
        made=[f"{run.name}: {run.run.log_path / 'statistics.json'}, {_ending(statistics[run.name])}" for run in runs],
    )
    blocks: list[Block] = [table]
    curves = [_curve(run.name, place, statistics[run.name]) for place, run in enumerate(runs)]
    curves = [curve for curve in curves if any(value is not None for value in curve.y)]
    if any(len(curve.x) > 1 for curve in curves):
        alt = "Development BLEU of each run over its hours of training. " + "; ".join(
            f"{curve.name} ends at {curve.y[-1]:.1f} after {curve.x[-1]:.1f} hours" for curve in curves if curve.y[-1] is not None
        )
        figure = curve_figure(curves, "hours of training", "BLEU on the development set")
        picture = album.add(figure, "learning-curves", "Development BLEU while the runs were trained", alt)
        blocks.append(
            Pictures("figure-learning", "Learning curves", [picture], notes=["Greedy search or a small beam, as each run validates."])
        )
    return Section("learning", "Learning", blocks)


def _statistics(run: Path) -> dict[str, Any]:
    """What the training of a run wrote down; empty if it wrote nothing. Raises InputError if the file is damaged."""
    try:
        return read_statistics(run)
    except ValueError as error:
        file = run / "log" / "statistics.json"
        raise InputError(f"is damaged: {error}", file=file, remedy="remove it; the report then has no learning statistics") from None


def _row(run: LoadedRun, found: dict[str, Any]) -> list[Any]:
    keys = ("updates", "epochs", "hours", "train_nll", "dev_nll", "dev_bleu", "best_update", "pairs_seen")
    return [run.name, *(found.get(key) for key in keys), run.parameters, found.get("hardware")]


def _ending(found: dict[str, Any]) -> str:
    if not found:
        return "which is missing"
    return f"ended: {found['ended_because']}" if found.get("ended_because") else "not finished"


def _curve(name: str, place: int, found: dict[str, Any]) -> Curve:
    rows = found.get("validations", [])
    return Curve(name, place, [row["seconds"] / 3600 for row in rows], [row.get("dev_bleu") for row in rows])
