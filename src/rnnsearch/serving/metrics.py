"""Metrics for Prometheus: requests, batches, the queue, words. Those of several processes are summed, those
that have ended included."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable of prometheus_client that names the folder which several processes share; it is
read when it is imported."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of a process, which observe its queue; `text` is what /metrics answers."""

    def __init__(self) -> None:
        import prometheus_client as prometheus

        self.registry = prometheus.CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry, "namespace": "rnnsearch"}
        self.requests = prometheus.Counter(
            "requests", "Requests that were answered", ["route", "status"], **own
        )
        self.seconds = prometheus.Histogram(
            "request_seconds", "Time of a request, its body read", ["route"], buckets=SECONDS, **own
        )
        self.abandoned = prometheus.Counter("abandoned_requests", "Requests whose clients went away", **own)
        self.batches = prometheus.Histogram(
            "batch_sentences", "Sentences that were worked on together", buckets=SENTENCES, **own
        )
        self.batch_seconds = prometheus.Histogram("batch_seconds", "Time of a batch", buckets=SECONDS, **own)
        self.waiting_seconds = prometheus.Histogram(
            "queue_seconds", "Time that a sentence waited", buckets=SECONDS, **own
        )
        self.queue = prometheus.Gauge(
            "queue_sentences", "Sentences that wait", multiprocess_mode="livesum", **own
        )
        self.words = prometheus.Counter("words", "Words of translations that were written", ["model"], **own)
        self.started = prometheus.Gauge(
            "start_time_seconds", "When the process began", multiprocess_mode="livemin", **own
        )
        self.started.set(time.time())

    def waiting(self, tasks: int) -> None:
        self.queue.set(tasks)

    def batch(self, waits: Sequence[float], seconds: float) -> None:
        """Counts a batch. waits: the seconds that each of its sentences waited."""
        self.batches.observe(len(waits))
        self.batch_seconds.observe(seconds)
        for waited in waits:
            self.waiting_seconds.observe(waited)

    def request(self, route: str, status: int | str, seconds: float) -> None:
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        import prometheus_client as prometheus
        from prometheus_client import multiprocess

        if not os.environ.get(SHARED):
            return bytes(prometheus.generate_latest(self.registry))
        for file in Path(os.environ[SHARED]).glob("gauge_live*_*.db"):
            # The queue of a worker that has ended is no queue; what it counted still counts.
            if not Path(f"/proc/{file.stem.rpartition('_')[2]}").exists():
                file.unlink(missing_ok=True)
        everyone = prometheus.CollectorRegistry()
        multiprocess.MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        return bytes(prometheus.generate_latest(everyone))
