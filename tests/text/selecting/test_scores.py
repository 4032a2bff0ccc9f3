from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import InputError
from rnnsearch.text.formats.readers import Layout
from rnnsearch.text.selecting import scores as scoring
from rnnsearch.text.selecting.scores import (
    RECORD,
    Records,
    ScoresHeader,
    Unit,
    best,
    open_scores,
    selected,
    total_words,
    written_scores,
)

ABOUT = ScoresHeader(
    pool=["pool.en", "pool.fr"],
    in_domain=["news.en", "news.fr"],
    layout=Layout(),
    tokeniser="space",
    order=4,
    seed=1,
    in_domain_pairs=2,
    in_domain_words=[7, 8],
    sample_pairs=2,
    sample_words=[6, 9],
    vocabularies=[3, 4],
)


def records(pairs: list[tuple[float, int]]) -> Records:
    return np.array(pairs, RECORD)


def plainly_best(pairs: list[tuple[float, int]], limit: int, unit: Unit) -> set[int]:
    """Positions of the pairs that are kept, by sorting them all."""
    chosen, total = set(), 0
    for position in sorted(range(len(pairs)), key=lambda position: (pairs[position][0], position)):
        score, words = pairs[position]
        total += words if unit == "words" else 1
        if total > limit or score == np.inf:
            break
        chosen.add(position)
    return chosen


some_scores = st.one_of(
    st.sampled_from([-1.5, -0.0, 0.0, 1e-30, -1e-30, 2.25, float("inf")]),
    st.floats(-100, 100, width=32),
    st.floats(1, 1 + 2**-9, width=32),  # close to one another
)
some_pairs = st.lists(st.tuples(some_scores, st.integers(1, 20)), min_size=1, max_size=60)


@given(some_pairs, st.integers(0, 300), st.sampled_from(["words", "pairs"]), st.sampled_from([1, 7, 1 << 18]))
def test_the_cut_is_that_of_sorting(
    pairs: list[tuple[float, int]], limit: int, unit: Unit, chunk: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "_CHUNK", chunk)
        threshold = best(records(pairs), limit, unit)
        found = [position for position, keep in enumerate(selected(records(pairs), threshold)) if keep]
    assert found == sorted(plainly_best(pairs, limit, unit))


def test_a_limit_that_holds_everything_keeps_all_but_what_is_infinite() -> None:
    pairs = [(1.0, 3), (float("inf"), 0), (-4.0, 2)]
    assert list(selected(records(pairs), best(records(pairs), 5, "words"))) == [True, False, True]
    assert total_words(records(pairs)) == 5


def test_what_was_written_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "scores"
    with written_scores(path, ABOUT) as write:
        write(records([(1.5, 3), (-2.0, 4)]), 17)
        write(records([(float("inf"), 0)]), 23)
    opened = open_scores(path)
    assert opened.about == replace(ABOUT, pairs=3, checksum=23)
    assert opened.records.tolist() == [(1.5, 3), (-2.0, 4), (float("inf"), 0)]
    assert isinstance(opened.records, np.memmap)


def test_the_file_is_a_line_of_json_and_eight_bytes_a_pair(tmp_path: Path) -> None:
    """As the documentation says how to read it without this program."""
    with written_scores(tmp_path / "scores", ABOUT) as write:
        write(records([(1.5, 3), (-2.0, 4)]), 17)
    with (tmp_path / "scores").open("rb") as file:
        about = json.loads(file.readline())
        assert file.tell() % 8 == 0  # so the records are aligned in memory
        values = np.fromfile(file, [("score", "<f4"), ("words", "<u4")])
    assert about["pairs"] == len(values) == 2
    assert values["score"].tolist() == [1.5, -2.0]


def test_an_interruption_leaves_no_scores(tmp_path: Path) -> None:
    def interrupted() -> None:
        with written_scores(tmp_path / "scores", ABOUT) as write:
            write(records([(1.5, 3)]), 17)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is not a file of scores"),
        (b"hello\n", "is not a file of scores"),
        (b"[1]\n", "is not a file of scores"),
        (b"\xff\xfe\x00", "is not a file of scores"),
        (b'{"format": "rnnsearch scores 2"}\n', "is not a file of scores"),
        (b'{"format": "rnnsearch scores 1"}\n', "is not a file of scores"),
        (b'{"format": "rnnsearch scores 1", "layout": {"a": 1}}\n', "is not a file of scores"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "scores").write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_scores(tmp_path / "scores")


@pytest.mark.parametrize("missing", [1, 7, 8, 16])
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, missing: int) -> None:
    path = tmp_path / "scores"
    with written_scores(path, ABOUT) as write:
        write(records([(1.5, 3), (-2.0, 4)]), 17)
    path.write_bytes(path.read_bytes()[:-missing])
    with pytest.raises(InputError, match="incomplete"):
        open_scores(path)
