"""The service compared with the same model in this process: latency, throughput, a thousand clients, memory,
and a worker that is killed.

    python benchmarks/serving.py RUN --text news.en --out serving.json
    python benchmarks/serving.py RUN --text news.en --parts lone saturated
    python benchmarks/serving.py RUN --text news.en --clients 1000 --seconds 120 --parts load

It starts `rnnsearch serve` on this machine, in processes of its own, with as many threads as it uses itself
(`--threads`, 1). The clients are coroutines of this process, which needs a core beside those of the service.
Without a text, they send sentences of the built-in corpus.

lone: one client. Each sentence is translated here and by the service in turn; the result is the ratio of the
times.
saturated: many clients with a sentence each, compared with `Translator.translate` of the same sentences here.
The results are the ratio of words per second, and that of the CPU times, which other work on the machine
changes less; the service's CPU time includes HTTP.
load: many clients for a while, with texts of several lengths. Each text ends in white space that spells a
number, and the same white space must come back with the translation. Only 200, and 503 with Retry-After, may
be answered.
memory: resident memory of the service after the first tenth of the requests, and after all of them.
kill: two workers under load, one of which is killed with -9. A client that lost its connection tries again,
and must get its answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from rnnsearch.builtin.corpus import write
from rnnsearch.records import Translation
from rnnsearch.serving.languages import split
from rnnsearch.serving.server import allowed_connections
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.translation.translator import Translator

PARTS = ("lone", "saturated", "load", "memory", "kill")
BITS = 24
"""Length of a key, which is written in spaces and tabs."""
ROUNDING = 0.01
"""Largest difference, per word, between the scores of two translations of a sentence: other sentences of its
batch change the rounding."""


class LostError(Exception):
    """The connection ended before the answer did."""


class Client:
    """A connection that is kept, and opened again after it is lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: object) -> tuple[int, dict[str, str], Any]:
        """Returns (status, headers, answer). Raises LostError."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
            f"application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        try:
            if self._writer is None:
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
            self._writer.write(head.encode() + content)
            lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines[1:] if line)
            }
            answer = json.loads(await self._reader.readexactly(int(headers["content-length"])))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise LostError(str(error)) from None
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), headers, answer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


class Service:
    """`rnnsearch serve` in processes of its own."""

    def __init__(self, run: Path, threads: int, *options: object) -> None:
        words = [
            sys.executable,
            "-m",
            "rnnsearch",
            "serve",
            f"bench={run}",
            "--port",
            "0",
            "--threads",
            str(threads),
            *map(str, options),
        ]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said: list[str] = []
        for line in self.process.stderr:
            said.append(line)
            if " at http://" in line:
                break
        else:
            raise SystemExit(f"the service did not begin: {''.join(said)}")
        self.port = int(line.rpartition(" at ")[2].split()[0].rpartition(":")[2])
        # Its log is read and thrown away: the service would wait for a full pipe.
        self._drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def processes(self) -> list[int]:
        """Returns the processes that hold models."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        workers = [
            int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        return workers or [self.process.pid]

    def megabytes(self) -> float:
        """Returns the resident memory of these processes."""
        pages = sum(
            int(Path(f"/proc/{process}/statm").read_text().split()[1]) for process in self.processes()
        )
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu_seconds(self) -> float:
        """Used by all of them so far."""
        ticks = 0
        for process in self.processes():
            ticks += sum(
                map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13])
            )
        return ticks / os.sysconf("SC_CLK_TCK")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(90)
        self._drain.wait(10)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@contextmanager
def service(run: Path, threads: int, *options: object) -> Iterator[Service]:
    begun = Service(run, threads, *options)
    try:
        yield begun
    finally:
        code = begun.end()
    if code:
        raise SystemExit(f"the service ended with code {code}")


