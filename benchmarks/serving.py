"""Compares the service with the same model in this process: latency, throughput, a thousand clients, memory,
and a killed worker.

    python benchmarks/serving.py RUN --text news.en --out serving.json
    python benchmarks/serving.py RUN --text news.en --parts lone saturated
    python benchmarks/serving.py RUN --text news.en --clients 1000 --seconds 120 --parts load kill

It starts `rnnsearch serve` on this machine, in processes of its own, with as many threads as it uses itself
(`--threads`, 1). The clients are coroutines of this process, which needs a core beside those of the service.
Without a text, they send sentences of the built-in corpus.

lone: one client. Each sentence is translated here and by the service in turn; the result is the ratio of the
times.
saturated: many clients with a sentence each, compared with `Translator.translate` of the same sentences here.
The results are the ratio of words per second, and that of the CPU times, which other work on the machine
changes less; the service's CPU time includes HTTP.
load: many clients for a while, with texts of several lengths. Each text ends in white space that encodes a
number, and the translation must end in the same white space. The only allowed responses are 200, and 503 with
Retry-After.
memory: resident memory of the service after the first tenth of the requests, and after all of them.
kill: two workers under load, one of which is killed with -9. A client that loses its connection retries, and
must get its answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import numpy as np

from rnnsearch.builtin.corpus import write
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.translation.languages import split
from rnnsearch.translation.translator import Translator

CLIENTS = 256
"""Number of clients that keep the service busy."""
BITS = 24
"""Number of bits of a key, which is written as spaces and tabs."""
ROUNDING = 0.01
"""Largest difference, per word, between the scores of two translations of a sentence: other sentences of its
batch change the rounding."""
TRIES = 20
"""Maximum attempts for a request whose connection is lost."""


class Service:
    """`rnnsearch serve` in processes of its own."""

    def __init__(self, process: int, url: str) -> None:
        self.process, self.url = process, f"{url}/v1/translate"

    def processes(self) -> list[int]:
        """Returns the processes that have models in memory."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        workers = [one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
        return [*map(int, workers)] or [self.process]

    def two_workers(self) -> list[int]:
        """Waits at most a minute until there are two processes, and returns them."""
        latest = time.monotonic() + 60
        while len(found := self.processes()) < 2 and time.monotonic() < latest:
            time.sleep(0.1)
        return found

    def megabytes(self) -> float:
        """Returns the resident memory of these processes."""
        pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in self.processes())
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)

    def cpu_seconds(self) -> float:
        """Returns the CPU time of these processes so far."""
        stats = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2] for one in self.processes()]
        return sum(int(ticks) for stat in stats for ticks in stat.split()[11:13]) / os.sysconf("SC_CLK_TCK")


@contextmanager
def service(options: argparse.Namespace, workers: int = 1) -> Iterator[Service]:
    """Yields the service of a run. Its log is next to the results."""
    log = options.out.with_suffix(".log")
    words = [
        "serve",
        f"bench={options.run}",
        "--port=0",
        f"--threads={options.threads}",
        f"--workers={workers}",
        "--max-requests=100000",  # all clients have one address
    ]
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "rnnsearch", *words], stderr=file)
    try:
        while not (found := re.search(r" at (http://[\w.]+:\d+)", log.read_text())):
            if process.poll() is not None:
                raise SystemExit(f"the service did not begin: {log.read_text()}")
            time.sleep(0.1)
        yield Service(process.pid, found[1])
    finally:
        process.terminate()
        code = process.wait(90)
    if code:
        raise SystemExit(f"the service ended with code {code}")


def until(seconds: float) -> Callable[[], bool]:
    latest = time.perf_counter() + seconds
    return lambda: time.perf_counter() < latest


def so_many(number: int) -> Callable[[], bool]:
    left = iter(range(number))
    return lambda: next(left, None) is not None


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{rank}": round(float(np.percentile(seconds, rank)), 4) for rank in (50, 95, 99) if seconds}


