"""The built-in corpus: its links are exact, and held-out sentences occur nowhere else."""

from __future__ import annotations

import pytest
from refusals import refusal

from rnnsearch.builtin.corpus import GeneratedPair, generate, split


@pytest.fixture(scope="module")
def usual() -> list[GeneratedPair]:
    return generate(13_159)


@pytest.fixture(scope="module")
def others() -> list[GeneratedPair]:
    return generate(3_301, seed=2)


def test_links_are_exact(usual: list[GeneratedPair], others: list[GeneratedPair]) -> None:
    """Every word is linked but the helper of a negation; signs and names are linked to themselves."""
    same = {".", ",", "?", "Paul", "Marie", "Arthur", "Alice", "Paris"}
    for pair in (*usual, *others):
        assert list(pair.links) == sorted(set(pair.links))
        assert {i for _, i in pair.links} == set(range(len(pair.target)))
        alone = set(range(len(pair.source))) - {j for j, _ in pair.links}
        assert all(pair.source[j] in ("do", "does") and pair.source[j + 1] == "not" for j in alone)
        for j, i in pair.links:
            if pair.source[j] in same or pair.target[i] in same:
                assert pair.source[j] == pair.target[i], pair


@pytest.mark.parametrize(("seed", "low", "high"), [(1, 3, 3), (1, 20, 25), (2, 3, 8), (9, 51, 60)])
def test_lengths_asked_for_hold_on_both_sides(seed: int, low: int, high: int) -> None:
    pairs = generate(20, seed=seed, min_words=low, max_words=high)
    assert all(low <= len(side) <= high for pair in pairs for side in (pair.source, pair.target))


def test_seeds(usual: list[GeneratedPair], others: list[GeneratedPair]) -> None:
    assert generate(200) == usual[:200]
    assert generate(200, seed=5) == generate(200, seed=5) != generate(200, seed=6)
    known = {side for pair in usual for side in (pair.source, pair.target)}
    assert not any(pair.source in known or pair.target in known for pair in others)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"pairs": 1, "min_words": 10, "max_words": 9}, "has 0 pairs of 10 to 9 words"),
        ({"pairs": 99_999}, "has 13,159 pairs of 3 to 60 words"),
        ({"pairs": 99_999, "seed": 2}, "has 3,301 pairs of 3 to 60 words of another seed than 1"),
    ],
)
def test_more_than_there_is_is_refused(words: dict[str, int], said: str) -> None:
    with refusal(said):
        generate(**words)
    with refusal("has no 20,000 training pairs"):
        split(20_000, 5)


def test_held_out_sentences_occur_nowhere_else() -> None:
    train, dev, test = split(12_000, 500)
    for side in ("source", "target"):
        sentences = [[getattr(pair, side) for pair in part] for part in (train, dev, test)]
        assert not set(sentences[1]) & set(sentences[2])
        assert not set(sentences[0]) & (set(sentences[1]) | set(sentences[2]))
    fewer = split(10, 500)
    assert fewer == (train[:10], dev, test)
