"""Translations are kept, whatever happens while they are made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import ter_statistics
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.records import Translation
from rnnsearch.report.kept import Kept, as_fields, from_fields, kept_statistics, translate_missing
from rnnsearch.system.checksums import checksum

HEADER = {"key": "k", "hardware": "here"}


def translation(number: int) -> Translation:
    weights = np.array([[0.75, 0.25, 0.0], [0.0004, 0.0, 0.9996]], dtype=np.float32)
    return Translation(f"text {number}", ["a", "b"], ["x", "y", "</s>"], -1.5, [-0.5, -0.75, -0.25], weights)


class Worker:
    """Translates, and remembers the batches it was given; fails at the batch of this number."""

    def __init__(self, fails_at: int = -1) -> None:
        self.batches: list[list[int]] = []
        self.fails_at = fails_at

    def __call__(self, numbers: list[int]) -> list[Translation]:
        if len(self.batches) == self.fails_at:
            raise KeyboardInterrupt
        self.batches.append(numbers)
        return [translation(number) for number in numbers]

    @property
    def translated(self) -> list[int]:
        """Without the warming up."""
        return [number for batch in self.batches[1:] for number in batch]


LENGTHS = {0: 3, 1: 9, 2: 5, 3: 1, 4: 0}


def test_a_line_comes_back_as_it_was() -> None:
    number, kept = from_fields(json.loads(json.dumps(as_fields(7, Kept(translation(7), 0.5)))))
    assert (number, kept.seconds) == (7, 0.5)
    ours = translation(7)
    assert (kept.translation.text, kept.translation.tokens, kept.translation.score) == (ours.text, ours.tokens, ours.score)
    np.testing.assert_allclose(kept.translation.alignment, ours.alignment, atol=6e-4)
    np.testing.assert_allclose(kept.translation.alignment.sum(1), 1, atol=1e-6)


def test_an_empty_translation_comes_back_as_it_was() -> None:
    empty = Translation("", [], ["</s>"], 0.0, [], np.zeros((0, 1), dtype=np.float32))
    _, kept = from_fields(json.loads(json.dumps(as_fields(0, Kept(empty, 0.0)))))
    assert kept.translation.alignment.shape == (0, 1)


def test_batches_hold_similar_lengths(tmp_path: Path) -> None:
    worker = Worker()
    found = translate_missing(tmp_path / "f", HEADER, LENGTHS, worker, 2).found
    assert worker.batches == [[4], [1, 2], [0, 3], [4]]  # the first warms up
    assert [kept.translation.text for kept in found.values()] == [f"text {number}" for number in range(5)]
    assert list(found) == [0, 1, 2, 3, 4]


def test_time_is_shared_by_source_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 7))  # every batch takes 7 seconds
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    found = translate_missing(tmp_path / "f", HEADER, LENGTHS, Worker(), 5).found
    # 3 + 9 + 5 + 1 words, and an empty line that counts as one: 7 seconds for 19
    assert [round(kept.seconds * 19 / 7, 4) for kept in found.values()] == [3, 9, 5, 1, 1]


def test_what_is_there_is_not_translated_again(tmp_path: Path) -> None:
    first = translate_missing(tmp_path / "f", HEADER, LENGTHS, Worker(), 2)
    worker = Worker()
    second = translate_missing(tmp_path / "f", HEADER | {"hardware": "elsewhere"}, LENGTHS, worker, 2)
    assert worker.batches == []
    assert second.header["hardware"] == "here"  # where the times are from
    assert [as_fields(*item) for item in first.found.items()] == [as_fields(*item) for item in second.found.items()]


def test_a_break_costs_one_batch(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        translate_missing(tmp_path / "f", HEADER, LENGTHS, Worker(fails_at=2), 2)
    worker = Worker()
    assert len(translate_missing(tmp_path / "f", HEADER, LENGTHS, worker, 2).found) == 5
    assert worker.translated == [0, 3, 4]


@pytest.mark.parametrize("cut", [1, 10, 300])
def test_half_a_line_is_cut_off(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "f"
    translate_missing(file, HEADER, LENGTHS, Worker(), 2)
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    missing = whole[-cut:].count(b"\n")  # lines of the batches [1, 2], [0, 3], [4]: lines differ in length with the digits of their time
    worker = Worker()
    found = translate_missing(file, HEADER, LENGTHS, worker, 2).found
    assert worker.translated == {1: [4], 2: [0, 3, 4], 3: [0, 3, 4], 4: [1, 2, 0, 3, 4]}[missing]  # a batch is translated whole
    assert list(found) == [0, 1, 2, 3, 4]
    assert file.read_bytes().endswith(b"\n")
    assert {from_fields(json.loads(line))[0] for line in file.read_text(encoding="utf-8").splitlines()[1:]} == {0, 1, 2, 3, 4}


def test_a_file_without_a_whole_line_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"key": ', encoding="utf-8")
    assert len(translate_missing(tmp_path / "f", HEADER, LENGTHS, Worker(), 2).found) == 5


def test_what_does_not_belong_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    translate_missing(file, HEADER, LENGTHS, Worker(), 2)
    with pytest.raises(InputError, match="another run, search or test set"):
        translate_missing(file, {"key": "other"}, LENGTHS, Worker(), 2)
    damaged: list[Any] = ["[]", '{"key": "k"}\n{"number": 1}', "no json\n{}"]
    for content in damaged:
        file.write_text(content + "\n", encoding="utf-8")
        with pytest.raises(InputError, match="is damaged"):
            translate_missing(file, HEADER, LENGTHS, Worker(), 2)


def test_checksums_tell_parts_apart(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"ab")
    assert checksum("ab", "c") != checksum("a", "bc") != checksum("abc")
    assert checksum("ab") == checksum(b"ab") == checksum(tmp_path / "f")


def test_statistics_are_computed_once(tmp_path: Path) -> None:
    asked: list[list[list[float]] | None] = []

    def compute(found: list[list[float]] | None) -> SufficientStatistics:
        asked.append(found)
        return ter_statistics(["a b", "c d e"], ["a x", "c d e"], found=found)

    first, second = (kept_statistics(tmp_path / "ter.json", compute) for _ in range(2))
    assert asked == [None, [[1.0, 2.0], [0.0, 3.0]]]
    assert first.score() == second.score()
    (tmp_path / "ter.json").write_text("[[1.0, 2.0", encoding="utf-8")  # as a full disk leaves it
    assert kept_statistics(tmp_path / "ter.json", compute).score() == first.score()
    assert asked[2] is None
