"""Compares the service with the same model in this process.

    python benchmarks/serving.py RUN --text news.en --clients 256 --requests 1200

Starts `rnnsearch serve` with one thread per worker, sends it sentences from many clients at once,
and translates the same sentences here. Prints the words per second of both and the clients' waiting
times. Fails if a request is not answered with status 200, or if an answer is not the translation
that is made here. The clients need a core beside those of the service.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import httpx2
import numpy as np

from rnnsearch import Translator
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.text.formats.lines import read_lines

ROUNDING = 0.01
"""Largest difference, per word, between the scores of two translations of a sentence: other
sentences of its batch change the rounding."""


@contextmanager
def service(run: str, workers: int, log: Path) -> Iterator[str]:
    """Yields the address of a service of the run, which ends afterwards."""
    options = [
        "--port=0",
        "--threads=1",
        f"--workers={workers}",
        "--max-queue=100000",
    ]
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "rnnsearch", "serve", run, *options], stderr=file
        )
    try:
        while not (found := re.search(r" at (http://[\w.]+:\d+)", log.read_text())):
            if process.poll() is not None:
                sys.exit(f"the service did not begin: {log.read_text()}")
            time.sleep(0.1)
        yield found[1]
    finally:
        process.terminate()
        process.wait(90)


async def ask(address: str, lines: list[str], clients: int) -> tuple[list[float], list[float]]:
    """Returns the score of each line's translation, and the seconds that its client waited."""
    scores, seconds, waiting = [0.0] * len(lines), [0.0] * len(lines), iter(enumerate(lines))

    async def client() -> None:
        async with httpx2.AsyncClient(timeout=None, trust_env=False) as connection:
            for place, line in waiting:
                begun = time.perf_counter()
                answer = await connection.post(f"{address}/v1/translate", json={"text": line})
                answer.raise_for_status()
                seconds[place] = time.perf_counter() - begun
                sentences = answer.json()["translations"][0]["sentences"]
                scores[place] = sum(one["hypotheses"][0]["score"] for one in sentences)

    await asyncio.gather(*(client() for _ in range(clients)))
    return scores, seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("run")
    add("--text", type=Path, required=True, help="sentences, one on each line")
    add("--clients", type=int, default=256)
    add("--requests", type=int, default=1_200)
    add("--workers", type=int, default=1)
    options = parser.parse_args()
    set_up_cpu(1)
    lines = list(islice(cycle(filter(str.strip, read_lines(options.text))), options.requests))
    translator = Translator.load(options.run)
    translator.translate(lines[:64])  # warms up
    begun = time.perf_counter()
    expected = translator.translate(lines)
    here, words = time.perf_counter() - begun, sum(len(one.tokens) for one in expected)
    with (
        tempfile.TemporaryDirectory() as folder,
        service(options.run, options.workers, Path(folder) / "log") as address,
    ):
        asyncio.run(ask(address, lines[:64], 64))
        begun = time.perf_counter()
        scores, seconds = asyncio.run(ask(address, lines, options.clients))
        there = time.perf_counter() - begun
    ranks = ", ".join(f"p{rank} {np.percentile(seconds, rank):.2f} s" for rank in (50, 95, 99))
    print(
        f"{hardware('cpu')}; {len(lines)} requests, {options.clients} clients, "
        f"beam {translator.settings.search.beam}"
    )
    print(f"here    {words / here:8,.0f} words/s")
    print(f"service {words / there:8,.0f} words/s, ratio {here / there:.2f}; waits: {ranks}")
    pairs = zip(scores, expected, strict=True)
    if wrong := sum(
        abs(score - one.score) > ROUNDING * (len(one.tokens) + 1) for score, one in pairs
    ):
        sys.exit(f"{wrong} answers are not the translations that are made here")


if __name__ == "__main__":
    main()
