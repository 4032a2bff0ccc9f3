"""How parameters begin (B.1), how large they are (A.2), which biases there are, and the alternative of Glorot & Bengio 2010."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest
import torch
from small import ALIGNMENTS, nll, sentences, small_network, small_settings
from torch import Tensor

from rnnsearch.config import ModelSettings
from rnnsearch.model.network import TranslationNetwork

M, N, SIZE, L = 70, 60, 50, 40
SOURCE_WORDS, TARGET_WORDS = 110, 120

ORTHOGONAL, ZERO, ONE_PART = "orthogonal", "zero", "zero but for the forget gate"
PAPER = {
    # name: (shape as A.2.1 and A.2.2 give it, beginning as B.1 gives it)
    "source_embedding.weight": ((SOURCE_WORDS, M), 0.01),
    "source_embedding.bias": ((M,), ZERO),
    "target_embedding.weight": ((TARGET_WORDS, M), 0.01),
    "target_embedding.bias": ((M,), ZERO),
    "encoder.forwards.W.weight": ((N, M), 0.01),
    "encoder.forwards.W.bias": ((N,), ZERO),
    "encoder.forwards.W_zr.weight": ((2 * N, M), 0.01),
    "encoder.forwards.U.weight": ((N, N), ORTHOGONAL),
    "encoder.forwards.U_zr.weight": ((2 * N, N), ORTHOGONAL),
    "encoder.backwards.W.weight": ((N, M), 0.01),
    "encoder.backwards.W.bias": ((N,), ZERO),
    "encoder.backwards.W_zr.weight": ((2 * N, M), 0.01),
    "encoder.backwards.U.weight": ((N, N), ORTHOGONAL),
    "encoder.backwards.U_zr.weight": ((2 * N, N), ORTHOGONAL),
    "decoder.W_s.weight": ((N, N), 0.01),
    "decoder.W_s.bias": ((N,), ZERO),
    "decoder.cell.W.weight": ((N, M), 0.01),
    "decoder.cell.W.bias": ((N,), ZERO),
    "decoder.cell.W_zr.weight": ((2 * N, M), 0.01),
    "decoder.cell.U.weight": ((N, N), ORTHOGONAL),
    "decoder.cell.U_zr.weight": ((2 * N, N), ORTHOGONAL),
    "decoder.cell.C.weight": ((3 * N, 2 * N), 0.01),
    "decoder.alignment.W_a.weight": ((SIZE, N), 0.001),
    "decoder.alignment.U_a.weight": ((SIZE, 2 * N), 0.001),
    "decoder.alignment.v_a.weight": ((1, SIZE), ZERO),
    "readout.U_o.weight": ((2 * L, N), 0.01),
    "readout.U_o.bias": ((2 * L,), ZERO),
    "readout.V_o.weight": ((2 * L, M), 0.01),
    "readout.C_o.weight": ((2 * L, 2 * N), 0.01),
    "output.weight": ((TARGET_WORDS, L), 0.01),
    "output.bias": ((TARGET_WORDS,), ZERO),
}


def fresh(**changed: Any) -> dict[str, Tensor]:
    sizes = {"embedding_size": M, "hidden_size": N, "alignment_size": SIZE, "maxout_size": L}
    network = TranslationNetwork(ModelSettings(**(sizes | changed)), SOURCE_WORDS, TARGET_WORDS)
    return {name: parameter.detach() for name, parameter in network.named_parameters()}


def blocks_of(matrix: Tensor) -> list[Tensor]:
    return list(matrix.split(matrix.shape[1]))


def assert_orthogonal(matrix: Tensor, name: str) -> None:
    for block in blocks_of(matrix):
        torch.testing.assert_close(block @ block.T, torch.eye(len(block)), rtol=0, atol=1e-5, msg=name)


def assert_deviation(parameter: Tensor, deviation: float, name: str) -> None:
    """Mean and standard deviation within five standard errors."""
    error = deviation / math.sqrt(parameter.numel())
    assert abs(float(parameter.mean())) < 5 * error, name
    assert abs(float(parameter.std()) - deviation) < 5 * error / math.sqrt(2), name


def test_paper() -> None:
    """Every parameter of the paper's network: all accounted for, each of the right shape and beginning. Gates, C and a have no bias."""
    parameters = fresh()
    assert {name: tuple(parameter.shape) for name, parameter in parameters.items()} == {name: shape for name, (shape, _) in PAPER.items()}
    for name, (_, beginning) in PAPER.items():
        parameter = parameters[name]
        if beginning == ORTHOGONAL:
            assert_orthogonal(parameter, name)
        elif beginning == ZERO:
            assert parameter.count_nonzero() == 0, name
        else:
            assert isinstance(beginning, float)
            assert_deviation(parameter, beginning, name)


