"""From a name in the settings to a class: a user's own parts, and one clear line for everything
else. The scorer of the page on own parts, memory and all, is its equation in training and in beam search."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from agreement import assert_as_by_hand, assert_search_as_teacher_forced
from plain.parameters import Parameters
from plain.vectors import Vector, add, dot, product, sigmoid, tanh
from refusals import refusal
from small import SOURCE_WORDS, TARGET_WORDS, WIRINGS, sentences, small_network, small_settings

from rnnsearch.model.network import TranslationNetwork

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/own-scorer.md"
SMOOTHED = "my_scorers.smoothed:Smoothed"
PARTS = """
from rnnsearch.model.alignment.baselines import DotAlignment
from rnnsearch.model.cells import TanhCell
from rnnsearch.model.encoder import ForwardEncoder
from rnnsearch.model.readout import TanhReadout

class MyAlignment(DotAlignment):
    def __init__(self, state_size, annotation_size, alignment_size):
        if alignment_size == 13:
            raise ValueError("model.alignment_size = 13 brings bad luck: choose another")
        super().__init__(annotation_size, annotation_size, alignment_size)

    def energies(self, state, keys, memory):
        return keys.sum(-1).unsqueeze(1).expand(-1, state.shape[1], -1), memory

class MyCell(TanhCell): pass
class MyEncoder(ForwardEncoder): pass
class MyReadout(TanhReadout): pass

