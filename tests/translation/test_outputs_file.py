"""The file of outputs: a line comes back as it was, and damage is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.translation.outputs_file import (
    OutputLine,
    as_line,
    from_line,
    read_header,
    read_outputs,
)

WEIGHTS = np.array([[0.75, 0.25, 0.0], [0.0004, 0.0, 0.9996]], dtype=np.float32)
OURS = Translation(
    "text", ["a", "b"], ["x", "y", "</s>"], -1.23456789, [-0.5, -0.75, -0.25], WEIGHTS, finished=False
)


def test_a_line_comes_back_as_it_was() -> None:
    found = from_line(as_line(OutputLine(7, OURS, 0.5, WEIGHTS[::-1])))
    assert (found.number, found.seconds) == (7, 0.5)
    for name in ("text", "tokens", "source_tokens", "score", "log_probabilities", "finished"):
        assert getattr(found.translation, name) == getattr(OURS, name)
    assert found.posterior is not None
    for weights, expected in ((found.translation.alignment, WEIGHTS), (found.posterior, WEIGHTS[::-1])):
        np.testing.assert_allclose(weights, expected, atol=6e-4)
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)
        assert weights.dtype == np.float32


def test_the_largest_weight_of_a_row_stays_and_a_row_of_nothing_stays_nothing() -> None:
    weights = np.zeros((2, 4000), dtype=np.float32)
    weights[0] = 0.00025
    weights[0, 3000] = 0.00026
    both = Translation("", ["a", "b"], ["x"] * 4000, 0.0, [], weights)
    found = from_line(as_line(OutputLine(0, both))).translation
    assert found.links() == both.links()
    assert np.flatnonzero(found.alignment).tolist() == [3000]


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "f"
    lines = [b'{"key": "k"}', *(as_line(OutputLine(number, OURS)).encode() for number in range(3))]
    file.write_bytes(b"\n".join([*lines, b""]))
    assert read_header(file) == {"key": "k"}
    assert [output.number for output in read_outputs(file)] == [0, 1, 2]
    for number, damaged in (
        *((1, b"[]"), (1, b"no json"), (3, b'{"number": 1}')),
        *((4, b"[]"), (2, b"\xff\xfe"), (2, lines[2][:-5])),
    ):
        file.write_bytes(b"\n".join([*lines[: number - 1], damaged, *lines[number:]]))
        said = rf"f:{number}: is damaged: .* \(remove it; its sentences are then translated again\)"
        with pytest.raises(InputError, match=said):
            read_header(file) if number == 1 else list(read_outputs(file))
