"""Compares what rnnsearch computes on a GPU with what it computes on a CPU, and measures how fast it is
there.

    python benchmarks/gpu.py --out gpu.json                       # all parts, below ten minutes
    python benchmarks/gpu.py --parts model training --device cuda:1
    python benchmarks/gpu.py --device cpu --small --parts runs    # tries the code where there is no GPU

Each part is a process of its own with a time limit, so that a crash ends only that part. The JSON file is
written again after every row. The table is printed at the end, also after Ctrl-C or SIGTERM. Text is
synthetic or built in; only the package is needed. The exit code is 1 if a check failed or a part did not end
well.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]


class Part(NamedTuple):
    """module: of gpu_parts. limit: seconds."""

    module: str
    limit: float


PARTS = {
    "machine": Part("speed", 60),
    "model": Part("values", 120),
    "training": Part("values", 120),
    "search": Part("values", 60),
    "updates": Part("speed", 200),
    "translation": Part("speed", 120),
    "runs": Part("runs", 150),
    "waits": Part("speed", 60),
    "profile": Part("speed", 60),
}
"""In the order in which they run: what is needed most comes first."""


def run_part(name: str, arguments: argparse.Namespace) -> None:
    """Runs a part in this process, which is its own, and prints each row as a line of JSON."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from importlib import import_module

    from gpu_parts.common import Options

    from rnnsearch.system.machine import set_up_cpu, usable_device

    rows = os.fdopen(os.dup(1), "w", encoding="utf-8")  # whatever else is printed goes to the standard error
    os.dup2(2, 1)

    def write(row: Row) -> None:
        print(f"{name}: {_progress(row)}", file=sys.stderr, flush=True)
        print(json.dumps(row), file=rows, flush=True)

    set_up_cpu(1 if arguments.small else 0)
    usable_device(arguments.device)
    batches = (2,) if arguments.small else tuple(arguments.batches)
    length = 3 if arguments.small else arguments.length
    repetitions = 1 if arguments.small else arguments.repetitions
    options = Options(arguments.device, arguments.small, batches, arguments.words, length, repetitions)
    import_module(f"gpu_parts.{PARTS[name].module}").PARTS[name](options, write)


def _end_with_parent() -> None:
    """Ends this process when its standard input closes: with its parent, however that ends."""
    sys.stdin.read()
    os._exit(1)


def _progress(row: Row) -> str:
    if "error" in row:
        return f"{row['what']}: {row['error']}"
    state = {True: "ok", False: "DIFFERS"}.get(row.get("ok"), "")
    return f"{row['what']}  {state}".rstrip()


