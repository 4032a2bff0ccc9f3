"""Weights in a quarter of the space: what a search in int8 reads of them is what it would make of the whole ones."""

from __future__ import annotations

import pytest
import torch

from rnnsearch.errors import InputError
from rnnsearch.model.inference_weights import WEIGHT_LIMIT, scales_of
from rnnsearch.model.int8_weights import EMBEDDING, OUTPUT, SCALE, dequantise, quantise


def test_a_matrix_comes_back_within_half_a_step_of_its_row() -> None:
    matrix = torch.randn(20, 7) * torch.logspace(-6, 3, 20).unsqueeze(1)
    kept = quantise({"a.weight": matrix}, tied=False)
    assert kept["a.weight"].dtype == torch.int8
    back = dequantise(kept)["a.weight"]
    assert ((back - matrix).abs() <= 0.5001 * kept["a.weight" + SCALE].unsqueeze(1)).all()


def test_integers_made_of_what_came_back_are_the_same() -> None:
    kept = quantise({"a.weight": torch.randn(300, 64)}, tied=False)
    back = dequantise(kept)["a.weight"]
    again = (back / scales_of(back, WEIGHT_LIMIT)).round().to(torch.int8)
    assert torch.equal(again, kept["a.weight"])


def test_vectors_and_matrices_of_few_rows_are_kept_exactly() -> None:
    tensors = {"v": torch.randn(30), "v_a.weight": torch.randn(1, 30)}
    assert all(torch.equal(dequantise(quantise(tensors, tied=False))[name], tensors[name]) for name in tensors)


def test_a_row_of_zeros_stays_one() -> None:
    assert not dequantise(quantise({"a.weight": torch.zeros(16, 4)}, tied=False))["a.weight"].any()


def test_a_tied_output_is_kept_once() -> None:
    embedding = torch.randn(20, 4)
    kept = quantise({EMBEDDING: embedding, OUTPUT: embedding}, tied=True)
    assert OUTPUT not in kept
    whole = dequantise(kept)
    assert torch.equal(whole[OUTPUT], whole[EMBEDDING])


@pytest.mark.parametrize("scales", [None, torch.ones(19), torch.ones(20, dtype=torch.float64)])
def test_scales_that_do_not_fit_are_refused(scales: torch.Tensor | None) -> None:
    kept = quantise({"a.weight": torch.randn(20, 4)}, tied=False) | {"a.weight" + SCALE: scales}
    with pytest.raises(InputError, match=r"scales of the int8 matrix a\.weight"):
        dequantise({name: tensor for name, tensor in kept.items() if tensor is not None})