@dataclass
class Tally:
    """The answers that clients got. seconds: of the requests that were answered with 200. faults:
    descriptions of wrong answers."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    words: int = 0
    lost: int = 0
    answered_again: int = 0
    faults: list[str] = field(default_factory=list)

    def to_dict(self, elapsed: float) -> dict[str, Any]:
        return {
            "answered": self.statuses[200],
            "statuses": {str(status): number for status, number in sorted(self.statuses.items())},
            "lost_connections": self.lost,
            "answered_again": self.answered_again,
            "faults": len(self.faults),
            "first_faults": self.faults[:5],
            "seconds": round(elapsed, 1),
            "requests_per_second": round(self.statuses[200] / elapsed, 1),
            "words_per_second": round(self.words / elapsed, 1),
            **{f"p{rank}": round(percentile(self.seconds, rank), 4) for rank in (50, 95, 99)},
        }


def percentile(values: Sequence[float], rank: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * rank // 100)] if ordered else float("nan")


def key_in_white_space(number: int) -> str:
    """Returns a line of spaces and tabs that no other request has; the service keeps white space as it is."""
    return "\n" + "".join(" \t"[number >> place & 1] for place in range(BITS))


def fault(line: str, expected: Translation, tail: str, answer: Any) -> str:
    """Returns what is wrong with an answer; "" if it belongs to its request."""
    (text,) = answer["translations"]
    (sentence,) = text["sentences"]
    best = sentence["hypotheses"][0]
    if not text["text"].endswith(tail):
        return "the key of another request came back"
    if sentence["source"] != line or sentence["source_tokens"] != expected.source_tokens:
        return "the sentence of another request came back"
    size = max(len(best["log_probabilities"]), 1)
    if best["text"] != expected.text and abs(best["score"] - expected.score) / size > ROUNDING:
        return (
            f"another translation: {best['text']!r} ({best['score']}), not {expected.text!r} "
            f"({expected.score:.5f})"
        )
    return ""


async def clients_of(
    port: int,
    number: int,
    wanted: Callable[[], bool],
    lines: Sequence[str],
    expected: Sequence[Translation],
    patient: bool = False,
) -> Tally:
    """Lets `number` clients send requests while `wanted` says so. patient: they repeat a request whose
    connection is lost."""
    tally, keys = Tally(), count()

    async def one() -> None:
        client = Client(port)
        tries = 0  # of a request whose connection was lost
        place, tail = 0, ""
        while tries or wanted():
            if not tries:
                key = next(keys)
                place, tail = key * 7919 % len(lines), key_in_white_space(key % (1 << BITS))
            begun = time.perf_counter()
            try:
                status, headers, answer = await client.post("/v1/translate", {"text": lines[place] + tail})
            except LostError as error:
                tally.lost += 1
                tries += 1
                if not patient or tries > 20:
                    tally.faults.append(f"a connection was lost: {error}")
                    tries = 0
                await asyncio.sleep(0.1 * tries)
                continue
            tally.statuses[status] += 1
            if status == 200:
                tally.seconds.append(time.perf_counter() - begun)
                tally.answered_again += tries > 0
                best = answer["translations"][0]["sentences"][0]["hypotheses"][0]
                tally.words += len(best["tokens"])
                if wrong := fault(lines[place], expected[place], tail, answer):
                    tally.faults.append(wrong)
            elif status == 503 and "retry-after" in headers:
                await asyncio.sleep(float(headers["retry-after"]))
            else:
                tally.faults.append(f"status {status}: {answer}")
            tries = 0
        client.close()

    await asyncio.gather(*(one() for _ in range(number)))
    return tally


def until(seconds: float) -> Callable[[], bool]:
    latest = time.perf_counter() + seconds
    return lambda: time.perf_counter() < latest


def so_many(number: int) -> Callable[[], bool]:
    left = iter(range(number))
    return lambda: next(left, None) is not None


def asked(work: Awaitable[Tally]) -> dict[str, Any]:
    """Returns the answers that clients got, with the time it took."""

    async def run() -> dict[str, Any]:
        begun = time.perf_counter()
        tally = await work
        return tally.to_dict(time.perf_counter() - begun)

    return asyncio.run(run())


def lone(
    options: argparse.Namespace, translator: Translator, lines: Sequence[str], expected: Sequence[Translation]
) -> dict[str, Any]:
    some = [lines[number % len(lines)] for number in range(options.lone)]
    here: list[float] = []
    there: list[float] = []

    async def alternate(port: int) -> None:
        client = Client(port)
        for warm in (True, False):
            for line in some[:5] if warm else some:
                times = [time.perf_counter()]
                translator.translate([line])
                times.append(time.perf_counter())
                await client.post("/v1/translate", {"text": line})
                times.append(time.perf_counter())
                if not warm:
                    here.append(times[1] - times[0])
                    there.append(times[2] - times[1])
        client.close()

    with service(options.run, options.threads) as begun:
        asyncio.run(alternate(begun.port))
    return {
        "requests": len(some),
        "translate_median_ms": round(1000 * median(here), 2),
        "service_median_ms": round(1000 * median(there), 2),
        "ratio_of_sums": round(sum(there) / sum(here), 3),
        "ratio_of_medians": round(median(there) / median(here), 3),
        **{f"service_p{rank}_ms": round(1000 * percentile(there, rank), 2) for rank in (50, 95, 99)},
    }


def saturated(
    options: argparse.Namespace, translator: Translator, lines: Sequence[str], expected: Sequence[Translation]
) -> dict[str, Any]:
    some = [lines[number * 7919 % len(lines)] for number in range(options.requests)]
    translator.translate(some[:64])
    begun, cpu = time.perf_counter(), time.process_time()
    words = sum(len(result.tokens) for result in translator.translate(some))
    offline, cpu = words / (time.perf_counter() - begun), time.process_time() - cpu
    with service(options.run, options.threads) as at:
        asked(clients_of(at.port, 64, so_many(64), lines, expected))
        before = at.cpu_seconds()
        met = asked(clients_of(at.port, options.saturating, so_many(options.requests), lines, expected))
        used = at.cpu_seconds() - before
    more = {
        "offline_words_per_second": round(offline, 1),
        "ratio": round(met["words_per_second"] / offline, 3),
    }
    return (
        met
        | more
        | {
            "offline_cpu_seconds": round(cpu, 2),
            "service_cpu_seconds": round(used, 2),
            "cpu_ratio": round(cpu / used, 3),
        }
    )


def load(
    options: argparse.Namespace, translator: Translator, lines: Sequence[str], expected: Sequence[Translation]
) -> dict[str, Any]:
    with service(options.run, options.threads, "--workers", options.workers) as at:
        before = at.megabytes()
        met = asked(clients_of(at.port, options.clients, until(options.seconds), lines, expected))
        return met | {
            "clients": options.clients,
            "megabytes_before": round(before, 1),
            "megabytes_after": round(at.megabytes(), 1),
        }


def memory(
    options: argparse.Namespace, translator: Translator, lines: Sequence[str], expected: Sequence[Translation]
) -> dict[str, Any]:
    with service(options.run, options.threads) as at:
        seen = []
        for tenth in range(10):
            met = asked(
                clients_of(at.port, options.saturating, so_many(options.memory // 10), lines, expected)
            )
            seen.append(round(at.megabytes(), 1))
            if met["faults"]:
                raise SystemExit(f"faults in tenth {tenth}: {met['first_faults']}")
    return {
        "requests": options.memory,
        "megabytes": seen,
        "growth_after_the_first_tenth": round(seen[-1] / seen[0] - 1, 4),
    }


def kill(
    options: argparse.Namespace, translator: Translator, lines: Sequence[str], expected: Sequence[Translation]
) -> dict[str, Any]:
    with service(options.run, options.threads, "--workers", 2) as at:
        latest = time.monotonic() + 60
        while len(first := at.processes()) < 2 and time.monotonic() < latest:
            time.sleep(0.1)

        async def under_load() -> Tally:
            asking = asyncio.ensure_future(
                clients_of(
                    at.port, options.saturating, until(options.kill_seconds), lines, expected, patient=True
                )
            )
            await asyncio.sleep(options.kill_seconds / 3)
            os.kill(first[0], signal.SIGKILL)
            return await asking

        met = asked(under_load())
        latest = time.monotonic() + 60
        while len(now := at.processes()) < 2 and time.monotonic() < latest:
            time.sleep(0.1)
        return met | {"replaced": len(now) == 2 and first[0] not in now, "clients": options.saturating}


def texts(options: argparse.Namespace) -> list[str]:
    """Returns distinct lines, each of which the service takes for one sentence."""
    if options.text is None:
        corpus = Path(options.out).with_suffix(".corpus")
        write(corpus, 400, 20)
        options.text = corpus / "train.en"
    lines = list(dict.fromkeys(line.strip() for line in read_lines(options.text) if line.strip()))
    return [line for line in lines if split(line, "en").sentences == [line]][: options.lines]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--text", type=Path, help="sentences, one on each line")
    parser.add_argument("--out", type=Path, default=Path("serving.json"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--lines", type=int, default=1_000, help="distinct sentences, at most")
    parser.add_argument("--lone", type=int, default=200, help="requests of the lone client")
    parser.add_argument("--requests", type=int, default=3_000, help="of the saturated service")
    parser.add_argument("--saturating", type=int, default=256, help="clients that keep the service busy")
    parser.add_argument("--clients", type=int, default=1_000, help="of the load")
    parser.add_argument("--seconds", type=float, default=120, help="of the load")
    parser.add_argument("--workers", type=int, default=1, help="processes under the load")
    parser.add_argument("--memory", type=int, default=20_000, help="requests")
    parser.add_argument("--kill-seconds", type=float, default=30)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    set_up_cpu(options.threads)
    allowed_connections()
    translator = Translator.load(options.run)
    lines = texts(options)
    expected = translator.translate(lines)
    results: dict[str, Any] = {
        "run": str(options.run),
        "machine": hardware("cpu"),
        "date": time.strftime("%Y-%m-%d"),
        "sentences": len(lines),
        "beam": translator.search.beam,
        "words_per_sentence": round(sum(len(one.tokens) for one in expected) / len(lines), 1),
    }
    for part in options.parts:
        results[part] = globals()[part](options, translator, lines, expected)
        print(part, json.dumps(results[part], ensure_ascii=False), flush=True)
    options.out.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    faults = [part for part in options.parts if results[part].get("faults")]
    if faults:
        raise SystemExit(f"faults: {', '.join(faults)}")


if __name__ == "__main__":
    main()
