from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import InputError
from rnnsearch.text.selecting.domain import (
    Contrast,
    PairScorer,
    TokenisedLines,
    Tokenisers,
    random_sample,
    tokenised,
)
from rnnsearch.text.selecting.ngrams import NgramModel, as_text
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary

SPACE = Tokenisers(Tokeniser("space", "en"), Tokeniser("space", "fr"))

some_pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40).map(
    lambda lengths: [(" ".join(["s"] * source), " ".join(["t"] * target)) for source, target in lengths]
)


def numbered(pairs: int) -> list[tuple[str, str]]:
    return [(f"{i} " * (i % 4 + 1), f"{i} " * (i % 3 + 1)) for i in range(pairs)]


def test_pairs_with_an_empty_side_teach_nothing() -> None:
    assert tokenised([("a  b", "c"), ("", "x"), ("y", " "), ("d", "e f")], SPACE) == TokenisedLines(
        ["a b", "d"], ["c", "e f"]
    )
    assert TokenisedLines(["a b", "d"], ["c", "e f"]).words == [3, 3]


@given(some_pairs, st.integers(1, 120), st.integers(0, 5))
def test_the_sample_has_as_many_words_as_asked_and_no_pair_too_many(
    pairs: list[tuple[str, str]], words: int, seed: int
) -> None:
    sample = random_sample(pairs, SPACE, words, seed)
    whole = tokenised(pairs, SPACE)
    sizes = [source.count(" ") + target.count(" ") + 2 for source, target in zip(*sample, strict=True)]
    assert sum(sizes) >= min(words, sum(whole.words))
    assert not sizes or sum(sizes) - max(sizes) < words


def test_the_sample_is_in_the_order_of_the_pool_and_of_the_seed() -> None:
    samples = [random_sample(numbered(500), SPACE, 100, seed) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    for sample in samples:
        firsts = [int(line.split()[0]) for line in sample.source]
        assert firsts == sorted(firsts) == [int(line.split()[0]) for line in sample.target]


def test_every_part_of_the_pool_is_sampled_alike() -> None:
    """1000 samples of 20 of 100 pairs: each pair is in 200 of them, give or take five standard deviations of
    13."""
    pairs = [(f"s{i}", f"t{i}") for i in range(100)]
    times = np.zeros(100)
    for seed in range(1000):
        sample = random_sample(pairs, SPACE, 40, seed)
        times[[int(line[1:]) for line in sample.source]] += 1
    assert times.sum() == 20_000
    assert np.abs(times - 200).max() < 65


def contrast() -> Contrast:
    domain = ["a dog runs", "a dog sleeps", "the dog runs"]
    pool = ["the law is a law", "the dog is a law", "is it"]
    return Contrast.learn(domain, pool, 3, "source")


def test_the_vocabulary_is_what_occurs_twice_in_the_domain() -> None:
    learnt = contrast()
    assert learnt.vocabulary == Vocabulary(["dog", "a", "runs"])
    assert learnt.domain.words == learnt.pool.words == len(learnt.vocabulary)


def test_differences_are_those_of_the_two_cross_entropies() -> None:
    learnt = contrast()
    lines = [["a", "dog", "runs"], ["is", "it", "a", "law"], []]
    expected = []
    for line in lines:
        bits = []
        for sentences in (
            ["a dog runs", "a dog sleeps", "the dog runs"],
            ["the law is a law", "the dog is a law", "is it"],
        ):
            model = NgramModel.estimate(
                as_text([s.split() for s in sentences], learnt.vocabulary), len(learnt.vocabulary), 3
            )
            bits.append(
                -model.log_probabilities(as_text([line], learnt.vocabulary)).sum()
                / math.log(2)
                / (len(line) + 1)
            )
        expected.append(bits[0] - bits[1])
    assert learnt.differences(lines).tolist() == pytest.approx(expected)
    assert expected[0] < 0 < expected[1]


def test_a_domain_without_a_word_that_occurs_twice_is_refused() -> None:
    with pytest.raises(InputError, match="no target word of the in-domain text occurs twice"):
        Contrast.learn(["a b c"], ["d e f"], 4, "target")


def test_a_score_is_the_sum_of_both_sides_and_an_empty_side_is_never_kept(tmp_path: Path) -> None:
    source = contrast()
    target = Contrast.learn(
        ["un chien court", "un chien dort"], ["la loi est une loi", "un chien"], 2, "target"
    )
    source.save(tmp_path / "source")
    target.save(tmp_path / "target")
    lines = [("a dog runs", "un chien court"), ("", "un"), ("the dog", ""), ("law", "la loi")]
    found = PairScorer(tmp_path, SPACE)(lines)
    sides = [
        contrast.differences([line[side].split() for line in lines])
        for side, contrast in enumerate((source, target))
    ]
    assert found["score"].tolist() == pytest.approx(
        [sides[0][0] + sides[1][0], math.inf, math.inf, sides[0][3] + sides[1][3]]
    )
    assert found["words"].tolist() == [3, 1, 0, 2]
