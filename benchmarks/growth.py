"""How the time of an update grows with the batch, the length, the vocabulary and the hidden units, against its arithmetic.

    python benchmarks/growth.py --threads 1 --out growth
    python benchmarks/growth.py --out growth --hidden 256 512 1000 2000 --precision float32

One axis at a time, the others staying at the middle point; synthetic sentences of one length, whole updates with Adadelta, medians. The
folder gets growth.json, growth.md and growth.png; points that growth.json has, measured under the same conditions, are not measured
again, so an interrupted run goes on. With the defaults it takes some minutes of one core.

Operations are those of the matrix products, counted and not measured. The exponent of an axis is the slope of log time over log operations,
by least squares: 1 where the time grows as the arithmetic does, less where small points are dominated by what does not grow, and more
only if something grows faster than the products.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnsearch.bench import bench_training, operations_of_update
from rnnsearch.config import Settings, load_config
from rnnsearch.drawing.curves import MARKERS, drawn_plainly, plain_axes
from rnnsearch.drawing.figures import save_figure
from rnnsearch.drawing.palette import DIM, RULE, SERIES
from rnnsearch.system.files import write_text
from rnnsearch.system.machine import hardware, set_up_cpu

AXES = {
    "batch": ("sentence pairs", [16, 40, 80, 160, 320]),
    "length": ("words per sentence", [10, 20, 35, 50, 100]),
    "words": ("words a vocabulary", [10_000, 20_000, 30_000, 50_000, 100_000]),
    "hidden": ("hidden units n, half of them in each direction of the encoder", [256, 512, 1000, 1500, 2000]),
}
MIDDLE = {"batch": 80, "length": 20, "words": 10_000, "hidden": 512}
OTHERS = {"embedding_size": 256, "alignment_size": 256, "maxout_size": 256}


def settings_of(point: dict[str, int], arguments: argparse.Namespace) -> Settings:
    model = {**OTHERS, "hidden_size": point["hidden"], "encoder_size": max(1, point["hidden"] // 2)}
    training = {"batch_size": point["batch"], "precision": arguments.precision, "threads": arguments.threads}
    return load_config("", [*(f"model.{k}={v}" for k, v in model.items()), *(f"training.{k}={v}" for k, v in training.items())])


def measured(point: dict[str, int], arguments: argparse.Namespace) -> dict[str, Any]:
    """The point, its operations and what an update takes."""
    settings = settings_of(point, arguments)
    sizes = {"words": point["words"], "length": point["length"]}
    operations = operations_of_update(settings, **sizes)
    result = bench_training(settings, **sizes, repetitions=arguments.updates)
    found = {"operations": operations, "parameters": result.parameters, "seconds": result.seconds}
    return {**point, **found, "words_per_second": result.words_per_second, "operations_per_second": operations / result.seconds}


def exponent(rows: list[dict[str, Any]]) -> float:
    """Of time over operations along one axis."""
    operations, seconds = (np.log([row[name] for row in rows]) for name in ("operations", "seconds"))
    return float(np.polyfit(operations, seconds, 1)[0]) if len(rows) > 1 else math.nan


def along(axis: str, rows: list[dict[str, Any]], middle: dict[str, int], values: list[int]) -> list[dict[str, Any]]:
    """The points of one axis, from small to large."""
    wanted = [middle | {axis: value} for value in sorted({*values, middle[axis]})]
    return [row for point in wanted for row in rows if all(row[name] == value for name, value in point.items())]


def markdown(conditions: dict[str, Any], rows: list[dict[str, Any]], axes: dict[str, list[int]], middle: dict[str, int]) -> str:
    middles = ", ".join(f"{name} {value:,}" for name, value in middle.items())
    text = [f"{conditions['hardware']}, torch {conditions['torch']}, {conditions['precision']}; middle point: {middles}.", ""]
    text += ["| axis | exponent of time over operations |", "|---|---|"]
    text += [f"| {axis} | {exponent(along(axis, rows, middle, values)):.2f} |" for axis, values in axes.items()]
    for axis, values in axes.items():
        text += [
            "",
            f"| {axis} ({AXES[axis][0]}) | GFLOP per update | seconds per update | target words/s | GFLOP/s |",
            "|---|---|---|---|---|",
        ]
        for row in along(axis, rows, middle, values):
            numbers = f"{row['operations'] / 1e9:,.1f} | {row['seconds']:.3f} | {row['words_per_second']:,.0f}"
            text.append(f"| {row[axis]:,} | {numbers} | {row['operations_per_second'] / 1e9:,.0f} |")
    return "\n".join(text) + "\n"


def plot(path: Path, conditions: dict[str, Any], rows: list[dict[str, Any]], axes: dict[str, list[int]], middle: dict[str, int]) -> None:
    """Seconds over operations, both logarithmic; the dashed line through the middle point grows as the arithmetic does."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    with drawn_plainly(11.0):
        figure = Figure(figsize=(7, 5), dpi=150, layout="tight")
        plane = figure.add_subplot(xscale="log", yscale="log")
        plain_axes(plane)
        plane.grid(axis="x", color=RULE, linewidth=0.8)
        for (axis, values), colour, marker in zip(axes.items(), SERIES, MARKERS, strict=False):
            points = along(axis, rows, middle, values)
            label = f"{axis} {points[0][axis]:,} … {points[-1][axis]:,}: exponent {exponent(points):.2f}"
            seconds = [row["seconds"] for row in points]
            plane.plot([row["operations"] / 1e9 for row in points], seconds, color=colour, marker=marker, label=label)
        (centre,) = along("batch", rows, middle, [middle["batch"]])
        ends = [min(row["operations"] for row in rows), max(row["operations"] for row in rows)]
        line = [centre["seconds"] * end / centre["operations"] for end in ends]
        plane.plot([end / 1e9 for end in ends], line, color=DIM, linestyle="--", linewidth=1, label="as the arithmetic: exponent 1")
        for scale in (plane.xaxis, plane.yaxis):
            scale.set_major_locator(LogLocator(subs=(1, 2, 5)))
            scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            scale.set_minor_locator(NullLocator())
        plane.set_xlabel("GFLOP of matrix products per update")
        plane.set_title(f"seconds per update ({conditions['hardware']}, {conditions['precision']})", loc="left", fontsize=11, color=DIM)
        plane.legend(frameon=False)
        save_figure(figure, path)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for axis, (meaning, values) in AXES.items():
        parser.add_argument(f"--{axis}", type=int, nargs="+", default=values, help=f"{meaning}; the middle point is measured as well")
        parser.add_argument(f"--middle-{axis}", type=int, default=MIDDLE[axis], metavar="N")
    parser.add_argument("--updates", type=int, default=3, help="of each point, after one that warms up")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("growth"), help="folder of the results")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    set_up_cpu(arguments.threads)
    axes = {axis: list(getattr(arguments, axis)) for axis in AXES}
    middle = {axis: int(getattr(arguments, f"middle_{axis}")) for axis in AXES}
    conditions = {"hardware": hardware("cpu"), "torch": torch.__version__, "precision": arguments.precision, "updates": arguments.updates}
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "growth.json"
    kept = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    rows = kept["rows"] if kept.get("conditions") == conditions else []
    points = [middle | {axis: value} for axis, values in axes.items() for value in [middle[axis], *values]]
    for point in [point for number, point in enumerate(points) if point not in points[:number]]:
        if any(all(row[name] == value for name, value in point.items()) for row in rows):
            continue
        rows.append(measured(point, arguments))
        print(", ".join(f"{name} {value:,}" for name, value in point.items()), f"{rows[-1]['seconds']:.3f} s", file=sys.stderr)
        write_text(results, json.dumps({"conditions": conditions, "rows": rows}, indent=2))
    table = markdown(conditions, rows, axes, middle)
    write_text(arguments.out / "growth.md", table)
    plot(arguments.out / "growth.png", conditions, rows, axes, middle)
    print(table, end="")


if __name__ == "__main__":
    main()
