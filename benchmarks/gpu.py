"""Compares results on a GPU with those on a CPU, and measures the speed on the GPU.

    python benchmarks/gpu.py --out gpu.jsonl                      # all but peers, below ten minutes
    python benchmarks/gpu.py --parts captured peers --limit 480   # CUDA graphs, other toolkits
    python benchmarks/gpu.py --parts model training --device cuda:1
    python benchmarks/gpu.py --device cpu --small --parts runs    # tries the code without a GPU

Each part is a process of its own with a time limit, so that a crash ends only that part. Every row
is written immediately, as a line of JSON. The table is printed at the end, also after Ctrl-C or
SIGTERM. Text is synthetic or built in; only the package is needed. The exit code is 1 if a check
failed or a part did not end well.

The part `peers` needs OpenNMT-py and JoeyNMT in the Python that runs it. To a machine that can
download nothing, bring 21 MB of wheels (for its version of Python, here 3.12). OpenNMT-py also
imports spacy and fasttext, but uses neither here, so that empty modules will do:

    pip download --no-deps --only-binary=:all: --python-version 3.12 -d wheels \\
        --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 joeynmt==2.3.0 \\
        OpenNMT-py==3.5.1 pyonmttok configargparse importlib-metadata subword-nmt rapidfuzz \\
        pyahocorasick
    pip install --no-index --no-deps --target site wheels/*.whl
    touch site/spacy.py site/fasttext.py; export PYTHONPATH=site

The paper's longest run on a GPU stands, prepared, in docs/how-to/speed.md.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

Row = dict[str, Any]

PARTS = {
    "machine": ("speed", 60),
    "model": ("values", 120),
    "training": ("values", 120),
    "search": ("values", 60),
    "updates": ("speed", 200),
    "translation": ("speed", 120),
    "runs": ("runs", 150),
    "waits": ("speed", 60),
    "profile": ("speed", 60),
    "captured": ("captured", 240),
    "peers": ("captured", 270),
}
"""Part → its module in gpu_parts, and its time limit in seconds. The most important come first."""


def run_part(name: str, options: argparse.Namespace) -> None:
    """Runs a part in this process."""
    from gpu_parts.common import Options

    from rnnsearch.system.machine import set_up_cpu, usable_device

    def write(row: Row) -> None:
        verdicts: dict[Any, str] = {True: "ok", False: "DIFFERS"}
        state = row.get("error") or verdicts.get(row.get("ok"), "")
        print(f"{name}: {row['what']}  {state}", file=sys.stderr, flush=True)
        with options.out.open("a", encoding="utf-8") as file:
            print(json.dumps({"part": name} | row), file=file)

    set_up_cpu(1 if options.small else 0)
    usable_device(options.device)
    import_module(f"gpu_parts.{PARTS[name][0]}").PARTS[name](
        Options(options.device, options.small), write
    )


def state_after(command: Sequence[str], limit: float) -> str:
    """Runs a process for at most `limit` seconds. Returns "done" or, in words, why it did not end
    well."""
    try:
        code = subprocess.run(command, check=False, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        return f"out of time after {limit:.0f} s"
    return (
        f"ended by {signal.Signals(-code).name}"
        if code < 0
        else f"exit code {code}"
        if code
        else "done"
    )


def failures(states: dict[str, str], rows: Sequence[Row]) -> list[str]:
    """Returns a line for each part that did not end well, each check that failed and each row with
    an error."""
    found = [f"{name}: {state}" for name, state in states.items() if state != "done"]
    for row in rows:
        if "error" in row:
            found.append(f"{row['part']}: {row['what']}: {row['error']}")
        elif row.get("ok") is False:
            difference = (
                f": {row['difference']:.3g}, at most {row['limit']:.3g}"
                if "difference" in row
                else ""
            )
            found.append(f"{row['part']}: {row['what']}{difference}")
    return found


def table(states: dict[str, str], rows: Sequence[Row]) -> str:
    """Returns, in Markdown, how many checks of each part hold, their largest difference, the
    speeds, and every failure."""
    lines = [
        "| part | state | checks | hold | largest difference over its limit |",
        "|---|---|---|---|---|",
    ]
    for name, state in states.items():
        checks = [row for row in rows if row["part"] == name and ("ok" in row or "error" in row)]
        worst = max(
            (row["difference"] / row["limit"] for row in checks if "difference" in row), default=0.0
        )
        hold = sum(row.get("ok", False) for row in checks)
        lines.append(f"| {name} | {state} | {len(checks)} | {hold} | {worst:.2g} |")
    lines += ["", "| measurement | figures |", "|---|---|"]
    for row in rows:
        if "ok" not in row and "error" not in row:
            figures = {name: value for name, value in row.items() if name not in ("part", "what")}
            shown = (
                f"{name} {f'{value:.4g}' if isinstance(value, float) else value}"
                for name, value in figures.items()
            )
            lines.append(f"| {row['part']}: {row['what']} | {'; '.join(shown)} |")
    return "\n".join([*lines, "", *(failures(states, rows) or ["Everything that ran holds."])])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--device", default="cuda", help="cuda, cuda:N or cpu")
    add("--small", action="store_true", help="sizes for a CPU: seconds for each part")
    every = [name for name in PARTS if name != "peers"]
    add("--parts", nargs="+", choices=PARTS, default=every, help="default: all but peers")
    add("--limit", type=float, default=570.0, help="seconds for all parts together")
    add("--out", type=Path, default=Path("gpu.jsonl"), help="file of the rows")
    add("--one-part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_part:
        run_part(options.one_part, options)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.out.write_text("", encoding="utf-8")
    ends, states, rows = (
        time.monotonic() + options.limit,
        dict.fromkeys(options.parts, "not run"),
        [],
    )
    try:
        for name in options.parts:
            limit = min(PARTS[name][1], ends - time.monotonic())
            if limit < 1:
                break
            command = [sys.executable, __file__, *sys.argv[1:], "--one-part", name]
            states[name] = "interrupted"
            states[name] = state_after(command, limit)
    finally:
        written = options.out.read_text(encoding="utf-8").splitlines(keepends=True)
        rows = [
            json.loads(line) for line in written if line.endswith("}\n")
        ]  # the last row of a killed part may be incomplete
        print(table(states, rows), flush=True)
    sys.exit(1 if failures(states, rows) else 0)


if __name__ == "__main__":
    main()