class Stranger: pass
value = 3
"""


@pytest.fixture(autouse=True)
def _my_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files lie in the current directory, where nothing but `resolve` looks for them."""
    (tmp_path / "my_parts.py").write_text(PARTS, encoding="utf-8")
    (tmp_path / "my_scorers").mkdir()
    scorer = PAGE.read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    (tmp_path / "my_scorers/smoothed.py").write_text(scorer, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    for module in ("my_parts", "my_scorers", "my_scorers.smoothed"):
        monkeypatch.delitem(sys.modules, module, raising=False)


class Smoothed:
    """The equations of the page's scorer in plain loops."""

    def __init__(self, parameters: Parameters) -> None:
        at = "decoder.alignment."
        self.W_a, self.U_a = (parameters.matrix(f"{at}{name}.weight") for name in ("W_a", "U_a"))
        (self.v_a,), (self.w_g,) = (
            parameters.matrix(f"{at}{name}.weight") for name in ("v_a", "w_g")
        )
        self.b_g = parameters.vector(f"{at}w_g.bias")

    def begin(self, h: list[Vector]) -> Vector:
        return [0.0 for _ in h]

    def energies(self, s: Vector, h: list[Vector], memory: Vector) -> tuple[Vector, Vector]:
        (g,) = sigmoid(add([dot(self.w_g, s)], self.b_g))
        energies = []
        for h_j, before in zip(h, memory, strict=True):
            fresh = dot(self.v_a, tanh(add(product(self.W_a, s), product(self.U_a, h_j))))
            energies.append((1 - g) * fresh + g * before)
        return energies, energies

    def attended(self, s: Vector, h: list[Vector], memory: Vector, alpha: Vector) -> Vector:
        return memory


@pytest.mark.parametrize("wiring", WIRINGS)
def test_own_scorer_in_training(wiring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plain.parameters.alignment_model", lambda given, *_: Smoothed(given))
    changed = {"alignment": SMOOTHED, "wiring": wiring}
    assert_as_by_hand(
        small_network(trust_code=True, **changed), small_settings(**changed), sentences()
    )


@pytest.mark.parametrize("wiring", WIRINGS)
def test_own_scorer_in_search(wiring: str) -> None:
    """The beam branches, reorders and drops, and each hypothesis keeps the memory of its own words."""
    network = small_network(torch.float32, trust_code=True, alignment=SMOOTHED, wiring=wiring)
    assert_search_as_teacher_forced([network], sentences())


def build(trust_code: bool = False, /, **changed: Any) -> TranslationNetwork:
    return TranslationNetwork(
        small_settings(**changed), SOURCE_WORDS, TARGET_WORDS, trust_code=trust_code
    )


@pytest.mark.parametrize("setting", ["cell", "encoder", "alignment", "readout"])
class TestEverySetting:
    def test_own_part(self, setting: str) -> None:
        network = build(True, **{setting: f"my_parts:My{setting.capitalize()}"})
        own = [
            type(module).__name__
            for module in network.modules()
            if type(module).__module__ == "my_parts"
        ]
        assert set(own) == {f"My{setting.capitalize()}"}

    def test_consent(self, setting: str) -> None:
        with refusal(rf"model\.{setting} = .*--trust-code"):
            build(False, **{setting: f"my_parts:My{setting.capitalize()}"})
        assert "my_parts" not in sys.modules
        assert str(Path.cwd()) not in sys.path

    @pytest.mark.parametrize("trust_code", [False, True])
    def test_unknown_name(self, setting: str, trust_code: bool) -> None:
        """The line says which names there are."""
        known = {
            "cell": "gated, lstm, tanh",
            "encoder": "bidirectional, forward",
            "alignment": "additive, fixed",
            "readout": "maxout, tanh",
        }
        with refusal(rf"model\.{setting} = 'additiv'.*{known[setting]}"):
            build(trust_code, **{setting: "additiv"})

    def test_part_of_another_kind(self, setting: str) -> None:
        other = "MyEncoder" if setting != "encoder" else "MyCell"
        with refusal(r"not a subclass of rnnsearch\.model"):
            build(True, **{setting: f"my_parts:{other}"})


@pytest.mark.parametrize(
    "name",
    [
        "no_such_module:Class",
        "my_parts:NoSuchClass",
        "my_parts.inner:Class",
        "my_parts:",
        ":MyAlignment",
        ":",
        ".my_parts:MyAlignment",
        "my_parts:Stranger",
        "my_parts:value",
        "torch.nn:Linear",
    ],
)
def test_not_a_part(name: str) -> None:
    """Whatever cannot be imported or is no class of the right kind: one line that names setting and value."""
    with refusal(re.escape(f"model.alignment = {name!r}")) as error:
        build(True, alignment=name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        ("bidirectional", r"\(6 is not 4\).*encoder_size = 2"),
        ("embedding", r"\(5 is not 4\).*embedding_size = 4"),
        ("embedding-position", r"\(5 is not 4\).*embedding_size = 4"),
    ],
)
def test_dot_with_annotations_of_another_size(encoder: str, said: str) -> None:
    with refusal(f'"dot".*{said}'):
        build(alignment="dot", encoder=encoder, encoder_size=3, embedding_size=5)


SLIPS = """
from my_scorers.smoothed import Smoothed

class Mine(Smoothed):
    def {method}:
        {body}
"""


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("keys(self, annotations)", "return annotations.sum(1)", r"keys .*\(batch, source, …\).*: \(2, "),
        ("start(self, keys, lengths)", "return keys.new_zeros(2, 5)", r"start .*\(batch, 1, …\).*: \(2, 5\)"),
        ("start(self, keys, lengths)", "return 1", r"start .*\(batch, 1, …\).*: int"),
        ("energies(self, state, keys, memory)", "return memory", "must return two values.* returned .2, 3, 5"),
        ("energies(self, state, keys, memory)", "return memory.unsqueeze(-1), memory",
         r"energies .*\(batch, hypotheses, source\).*: \(2, 3, 5, 1\)"),
        ("energies(self, state, keys, memory)", "return memory[:, :1], memory", r": \(2, 1, 5\)"),
        ("energies(self, state, keys, memory)", "return memory, memory[0]", r"memory from energies .*: \(3, 5"),
        ("energies(self, state, keys, memory)", "return self.W_a(state) + keys, None",
         r"energies raised RuntimeError: .*arguments: \(2, 3, 4\), \(2, 5, 6\), \(2, 3, 5\)\)"),
        ("energies(self, state, keys, memory)", "return memory.squeeze(), memory",
         r"energies .*\(batch, hypotheses, source\).* hypotheses 1, source 4: \(4,\)"),
        ("energies(self, state, keys, memory)", "return memory.double(), memory",
         r"energies must be torch\.float32, and are torch\.float64: end with"),
        ("energies(self, state, keys, memory)", "return memory.numpy(), memory", r"energies .*: ndarray"),
        ("attended(self, state, keys, memory, weights)", "return weights.sum(1)", r"attended .*: \(2, 5\)"),
    ],
)  # fmt: skip
def test_results_of_other_shapes_are_refused_at_once(
    method: str, body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "slip", raising=False)
    (tmp_path / "slip.py").write_text(SLIPS.format(method=method, body=body), encoding="utf-8")
    with refusal(rf"model\.alignment = 'slip:Mine': .*{said}") as error:
        build(True, alignment="slip:Mine")
    assert "\n" not in str(error.value)


def test_a_scorer_that_refuses_its_sizes() -> None:
    """A ValueError of the class itself becomes the one line that a user reads."""
    with refusal("brings bad luck"):
        build(True, alignment="my_parts:MyAlignment", alignment_size=13)
