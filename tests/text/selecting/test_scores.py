"""The models of a domain and a pool, their scores as a file, and the threshold that selects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import InputError
from rnnsearch.text.formats.readers import Layout
from rnnsearch.text.selecting import select as selection
from rnnsearch.text.selecting.ngrams import NgramModel, encode_text
from rnnsearch.text.selecting.scores import (
    RECORD,
    Contrast,
    PairScorer,
    Records,
    ScoresHeader,
    Tokenisers,
    open_scores,
    random_sample,
    tokenised,
    word_counts,
    write_scores,
)
from rnnsearch.text.selecting.select import Unit, best, selected, total_words
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary

SPACE = Tokenisers(Tokeniser("space", "en"), Tokeniser("space", "fr"))

pools = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40).map(
    lambda lengths: [(" ".join(["s"] * source), " ".join(["t"] * target)) for source, target in lengths]
)


def numbered(pairs: int) -> list[tuple[str, str]]:
    return [(f"{i} " * (i % 4 + 1), f"{i} " * (i % 3 + 1)) for i in range(pairs)]


def test_pairs_with_an_empty_side_teach_nothing() -> None:
    pairs = tokenised([("a  b", "c"), ("", "x"), ("y", " "), ("d", "e f")], SPACE)
    assert pairs == [("a b", "c"), ("d", "e f")]
    assert word_counts(pairs) == [3, 3]


@given(pools, st.integers(1, 120), st.integers(0, 5))
def test_the_sample_has_as_many_words_as_asked_and_no_pair_too_many(
    pairs: list[tuple[str, str]], words: int, seed: int
) -> None:
    sample = random_sample(pairs, SPACE, words, seed)
    whole = tokenised(pairs, SPACE)
    sizes = [source.count(" ") + target.count(" ") + 2 for source, target in sample]
    assert sum(sizes) >= min(words, sum(word_counts(whole)))
    assert not sizes or sum(sizes) - max(sizes) < words


def test_the_sample_is_in_the_order_of_the_pool_and_of_the_seed() -> None:
    samples = [random_sample(numbered(500), SPACE, 100, seed) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    for sample in samples:
        firsts = [int(source.split()[0]) for source, _ in sample]
        assert firsts == sorted(firsts) == [int(target.split()[0]) for _, target in sample]


def test_every_part_of_the_pool_is_sampled_alike() -> None:
    """1000 samples of 20 of 100 pairs: each pair is in 200 of them, give or take five standard deviations of
    13."""
    pairs = [(f"s{i}", f"t{i}") for i in range(100)]
    times = np.zeros(100)
    for seed in range(1000):
        sample = random_sample(pairs, SPACE, 40, seed)
        times[[int(source[1:]) for source, _ in sample]] += 1
    assert times.sum() == 20_000
    assert np.abs(times - 200).max() < 65


DOMAIN = ["a dog runs", "a dog sleeps", "the dog runs"]
POOL = ["the law is a law", "the dog is a law", "is it"]


def contrast() -> Contrast:
    return Contrast.learn(DOMAIN, POOL, 3, "source")


def test_the_vocabulary_is_what_occurs_twice_in_the_domain() -> None:
    learnt = contrast()
    assert learnt.vocabulary == Vocabulary(["dog", "a", "runs"])
    assert learnt.domain.words == learnt.pool.words == len(learnt.vocabulary)


def test_differences_are_those_of_the_two_cross_entropies() -> None:
    learnt = contrast()
    lines, expected = [["a", "dog", "runs"], ["is", "it", "a", "law"], []], []
    for line in lines:
        bits = []
        for sentences in (DOMAIN, POOL):
            text = encode_text(map(str.split, sentences), learnt.vocabulary)
            model = NgramModel.estimate(text, len(learnt.vocabulary), 3)
            logs = model.log_probabilities(encode_text([line], learnt.vocabulary))
            bits.append(-logs.sum() / math.log(2) / (len(line) + 1))
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
        patch.setattr(selection, "_CHUNK", chunk)
        threshold = best(records(pairs), limit, unit)
        found = [position for position, keep in enumerate(selected(records(pairs), threshold)) if keep]
    assert found == sorted(plainly_best(pairs, limit, unit))


def test_a_limit_that_holds_everything_keeps_all_but_what_is_infinite() -> None:
    pairs = [(1.0, 3), (float("inf"), 0), (-4.0, 2)]
    assert list(selected(records(pairs), best(records(pairs), 5, "words"))) == [True, False, True]
    assert total_words(records(pairs)) == 5


def test_what_was_written_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "scores"
    write_scores(path, ABOUT, [(records([(1.5, 3), (-2.0, 4)]), 17), (records([(float("inf"), 0)]), 23)])
    opened = open_scores(path)
    assert opened.about == replace(ABOUT, pairs=3, checksum=23)
    assert opened.records.tolist() == [(1.5, 3), (-2.0, 4), (float("inf"), 0)]
    assert isinstance(opened.records, np.memmap)


def test_the_file_is_a_line_of_json_and_eight_bytes_a_pair(tmp_path: Path) -> None:
    """As the documentation says how to read it without this program."""
    write_scores(tmp_path / "scores", ABOUT, [(records([(1.5, 3), (-2.0, 4)]), 17)])
    with (tmp_path / "scores").open("rb") as file:
        about = json.loads(file.readline())
        assert file.tell() % 8 == 0  # so the records are aligned in memory
        values = np.fromfile(file, [("score", "<f4"), ("words", "<u4")])
    assert about["pairs"] == len(values) == 2
    assert values["score"].tolist() == [1.5, -2.0]


def test_an_interruption_leaves_no_scores(tmp_path: Path) -> None:
    def interrupted() -> Iterator[tuple[Records, int]]:
        yield records([(1.5, 3)]), 17
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_scores(tmp_path / "scores", ABOUT, interrupted())
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
    write_scores(path, ABOUT, [(records([(1.5, 3), (-2.0, 4)]), 17)])
    path.write_bytes(path.read_bytes()[:-missing])
    with pytest.raises(InputError, match="incomplete"):
        open_scores(path)
