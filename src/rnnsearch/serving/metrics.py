"""Metrics for Prometheus: requests, batches, queue, words. They are summed over all processes, including
those that have ended."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder that several processes share. prometheus_client reads it when
imported."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of a process; `text` is the answer of /metrics. If they cannot be written, as on a full
    disk, requests and batches go on."""

    def __init__(self) -> None:
        own: dict[str, Any] = {"registry": CollectorRegistry(), "namespace": "rnnsearch"}
        timed = own | {"buckets": SECONDS}
        self._registry = own["registry"]
        self._requests = Counter("requests", "Requests that were answered", ["route", "status"], **own)
        self._seconds = Histogram("request_seconds", "Time of a request, its body read", ["route"], **timed)
        self.abandoned = Counter("abandoned_requests", "Requests whose clients disconnected", **own)
        together = "Sentences in a batch"
        self._batches = Histogram("batch_sentences", together, buckets=SENTENCES, **own)
        self._batch_seconds = Histogram("batch_seconds", "Time of a batch", **timed)
        self._waited = Histogram("queue_seconds", "Time that a sentence waited", **timed)
        self._queue = Gauge("queue_sentences", "Sentences that wait", multiprocess_mode="livesum", **own)
        self.words = Counter("words", "Words of translations that were written", ["model"], **own)
        started = "When the process began"
        Gauge("start_time_seconds", started, multiprocess_mode="livemin", **own).set(time.time())

    def waiting(self, tasks: int) -> None:
        """Sets the number of waiting sentences."""
        with suppress(Exception):
            self._queue.set(tasks)

    def batch(self, waits: Sequence[float], seconds: float) -> None:
        """Counts a batch. waits: the seconds that each of its sentences waited."""
        with suppress(Exception):
            self._batches.observe(len(waits))
            self._batch_seconds.observe(seconds)
            for waited in waits:
                self._waited.observe(waited)

    def request(self, route: str, status: int | str, seconds: float) -> None:
        """Counts an answered request."""
        with suppress(Exception):
            self._requests.labels(route, str(status)).inc()
            self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Returns all metrics of all processes in Prometheus's text format."""
        folder, registry = os.environ.get(SHARED), self._registry
        if folder:
            for file in Path(folder).glob("gauge_live*_*.db"):
                # A worker that has ended has no queue; its counters still count.
                if not Path(f"/proc/{file.stem.rpartition('_')[2]}").exists():
                    file.unlink(missing_ok=True)
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry))
