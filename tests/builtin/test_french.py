"""How neighbouring French words change each other."""

from __future__ import annotations

import pytest

from rnnsearch.builtin.entries import NOUNS
from rnnsearch.builtin.french import starts_with_vowel, surface
from rnnsearch.builtin.phrase import Phrase, join, word


@pytest.mark.parametrize(
    ("full", "written"),
    [
        # elision before a vowel and a mute h
        ("le homme", "l' homme"),
        ("la école", "l' école"),
        ("le hôpital", "l' hôpital"),
        ("la histoire", "l' histoire"),
        ("de Athènes", "d' Athènes"),
        ("de un accord", "d' un accord"),
        ("ne est pas", "n' est pas"),
        ("le a vue", "l' a vue"),
        ("que elle", "qu' elle"),
        ("parce que il", "parce qu' il"),
        ("est-ce que Alice", "est-ce qu' Alice"),
        ("la Union", "l' Union"),
        ("si il", "s' il"),
        # not before a consonant, an aspirated h, nor where French never elides
        ("le livre", "le livre"),
        ("le héros", "le héros"),
        ("le hall", "le hall"),
        ("ne voit pas", "ne voit pas"),
        ("que Marie", "que Marie"),
        ("si elle", "si elle"),
        ("si Alice", "si Alice"),
        ("les hommes", "les hommes"),
        ("tu es", "tu es"),
        # other forms before a vowel
        ("ce hôpital", "cet hôpital"),
        ("ce ancien ministre", "cet ancien ministre"),
        ("ce héros", "ce héros"),
        ("sa école", "son école"),
        ("sa autre fille", "son autre fille"),
        ("sa maison", "sa maison"),
        # contraction, unless the article elides
        ("de le ministre", "du ministre"),
        ("de les pays", "des pays"),
        ("à le gouvernement", "au gouvernement"),
        ("à les écoles", "aux écoles"),
        ("de le héros", "du héros"),
        ("à le hall", "au hall"),
        ("de le homme", "de l' homme"),
        ("à le hôpital", "à l' hôpital"),
        ("de la loi", "de la loi"),
        ("à la école", "à l' école"),
        ("près de le hall de le hôpital", "près du hall de l' hôpital"),
        ("doit le voir", "doit le voir"),
    ],
)
def test_written_form(full: str, written: str) -> None:
    assert surface(Phrase((), tuple(full.split()))).target == tuple(written.split())


def test_contraction_keeps_both_links_and_moves_the_later_ones() -> None:
    phrase = surface(join(word("of", "de"), word("the", "le"), word("minister", "ministre")))
    assert phrase == Phrase(("of", "the", "minister"), ("du", "ministre"), ((0, 0), (1, 0), (2, 1)))


def test_aspirated_h_is_the_exception() -> None:
    blocked = {noun.singular for noun in NOUNS if noun.french[0] == "h" and not starts_with_vowel(noun.french)}
    assert blocked == {"hero", "hall"}
