"""Chooses the number of CPU threads. If other programs use the cores, fewer threads may be many
times faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

from rnnsearch.errors import InputError
from rnnsearch.settings import Settings
from rnnsearch.system.cores import core_count
from rnnsearch.system.machine import set_up_cpu

SECONDS_EACH = 0.1
"""Seconds of each of the two measurements of a number of threads."""
MINIMUM_SPEEDUP = 1.5
"""Fewer threads are chosen only if they are at least this many times as fast, because the number of
threads changes the rounding."""
HINT = "training.threads sets another number"


class Threads:
    """The number of threads of one rank: from the settings, or else from the run, or else the
    fastest.

    processes: number of ranks that share this machine's cores. say: called with a message about
    every choice other than one thread per core. chosen: the current number.
    """

    def __init__(self, settings: Settings, processes: int, say: Callable[[str], None]) -> None:
        if settings.training.threads > core_count():
            raise InputError(
                f"training.threads = {settings.training.threads}, and this process may use "
                f"{core_count()} cores",
                "set training.threads = 0, which chooses",
            )
        self.settings, self.say = settings, say
        self.chosen = self.most = set_up_cpu(settings.training.threads, processes)
        self.fixed = (
            bool(settings.training.threads) or self.most == 1 or settings.training.device != "cpu"
        )

    def begin(self, remembered: int) -> None:
        """Uses the number of threads that the run had when it was saved, which makes resuming
        exact; measures if it is 0."""
        if self.fixed:
            return
        found = remembered or measured_fastest(self.settings, self.most)
        self.use(found)
        if found < self.most:
            why = "as this run did before" if remembered else "other programs use the cores"
            self.say(f"computing with {found} of {self.most} threads: {why} ({HINT})")

    def use(self, number: int) -> None:
        """Sets the number of threads to that of rank 0, unless the settings fix it."""
        if not self.fixed and min(number, self.most) != self.chosen:
            self.chosen = min(number, self.most)
            torch.set_num_threads(self.chosen)


def measured_fastest(settings: Settings, most: int) -> int:
    """Returns the fastest of 1, 2, 4, … and `most` threads; `most` unless another is clearly
    faster."""
    powers = (1 << n for n in range(most.bit_length()))
    seconds = seconds_by_threads(settings, sorted({most, *powers}))
    best = min(seconds, key=seconds.__getitem__)
    return best if seconds[most] > MINIMUM_SPEEDUP * seconds[best] else most


def seconds_by_threads(settings: Settings, numbers: Sequence[int]) -> dict[int, float]:
    """Returns the seconds of a time step's product and tanh for each number of threads, measured in
    two rounds."""
    size, rows = settings.model.hidden_size, settings.training.batch_size
    matrix, state = torch.zeros(size, size), torch.zeros(rows, size)
    steps = dict.fromkeys(numbers, 0)
    for threads in [*numbers, *numbers]:
        torch.set_num_threads(threads)
        torch.tanh(state @ matrix)  # starts the threads
        begun = time.perf_counter()
        while time.perf_counter() - begun < SECONDS_EACH:
            torch.tanh(state @ matrix)
            steps[threads] += 1
    return {threads: 2 * SECONDS_EACH / max(1, done) for threads, done in steps.items()}
