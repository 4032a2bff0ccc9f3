"""The spelling of French: what is repaired, and what is left alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.links import tokeniser_ranges
from rnnsearch.text.repairs import repair_french
from rnnsearch.text.tokens import Tokeniser, given_words


@pytest.mark.parametrize(
    ("line", "repaired", "changes"),
    [
        ("Il faut qu' il vienne.", "Il faut qu'il vienne.", {"elision with a space": 1}),
        ("C' est L' HEURE", "C'est L'HEURE", {"elision with a space": 2}),
        ("aujourd' hui", "aujourd'hui", {"elision with a space": 1}),
        ("l’homme, ‘ici’", "l'homme, ‘ici'", {"typographic apostrophe": 2}),
        ("au cur de l'uvre, nos v?ux", "au cœur de l'œuvre, nos vœux", {"lost œ": 3}),
        ("Cur, CUR, m?urs, s?ur", "Cœur, CŒUR, mœurs, sœur", {"lost œ": 4}),
        ("le mur sur les murs sûrs", "le mur sur les murs sûrs", {}),
        ("curieux, procureur, obscur", "curieux, procureur, obscur", {}),
        ("Quoi? Oui!", "Quoi ? Oui !", {"no space before ? ! ;": 2}),
        ("«Non»; a;b www.a.fr/?q", "«Non» ; a;b www.a.fr/?q", {"no space before ? ! ;": 1}),
        ("R &amp; D, l&#39; x", "R &amp; D, l&#39; x", {}),
        ("Quoi ? qu'il", "Quoi ? qu'il", {}),
        ("le mot ' été", "le mot ' été", {}),
        ("Des uvreſ", "Des œuvres", {"lost œ": 1}),
        ("un 'l' isolé", "un 'l' isolé", {}),
    ],
)
def test_french_is_repaired(line: str, repaired: str, changes: dict[str, int]) -> None:
    counts = Counter[str]()
    assert repair_french(line, counts) == repaired
    assert counts == changes
    assert repair_french(repaired) == repaired


DAMAGED = (
    "qu' qu’ il l' v?ux cur Uvre uvres mot? oui! «a»; &amp; &eacute;t&eacute; (b)! m?urs ; ’ ?"
)
FRENCH = ["\xa0", *DAMAGED.split()]


@given(st.lists(st.sampled_from(FRENCH), max_size=12).map(" ".join))
def test_links_of_the_given_words_follow_a_repair(line: str) -> None:
    given = [repair_french(word) for word in given_words(line)]
    assert tokeniser_ranges(given, Tokeniser("moses", "fr").words(repair_french(line))) is not None
