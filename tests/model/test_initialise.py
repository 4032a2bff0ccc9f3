"""How parameters begin (B.1), how large they are (A.2), which biases there are, and the alternative of Glorot
& Bengio 2010."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
from small import ALIGNMENTS, gradients, nll, sentences, small_settings
from torch import Tensor

from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import ModelSettings

M, N, SIZE, L = 70, 60, 50, 40
SOURCE_WORDS, TARGET_WORDS = 110, 120

SIZES = {"M": M, "N": N, "P": SIZE, "L": L, "Kx": SOURCE_WORDS, "Ky": TARGET_WORDS}
Expected = dict[str, tuple[tuple[int, ...], str]]


def expected(table: str) -> Expected:
    """Reads `name shape beginning`, on lines or between semicolons. Sizes: m, n, n' (P), l, K_x and K_y, or
    multiples of them."""

    def size(word: str) -> int:
        factor, name = re.fullmatch(r"(\d*)(\w*)", word).groups()  # type: ignore[union-attr]
        return int(factor or 1) * SIZES.get(name, 1)

    rows = [line.split() for line in table.strip().replace(";", "\n").splitlines()]
    return {name: (tuple(map(size, shape)), beginning) for name, *shape, beginning in rows}


PAPER = expected("""
source_embedding.weight        Kx M    0.01
source_embedding.bias          M       zero
target_embedding.weight        Ky M    0.01
target_embedding.bias          M       zero
encoder.forwards.W.weight      N M     0.01
encoder.forwards.W.bias        N       zero
encoder.forwards.W_zr.weight   2N M    0.01
encoder.forwards.U.weight      N N     orthogonal
encoder.forwards.U_zr.weight   2N N    orthogonal
encoder.backwards.W.weight     N M     0.01
encoder.backwards.W.bias       N       zero
encoder.backwards.W_zr.weight  2N M    0.01
encoder.backwards.U.weight     N N     orthogonal
encoder.backwards.U_zr.weight  2N N    orthogonal
decoder.W_s.weight             N N     0.01
decoder.W_s.bias               N       zero
decoder.cell.W.weight          N M     0.01
decoder.cell.W.bias            N       zero
decoder.cell.W_zr.weight       2N M    0.01
decoder.cell.U.weight          N N     orthogonal
decoder.cell.U_zr.weight       2N N    orthogonal
decoder.cell.C.weight          3N 2N   0.01
decoder.alignment.W_a.weight   P N     0.001
decoder.alignment.U_a.weight   P 2N    0.001
decoder.alignment.v_a.weight   1 P     zero
readout.U_o.weight             2L N    0.01
readout.U_o.bias               2L      zero
readout.V_o.weight             2L M    0.01
readout.C_o.weight             2L 2N   0.01
output.weight                  Ky L    0.01
output.bias                    Ky      zero
""")
"""Shapes as A.2.1 and A.2.2 give them, beginnings as B.1: a standard deviation, orthogonal or zero."""


def fresh(**changed: Any) -> dict[str, Tensor]:
    sizes = {"embedding_size": M, "hidden_size": N, "alignment_size": SIZE, "maxout_size": L}
    network = TranslationNetwork(ModelSettings(**(sizes | changed)), SOURCE_WORDS, TARGET_WORDS)
    return {name: parameter.detach() for name, parameter in network.named_parameters()}


def assert_orthogonal(matrix: Tensor, name: str) -> None:
    for block in matrix.split(matrix.shape[1]):  # one below the other
        torch.testing.assert_close(
            block @ block.T, torch.eye(len(block)), rtol=0, atol=1e-5, msg=name
        )


def assert_deviation(parameter: Tensor, deviation: float, name: str) -> None:
    """Mean and standard deviation within five standard errors."""
    error = deviation / math.sqrt(parameter.numel())
    assert abs(float(parameter.mean())) < 5 * error, name
    assert abs(float(parameter.std()) - deviation) < 5 * error / math.sqrt(2), name


def assert_begin(parameters: dict[str, Tensor], table: Expected) -> None:
    for name, (shape, beginning) in table.items():
        assert tuple(parameters[name].shape) == shape, name
        if beginning == "orthogonal":
            assert_orthogonal(parameters[name], name)
        elif beginning == "zero":
            assert parameters[name].count_nonzero() == 0, name
        else:
            assert_deviation(parameters[name], float(beginning), name)


def test_paper() -> None:
    """All parameters of the paper's network are accounted for. Gates, C and a have no bias."""
    parameters = fresh()
    assert parameters.keys() == PAPER.keys()
    assert_begin(parameters, PAPER)


def test_lstm_begins_with_open_forget_gates() -> None:
    bias = fresh(cell="lstm")["decoder.cell.W.bias"]
    i, f, o, g = bias.split(N)
    assert bool((f == 1).all())
    assert not any(part.any() for part in (i, o, g))


