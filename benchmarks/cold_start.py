"""How long the first translation of a new process takes, beside `import torch` alone.

    python benchmarks/cold_start.py en-fr --repeat 10

Both are run in turns, each in a process of its own, after one turn that only warms the disk's cache. The ratio of processor time is the one
that other work on the machine does not change much.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

SENTENCE = "The agreement on the European Economic Area was signed in August 1992.\n"


def timed(command: list[str]) -> tuple[float, float]:
    """(seconds by the clock, seconds of processor time) of a command that is given SENTENCE."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command, input=SENTENCE, encoding="utf-8", env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="a run, or the name of a model")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    commands = {
        "import torch": [sys.executable, "-c", "import torch"],
        "translate": [sys.executable, "-m", "rnnsearch", "translate", arguments.run, "--threads", "1", "--quiet"],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for turn in range(arguments.repeat + 1):
        for name, command in commands.items():
            found = timed(command)
            if turn:
                times[name].append(found)
    clock, busy = ({name: statistics.median(one[which] for one in found) for name, found in times.items()} for which in (0, 1))
    ratios = {"clock": clock["translate"] / clock["import torch"], "processor": busy["translate"] / busy["import torch"]}
    if arguments.json:
        print(json.dumps({"seconds": clock, "processor_seconds": busy, "ratio": ratios}))
        return
    for name in commands:
        print(f"{name:14} {clock[name]:6.2f} s, {busy[name]:6.2f} s of processor time (medians of {arguments.repeat})")
    print(f"ratio          {ratios['clock']:6.2f}    {ratios['processor']:6.2f}")


if __name__ == "__main__":
    main()
