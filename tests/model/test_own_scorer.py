"""A user's own scorer, one class in one file, named in the settings: in training and in beam search, memory
and all."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import torch
from agreement import assert_as_by_hand, assert_search_as_teacher_forced
from plain.parameters import Parameters
from plain.vectors import Vector, add, dot, product, sigmoid, tanh
from small import WIRINGS, sentences, small_network, small_settings

from rnnsearch.model.network import TranslationNetwork

NAME = "my_scorers.coverage:CoverageAlignment"


@pytest.fixture(autouse=True)
def _in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """my_scorers/coverage.py lies in the current directory, where nothing but `resolve` looks for it."""
    (tmp_path / "my_scorers").mkdir()
    shutil.copy(Path(__file__).with_name("own_scorer.py"), tmp_path / "my_scorers" / "coverage.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    for module in [name for name in sys.modules if name.partition(".")[0] == "my_scorers"]:
        monkeypatch.delitem(sys.modules, module)


def own_network(wiring: str = "released", dtype: torch.dtype = torch.float64) -> TranslationNetwork:
    network = small_network(dtype, trust_code=True, alignment=NAME, wiring=wiring)
    with torch.no_grad():
        network.output.bias[0] -= 2.5  # fewer ends of sentence, so that searches take some steps
    return network


class Coverage:
    """The scorer's equations in plain loops."""

    def __init__(self, parameters: Parameters) -> None:
        at = "decoder.alignment."
        self.W_a, self.U_a, self.W_m = (
            parameters.matrix(f"{at}{name}.weight") for name in ("W_a", "U_a", "W_m")
        )
        (self.v_a,), self.b = parameters.matrix(f"{at}v_a.weight"), parameters.vector(f"{at}W_m.bias")

    def begin(self, h: list[Vector]) -> list[Vector]:
        return [[0.0, 0.0] for _ in h]

    def energies(self, s: Vector, h: list[Vector], memory: list[Vector]) -> tuple[Vector, list[Vector]]:
        energies, after = [], []
        for h_j, m_j in zip(h, memory, strict=True):
            e = dot(
                self.v_a,
                tanh(add(product(self.W_a, s), product(self.U_a, h_j), product(self.W_m, m_j), self.b)),
            )
            energies.append(e)
            after.append(add(m_j, sigmoid([e]) + tanh([e])))
        return energies, after

    def attended(self, s: Vector, h: list[Vector], memory: list[Vector], alpha: Vector) -> list[Vector]:
        return memory


@pytest.mark.parametrize("wiring", WIRINGS)
def test_teacher_forcing(wiring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plain.parameters.alignment_model", lambda given, *_: Coverage(given))
    assert_as_by_hand(own_network(wiring), small_settings(alignment=NAME, wiring=wiring), sentences())


@pytest.mark.parametrize("wiring", WIRINGS)
def test_beam_search_equals_teacher_forcing(wiring: str) -> None:
    """The beam branches, reorders and drops, and each hypothesis keeps the memory of its own words."""
    assert_search_as_teacher_forced([own_network(wiring, torch.float32)], sentences())
