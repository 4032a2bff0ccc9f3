"""Amounts of money are read in words that networks know."""

from __future__ import annotations

import pytest

from rnnsearch.text.codec import Codec
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.amounts import read_amounts
from rnnsearch.translation.copied import faithful_words

EURO = {"€"}


@pytest.mark.parametrize(
    ("languages", "line", "read"),
    [
        (("en", "es"), "It cost $30bn.", "It cost 30 billion dollars ."),
        (
            ("en", "es"),
            "It cost £1m, then $2.5 tn.",
            "It cost 1 million pounds , then 2.5 trillion dollars .",
        ),
        (("en", "es"), "It cost $1.2bn.", "It cost 1.2 billion dollars ."),
        (("en", "es"), "He owes me $5k.", "He owes me 5,000 dollars ."),
        (("en", "es"), "He owes me $2.5k.", "He owes me $ 2.5k."),
        (("en", "es"), "€12.99 or €30 billion", "12.99 euros or 30 billion euros"),
        (("en", "es"), "from C$7 to US$5", "from 7 Canadian dollars to 5 US dollars"),
        (("en", "es"), "$15 and $3 million", "$ 15 and $ 3 million"),
        (("en", "es"), "€2 trillion", "2 trillion euros"),
        (("en", "fr"), "€2 trillion or $3tn", "2 billion euros or 3 billion dollars"),
        (("en", "es"), "$5-10 or £2-3bn", "5-10 dollars or 2-3 billion pounds"),
        (("en", "es"), "€5-€10, $5-$10", "5 euros to 10 euros , $ 5- $ 10"),
        (("en", "es"), "$5-10k, the €5- and €10-bills", "$ 5-10k , the € 5- and € 10-bills"),
        (("fr", "es"), "5-10 € et 2-3 M€", "5-10 euros et 2-3 millions d' euros"),
        (("en", "es"), "a € and 5 m", "a € and 5 m"),
        (("fr", "es"), "2,5 Md€ et 15 k€", "2,5 milliards d' euros et 15 000 euros"),
        (("fr", "es"), "3 M$ ou 12,99 €", "3 millions de dollars ou 12,99 euros"),
        (("fr", "es"), "30 milliards € et 5 $", "30 milliards d' euros et 5 $"),
        (("de", "en"), "3 Mio. € und $30bn", "3 Mio. € und $ 30bn"),
    ],
)
def test_amounts_are_read_in_words(languages: tuple[str, str], line: str, read: str) -> None:
    """Of the signs, the network cannot read €."""
    tokeniser = Tokeniser("moses", languages[0], False)
    words = tokeniser.words(line)
    instead = read_amounts(words, languages, EURO.__contains__)
    found = [
        part
        for place, word in enumerate(words)
        for part in (tokeniser.words(instead[place]) if place in instead else [word])
    ]
    assert " ".join(found) == read


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("J'ai payé 12 euros 50.", "J' ai payé 12,50 euros ."),
        ("3€20 le kilo ou 1 euro 50 pour l' autre", "3,20 € le kilo ou 1,50 euro pour l' autre"),
        (
            "Avec 12 euros 50 hommes vivent, 12 euros 500",
            "Avec 12 euros 50 hommes vivent , 12 euros 500",
        ),
    ],
)
def test_euros_and_cents_as_they_are_said(line: str, words: str) -> None:
    codec = Codec(Tokeniser("moses", "fr", False), Vocabulary(["a"]))
    assert " ".join(faithful_words(codec, line)) == words
