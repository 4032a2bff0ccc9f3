"""What the grammar leaves out so that one source has one translation, and how closely it keeps to the words asked for."""

from __future__ import annotations

import pytest

from rnnsearch.builtin.chance import Chance
from rnnsearch.builtin.entries import NOUNS, THE
from rnnsearch.builtin.grammar import ANYTHING, NO_PAST, Grammar, GrammarLimits
from rnnsearch.builtin.noun_phrases import size
from rnnsearch.builtin.phrase import Phrase
from rnnsearch.builtin.rules import noun_group

NESTED = {"that", "who", "whom", "where"}
WOMAN = noun_group(next(noun for noun in NOUNS if noun.singular == "woman"), False, THE)


def predicates(words: int, limits: GrammarLimits) -> list[Phrase]:
    return [Grammar(Chance(seed)).predicate(WOMAN, words, limits) for seed in range(500)]


def test_before_a_shared_and_no_other_verb_could_own_the_next_one() -> None:
    """Else "sees the man who reads and is happy" would be "heureux" or "heureuse"."""
    assert any(NESTED & set(phrase.source) for phrase in predicates(9, ANYTHING))
    assert not any(NESTED & set(phrase.source) for phrase in predicates(9, GrammarLimits(nested=False)))


def test_no_past_beside_if() -> None:
    assert any("was" in phrase.source for phrase in predicates(3, ANYTHING))
    assert not any("was" in phrase.source for phrase in predicates(3, NO_PAST))


def test_no_person_is_named_twice() -> None:
    for seed in range(500):
        words = Grammar(Chance(seed)).sentence(40).source
        assert all(words.count(name) <= 1 for name in ("Paul", "Marie", "Arthur", "Alice"))


@pytest.mark.parametrize("words", [3, 6, 12, 25, 50])
def test_sentences_come_close_to_the_words_asked_for(words: int) -> None:
    lengths = [size(Grammar(Chance(seed)).sentence(words)) for seed in range(300)]
    assert 0.75 * words <= sum(lengths) / len(lengths) <= 1.25 * words
