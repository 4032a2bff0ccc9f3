"""Measures how the cost of the pipeline grows with the corpus: pairs per CPU second and peak memory
of `rnnsearch prepare`, `train`, `translate --out` and `align --out` on the first pairs of a corpus.

    python benchmarks/growth.py --source a.en.gz b.en --target a.fr.gz b.fr --run en-fr
    python benchmarks/growth.py --source a.en.gz --target a.fr.gz --sizes 10000 100000 --of train

Several files per side are concatenated. The operating system counts CPU seconds and memory of each
command, which has one thread. `prepare` and `train` are measured as a whole; `train` needs
`prepare`. `translate` and `align` read a file of the full size. They are stopped after some
--sentences of it; their CPU seconds count from the loaded model.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_pairs

BATCHES = {"translate": 64, "align": 256}  # sentences


def run(*words: object, partial: Path | None = None, limit: int = 0) -> tuple[float, float, int]:
    """Runs a command to its end, or until its partial file has `limit` sentences. Returns (CPU
    seconds, MiB, sentences in that file if it was stopped). Raises InputError if it fails."""
    command = [sys.executable, "-m", "rnnsearch", *map(str, words), "--quiet"]
    one_thread, begun, sentences = os.environ | {"OMP_NUM_THREADS": "1"}, 0.0, 0
    with Popen(command, env=one_thread, stdout=DEVNULL, stderr=PIPE, text=True) as child:
        while not (ended := os.wait4(child.pid, os.WNOHANG if partial else 0))[0]:
            time.sleep(0.05)
            with suppress(FileNotFoundError):  # it does not exist yet, or no longer
                if partial and not sentences:
                    lines = partial.read_bytes().count(b"\n")
                    begun = begun or cpu_seconds(child.pid)
                    if lines >= limit:
                        sentences = lines
                        child.terminate()
        child.returncode = os.waitstatus_to_exitcode(ended[1])
        said = child.stderr.read() if child.stderr else ""
    if child.returncode and not sentences:
        raise InputError(
            said.strip().rpartition("\n")[2] or f"{words[0]}: exit code {child.returncode}"
        )
    return ended[2].ru_utime + ended[2].ru_stime - begun, ended[2].ru_maxrss / 1024, sentences


def cpu_seconds(process: int) -> float:
    """Returns the CPU time of a running process so far."""
    stat = (
        Path(f"/proc/{process}/stat")
        .read_text(encoding="utf-8", errors="replace")
        .rpartition(")")[2]
    )
    return sum(map(int, stat.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def first_pairs(size: int, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yields the first pairs of all files."""
    return islice(chain.from_iterable(map(read_pairs, options.source, options.target)), size)


def measured(
    size: int, options: argparse.Namespace, folder: Path
) -> Iterator[tuple[str, int, float, float]]:
    """Yields (command, its pairs, CPU seconds, MiB) for each command on the first pairs of the
    corpus."""
    source, target, store, trained = (
        folder / name for name in ("source", "target", "store", "run")
    )
    with source.open("w", encoding="utf-8") as here, target.open("w", encoding="utf-8") as there:
        for pair in first_pairs(size, options):
            print(pair[0], file=here)
            print(pair[1], file=there)
    recipe, network = options.recipe, options.run or str(trained)
    if {"prepare", "train"} & set(options.of):
        how = ["--out", store, "--recipe", recipe, "--workers", 1]
        yield "prepare", size, *run("prepare", source, target, *how)[:2]
    if "train" in options.of:
        how = ["--set=training.threads=1", f"--set=stopping.max_updates={options.updates}"]
        pairs = options.updates * load_config(recipe).training.batch_size
        yield "train", pairs, *run("train", recipe, "--data", store, "--out", trained, *how)[:2]
    for command in (command for command in BATCHES if command in options.of):
        texts, partial = (
            [source, target][: 1 + (command == "align")],
            folder / f".{command}.partial",
        )
        batch = min(BATCHES[command], options.sentences)
        how = ["--out", folder / command, "--search.batch_size", batch, "--threads", 1]
        words = [command, network, *texts, *how]
        cpu, memory, sentences = run(*words, partial=partial, limit=options.sentences)
        yield f"{command} --out", sentences or size, cpu, memory


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add, of = parser.add_argument, ["prepare", "train", *BATCHES]
    add("--source", nargs="+", required=True, metavar="FILE", help="plain, .gz, .xz or .zst")
    add("--target", nargs="+", required=True, metavar="FILE", help="as many")
    add("--sizes", nargs="+", type=int, default=[10**4, 10**5, 10**6, 2 * 10**6], help="in pairs")
    add("--of", nargs="+", choices=of, default=of, help="commands; default: all")
    add("--recipe", default="multi30k", help="of prepare and train: a name or a TOML file")
    add("--run", help="run or model of translate and align; default: what train makes")
    add("--updates", type=int, default=100, help="of train")
    add("--sentences", type=int, default=4096, help="of translate and align")
    options = parser.parse_args()
    try:
        if len(options.source) != len(options.target):
            raise InputError("--source and --target need the same number of files")
        if min(*options.sizes, options.updates, options.sentences) < 1:
            raise InputError("--sizes, --updates and --sentences must be at least 1")
        if not options.run and "train" not in options.of and set(BATCHES) & set(options.of):
            raise InputError("translate and align need --run, or train among --of")
        load_config(options.recipe)
        if (found := sum(1 for _ in first_pairs(max(options.sizes), options))) < max(options.sizes):
            raise InputError(f"the corpus has {found:,} pairs", remedy="name smaller --sizes")
        print(
            "| pairs | command | measured | CPU seconds | pairs per CPU second | peak memory, MiB |"
        )
        print("|---" * 6 + "|", flush=True)
        for size in options.sizes:
            with tempfile.TemporaryDirectory() as folder:
                for name, pairs, cpu, memory in measured(size, options, Path(folder)):
                    figures = f"{pairs:,} | {cpu:,.1f} | {pairs / cpu:,.1f} | {memory:,.0f}"
                    print(f"| {size:,} | {name} | {figures} |", flush=True)
    except (InputError, OSError) as error:
        parser.exit(2, f"growth.py: {error}\n")


if __name__ == "__main__":
    main()
