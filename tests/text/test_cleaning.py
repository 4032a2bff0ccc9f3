from __future__ import annotations

import pytest
from pairs import pairs_of

from rnnsearch.settings import DataSettings
from rnnsearch.text.cleaning import Cleaner


def words(count: int) -> str:
    return " ".join(["w"] * count)


@pytest.mark.parametrize(
    ("reason", "settings", "dropped", "kept"),
    [
        ("empty side", {}, "|b, a| , |", "a|b"),
        ("too long", {}, f"{words(201)}|b, a|{words(201)}", f"{words(200)}|{words(200)}"),
        ("too long", {"max_words": 2}, "a b c|b", ""),
        # as in Moses: more than nine times
        (
            "length ratio",
            {},
            f"a|{words(10)}, {words(10)}|b, {words(2)}|{words(19)}",
            f"a|{words(9)}",
        ),
        ("length ratio", {"max_ratio": 1.4}, "w w|w w v", ""),
        ("", {"max_ratio": 1.5}, "", "w w|w w w"),
        ("", {"max_ratio": 1.0}, "", "w w w|w w w"),
        ("", {"max_ratio": 0}, "", f"a|{words(200)}, a|a"),
        ("identical sides", {"drop_identical": True}, "a b|a  b", "a b|a B, a b|a b c"),
    ],
)
def test_a_pair_is_dropped_for_a_reason(
    reason: str, settings: dict[str, object], dropped: str, kept: str
) -> None:
    cleaner = Cleaner(DataSettings.model_validate(settings))
    for text, expected in ((dropped, reason), (kept, "")):
        for source, target in pairs_of(text):
            for pair in ((source, target), (target, source)):
                assert cleaner.drop_reason((pair[0].split(), pair[1].split())) == expected, pair


def test_both_sides_and_their_border_count() -> None:
    pairs = [("a b", "c"), ("a", "b c"), ("a", "c"), ("c", "a"), ("", "a"), ("a", "")]
    digest = Cleaner(DataSettings()).digest
    assert len({digest(pair) for pair in pairs * 2}) == len(pairs)