def test_orthogonal_matrices_are_drawn_each() -> None:
    parameters = fresh(cell="lstm")
    blocks = [block for name, parameter in parameters.items() if name.endswith(".U.weight") for block in blocks_of(parameter)]
    assert len(blocks) == 12
    for k, block in enumerate(blocks):
        assert_orthogonal(block, f"block {k}")
        assert not any(torch.allclose(block, other) for other in blocks[:k])


def test_parameters_differ_between_networks_of_different_seeds() -> None:
    first, second = fresh(), fresh()
    assert not torch.equal(first["decoder.cell.U.weight"], second["decoder.cell.U.weight"])
    torch.manual_seed(5)
    third = fresh()
    torch.manual_seed(5)
    assert all(torch.equal(parameter, third[name]) for name, parameter in fresh().items())


def test_lstm_begins_with_open_forget_gates() -> None:
    bias = fresh(cell="lstm")["decoder.cell.W.bias"]
    i, f, o, g = bias.split(N)
    assert bool((f == 1).all())
    assert not any(part.any() for part in (i, o, g))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"factored_output": True}, {"output.factor.weight": ((M, L), 0.01), "output.weight": ((TARGET_WORDS, M), 0.01)}),
        ({"tie_output": True, "factored_output": True}, {"output.factor.weight": ((M, L), 0.01)}),
        ({"readout": "tanh"}, {"readout.U_o.weight": ((L, N), 0.01), "readout.C_o.weight": ((L, 2 * N), 0.01)}),
        ({"alignment": "general"}, {"decoder.alignment.W.weight": ((N, 2 * N), 0.01)}),
        ({"alignment": "window"}, {"decoder.alignment.W.weight": ((30, N), 0.01), "decoder.alignment.W.bias": ((30,), ZERO)}),
        (
            {"alignment": "recurrent"},
            {
                "decoder.alignment.W.weight": ((3 * SIZE, N), 0.01),
                "decoder.alignment.Q.weight": ((3 * SIZE, 2 * N), 0.01),
                "decoder.alignment.unit.U.weight": ((SIZE, SIZE), ORTHOGONAL),
                "decoder.alignment.unit.U_zr.weight": ((2 * SIZE, SIZE), ORTHOGONAL),
                "decoder.alignment.v_a.weight": ((1, SIZE), ZERO),
            },
        ),
        ({"alignment": "recurrent-scalar"}, {"decoder.alignment.Q.weight": ((3, 2 * N), 0.01)}),
        (
            {"alignment": "coverage"},
            {
                "decoder.alignment.W_a.weight": ((SIZE, N), 0.001),
                "decoder.alignment.V_a.weight": ((SIZE, 1), 0.01),
                "decoder.alignment.U_f.weight": ((1, 2 * N), 0.01),
                "decoder.alignment.v_a.weight": ((1, SIZE), ZERO),
            },
        ),
        (
            {"alignment": "coverage-neural"},
            {
                "decoder.alignment.V_a.weight": ((SIZE, 10), 0.01),
                "decoder.alignment.A.weight": ((30, 1), 0.01),
                "decoder.alignment.W.weight": ((30, N), 0.01),
                "decoder.alignment.unit.U.weight": ((10, 10), ORTHOGONAL),
            },
        ),
        ({"encoder": "forward"}, {"decoder.W_s.weight": ((N, N), 0.01), "decoder.alignment.U_a.weight": ((SIZE, N), 0.001)}),
        ({"encoder": "embedding"}, {"decoder.W_s.weight": ((N, M), 0.01), "decoder.alignment.U_a.weight": ((SIZE, M), 0.001)}),
        ({"encoder": "embedding-position"}, {"decoder.W_s.weight": ((N, M), 0.01)}),
        ({"encoder_size": 20}, {"encoder.forwards.U.weight": ((20, 20), ORTHOGONAL), "decoder.W_s.weight": ((N, 20), 0.01)}),
        ({"cell": "tanh"}, {"decoder.cell.C.weight": ((N, 2 * N), 0.01), "decoder.cell.U.weight": ((N, N), ORTHOGONAL)}),
        ({"cell": "lstm"}, {"decoder.cell.W.weight": ((4 * N, M), 0.01), "decoder.cell.C.weight": ((4 * N, 2 * N), 0.01)}),
    ],
    ids=str,
)
def test_alternatives(changed: dict[str, Any], expected: dict[str, tuple[tuple[int, ...], str | float]]) -> None:
    parameters = fresh(**changed)
    assert ("output.weight" in parameters) == (not changed.get("tie_output"))  # a shared parameter appears once
    for name, (shape, beginning) in expected.items():
        assert tuple(parameters[name].shape) == shape, name
        if beginning == ZERO:
            assert parameters[name].count_nonzero() == 0, name
        elif beginning == ORTHOGONAL:
            assert_orthogonal(parameters[name], name)
        else:
            assert isinstance(beginning, float)
            assert_deviation(parameters[name], beginning, name)


