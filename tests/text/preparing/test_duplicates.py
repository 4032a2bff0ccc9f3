from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnsearch.text.preparing.duplicates import DIGEST, Duplicates, digest


@settings(max_examples=25)  # 64 files each
@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=6))
def test_the_first_of_equal_pairs_is_none_and_the_others_are(tmp_path_factory: pytest.TempPathFactory, blocks: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("digests")
    with Duplicates(folder) as duplicates:
        for block in blocks:
            duplicates.add(b"".join(digest(f"s{number}", "t") for number in block))
        found = duplicates.repetitions()
    pairs = [number for block in blocks for number in block]
    assert found.tolist() == [number in pairs[:place] for place, number in enumerate(pairs)]
    assert not list(folder.iterdir())


def test_digests_of_one_half_only_do_not_make_a_duplicate(tmp_path: Path) -> None:
    one, other = bytes(DIGEST), bytes(DIGEST - 1) + b"\1"
    with Duplicates(tmp_path) as duplicates:
        duplicates.add(one + other + bytes(7) + b"\1" + bytes(8) + other)
        assert duplicates.repetitions().tolist() == [False, False, False, True]


def test_both_sides_and_their_border_count() -> None:
    assert len({digest("a b", "c"), digest("a", "b c"), digest("a", "c"), digest("c", "a"), digest("", "a"), digest("a", "")}) == 6
    assert digest("a", "b") == digest("a", "b")
