"""Units behind a number are read as others that networks know, and written as in the source."""

from __future__ import annotations

import numpy as np
import pytest

from rnnsearch.text.tokens import Tokeniser
from rnnsearch.translation.measures import hold_measures, read_measures
from rnnsearch.translation.target_words import Word


@pytest.mark.parametrize(
    ("languages", "line", "read"),
    [
        (("en", "fr"), "We need 500ml or 500 ml.", "We need 500 kg or 500 kg ."),
        (("en", "fr"), "It is 2.5km, 300 m or 10-20 cm.", "It is 2.5 km , 300 km or 10-20 km ."),
        (("en", "fr"), "A 16GB disk of 3 lbs", "A 16 kg disk of 3 pounds"),
        (("en", "fr"), "$2 trillion and 3 tn", "$ 2 billion and 3 billion"),
        (("en", "fr"), "5m people; 5m long", "5m people ; 5 km long"),
        (("en", "fr"), "EUR 3 bn, then 250m; 5 g/km", "EUR 3 bn , then 250m ; 5 g / km"),
        (("en", "fr"), "in m, on 3 March and the 5th", "in m , on 3 March and the 5th"),
        (("en", "fr"), "two trillion, a trillion", "two billion , a billion"),
        (("en", "fr"), "in trillions, for 2 h", "in billions , for 2 hours"),
        (("fr", "en"), "deux billions et 2 billions €", "deux milliards et 2 milliards €"),
        (("fr", "en"), "75 cl, 4 Go et 31 billions", "75 kg , 4 kg et 31 milliards"),
        (("fr", "en"), "3 min et 2 h, l'eau", "3 minutes et 2 heures , l' eau"),
        (("en", "fr"), "a 5-inch book", "a 5 inches book"),
        (("fr", "en"), "les 9 l ' autre", "les 9 l ' autre"),
        (("en", "de"), "500ml for $2 trillion", "500ml for $ 2 trillion"),
    ],
)
def test_units_are_read_as_known_ones(languages: tuple[str, str], line: str, read: str) -> None:
    tokeniser = Tokeniser("moses", languages[0], False)
    words = tokeniser.words(line)
    instead = read_measures(words, languages)
    found = [
        part
        for place, word in enumerate(words)
        for part in (tokeniser.words(instead[place]) if place in instead else [word])
    ]
    assert " ".join(found) == read


def translated(source: list[str], text: str, copied: dict[int, int]) -> list[Word]:
    """Returns the words of a translation. Each reads the source word at the same place. copied:
    place → place of the number."""
    rows = np.eye(len(text.split()), len(source) + 1, dtype=np.float32)
    return [
        Word(word, row, 0.9, copied.get(at))
        for at, (word, row) in enumerate(zip(text.split(), rows, strict=True))
    ]


@pytest.mark.parametrize(
    ("languages", "source", "made", "copied", "held", "doubtful"),
    [
        (("en", "fr"), "Add 500 ml .", "Ajoutez 500 kg .", {1: 1}, "Ajoutez 500 ml .", []),
        (("en", "fr"), "Add 500ml .", "Ajoutez 500 kilos", {1: 1}, "Ajoutez 500 ml", []),
        (("en", "fr"), "It has 2 GB .", "Il a 2 kg.", {2: 2}, "Il a 2 Go.", []),
        (("en", "fr"), "Add 500 ml .", "Ajoutez 500", {1: 1}, "Ajoutez 500 ml", []),
        (
            ("en", "fr"),
            "It is 3 km .",
            "C'est trois kilomètres .",
            {},
            "C'est trois kilomètres .",
            [],
        ),
        (("en", "fr"), "Debts 2 trillion", "Dettes 2 milliards", {1: 1}, "Dettes 2 billions", []),
        (("en", "fr"), "Debts 2 tn", "Dettes 2 énormes", {1: 1}, "Dettes 2 énormes", ["2 tn"]),
        (("fr", "en"), "Dettes 2 billions", "Debts 2 billion", {1: 1}, "Debts 2 trillion", []),
        (("en", "fr"), "two trillion", "deux milliards", {}, "deux billions", []),
        (("en", "fr"), "of trillions", "de milliards", {}, "de billions", []),
        (("en", "de"), "Add 500 ml .", "Füge 500 kg .", {1: 1}, "Füge 500 kg .", []),
    ],
)
def test_translations_have_the_units_of_the_source(
    languages: tuple[str, str],
    source: str,
    made: str,
    copied: dict[int, int],
    held: str,
    doubtful: list[str],
) -> None:
    words = translated(source.split(), made, copied)
    assert hold_measures(source.split(), words, languages) == doubtful
    assert " ".join(word.text for word in words) == held
