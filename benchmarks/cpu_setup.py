"""What each choice of the processor's set-up brings to training, in time and in memory.

    python benchmarks/cpu_setup.py
    python benchmarks/cpu_setup.py --recipe rnnsearch-30 --words 30002 --updates 20

The same updates on synthetic sentences of many lengths, each batch of another one, as real batches are; each form in a process of its own,
in turn, several times. Printed, medians over processes: an update's CPU time, what of it the system took, page faults, and
the process's peak memory. The forms are:

    as it is             `set_up_cpu` as training calls it
    memory given back    the C library's own thresholds: a large tensor that is freed goes back to the system
    1,024 shapes kept    the default of oneDNN's and torch's caches of products
    huge pages           as it is, and tensors of 2 MiB and more on huge pages (THP_MEM_ALLOC_ENABLE of torch)
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from unittest.mock import patch

from rnnsearch.bench import random_ids, trained
from rnnsearch.config import load_config
from rnnsearch.system.machine import SHAPES_KEPT, hardware
from rnnsearch.text.store.batches import Batch

AS_IT_IS = "as it is"
GIVEN_BACK = "memory given back"
ENVIRONMENT = {
    AS_IT_IS: {},
    GIVEN_BACK: {},
    "1,024 shapes kept": dict.fromkeys(SHAPES_KEPT, "1024"),
    "huge pages": {"THP_MEM_ALLOC_ENABLE": "1"},
}
WARMING_UP = 2


def measured(arguments: argparse.Namespace, form: str) -> dict[str, float]:
    """Of this process, once it is set up as the form says."""
    settings = load_config(arguments.recipe, [*arguments.set, "training.threads=1", f"training.precision={arguments.precision}"])
    with patch.object(platform, "libc_ver", lambda: ("", "")) if form == GIVEN_BACK else nullcontext():
        trainer, _ = trained(settings, arguments.words, 1)
    spent = []
    for update in range(1, WARMING_UP + arguments.updates + 1):
        length = 5 + 37 * update % arguments.longest
        ids, lengths = random_ids(settings.training.batch_size, length, arguments.words)
        begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF)
        trainer.update([Batch(ids, lengths, ids.flip(0), lengths)], update)
        after = resource.getrusage(resource.RUSAGE_SELF)
        spent.append((time.process_time() - begun, after.ru_stime - before.ru_stime, after.ru_minflt - before.ru_minflt))
    seconds, system, faults = (sum(column) / arguments.updates for column in zip(*spent[WARMING_UP:], strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return {"seconds": seconds, "system_seconds": system, "page_faults": faults, "peak_memory": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="multi30k")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--words", type=int, default=10_002, help="K of each side")
    parser.add_argument("--longest", type=int, default=40, help="words of a sentence, about")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--form", choices=ENVIRONMENT, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.form:
        print(json.dumps(measured(arguments, arguments.form)))
        return
    found: dict[str, list[dict[str, float]]] = {form: [] for form in ENVIRONMENT}
    for _ in range(arguments.rounds):
        for form, environment in ENVIRONMENT.items():
            command = [sys.executable, *sys.argv, "--form", form]
            done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, check=True)
            found[form].append(json.loads(done.stdout.decode().splitlines()[-1]))
    medians = {form: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for form, runs in found.items()}
    if arguments.json:
        print(json.dumps({"hardware": hardware("cpu"), "forms": medians}, indent=2))
        return
    print("| form | CPU time of an update | of it in the system | page faults | peak memory |\n|---|---|---|---|---|")
    for form, row in medians.items():
        ratio = row["seconds"] / medians[AS_IT_IS]["seconds"]
        time_spent = f"{row['seconds']:.3f} s ({ratio:.2f} ×) | {row['system_seconds']:.3f} s"
        print(f"| {form} | {time_spent} | {row['page_faults']:,.0f} | {row['peak_memory'] / 2**20:,.0f} MiB |")


if __name__ == "__main__":
    main()
