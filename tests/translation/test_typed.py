"""Words that are typed in haste are read as they are written; what is written, as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typed_lines import ENGLISH, FRENCH

from rnnsearch.run import Run
from rnnsearch.text.codec import Codec
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.copied import faithful_words
from rnnsearch.translation.reading import encode_faithfully, in_other_case
from rnnsearch.translation.typed import as_written

MODELS = Path(__file__).parents[2] / "models" / "src" / "rnnsearch_models"


@pytest.fixture(scope="module")
def english() -> Codec:
    return Run.open(MODELS / "en-fr").source


@pytest.fixture(scope="module")
def french() -> Codec:
    return Run.open(MODELS / "fr-en").source


@pytest.mark.parametrize(("line", "read"), ENGLISH.items())
def test_english(english: Codec, line: str, read: dict[int, str]) -> None:
    assert as_written(english, faithful_words(english, line)) == read


@pytest.mark.parametrize(("line", "read"), FRENCH.items())
def test_french(french: Codec, line: str, read: dict[int, str]) -> None:
    assert as_written(french, faithful_words(french, line)) == read


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("je sais pas ce que tu veux", "Je ne sais pas ce que tu veux"),
        ("jai pas ete la", "Je n'ai pas été la"),
        ("JE SUIS PAS DESOLE", "Je ne suis pas désolé"),
        ("a@b.org coute pas cher", "XX coûte pas cher"),
        ("J' estime qu' il faut l' aider", "J'estime qu'il faut l'aider"),
    ],
)
def test_it_is_read_as_a_sentence(french: Codec, line: str, written: str) -> None:
    words = faithful_words(french, line)
    found = encode_faithfully(french, words, "en")
    assert found.words == words
    assert found.ids == french.encode(written).ids
    assert found.word_of == sorted(found.word_of)


def test_a_label_is_read_in_both_cases(french: Codec) -> None:
    words = ["tres", "bien"]
    first = encode_faithfully(french, words, "en")
    other = in_other_case(french, first, "en")
    assert first.ids == french.encode("très bien").ids
    assert other
    assert other.ids == french.encode("Très bien").ids


def test_what_is_typed_is_typed_in_either_case(english: Codec) -> None:
    """No word is taken for a name because the other reading has given it a capital."""
    first = encode_faithfully(english, ["do", "u", "like", "zlotys"], "fr")
    other = in_other_case(english, first, "fr")
    assert first.ids == english.encode("Do you like zlotys").ids
    assert other
    assert other.ids == english.encode("Do you like Zlotys").ids


def test_words_of_a_translation_stay(french: Codec) -> None:
    words = ["je", "sais", "pas"]
    assert encode_faithfully(french, words).ids == french.encode_words(words).ids


def test_without_known_words_no_accent_is_added(french: Codec) -> None:
    codec = replace(french, known=None)
    assert as_written(codec, ["je", "suis", "pas", "desole"]) == {0: "je ne"}


def test_other_languages_and_plain_words_stay() -> None:
    spaced = Codec(Tokeniser("space", "fr"), Vocabulary(["je"]))
    assert as_written(spaced, ["je", "sais", "pas"]) == {}
    german = Codec(Tokeniser("moses", "de"), Vocabulary(["je"]))
    assert as_written(german, ["je", "sais", "pas", "dont"]) == {}


@given(st.lists(st.text(min_size=1, max_size=6), max_size=8))
def test_any_words(french: Codec, words: list[str]) -> None:
    made = faithful_words(french, " ".join(["je", *words, "pas"]))
    read = as_written(french, made)
    assert all(0 <= place < len(made) and text for place, text in read.items())
