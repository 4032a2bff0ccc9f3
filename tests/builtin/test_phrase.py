"""Composing phrase pairs: words in order, links on the words that they belong to."""

from __future__ import annotations

import pytest

from rnnsearch.builtin.phrase import NOTHING, Phrase, capitalised, join, linked, merge_targets, parallel, reorder, weave, word

RED, HORSE, THE = word("red", "rouge"), word("horse", "cheval"), word("the", "le")


def test_word_links_every_source_word_to_every_target_word() -> None:
    assert word("look for", "chercher").links == ((0, 0), (1, 0))
    assert word("not", "ne pas").links == ((0, 0), (0, 1))
    assert word("does", "").links == ()


def test_parallel_links_word_by_word() -> None:
    assert parallel("all the", "tous les").links == ((0, 0), (1, 1))
    with pytest.raises(ValueError, match="argument"):
        parallel("near", "près de")


def test_linked_reads_pharaoh_pairs() -> None:
    assert linked("Monetary Fund", "Fonds monétaire", "0-1 1-0") == Phrase(("Monetary", "Fund"), ("Fonds", "monétaire"), ((0, 1), (1, 0)))


def test_join_shifts_links_past_words_without_counterpart() -> None:
    assert join(word("does", ""), word("see", "voit"), word("him", "")).links == ((1, 0),)
    assert join(THE, word("looks for", "cherche"), HORSE) == Phrase(
        ("the", "looks", "for", "horse"), ("le", "cherche", "cheval"), ((0, 0), (1, 1), (2, 1), (3, 2))
    )
    assert join() == NOTHING


def test_reorder_moves_links_with_the_words() -> None:
    assert reorder([THE, RED, HORSE], [(0, None), (2, None), (1, None)]) == Phrase(
        ("the", "red", "horse"), ("le", "cheval", "rouge"), ((0, 0), (1, 2), (2, 1))
    )


@pytest.mark.parametrize("slots", [[(0, None)], [(0, None), (1, None), (1, None)], [(0, None), (0, 0), (1, None)]])
def test_reorder_uses_every_target_word_once(slots: list[tuple[int, int | None]]) -> None:
    with pytest.raises(ValueError, match=r"twice|leaves out"):
        reorder([RED, HORSE], slots)


def test_weave_takes_a_discontinuous_part_apart() -> None:
    negated = weave(
        "do not verb", "not.0 verb not.1", **{"do": word("does", ""), "not": word("not", "ne pas"), "verb": word("see", "voit")}
    )
    assert negated == Phrase(("does", "not", "see"), ("ne", "voit", "pas"), ((1, 0), (1, 2), (2, 1)))


def test_weave_leaves_out_parts_that_are_not_given() -> None:
    assert weave("do not verb", "not.0 verb not.1", verb=word("sees", "voit")) == word("sees", "voit")


def test_merged_targets_keep_the_links_of_both() -> None:
    merged = merge_targets(join(word("of", "de"), THE, HORSE), 0, "du")
    assert merged == Phrase(("of", "the", "horse"), ("du", "cheval"), ((0, 0), (1, 0), (2, 1)))
    both_from_one = merge_targets(word("Japan", "de le"), 0, "du")
    assert both_from_one.links == ((0, 0),), "a link is not repeated"


def test_capitalised_changes_the_first_letter_alone() -> None:
    assert capitalised(Phrase(("in", "Paris"), ("à", "Paris"))) == Phrase(("In", "Paris"), ("À", "Paris"))
    assert capitalised(NOTHING) == NOTHING
