"""Speed and memory of `rnnsearch prepare` against a plain sacremoses loop over both sides, in the same run.

    python benchmarks/prepare.py train.en.gz train.fr.gz --copies 10

The loop runs in one process over the first pairs, one half of them before `prepare` and the other after it; `prepare` reads all of the
text, as many times over as there are copies. The ratio of processor time is the one that other work on the machine does not change much.
Memory is the sum of the resident sets of all processes of `prepare`, looked at ten times per second: what they share counts several times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rnnsearch.text.formats.readers import Layout, parallel_texts


class Measured(NamedTuple):
    """seconds: of the whole command. busy: seconds of processor time of all its processes. peak: bytes."""

    seconds: float
    busy: float
    peak: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--copies", type=int, default=1, help="how many times the text is read, as so many corpora")
    parser.add_argument("--workers", type=int, default=0, help="as of prepare; 0 = as many as there are cores")
    parser.add_argument("--loop-pairs", type=int, default=40_000, help="pairs of the plain loop")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="passed on to prepare")
    parser.add_argument("--folder", type=Path, default=None, help="where the store is made and removed again (default: the system's)")
    arguments = parser.parse_args()
    (text,) = parallel_texts([arguments.source, arguments.target], layout=Layout("lines"))
    pairs = list(itertools.islice(text.pairs(), arguments.loop_pairs))
    half = len(pairs) // 2
    seconds, busy = loop(pairs[:half])
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        store = Path(folder) / "store"
        command = [sys.executable, "-m", "rnnsearch", "prepare", *[arguments.source, arguments.target] * arguments.copies]
        settings = [word for change in arguments.set for word in ("--set", change)]
        measured = watched([*command, "--out", str(store), "--workers", str(arguments.workers), *settings])
        report = json.loads((store / "report.json").read_text(encoding="utf-8"))
        size = sum(path.stat().st_size for path in store.iterdir())
    more, more_busy = loop(pairs[half:])
    seconds, busy = seconds + more, busy + more_busy
    plain, ours = len(pairs) / seconds, report["pairs_read"] / measured.seconds
    print(f"plain loop   {plain:10,.0f} pairs/s, one process, {len(pairs):,} pairs")
    print(f"prepare      {ours:10,.0f} pairs/s, {report['pairs_read']:,} pairs in {measured.seconds:.1f} s")
    print(f"ratio        {ours / plain:10.2f}")
    print(f"  per core   {report['pairs_read'] / measured.busy / (len(pairs) / busy):10.2f} (processor time: {measured.busy:.1f} s)")
    print(f"peak memory  {measured.peak / 2**20:10,.0f} MiB, all processes")
    print(f"store        {size / 2**20:10,.0f} MiB, {report['source']['words'] + report['target']['words']:,} words on both sides")


def loop(pairs: list[tuple[str, str]]) -> tuple[float, float]:
    """Seconds of sacremoses alone, and of processor time."""
    from sacremoses import MosesTokenizer

    tokenisers = MosesTokenizer("en"), MosesTokenizer("fr")
    for tokeniser in tokenisers:
        tokeniser.tokenize("What is loaded at the first call is not counted.", escape=False)
    start, busy = time.perf_counter(), time.process_time()
    for pair in pairs:
        for tokeniser, line in zip(tokenisers, pair, strict=True):
            tokeniser.tokenize(line, escape=False)
    return time.perf_counter() - start, time.process_time() - busy


def watched(command: list[str]) -> Measured:
    """Runs a command; its standard output is dropped."""
    start, peak = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(0.1)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Measured(time.perf_counter() - start, used.ru_utime + used.ru_stime, peak)


def family(process: int) -> list[int]:
    """The process, its children, theirs, and so on."""
    found = [process]
    for one in found:
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended
            continue
    return found


def resident(process: int) -> int:
    """Bytes in memory."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
