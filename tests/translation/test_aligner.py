"""Links, probabilities and phrases of pairs in Python, with matrices that are known in place of networks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch import AlignedPair, Aligner, InputError, Translation
from rnnsearch.text.tokens import Tokeniser


class Known:
    """A translator that aligns every word with the words that a table gives: word → word → weight."""

    def __init__(self, table: dict[str, dict[str, float]], language: str) -> None:
        self.table, self.words = table, Tokeniser("moses", language).words
        self.source = self.target = Tokeniser("moses", language)

    def force(self, pairs: Iterable[tuple[str, str]], batch_size: int, **how: Any) -> Iterator[Translation]:
        assert how["posterior"]
        for source, target in pairs:
            words, tokens = self.words(source), self.words(target)
            rows = [[self.table.get(token, {}).get(word, 0.0) for word in words] for token in tokens]
            weights = np.zeros((len(tokens), len(words) + 1), dtype=np.float32)
            weights[:, :-1] = np.array(rows).reshape(len(tokens), len(words))
            weights[:, -1] = 1 - weights.sum(1)
            yield Translation(target, tokens, [*words, "</s>"], 0.0, [], weights)


FORWARD = {
    "Commission": {"Commission": 0.9},
    "européenne": {"European": 0.9, "Commission": 0.1},
    "a": {"met": 0.5},
    "siégé": {"met": 0.9},
    "lundi": {"Monday": 0.8},
    ".": {".": 1.0},
}
BACKWARD = {
    "The": {"La": 0.2},
    "European": {"européenne": 0.9},
    "Commission": {"Commission": 0.9},
    "met": {"siégé": 0.9, "a": 0.1},
    "Monday": {"lundi": 0.8},
    ".": {".": 1.0},
}
PAIR = "The European Commission met on Monday.", "La Commission européenne a siégé lundi."


def aligner() -> Aligner:
    return Aligner(Known(FORWARD, "en"), Known(BACKWARD, "fr"))  # type: ignore[arg-type]


def test_links_have_the_probability_on_which_both_directions_agree() -> None:
    (pair,) = aligner().align([PAIR])
    assert (pair.source, pair.target) == PAIR
    assert pair.source_words == ["The", "European", "Commission", "met", "on", "Monday", "."]
    assert pair.links == [(1, 2), (2, 1), (3, 4), (5, 5), (6, 6)]
    assert pair.pharaoh() == "1-2 2-1 3-4 5-5 6-6"
    assert pair.probabilities.shape == (7, 7)
    assert [round(float(pair.probabilities[link]), 4) for link in pair.links] == [0.9, 0.9, 0.9, 0.8, 1.0]
    assert float(pair.probabilities[3, 3]) == pytest.approx((0.5 * 0.1) ** 0.5)
    kept = json.loads(json.dumps(pair.to_dict()))
    assert [tuple(link) for link in kept["links"]] == pair.links
    assert kept["probabilities"] == [0.9, 0.9, 0.9, 0.8, 1.0]
    assert (kept["source"], kept["target"]) == PAIR


def test_a_threshold_decides_which_probabilities_are_links() -> None:
    for threshold, link, expected in ((0.2, (3, 3), True), (0.95, (1, 2), False), (0.95, (6, 6), True)):
        (pair,) = aligner().align([PAIR], threshold=threshold)
        assert (link in pair.links) == expected
    one = Aligner(Known(FORWARD, "en"))  # type: ignore[arg-type]
    (pair,) = one.align([PAIR])
    assert pair.links == [(1, 2), (2, 1), (3, 3), (3, 4), (5, 5), (6, 6)]
    assert float(pair.probabilities[1, 2]) == pytest.approx(0.9)
    assert (2, 2) in one.align([PAIR], threshold=0.1)[0].links


def test_a_phrase_has_a_span_in_words_and_in_characters() -> None:
    (pair,) = aligner().align([PAIR])
    assert pair.target_span(1, 3) == (1, 3)
    assert pair.target_span(0, 1) is None
    begin = PAIR[0].index("European")
    found = pair.target_characters(begin, begin + len("European Commission"))
    assert found is not None
    assert PAIR[1][slice(*found)] == "Commission européenne"
    assert pair.target_characters(0, 3) is None
    end = len(PAIR[0])
    assert pair.target_characters(end - 1, end) == (len(PAIR[1]) - 1, len(PAIR[1]))  # the stop is a word
    assert pair.source_ranges[-2:] == [(31, 37), (37, 38)]


def test_either_side_may_be_words_that_links_then_count() -> None:
    given = PAIR[0].split(" ")
    (pair,) = aligner().align([(given, PAIR[1])])
    assert pair.source_words == given
    assert pair.source == PAIR[0]
    assert pair.target_words[-1] == "."
    assert {(1, 2), (2, 1), (3, 4), (5, 5), (5, 6)} <= set(pair.links)  # “Monday.” is one word here
    merged = ["The", "European Commission", "met", "on", "Monday", "."]
    (pair,) = aligner().align([(merged, PAIR[1].split(" "))])
    assert pair.target_words == PAIR[1].split(" ")
    assert pair.target_span(1, 2) == (1, 3)
    assert pair.source_ranges[1] == (4, 23)


def test_a_span_leaves_out_a_stray_link_and_bridges_words_without_links() -> None:
    weights = np.zeros((7, 4), dtype=np.float32)
    for link, value in {(0, 0): 0.4, (0, 4): 0.9, (0, 6): 0.9, (1, 1): 0.9, (2, 2): 0.9}.items():
        weights[link[::-1]] = value
    links = sorted((int(i), int(j)) for j, i in np.argwhere(weights))
    result = Translation("t u v w x y z", list("tuvwxyz"), [*"abc", "</s>"], 0.0, [], weights)
    pair = AlignedPair("a b c", "t u v w x y z", result, links, links)
    assert pair.target_span(0, 1) == (4, 7)
    assert pair.target_span(0, 3) == (0, 7)


@pytest.mark.parametrize(("first", "end"), [(-1, 2), (2, 2), (0, 8), (3, 1)])
def test_words_that_are_not_there_have_no_span(first: int, end: int) -> None:
    (pair,) = aligner().align([PAIR])
    with pytest.raises(InputError, match=f"there are no words {first} to {end} in a sentence of 7 words"):
        pair.target_span(first, end)
    with pytest.raises(InputError, match="there is no word at characters 100 to 120"):
        pair.target_characters(100, 120)


def test_two_runs_are_loaded_and_align_text_and_words(tiny_run: Path, tiny_reverse_run: Path) -> None:
    both = Aligner.load(tiny_run, tiny_reverse_run)
    line, words = "The dog sleeps .", ["Le", "chien", "dort", "."]
    text, given = both.align([(line, " ".join(words)), (line.split(" "), words)])
    assert (given.source_words, given.target_words) == (text.source_words, text.target_words)
    assert text.probabilities.shape == (len(text.source_words), len(text.target_words))
    # Rounding, in whatever precision this machine is fastest, may differ between rows of a batch.
    np.testing.assert_allclose(given.probabilities, text.probabilities, atol=0.02)
    assert Aligner.load(tiny_run).reverse is None


@pytest.mark.parametrize("pairs", [["a b"], [("a",)], [(1, "b")], [(["a", "b"], None)]])
def test_what_is_no_pair_is_one_clear_line(pairs: Any, tiny_run: Path) -> None:
    with pytest.raises(InputError, match="pair 1"):
        Aligner.load(tiny_run).align(pairs)
