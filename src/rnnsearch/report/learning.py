"""Table 2 (learning statistics) and the curves of the development scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.figures import Album
from rnnsearch.drawing.page import Block, Column, Pictures, Section, Table
from rnnsearch.evaluation.test_set import RunAnswers
from rnnsearch.training.log import read_statistics

COLUMNS = {
    "updates": Column("Updates"),
    "epochs": Column("Epochs", ".2f"),
    "hours": Column("Hours", ".2f"),
    "train_nll": Column("NLL, training", ".2f"),
    "dev_nll": Column("NLL, development", ".2f", best="lowest"),
    "dev_bleu": Column("BLEU, development", ".2f", best="highest"),
    "best_update": Column("Best update"),
    "pairs_seen": Column("Pairs seen"),
    "parameters": Column("Parameters"),
    "hardware": Column("Machine"),
}


def learning(runs: Sequence[tuple[str, RunAnswers]], album: Album) -> Section:
    """Returns the table and the learning curves of all runs. The row of a run without a log is empty."""
    logs = {name: read_statistics(run.path) for name, run in runs}
    known = {name: logs[name] | {"parameters": run.parameters} for name, run in runs}
    table = Table(
        "table-2",
        "Table 2. Learning statistics of the runs",
        [Column("System"), *COLUMNS.values()],
        [[name, *(found.get(key) for key in COLUMNS)] for name, found in known.items()],
        notes=[
            "NLL is the mean −log p(y | x) of a sentence, in nats: on the training data since the "
            "validation before, on the "
            "development data for the weights that the run selected. Hours count validation too.",
            *(
                f"{name} was not finished."
                for name, log in logs.items()
                if log and not log.get("ended_because")
            ),
        ],
        made=[f"{name}: {run.path / 'log' / 'statistics.json'}, {_ending(logs[name])}" for name, run in runs],
    )
    blocks: list[Block] = [table]
    curves = [_curve(name, place, log) for place, (name, log) in enumerate(logs.items())]
    curves = [curve for curve in curves if any(value is not None for value in curve.y)]
    if any(len(curve.x) > 1 for curve in curves):
        ends = (
            f"{curve.name} ends at {curve.y[-1]:.1f} after {curve.x[-1]:.1f} hours"
            for curve in curves
            if curve.y[-1] is not None
        )
        alt = f"Development BLEU of each run over its hours of training. {'; '.join(ends)}"
        figure = curve_figure(curves, "hours of training", "BLEU on the development set")
        picture = album.add(figure, "learning-curves", "Development BLEU while the runs were trained", alt)
        notes = ["Scores are from greedy search or a small beam, as each run's settings say."]
        blocks.append(Pictures("figure-learning", "Learning curves", [picture], notes=notes))
    return Section("learning", "Learning", blocks)


def _ending(log: dict[str, Any]) -> str:
    if not log:
        return "which is missing"
    return f"ended: {log['ended_because']}" if log.get("ended_because") else "not finished"


def _curve(name: str, place: int, log: dict[str, Any]) -> Curve:
    rows = log.get("validations", [])
    return Curve(name, place, [row["seconds"] / 3600 for row in rows], [row.get("dev_bleu") for row in rows])
