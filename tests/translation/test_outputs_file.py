"""The file of outputs: whatever ends the work, the same call goes on, and the file is that of undisturbed
work."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.translation import outputs_file
from rnnsearch.translation.outputs_file import (
    OutputLine,
    as_line,
    completed,
    count_outputs,
    from_line,
    read_header,
    read_outputs,
)

HEADER = {"key": "k", "hardware": "here"}
WEIGHTS = np.array([[0.75, 0.25, 0.0], [0.0004, 0.0, 0.9996]], dtype=np.float32)
TEXT = [3, 9, 5, 1, 0, 7, 2, 8, 4, 6]
"""Items, which are their own number of words."""


@pytest.fixture(autouse=True)
def _blocks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches of two."""
    monkeypatch.setattr(outputs_file, "READ_AHEAD", 2)


def translation(words: int) -> Translation:
    weights = np.full((2, words + 1), 1 / (words + 1), dtype=np.float32)
    return Translation(
        f"text {words}", ["a", "b"], [*map(str, range(words)), "</s>"], -1.5, [-0.5, -0.75, -0.25], weights
    )


class Work:
    """Translates, and remembers the batches that it was given; it is ended at the batch of this number."""

    def __init__(self, ends_at: int = -1) -> None:
        self.batches: list[list[int]] = []
        self.ends_at = ends_at

    def __call__(self, batch: Sequence[int]) -> list[OutputLine]:
        if len(self.batches) == self.ends_at:
            raise KeyboardInterrupt
        self.batches.append(list(batch))
        return [OutputLine(words, translation(words)) for words in batch]


def run(
    path: Path, items: Any = TEXT, work: Work | None = None, header: dict[str, Any] = HEADER
) -> Iterator[OutputLine]:
    fits = lambda item, output: item == output.number  # noqa: E731
    return completed(path, header, items, 2, lambda words: words, work or Work(), fits)


def untimed(path: Path) -> list[dict[str, Any]]:
    """The header and the lines, but for the seconds."""
    return [json.loads(line) | {"seconds": 0} for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_a_line_comes_back_as_it_was() -> None:
    ours = Translation(
        "text", ["a", "b"], ["x", "y", "</s>"], -1.23456789, [-0.5, -0.75, -0.25], WEIGHTS, finished=False
    )
    found = from_line(as_line(OutputLine(7, ours, 0.5, WEIGHTS[::-1], "answer\n")))
    assert (found.number, found.seconds, found.answer) == (7, 0.5, "answer\n")
    for name in ("text", "tokens", "source_tokens", "score", "log_probabilities", "finished"):
        assert getattr(found.translation, name) == getattr(ours, name)
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


def test_time_is_shared_by_source_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 7))  # every batch takes 7 seconds
    monkeypatch.setattr(outputs_file, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    found = list(run(tmp_path / "f"))
    # Batches of 9 + 5, 3 + 1, 8 + 7, 2 + 0 and 6 + 4 words; an empty line counts as one.
    together = [(9, 5), (3, 1), (8, 7), (2, 0), (6, 4)]
    shares = {one: max(one, 1) / sum(max(each, 1) for each in batch) for batch in together for one in batch}
    assert [output.seconds for output in found] == [round(7 * shares[words], 6) for words in TEXT]


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    first = list(map(as_line, run(tmp_path / "f")))
    work = Work()
    second = list(map(as_line, run(tmp_path / "f", work=work, header=HEADER | {"hardware": "elsewhere"})))
    assert (first, work.batches) == (second, [])
    assert read_header(tmp_path / "f")["hardware"] == "here"  # where the times are from


def test_a_break_costs_one_block(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(run(tmp_path / "f", work=Work(ends_at=3)))
    work = Work()
    assert len(list(run(tmp_path / "f", work=work))) == 10
    assert work.batches == [[8, 7], [2, 0], [6, 4]]


def test_cut_anywhere_it_goes_on_with_whole_blocks(tmp_path: Path) -> None:
    list(run(tmp_path / "f"))
    whole, expected = (tmp_path / "f").read_bytes(), untimed(tmp_path / "f")
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in sorted(
        {0, 1, *(end + step for end in ends for step in (-20, -1, 0, 1)), len(whole)} - {len(whole) + 1}
    ):
        (tmp_path / "f").write_bytes(whole[:cut])
        work = Work()
        list(run(tmp_path / "f", work=work))
        lines = sum(end <= cut for end in ends) - 1
        blocks = 3 if lines == 10 else max(lines, 0) // 4
        assert len(work.batches) == [5, 3, 1, 0][blocks], cut
        assert untimed(tmp_path / "f") == expected, cut


def test_text_of_unknown_length_is_read_block_by_block(tmp_path: Path) -> None:
    taken: list[int] = []
    outputs = run(tmp_path / "f", (taken.append(number) or number % 10 for number in itertools.count()))  # type: ignore[func-returns-value]
    assert next(outputs).number == 0
    assert taken == [0, 1, 2, 3]
    assert count_outputs(tmp_path / "f") == 4


@pytest.mark.parametrize(
    ("text", "batches"),
    [
        ([*TEXT, 11], [[11, 6], [4]]),  # a line more: the last block was in other company
        (TEXT[:9], [[4]]),
        (TEXT[:8], []),
        ([*TEXT[:5], 12, *TEXT[6:]], [[12, 8], [2, 0], [6, 4]]),  # another line: made anew from its block on
    ],
)
def test_of_another_text_what_fits_is_used(tmp_path: Path, text: list[int], batches: list[list[int]]) -> None:
    list(run(tmp_path / "f"))
    work = Work()
    assert [output.number for output in run(tmp_path / "f", text, work)] == text
    assert work.batches == batches
    list(run(tmp_path / "g", text))
    assert untimed(tmp_path / "f") == untimed(tmp_path / "g")


def test_what_does_not_belong_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    list(run(file))
    with pytest.raises(InputError, match=r"f: was made by another run, search or text \(remove it; "):
        list(run(file, header={"key": "other"}))
    lines = file.read_bytes().split(b"\n")
    for number, damaged in (
        (1, b"[]"),
        (1, b"no json"),
        (1, b"{}"),
        (3, b'{"number": 1}'),
        (4, b"[]"),
        (10, b"\xff\xfe"),
        (2, lines[2][:-5]),
    ):
        file.write_bytes(b"\n".join([*lines[: number - 1], damaged, *lines[number:]]))
        with pytest.raises(
            InputError,
            match=rf"f:{number}: is damaged: .* \(remove it; its sentences are then translated again\)",
        ):
            list(run(file))
        with pytest.raises(InputError, match=rf"f:{number}: is damaged"):
            read_header(file) if number == 1 else list(read_outputs(file))


def test_two_at_once_do_not_write_one_file(tmp_path: Path) -> None:
    first = run(tmp_path / "f")
    next(first)
    with pytest.raises(InputError, match="another command is writing it"):
        next(run(tmp_path / "f"))
    assert len([*first]) == 9


def test_a_full_disk_is_one_line_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    outputs = run(tmp_path / "f")
    next(outputs)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(InputError, match="f: cannot be written: No space left on device"):
            list(outputs)
    work = Work()
    assert [output.number for output in run(tmp_path / "f", work=work)] == TEXT
    assert [9, 5] not in work.batches
