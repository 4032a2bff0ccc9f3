"""Compares the speed of `rnnsearch bench` commands. They alternate, so that other work on the
machine slows all alike.

    python benchmarks/alternate.py --rounds 5 \\
        "rnnsearch bench train --recipe multi30k --words 4002 --threads 1" \\
        "torchrun --nproc-per-node 2 -m rnnsearch bench train --recipe multi30k --words 4002"

Each command is run once per round, and `--json` is added to it. Each round gives the ratio of every
speed to that of the first command; the median and the range over the rounds are printed. To measure
a code change, name the `rnnsearch` of two checkouts by their paths.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys


def words_per_second(command: str) -> float:
    """Returns the words per second that `bench` measures. If it fails, exits with its message."""
    done = subprocess.run(
        [*shlex.split(command), "--json"], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.returncode)
    return float(json.loads(done.stdout)["words_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--rounds", type=int, default=5)
    add("commands", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    rounds = [
        [words_per_second(command) for command in options.commands] for _ in range(options.rounds)
    ]
    for number, command in enumerate(options.commands):
        speeds = [one[number] for one in rounds]
        ratios = [one[number] / one[0] for one in rounds]
        print(
            f"{statistics.median(speeds):,.0f} words/s ({min(speeds):,.0f}–{max(speeds):,.0f}),"
            f" ratio {statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f}) "
            f" {command}"
        )


if __name__ == "__main__":
    main()