def isolated(command: Sequence[str], limit: float, took: Callable[[Row], None]) -> str:
    """Runs a process whose every line of output is a row, which is passed on at once. Returns "" or, in
    words, why it did not end well.

    Its last line on the standard error, all of which is shown, is taken for the reason.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    last = [""]

    def show(stream: Any) -> None:
        for line in stream:
            sys.stderr.write(line)
            last[0] = line.strip() or last[0]

    expired = threading.Event()
    timer = threading.Timer(limit, lambda: (expired.set(), process.kill()))
    shower = threading.Thread(target=show, args=(process.stderr,), daemon=True)
    timer.start()
    shower.start()
    try:
        for line in process.stdout:
            took(json.loads(line))
        code = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        shower.join(5)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
    if expired.is_set():
        return f"out of time after {limit:.0f} s"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}: {last[0]}"
    return f"{last[0][:400]} (exit code {code})" if code else ""


def measure(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """Fills `result` part by part, and writes it to the file after every row."""
    ends = time.monotonic() + arguments.limit
    path = Path(arguments.out)

    def keep() -> None:
        temporary = path.with_name(path.name + ".part")
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)

    for name in arguments.parts:
        limit = min(arguments.part_limit or PARTS[name].limit, ends - time.monotonic())
        part: dict[str, Any] = {"state": "running", "rows": []}
        result["parts"][name] = part
        if limit < 1:
            part["state"] = "not run: no time was left"
            keep()
            continue

        def took(row: Row, rows: list[Row] = part["rows"]) -> None:
            rows.append(row)
            keep()

        keep()
        started = time.monotonic()
        fault = isolated([sys.executable, __file__, *arguments.passed_on, "--one-part", name], limit, took)
        part["seconds"] = round(time.monotonic() - started, 1)
        part["state"] = f"failed: {fault}" if fault else "done"
        keep()


def failures(result: dict[str, Any]) -> list[str]:
    """Returns a line for each check that failed, each row with an error, and each part that did not end
    well."""
    found = []
    for name, part in result["parts"].items():
        if part["state"] != "done":
            found.append(f"{name}: {part['state']}")
        for row in part["rows"]:
            if "error" in row:
                found.append(f"{name}: {row['what']}: {row['error']}")
            elif row.get("ok") is False:
                difference = (
                    f": {row['difference']:.3g}, at most {row['limit']:.3g}" if "difference" in row else ""
                )
                found.append(f"{name}: {row['what']}{difference}")
    return found


def table(result: dict[str, Any]) -> str:
    """Returns, in Markdown, how many checks of each part hold, their largest difference, the speeds, and
    every failure."""
    lines = [
        "| part | state | seconds | checks | hold | largest difference over its limit |",
        "|---|---|---|---|---|---|",
    ]
    for name, part in result["parts"].items():
        checks = [row for row in part["rows"] if "ok" in row or "error" in row]
        ratios = [row["difference"] / row["limit"] for row in checks if "difference" in row]
        worst = f"{max(ratios):.2g}" if ratios else "–"
        hold = sum(row.get("ok", False) for row in checks)
        lines.append(
            f"| {name} | {part['state']} | {part.get('seconds', '–')} | {len(checks)} | {hold} | {worst} |"
        )
    for name, part in result["parts"].items():
        figures = [row for row in part["rows"] if "ok" not in row and "error" not in row]
        if figures:
            lines += [
                "",
                f"| {name} | |",
                "|---|---|",
                *(f"| {row['what']} | {_figures(row)} |" for row in figures),
            ]
    bad = failures(result)
    return "\n".join([*lines, "", *(bad or ["Everything that ran holds."])])


UNITS = {
    "operations/s": (1e12, "TFLOP/s"),
    "bytes/s": (1e9, "GB/s"),
    "peak memory": (2**30, "GiB"),
    "memory": (2**30, "GiB"),
    "seconds each": (1e-6, "µs"),
    "operations": (1e12, "TFLOP"),
}


def _figures(row: Row) -> str:
    shown = []
    for name, value in row.items():
        if name == "what" or isinstance(value, dict | list):
            continue
        if name in UNITS:
            size, unit = UNITS[name]
            shown.append(f"{name} {value / size:,.4g} {unit}")
        elif "share" in name:
            shown.append(f"{name} {value:.1%}")
        else:
            shown.append(f"{name} {value:,.4g}" if isinstance(value, float) else f"{name} {value}")
    for name in ("places", "largest"):
        shown += [f"{place}: {_brief(value)}" for place, value in row.get(name, {}).items()]
    return "; ".join(shown)


def _brief(value: Any) -> str:
    return f"{1e3 * value['seconds']:.3g} ms in {value['calls']}" if isinstance(value, dict) else str(value)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu")
    parser.add_argument(
        "--small", action="store_true", help="sizes with which every part takes seconds on a CPU"
    )
    parser.add_argument("--batches", type=int, nargs="+", default=[80, 320, 1280], help="pairs of an update")
    parser.add_argument("--words", type=int, default=30_000, help="K of each side")
    parser.add_argument("--length", type=int, default=25, help="words of a sentence, where speed is measured")
    parser.add_argument(
        "--repetitions", type=int, default=10, help="updates that are timed, after those that warm up"
    )
    parser.add_argument("--one-part", choices=PARTS, help=argparse.SUPPRESS)
    of_all = parser.add_argument_group("of the parts together")
    of_all.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        metavar="PART",
        help=f"of {', '.join(PARTS)}; all",
    )
    of_all.add_argument("--limit", type=float, default=570.0, help="seconds for all parts together")
    of_all.add_argument("--part-limit", type=float, help="seconds for each part; by default each has its own")
    of_all.add_argument("--out", default="gpu.json", help="JSON file")
    arguments = parser.parse_args(words)
    names = ("device", "words", "length", "repetitions")
    arguments.passed_on = [word for name in names for word in (f"--{name}", str(getattr(arguments, name)))]
    arguments.passed_on += [
        "--batches",
        *map(str, arguments.batches),
        *(["--small"] if arguments.small else []),
    ]
    return arguments


def main() -> None:
    arguments = parsed(sys.argv[1:])
    if arguments.one_part:
        run_part(arguments.one_part, arguments)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    command = ["gpu.py", *arguments.passed_on]
    result: dict[str, Any] = {
        "command": command,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "parts": {},
    }
    try:
        measure(arguments, result)
    finally:
        print(table(result), flush=True)
    sys.exit(1 if failures(result) else 0)


if __name__ == "__main__":
    main()