@pytest.mark.parametrize(
    ("changed", "table"),
    [
        ({"factored_output": True}, "output.factor.weight M L 0.01; output.weight Ky M 0.01"),
        ({"tie_output": True, "factored_output": True}, "output.factor.weight M L 0.01"),
        ({"readout": "tanh"}, "readout.U_o.weight L N 0.01; readout.C_o.weight L 2N 0.01"),
        ({"alignment": "general"}, "decoder.alignment.W.weight N 2N 0.01"),
        ({"alignment": "window"}, "decoder.alignment.W.weight 30 N 0.01; decoder.alignment.W.bias 30 zero"),
        (
            {"alignment": "recurrent"},
            "decoder.alignment.W.weight 3P N 0.01; decoder.alignment.Q.weight 3P 2N 0.01; "
            "decoder.alignment.unit.U.weight P P orthogonal; "
            "decoder.alignment.unit.U_zr.weight 2P P orthogonal; "
            "decoder.alignment.v_a.weight 1 P zero"
        ),
        ({"alignment": "recurrent-scalar"}, "decoder.alignment.Q.weight 3 2N 0.01"),
        (
            {"alignment": "coverage"},
            "decoder.alignment.W_a.weight P N 0.001; decoder.alignment.V_a.weight P 1 0.01; "
            "decoder.alignment.U_f.weight 1 2N 0.01; decoder.alignment.v_a.weight 1 P zero"
        ),
        (
            {"alignment": "coverage-neural"},
            "decoder.alignment.V_a.weight P 10 0.01; decoder.alignment.A.weight 30 1 0.01; "
            "decoder.alignment.W.weight 30 N 0.01; "
            "decoder.alignment.unit.U.weight 10 10 orthogonal"
        ),
        ({"encoder": "forward"}, "decoder.W_s.weight N N 0.01; decoder.alignment.U_a.weight P N 0.001"),
        ({"encoder": "embedding"}, "decoder.W_s.weight N M 0.01; decoder.alignment.U_a.weight P M 0.001"),
        ({"encoder": "embedding-position"}, "decoder.W_s.weight N M 0.01"),
        ({"encoder_size": 20}, "encoder.forwards.U.weight 20 20 orthogonal; decoder.W_s.weight N 20 0.01"),
        ({"cell": "tanh"}, "decoder.cell.C.weight N 2N 0.01; decoder.cell.U.weight N N orthogonal"),
        ({"cell": "lstm"}, "decoder.cell.W.weight 4N M 0.01; decoder.cell.C.weight 4N 2N 0.01"),
    ],
    ids=str,
)  # fmt: skip
def test_alternatives(changed: dict[str, Any], table: str) -> None:
    parameters = fresh(**changed)
    # a shared one appears once
    assert ("output.weight" in parameters) == (not changed.get("tie_output"))
    assert_begin(parameters, expected(table))


@pytest.mark.parametrize(
    "changed",
    [{}, {"tie_output": True, "factored_output": True}],
    ids=["own output", "tied output"],
)
def test_glorot(changed: dict[str, Any]) -> None:
    """Layers from U(±√(6/(in + out))), v_a too; embeddings from N(0, 1/m); recurrent matrices and biases as
    in the paper."""
    for name, parameter in fresh(initialisation="glorot", **changed).items():
        if name.endswith("embedding.weight"):
            assert_deviation(parameter, M**-0.5, name)
        elif PAPER.get(name, ((), ""))[1] == "orthogonal":
            assert_orthogonal(parameter, name)
        elif name.endswith(".bias"):
            assert parameter.count_nonzero() == 0, name
        else:
            bound = math.sqrt(6 / sum(parameter.shape))
            assert float(parameter.abs().max()) <= bound, name
            assert float(parameter.abs().max()) > 0.8 * bound, name
            assert abs(float(parameter.std()) / (bound / math.sqrt(3)) - 1) < 5 / math.sqrt(
                2 * parameter.numel()
            ), name


@pytest.mark.parametrize("initialisation", ["paper", "glorot"])
@pytest.mark.parametrize("alignment", [name for name in ALIGNMENTS if name not in ("dot", "fixed")])
def test_no_score_is_dead(alignment: str, initialisation: str) -> None:
    """Where v_a = 0 it has a gradient at the first update all the same, and everything behind it at the
    second."""
    batch = sentences()
    network = TranslationNetwork(
        small_settings(alignment=alignment, initialisation=initialisation), 7, 6
    ).double()
    named = {
        name: parameter for name, parameter in network.named_parameters() if ".alignment." in name
    }
    for update in range(2):
        found = gradients(network, nll(network, batch))
        if update == 0 and "decoder.alignment.v_a.weight" in found:
            assert float(found["decoder.alignment.v_a.weight"].abs().max()) > 0
        with torch.no_grad():
            for name, parameter in named.items():
                parameter.sub_(0.01 * found[name] / found[name].norm().clamp(min=1e-300))
    for name in named:
        assert float(found[name].abs().max()) > 0, name