@pytest.mark.parametrize("changed", [{}, {"tie_output": True, "factored_output": True}], ids=["own output", "tied output"])
def test_glorot(changed: dict[str, Any]) -> None:
    """Layers from U(±√(6/(in + out))), v_a too; embeddings from N(0, 1/m); recurrent matrices and biases as in the paper."""
    for name, parameter in fresh(initialisation="glorot", **changed).items():
        if name.endswith("embedding.weight"):
            assert_deviation(parameter, M**-0.5, name)
        elif PAPER.get(name, ((), 0.01))[1] == ORTHOGONAL:
            assert_orthogonal(parameter, name)
        elif name.endswith(".bias"):
            assert parameter.count_nonzero() == 0, name
        else:
            bound = math.sqrt(6 / sum(parameter.shape))
            assert float(parameter.abs().max()) <= bound, name
            assert float(parameter.abs().max()) > 0.8 * bound, name
            assert abs(float(parameter.std()) / (bound / math.sqrt(3)) - 1) < 5 / math.sqrt(2 * parameter.numel()), name


@pytest.mark.parametrize(("initialisation", "deviation"), [("paper", 0.01), ("glorot", M**-0.5)])
def test_position_signal_begins_as_large_as_embeddings(initialisation: str, deviation: float) -> None:
    """Else it is drowned by them, or drowns them."""
    parameters = fresh(encoder="embedding-position", initialisation=initialisation)
    assert parameters["encoder.scale"].tolist() == pytest.approx([deviation])
    assert_deviation(parameters["source_embedding.weight"], deviation, "source_embedding.weight")


def test_attention_is_uniform_at_the_start() -> None:
    """v_a = 0 (B.1): every real position weighs the same before the first update."""
    network = small_network()
    with torch.no_grad():
        network.decoder.alignment.v_a.weight.zero_()  # type: ignore[union-attr,operator]
    lengths = torch.tensor([4, 2])
    weights = network(torch.ones(2, 4, dtype=torch.long), lengths, torch.ones(2, 3, dtype=torch.long)).weights
    expected = torch.tensor([[0.25] * 4, [0.5, 0.5, 0.0, 0.0]], dtype=torch.float64)[:, None].expand(-1, 3, -1)
    torch.testing.assert_close(weights, expected)


@pytest.mark.parametrize("initialisation", ["paper", "glorot"])
@pytest.mark.parametrize("alignment", [name for name in ALIGNMENTS if name not in ("dot", "fixed")])
def test_no_score_is_dead(alignment: str, initialisation: str) -> None:
    """Where v_a = 0 it has a gradient at the first update all the same, and everything behind it at the second."""
    batch = sentences()
    network = TranslationNetwork(small_settings(alignment=alignment, initialisation=initialisation), 7, 6).double()
    named = {name: parameter for name, parameter in network.named_parameters() if ".alignment." in name}
    for update in range(2):
        loss = nll(network, batch)
        found = dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))
        if update == 0 and "decoder.alignment.v_a.weight" in found:
            assert float(found["decoder.alignment.v_a.weight"].abs().max()) > 0
        with torch.no_grad():
            for name, parameter in named.items():
                parameter.sub_(0.01 * found[name] / found[name].norm().clamp(min=1e-300))
    for name, gradient in found.items():
        assert float(gradient.abs().max()) > 0, name


def test_networks_can_be_copied_and_pickled() -> None:
    """A process of its own (data parallel, a server's worker) needs the network to travel."""
    network = small_network()
    for other in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert all(torch.equal(parameter, other.state_dict()[name]) for name, parameter in network.state_dict().items())
