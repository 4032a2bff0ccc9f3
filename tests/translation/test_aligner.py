"""Links, probabilities and phrases of pairs: thresholds, two directions, given words; with matrices that are known
in place of networks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from refusals import refusal

from rnnsearch import AlignedPair, Aligner, Translation
from rnnsearch.lab.alignment_report import measure_pair, measures_of_pairs
from rnnsearch.lab.link_measures import shares, summed
from rnnsearch.settings import AlignSettings, DataSettings, Settings
from rnnsearch.text.codec import Codec
from rnnsearch.text.links import DEFAULT
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.aligner import WAYS, in_given_words
from rnnsearch.word_links import GoldLinks


class Known:
    """A translator that aligns every word with the words that a table gives: word → word → weight."""

    def __init__(self, table: dict[str, dict[str, float]], language: str) -> None:
        self.table, self.words = table, Tokeniser("moses", language).words
        self.source = self.target = Codec(Tokeniser("moses", language), Vocabulary([]))
        other = "fr" if language == "en" else "en"
        self.settings = Settings(data=DataSettings(source_language=language, target_language=other))

    def force(
        self, pairs: Iterable[tuple[str, str]], batch_size: int, **how: Any
    ) -> Iterator[Translation]:
        assert how["posterior"]
        for source, target in pairs:
            words, tokens = self.words(source), self.words(target)
            rows = np.array(
                [[self.table.get(token, {}).get(word, 0.0) for word in words] for token in tokens]
            )
            weights = np.column_stack((rows, 1 - rows.sum(1))).astype(np.float32)
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


def test_a_reverse_model_of_the_same_direction_is_refused() -> None:
    known = Known(FORWARD, "en")
    with refusal(
        r"reverse: translates from en to fr \(the reverse run must translate from fr to en"
    ):
        Aligner(known, known)  # type: ignore[arg-type]


def test_links_have_the_probability_on_which_both_directions_agree() -> None:
    (pair,) = aligner().align([PAIR])
    assert (pair.source, pair.target) == PAIR
    assert pair.source_words == ["The", "European", "Commission", "met", "on", "Monday", "."]
    assert pair.links == [(1, 2), (2, 1), (3, 4), (5, 5), (6, 6)]
    assert pair.pharaoh() == "1-2 2-1 3-4 5-5 6-6"
    assert pair.probabilities.shape == (7, 7)
    assert [round(float(pair.probabilities[link]), 4) for link in pair.links] == [
        0.9,
        0.9,
        0.9,
        0.8,
        1.0,
    ]
    assert float(pair.probabilities[3, 3]) == pytest.approx((0.5 * 0.1) ** 0.5)
    kept = json.loads(json.dumps(pair.to_dict()))
    assert [tuple(link) for link in kept["links"]] == pair.links
    assert kept["probabilities"] == [0.9, 0.9, 0.9, 0.8, 1.0]
    assert (kept["source"], kept["target"]) == PAIR


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
    # the stop is a word
    assert pair.target_characters(end - 1, end) == (len(PAIR[1]) - 1, len(PAIR[1]))
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


@pytest.mark.parametrize(("first", "end"), [(-1, 2), (2, 2), (0, 8)])
def test_words_that_are_not_there_have_no_span(first: int, end: int) -> None:
    (pair,) = aligner().align([PAIR])
    with refusal(f"there are no words {first} to {end} in a sentence of 7 words"):
        pair.target_span(first, end)
    with refusal("there is no word at characters 100 to 120"):
        pair.target_characters(100, 120)


def test_two_runs_are_loaded_and_align_text_and_words(
    tiny_run: Path, tiny_reverse_run: Path
) -> None:
    both = Aligner.load(tiny_run, tiny_reverse_run)
    line, words = "The dog sleeps .", ["Le", "chien", "dort", "."]
    text, given = both.align([(line, " ".join(words)), (line.split(" "), words)])
    assert (given.source_words, given.target_words) == (text.source_words, text.target_words)
    assert text.probabilities.shape == (len(text.source_words), len(text.target_words))
    # Rounding, in whatever precision this machine is fastest, may differ between rows of a batch.
    np.testing.assert_allclose(given.probabilities, text.probabilities, atol=0.02)
    assert Aligner.load(tiny_run).reverse is None


@pytest.mark.parametrize("pairs", [[("a",)], [(["a", "b"], None)]])
def test_what_is_no_pair_is_one_clear_line(pairs: Any, tiny_run: Path) -> None:
    with refusal("pair 1"):
        Aligner.load(tiny_run).align(pairs)


Pair = tuple[str, str]
WEIGHTS = np.array(
    [[0.6, 0.4, 0.0, 0.0], [0.3, 0.3, 0.4, 0.0], [0.1, 0.1, 0.1, 0.7]], dtype=np.float32
)
"""Three target words over three source words and the end of sentence."""


def side(kind: str) -> Codec:
    return Codec(Tokeniser(kind, "en"), Vocabulary([]))  # type: ignore[arg-type]


class Weighed:
    """A translator whose alignment of a pair is known."""

    def __init__(self, weights: dict[Pair, np.ndarray[Any, Any]], kind: str = "space") -> None:
        self.weights, self.source, self.target = weights, side(kind), side(kind)
        self.settings = Settings(data=DataSettings(tokeniser="space"))

    def force(
        self, pairs: Iterable[Pair], batch_size: int, **options: bool
    ) -> Iterator[Translation]:
        for source, target in pairs:
            words, tokens = self.source.tokeniser.words(source), self.target.tokeniser.words(target)
            yield Translation(
                target,
                tokens,
                [*words, "</s>"],
                -6.0,
                [],
                self.weights[source, target].astype(np.float32),
            )


WEIGHED = Weighed({("a b c", "x y z"): WEIGHTS, ("a", ""): np.zeros((0, 2))})
# Source words as targets: a → x, b → z (0.5), c → y; the end of the target sentence is the last column.
REVERSE = Weighed(
    {
        ("x y z", "a b c"): np.array(
            [[0.9, 0.1, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0], [0.0, 0.8, 0.2, 0.0]]
        ),
        ("", "a"): np.array([[1.0]]),
    }
)
PAIRS = [("a b c", "x y z"), ("a", "")]


def weighed(**options: Any) -> Aligner:
    return Aligner(WEIGHED, **options)  # type: ignore[arg-type]


STRONGEST = [(0, 0), (2, 1)]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (None, STRONGEST),
        (0.0, [(i, j) for i in range(3) for j in range(3)]),
        (0.3, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]),
        (0.4, [(0, 0), (1, 0), (2, 1)]),
        (0.7, []),  # the end of sentence is no word
    ],
)
def test_one_direction(threshold: float | None, expected: list[tuple[int, int]]) -> None:
    """A word has its strongest link, or with a threshold any number of them."""
    first, second = weighed().align(PAIRS, threshold=threshold)
    assert first.links == first.forward_links == expected
    assert np.array_equal(first.probabilities.T, WEIGHTS[:, :-1])
    assert (first.reverse, first.reverse_links, second.links) == (None, None, [])


@pytest.mark.parametrize(
    ("method", "threshold", "links"),
    [
        ("forward", None, STRONGEST),
        ("reverse", None, [(0, 0), (1, 2), (2, 1)]),
        ("grow-diag-final-and", None, [(0, 0), (1, 2), (2, 1)]),  # 1-2 touches 2-1 at a corner
        # √(0.6·0.9) = 0.73, √(0.4·0.2) = 0.28, √(0.3·0.1) = 0.17, √(0.3·0.3) = 0.3, √(0.4·0.8) = 0.57,
        # √(0.1·0.5) = 0.22
        ("product", None, STRONGEST),
        ("product", 0.25, [(0, 0), (1, 0), (1, 1), (2, 1)]),
    ],
)
def test_two_directions(method: str, threshold: float | None, links: list[tuple[int, int]]) -> None:
    first, second = weighed(reverse=REVERSE, method=method).align(PAIRS, threshold=threshold)
    assert (first.links, second.links) == (links, [])
    assert first.forward_links == STRONGEST
    if method != "product" or threshold is None:
        assert first.reverse_links == [(0, 0), (1, 2), (2, 1)]


def test_the_setting_names_all_ways() -> None:
    assert get_args(AlignSettings.model_fields["symmetrise"].annotation) == WAYS


@pytest.mark.parametrize(
    ("options", "use"), [({"method": "prodct"}, WAYS), ({"words": 3}, ("given", "tokenised"))]
)
def test_an_unknown_choice_is_refused(options: dict[str, Any], use: Sequence[str]) -> None:
    ((name, value),) = options.items()
    with refusal(rf"{name} is {value!r} \(use one of {', '.join(use)}\)"):
        weighed(**options)


def test_runs_that_cut_into_other_words_are_refused() -> None:
    other = (
        Weighed({("a.", "x"): np.array([[0.5, 0.5, 0.0]])}, "moses"),
        Weighed({("x", "a."): np.array([[0.5, 0.5]])}, "space"),
    )
    with refusal(r"pair 1: .* different words \(use align.words = given\)"):
        Aligner(*other).align([("a.", "x")])  # type: ignore[arg-type]
    (found,) = Aligner(*other, words="given").align([("a.", "x")])  # type: ignore[arg-type]
    assert found.links == found.reverse_links == [(0, 0)]
    assert found.result.source_tokens == ["a.", "</s>"]


def test_given_words_take_the_weights_of_their_parts() -> None:
    """Source `c.` is `c` and `.`; target `y!` is `y` and `!`; the tokeniser sees nothing of the soft
    hyphen."""
    source, target = "b c.", "x y! \xad"
    result = Translation(target, ["x", "y", "!"], ["b", "c", ".", "</s>"], -1.0, [], WEIGHTS)
    found = in_given_words(result, source.split(" "), target.split(" "), 1)
    assert (found.source_tokens, found.tokens) == (["b", "c.", "</s>"], ["x", "y!", "\xad"])
    np.testing.assert_allclose(
        found.alignment, [[0.6, 0.4, 0.0], [0.2, 0.45, 0.35], [0.0, 0.0, 1.0]], atol=1e-6
    )
    assert found.score == result.score


def test_a_word_of_several_given_words_shares_its_weight_among_them() -> None:
    weights = np.array([[0.8, 0.2]], dtype=np.float32)
    one, changed = (
        Translation("x", ["x"], [word, "</s>"], -1.0, [], weights) for word in ("ab", "q")
    )
    np.testing.assert_allclose(
        in_given_words(one, ["a", "b"], ["x"], 1).alignment, [[0.4, 0.4, 0.2]], atol=1e-6
    )
    with refusal(r"pair 7: the tokeniser changes its characters: 'a b'"):
        in_given_words(changed, ["a", "b"], ["x"], 7)


def test_measures_of_pairs_and_of_all() -> None:
    gold = [GoldLinks(frozenset([(0, 0), (1, 2)])), GoldLinks(frozenset())]
    found = list(map(measure_pair, weighed(reverse=REVERSE, method=DEFAULT).align(PAIRS), gold))
    of_first = {"source_words": 3, "target_words": 3}
    of_first |= {"log_probability": -6 / 4}  # the end of sentence is one more
    of_first |= {"under_translated": 0}  # coverage 1.0, 0.8, 0.5
    # of the links of this direction alone: 0 → 2
    of_first |= {"agreement": 2 * 2 / 5, "monotone": 1}
    # |A| 3 of which two are among the |S| 2
    of_first |= {"aer": 1 - 4 / 5, "precision": 2 / 3, "recall": 1}
    of_all = {"log_probability": -12 / 5, "under_translated": 1 / 4}  # nothing was made of a word
    for values, expected in ((shares(found[0]), of_first), (shares(summed(found)), of_all)):
        assert {name: values[name] for name in expected} == pytest.approx(expected)
    lines = [line.split("\t") for line in measures_of_pairs(found)]
    assert [line[0] for line in lines] == ["pair", "1", "2", "all"]
    assert len({len(line) for line in lines}) == 1
    assert lines[1][lines[0].index("aer")] == "0.2"
