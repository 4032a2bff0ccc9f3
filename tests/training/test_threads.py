"""How many threads compute: the settings' number, or the fastest by measurement."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal

from rnnsearch.settings import ModelSettings, Settings, TrainingSettings
from rnnsearch.system.cores import core_count
from rnnsearch.training import threads
from rnnsearch.training.threads import Threads, measured_fastest


def settings(**training: object) -> Settings:
    model = ModelSettings(hidden_size=8)
    return Settings(
        model=model, training=TrainingSettings.model_validate({"batch_size": 4, **training})
    )


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({1: 4.0, 2: 2.0, 4: 1.0}, 4),
        ({1: 0.8, 2: 0.9, 4: 1.0}, 4),  # not clearly faster
        ({1: 0.1, 2: 0.5, 4: 1.0}, 1),
        ({1: 0.9, 2: 0.2, 4: 1.0}, 2),
    ],
)
def test_fewer_threads_must_be_clearly_faster(
    seconds: dict[int, float], chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "seconds_by_threads", lambda *_: seconds)
    assert measured_fastest(settings(), 4) == chosen


class Machine:
    """Four cores, and how long a time step takes with each number of threads."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.busy, self.measured, self.said = False, 0, list[str]()
        patch.setattr(threads, "set_up_cpu", lambda threads, processes: 4)
        patch.setattr(threads, "core_count", lambda: 4)
        patch.setattr(torch, "set_num_threads", lambda number: None)
        patch.setattr(threads, "seconds_by_threads", self.seconds)

    def seconds(self, *_: object) -> dict[int, float]:
        self.measured += 1
        return {1: 1.0, 2: 2.0, 4: 3.0 if self.busy else 0.5}

    def begun(self, remembered: int = 0, **training: object) -> Threads:
        found = Threads(settings(**training), 1, self.said.append)
        found.begin(remembered)
        return found


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_a_machine_that_is_busy_at_the_start_is_said(machine: Machine) -> None:
    machine.busy = True
    assert machine.begun().chosen == 1
    assert machine.said.pop().startswith(
        "computing with 1 of 4 threads: other programs use the cores ("
    )
    machine.busy = False
    assert (machine.begun().chosen, machine.said) == (4, [])


@pytest.mark.parametrize(
    ("remembered", "set_", "chosen", "said"),
    [(1, 0, 1, 1), (4, 0, 4, 0), (8, 0, 4, 0), (2, 4, 4, 0)],
)
def test_a_resumed_run_computes_with_the_number_that_it_had(
    machine: Machine, remembered: int, set_: int, chosen: int, said: int
) -> None:
    """Which makes it bit-equal. A machine with fewer cores has no such number, and settings come first."""
    machine.busy = remembered != 1
    assert machine.begun(remembered, threads=set_).chosen == chosen
    assert (machine.measured, len(machine.said)) == (0, said)


def test_more_threads_than_cores_are_refused() -> None:
    with refusal(rf"training\.threads = 1024, and this process may use {core_count()} core"):
        Threads(settings(threads=1024), 1, print)
