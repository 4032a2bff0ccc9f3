"""What it brings that products of a search have few numbers of rows (model/padded_rows.py): real sentences, which end one after another.

    python benchmarks/padded_rows.py en-fr newstest2012.en --lines 300
    python benchmarks/padded_rows.py en-fr test.en test.fr        # alignment posteriors of given pairs

Processes take turns, each with its own kernels: as it is, and with every product of just its rows. Printed: CPU seconds without loading,
medians over --rounds, and their ratio. `bench` cannot show this: its sentences have one length and end together.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from itertools import islice

from rnnsearch.model import padded_rows
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.translation.translator import Translator

FORMS = ("as it is", "just its rows")


def measured(arguments: argparse.Namespace) -> float:
    """CPU seconds of this process's form."""
    if arguments.form == FORMS[1]:
        padded_rows.STEPS.clear()
        padded_rows.STEPS[sys.maxsize] = 1
    set_up_cpu(1)
    translator = Translator.load(arguments.run)
    lines = list(islice(read_lines(arguments.text[0]), arguments.lines))
    begun = time.process_time()
    if len(arguments.text) == 2:
        pairs = list(islice(read_pairs(*arguments.text), arguments.lines))
        list(translator.force(pairs, 256, posterior=True, scored=False))
    else:
        translator.translate(lines, **({"precision": arguments.precision} if arguments.precision else {}))
    return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("text", nargs="+", help="a source text; with its translation, given pairs are aligned")
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--precision", help="of the search; default: the run's own")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--form", choices=FORMS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.form:
        print(json.dumps(measured(arguments)))
        return
    seconds: dict[str, list[float]] = {form: [] for form in FORMS}
    for _ in range(arguments.rounds):
        for form in FORMS:
            done = subprocess.run([sys.executable, *sys.argv, "--form", form], stdout=subprocess.PIPE, check=True)
            seconds[form].append(json.loads(done.stdout))
    padded, plain = (statistics.median(seconds[form]) for form in FORMS)
    print(f"{hardware('cpu')}: {padded:.2f} s {FORMS[0]}, {plain:.2f} s with {FORMS[1]} ({plain / padded:.2f} ×), {arguments.lines} lines")


if __name__ == "__main__":
    main()
