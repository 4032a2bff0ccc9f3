from __future__ import annotations

import pytest
from pairs import pairs_of

from rnnsearch.config import DataSettings
from rnnsearch.text.preparing.cleaning import FILTERS, Cleaner, TokenisedPair


def words(count: int) -> str:
    return " ".join(["w"] * count)


def pair_of(source: str, target: str) -> TokenisedPair:
    return TokenisedPair((source, target), (source.split(), target.split()))


@pytest.mark.parametrize(
    ("name", "settings", "dropped", "kept"),
    [
        ("empty side", {}, "|b, a| , |", "a|b"),
        ("too long", {}, f"{words(201)}|b, a|{words(201)}", f"{words(200)}|{words(200)}"),
        ("too long", {"max_words": 2}, "a b c|b", ""),
        # as in Moses: more than nine times
        ("length ratio", {}, f"a|{words(10)}, {words(10)}|b, {words(2)}|{words(19)}", f"a|{words(9)}"),
        ("length ratio", {"max_ratio": 1.4}, "w w|w w w", ""),
        ("length ratio", {"max_ratio": 1.5}, "", "w w|w w w"),
        ("length ratio", {"max_ratio": 1.0}, "", "w w w|w w w"),
        ("identical sides", {}, "a b|a  b", "a b|a B, a b|a b c"),
    ],
)
def test_a_filter_drops(name: str, settings: dict[str, object], dropped: str, kept: str) -> None:
    drops, chosen = FILTERS[name][1], DataSettings.model_validate(settings)
    for text, expected in ((dropped, True), (kept, False)):
        for source, target in pairs_of(text):
            for pair in (pair_of(source, target), pair_of(target, source)):
                assert drops(pair, chosen) is expected, pair


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["length ratio"]),
        ({"max_ratio": 0}, []),
        ({"drop_identical": True}, ["length ratio", "identical sides"]),
        ({"drop_duplicates": True}, ["length ratio"]),  # needs a memory of all pairs, so it is no filter
    ],
)
def test_settings_turn_filters_on(settings: dict[str, object], names: list[str]) -> None:
    active = Cleaner(DataSettings.model_validate(settings)).filters
    assert list(active) == ["empty side", "too long", *names]
