"""Products of a number of rows that comes back: the same numbers, in fewer shapes."""

from __future__ import annotations

import pytest
import torch

from rnnsearch.model.inference_weights import InferenceWeights, available
from rnnsearch.model.padded_rows import padded_rows, padded_size


def test_few_sizes_stand_for_many() -> None:
    sizes = [padded_size(rows) for rows in range(1, 1025)]
    assert all(rows <= size < rows + 64 for rows, size in enumerate(sizes, 1))
    assert len({*sizes}) < 50
    assert all(padded_size(size) == size for size in sizes)


def test_rows_stand_above_rows_of_zeros() -> None:
    x = torch.randn(7, 3, 4)
    padded = padded_rows(x, torch.bfloat16)
    assert padded.shape == (32, 4)
    torch.testing.assert_close(padded[:21], x.view(21, 4).bfloat16(), rtol=0, atol=0)
    assert not padded[21:].any()


def test_float32_is_left_alone() -> None:
    """Its products are compiled for no shape."""
    assert padded_rows(torch.randn(7, 3, 4), torch.float32).shape == (21, 4)


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_a_product_of_padded_rows_is_that_of_the_rows(precision: str) -> None:
    if precision == "int8" and not available():
        pytest.skip("this torch has no int8 products")
    product = InferenceWeights(precision).make(torch.randn(20, 8), torch.randn(20))
    x = torch.randn(19, 2, 8)
    with torch.no_grad():
        whole = product(x)
        assert whole.shape == (19, 2, 20)
        for row in range(19):
            torch.testing.assert_close(whole[row : row + 1], product(x[row : row + 1]), rtol=1e-2, atol=1e-2)
