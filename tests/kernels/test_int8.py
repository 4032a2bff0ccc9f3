"""Int8 products in search: against their definition number by number, and against the exact ones they stand
for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from rnnsearch.config import load_config
from rnnsearch.kernels import int8
from rnnsearch.kernels.int8 import Int8Linear, SharedInputs
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import fastest_precision
from rnnsearch.system.tensors import WEIGHT_LIMIT
from rnnsearch.translation.networks import Networks

OUT, IN = 20, 13


def drawn(rows: int = 3, spread: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """M (OUT, IN), some of its rows much smaller than others, b (OUT,) and x (rows, IN)."""
    torch.manual_seed(1)
    return (
        torch.randn(OUT, IN) * torch.logspace(-2, 1, OUT).unsqueeze(1),
        torch.randn(OUT),
        spread * torch.randn(rows, IN),
    )


def by_definition(matrix: Tensor, bias: Tensor | None, x: Tensor, limit: int) -> Tensor:
    """Weight by weight in Python's integers."""
    rows = []
    for inputs in x.tolist():
        step = max(map(abs, inputs)) / limit or 1.0
        rows.append([])
        for weights in matrix.tolist():
            scale = max(map(abs, weights)) / 127 or 1.0
            pairs = zip(weights, inputs, strict=True)
            total = sum(round(weight / scale) * round(value / step) for weight, value in pairs)
            rows[-1].append(scale * step * total)
    return torch.tensor(rows) + (0.0 if bias is None else bias)


def steps(x: Tensor, limit: int) -> Tensor:
    """Of each row (rows, 1)."""
    return x.abs().amax(1, keepdim=True) / limit


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize(("rows", "shift"), [(1, 0.0), (3, 0.0), (40, 0.0), (3, 5.0), (3, -5.0)])
def test_int8_by_definition(rows: int, shift: float, with_bias: bool) -> None:
    matrix, drawn_bias, x = drawn(rows)
    bias, x = drawn_bias if with_bias else None, x + shift
    used = Int8Linear(matrix, bias)
    error = (used(x) - by_definition(matrix, bias, x, used.inputs.limit)).abs()
    # A float32 division may fall on the other side of a half than Python's: one step of one input, times a
    # weight.
    assert (error <= 1e-3 + 1.01 * steps(x, used.inputs.limit) * matrix.abs().amax(1)).all()
    assert (error < 1e-3).float().mean() > 0.9


def test_no_row_knows_of_the_others() -> None:
    matrix, bias, x = drawn(6)
    x[1] *= 1000
    x[2] = torch.nan
    x[3, 4] = torch.inf
    used = Int8Linear(matrix, bias)
    found = used(x)
    for row in (0, 1, 4, 5):
        torch.testing.assert_close(found[row : row + 1], used(x[row : row + 1]))
        assert found[row].isfinite().all()
    assert found[2].isnan().all()
    assert not found[3].isfinite().any()


def test_a_shared_input_is_quantised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And again after a change in place."""
    matrix, bias, x = drawn()
    inputs = SharedInputs()
    one, other = Int8Linear(matrix, bias, inputs), Int8Linear(matrix.flip(0), None, inputs)
    calls: list[int] = []
    scales_of = int8.scales_of
    monkeypatch.setattr(int8, "scales_of", lambda *of: calls.append(1) or scales_of(*of))
    before, flipped = Int8Linear(matrix, bias)(x), Int8Linear(matrix.flip(0), None)(x)
    assert torch.equal(one(x), before)
    assert torch.equal(other(x), flipped)
    assert len(calls) == 3
    x.mul_(-2.0)
    assert not torch.equal(one(x), before)
    assert torch.equal(one(x), one(x.clone()))
    assert len(calls) == 5


@pytest.mark.parametrize("told", [True, False])
def test_with_seven_bits_no_sum_of_two_products_leaves_sixteen(
    told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a CPU without VNNI needs: 2 · 127 · 127 < 2¹⁵. A torch that does not say whether it has VNNI is
    taken for one without."""
    if told:
        monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    else:
        monkeypatch.delattr(torch.cpu, "_is_vnni_supported")
    matrix, bias, x = drawn()
    used = Int8Linear(matrix, bias)
    assert 2 * (2 * used.inputs.limit + 1) * WEIGHT_LIMIT < 2**15
    assert (used(x) - by_definition(matrix, bias, x, 63)).abs().max() < 0.5


@pytest.mark.parametrize(
    ("cpu", "precision"),
    [
        ({}, "float32"),
        ({"cpu_name": "Intel Xeon"}, "float32"),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True}, "float32"),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": True}, "bfloat16"),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True}, "bfloat16"),
        ({"avx512_bf16": True}, "float32"),
    ],
)
def test_bfloat16_only_where_a_cpu_multiplies_faster_in_it(
    cpu: dict[str, object], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: cpu)
    assert fastest_precision(torch.device("cpu")) == precision
    networks = Networks([TranslationNetwork(load_config("demo").model, 5, 5)])
    assert networks.converted("fastest", True) is networks.converted(precision, True)
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert fastest_precision(torch.device("cpu")) == "float32"
