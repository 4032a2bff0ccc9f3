"""What is measured of a run, and its summary over the seeds of a variant."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from rnnsearch.studies.study import LONG


class Metric(NamedTuple):
    """A column. factor: what the number is multiplied by where it is shown."""

    key: str
    heading: str
    factor: float = 1.0
    digits: int = 2


TEST_METRICS = (
    Metric("bleu", "BLEU"),
    Metric("chrf", "chrF2"),
    Metric("bleu_long", f"BLEU, over {LONG} words"),
    Metric("nll_per_word", "NLL/word", digits=3),
    Metric("aer", "AER %", 100.0),
    Metric("aer_symmetrised", "AER %, both directions", 100.0),
    Metric("posterior_aer", "posterior AER %", 100.0),
    Metric("posterior_aer_symmetrised", "posterior AER %, both directions", 100.0),
)
LEARNING_METRICS = (
    Metric("parameters", "million parameters", 1e-6),
    Metric("updates", "updates", digits=0),
    Metric("epochs", "epochs", digits=1),
    Metric("hours", "hours"),
    Metric("dev_nll", "dev NLL/sentence"),
    Metric("dev_bleu", "dev BLEU"),
)


class Summary(NamedTuple):
    """Of a metric over the seeds. spread: the sample standard deviation (n − 1), None for one run."""

    mean: float
    spread: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        return cls(math.fsum(values) / len(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    def text(self, metric: Metric) -> str:
        """As a cell of a table."""
        shown = f"{self.mean * metric.factor:,.{metric.digits}f}"
        return shown if self.spread is None else f"{shown} ± {self.spread * metric.factor:,.{metric.digits}f}"
