"""Measures how long the first translation of a new process takes, compared with `import torch`
alone.

    python benchmarks/cold_start.py en-fr --repeat 10

Both alternate, each in a process of its own, after one round that only warms the disk's cache.
Other work on the machine hardly changes the ratio of CPU times.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time

import numpy as np

SENTENCE = "The agreement on the European Economic Area was signed in August 1992.\n"


def timed(command: list[str]) -> tuple[float, float]:
    """Returns (seconds, seconds of CPU time) of a command that is given SENTENCE."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(
        command,
        input=SENTENCE,
        encoding="utf-8",
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        time.monotonic() - begun,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("run", help="a run, or the name of a model")
    add("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    commands = {
        "import torch": ["-c", "import torch"],
        "translate": ["-m", "rnnsearch", "translate", arguments.run, "--threads", "1", "--quiet"],
    }
    turns = [
        [timed([sys.executable, *words]) for words in commands.values()]
        for _ in range(arguments.repeat + 1)
    ]
    medians = np.median(turns[1:], axis=0)
    for name, (seconds, busy) in zip(commands, medians, strict=True):
        print(
            f"{name:14} {seconds:6.2f} s, {busy:6.2f} s of CPU time (medians of {arguments.repeat})"
        )
    seconds, busy = medians[1] / medians[0]
    print(f"ratio          {seconds:6.2f}    {busy:6.2f}")


if __name__ == "__main__":
    main()