class Bench:
    """The parts of the measurement, with their model and sentences."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.translator = options, Translator.load(options.run)
        if options.text is None:
            corpus = options.out.with_suffix(".corpus")
            write(corpus, 400, 20)
            options.text = corpus / "train.en"
        lines = dict.fromkeys(line.strip() for line in read_lines(options.text) if line.strip())
        self.lines = [line for line in lines if split(line, "en").sentences == [line]][:1000]
        """Distinct lines that the service does not split into sentences."""
        self.expected = self.translator.translate(self.lines)

    def fault(self, place: int, tail: str, answer: Any) -> str:
        """Returns the fault of an answer; "" if it belongs to its request. tail: the white space at the
        end."""
        (text,) = answer["translations"]
        (sentence,) = text["sentences"]
        line, expected, best = self.lines[place], self.expected[place], sentence["hypotheses"][0]
        if not text["text"].endswith(tail):
            return "the key of another request came back"
        if (sentence["source"], sentence["source_tokens"]) != (line, expected.source_tokens):
            return "the sentence of another request came back"
        near = abs(best["score"] - expected.score) <= ROUNDING * max(len(best["log_probabilities"]), 1)
        if best["text"] != expected.text and not near:
            found, wanted = f"{best['text']!r} ({best['score']})", f"{expected.text!r} ({expected.score:.5f})"
            return f"another translation: {found}, not {wanted}"
        return ""

    async def asked(
        self, at: Service, number: int, wanted: Callable[[], bool], patient: bool = False
    ) -> dict[str, Any]:
        """Lets `number` clients send requests while `wanted` returns True, and returns statistics. patient:
        whether they repeat a request whose connection is lost."""
        counts: Counter[str] = Counter()
        seconds: list[float] = []
        faults: list[str] = []
        keys = count()

        async def send(client: httpx2.AsyncClient, key: int) -> None:
            """Sends a text that ends in unique white space, which the service keeps."""
            place, tail = key * 7919 % len(self.lines), "\n"
            tail += "".join(" \t"[key >> bit & 1] for bit in range(BITS))
            for tried in range(TRIES):
                begun = time.perf_counter()
                try:
                    answer = await client.post(at.url, json={"text": self.lines[place] + tail})
                    break
                except httpx2.TransportError as error:
                    counts["lost"] += 1
                    if not patient or tried == TRIES - 1:
                        return faults.append(f"a connection was lost: {error!r}")
                    await asyncio.sleep(0.1 * (tried + 1))
            counts[str(answer.status_code)] += 1
            if answer.status_code == 200:
                seconds.append(time.perf_counter() - begun)
                counts["answered again"] += tried > 0
                best = answer.json()["translations"][0]["sentences"][0]["hypotheses"][0]
                counts["words"] += len(best["tokens"])
                if wrong := self.fault(place, tail, answer.json()):
                    faults.append(wrong)
            elif answer.status_code == 503 and "retry-after" in answer.headers:
                await asyncio.sleep(float(answer.headers["retry-after"]))
            else:
                faults.append(f"status {answer.status_code}: {answer.text}")

        async def one() -> None:
            async with httpx2.AsyncClient(timeout=None, verify=False, trust_env=False) as client:
                while wanted():
                    await send(client, next(keys) % (1 << BITS))

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(number)))
        elapsed = time.perf_counter() - begun
        found = {**counts, "faults": len(faults), "first_faults": faults[:5], "seconds": round(elapsed, 1)}
        return found | {"words_per_second": round(counts["words"] / elapsed, 1)} | percentiles(seconds)

    def lone(self) -> dict[str, Any]:
        here: list[float] = []
        there: list[float] = []
        with service(self.options) as at, httpx2.Client(timeout=None, trust_env=False) as client:
            for number in range(5 + self.options.lone):  # the first five warm up
                line, begun = self.lines[number % len(self.lines)], time.perf_counter()
                self.translator.translate([line])
                between = time.perf_counter()
                client.post(at.url, json={"text": line}).raise_for_status()
                here.append(between - begun)
                there.append(time.perf_counter() - between)
        here, there = here[5:], there[5:]
        return {
            "requests": self.options.lone,
            "translate_median": round(median(here), 5),
            "service_median": round(median(there), 5),
            "ratio_of_sums": round(sum(there) / sum(here), 3),
            "ratio_of_medians": round(median(there) / median(here), 3),
            **percentiles(there),
        }

    def saturated(self) -> dict[str, Any]:
        number = self.options.requests
        some = [self.lines[place * 7919 % len(self.lines)] for place in range(number)]
        self.translator.translate(some[:64])
        begun, cpu = time.perf_counter(), time.process_time()
        words = sum(len(result.tokens) for result in self.translator.translate(some))
        offline, cpu = words / (time.perf_counter() - begun), time.process_time() - cpu
        with service(self.options) as at:
            asyncio.run(self.asked(at, 64, so_many(64)))
            before = at.cpu_seconds()
            met = asyncio.run(self.asked(at, CLIENTS, so_many(number)))
            used = at.cpu_seconds() - before
        return met | {
            "offline_words_per_second": round(offline, 1),
            "ratio": round(met["words_per_second"] / offline, 3),
            "offline_cpu_seconds": round(cpu, 2),
            "service_cpu_seconds": round(used, 2),
            "cpu_ratio": round(cpu / used, 3),
        }

    def load(self) -> dict[str, Any]:
        with service(self.options) as at:
            before = at.megabytes()
            met = asyncio.run(self.asked(at, self.options.clients, until(self.options.seconds)))
            return met | {"megabytes_before": before, "megabytes_after": at.megabytes()}

    def memory(self) -> dict[str, Any]:
        megabytes, faults = [], 0
        with service(self.options) as at:
            for _ in range(10):
                met = asyncio.run(self.asked(at, CLIENTS, so_many(self.options.memory // 10)))
                megabytes.append(at.megabytes())
                faults += met["faults"]
        growth = round(megabytes[-1] / megabytes[0] - 1, 4)
        return {"faults": faults, "megabytes": megabytes, "growth_after_the_first_tenth": growth}

    def kill(self) -> dict[str, Any]:
        with service(self.options, workers=2) as at:
            first = at.two_workers()

            async def under_load() -> dict[str, Any]:
                lasting = self.asked(at, CLIENTS, until(self.options.seconds / 4), patient=True)
                asking = asyncio.ensure_future(lasting)
                await asyncio.sleep(self.options.seconds / 12)
                os.kill(first[0], signal.SIGKILL)
                return await asking

            met = asyncio.run(under_load())
            now = at.two_workers()
            return met | {"replaced": len(now) == 2 and first[0] not in now}


PARTS = {part.__name__: part for part in (Bench.lone, Bench.saturated, Bench.load, Bench.memory, Bench.kill)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("run", type=Path)
    add("--text", type=Path, help="sentences, one on each line")
    add("--out", type=Path, default=Path("serving.json"))
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    add("--threads", type=int, default=1, help="of each process")
    add("--lone", type=int, default=200, help="requests of the lone client")
    add("--requests", type=int, default=3_000, help="of the saturated service")
    add("--clients", type=int, default=1_000, help="of the load")
    add("--seconds", type=float, default=120, help="of the load; a quarter of them under the kill")
    add("--memory", type=int, default=20_000, help="requests")
    options = parser.parse_args()
    set_up_cpu(options.threads)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection for each client, here and there
    bench = Bench(options)
    results: dict[str, Any] = {
        "run": str(options.run),
        "machine": hardware("cpu"),
        "date": time.strftime("%Y-%m-%d"),
        "sentences": len(bench.lines),
        "beam": bench.translator.search.beam,
        "words_per_sentence": round(sum(len(one.tokens) for one in bench.expected) / len(bench.lines), 1),
    }
    for part in options.parts:
        results[part] = PARTS[part](bench)
        print(part, json.dumps(results[part], ensure_ascii=False), flush=True)
    options.out.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    faults = [part for part in options.parts if results[part].get("faults")]
    if faults:
        raise SystemExit(f"faults: {', '.join(faults)}")


if __name__ == "__main__":
    main()
