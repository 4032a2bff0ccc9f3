"""Sentences in lowercase and in capitals are read as training text is written; translations begin as the source."""

from __future__ import annotations

import pytest
from letters import words_and_letters

from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary, WordFilter
from rnnsearch.translation.case import begins_small, is_label, with_small_letter
from rnnsearch.translation.copied import faithful_words
from rnnsearch.translation.reading import encode_faithfully, in_other_case


@pytest.fixture(scope="module")
def codec() -> Codec:
    return words_and_letters()


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("love you and books now", "Love you and books now"),
        ("- it's 12 books", "It's 12 books"),  # bullets are not read
        ("a@b.org costs you 12 euros now", "XX costs you 12 euros now"),
        ("iPad costs you 12 euros now", "iPad costs you 12 euros now"),
        ("12 books cost you euros", "12 books cost you euros"),
        ("love you", "love you"),  # a label is searched in both cases
        ("love you, peter, and xx now", "Love you, Peter, and XX now"),
        ("love You, peter, and books", "Love You, peter, and books"),
        ("PETER READS A BOOK", "Peter reads a book"),
        ("Peter reads a BOOK", "Peter reads a book"),
        ("Peter reads A", "Peter reads A"),
        ("DON'T STOP IT", "Don't stop it"),
        ("I LOVE IT AND I READ", "I love it and I read"),
        ("<b>love you and books now", "Love you and books now"),
    ],
)
def test_the_case_that_is_read(codec: Codec, line: str, read: str) -> None:
    words = faithful_words(codec, line)
    found = encode_faithfully(codec, words, "fr")
    expected = codec.encode(read)
    assert (found.words, found.ids) == (words, expected.ids)


def test_text_of_a_translation_and_of_lowercase_networks_stays(codec: Codec) -> None:
    words = ["love", "you", "and", "books"]
    assert encode_faithfully(codec, words).ids == codec.encode_words(words).ids
    lowercase = Codec(Tokeniser("moses", "en", True), codec.vocabulary, codec.subwords)
    assert encode_faithfully(lowercase, words, "fr").ids == codec.encode_words(words).ids


@pytest.mark.parametrize(
    ("words", "small", "label"),
    [
        ("see you", True, True),
        ("See You !", False, True),
        ("SEE YOU", False, True),
        ("USA", False, False),
        ("BOOKS !", False, True),
        ("sEe", False, False),
        ("it 's fine", True, False),
        ("see you all soon", True, False),
        ("日本", False, True),
        ("! ?", False, False),
    ],
)
def test_kinds_of_text(words: str, small: bool, label: bool) -> None:
    assert (begins_small(words.split()), is_label(words.split())) == (small, label)


@pytest.mark.parametrize(
    ("language", "words", "written"),
    [
        ("en", "Books are here", "books are here"),
        ("en", "I read", "I read"),
        ("it", "I read", "i read"),
        ("en", "Peter reads", "Peter reads"),
        ("en", "Unknown words", "Unknown words"),
        ("en", "« Books »", "« books »"),
        ("en", "! ?", "! ?"),
        ("en", "Kept i", "Kept i"),
        ("de", "Books i", "Books i"),
        ("en", "", ""),
    ],
)
def test_the_first_letter_of_a_translation(language: str, words: str, written: str) -> None:
    known = WordFilter.of(["books", "i", "kept", "peters"])
    side = Codec(
        Tokeniser("moses", language, False),
        Vocabulary(["books", "Books", "i", "I", "Peter", "peter", "unknown", "Kept", "kept"]),
        None,
        known,
    )
    assert with_small_letter(words.split(), side, ["Kept"]) == written.split()


def test_german_nouns_are_no_title(codec: Codec) -> None:
    english = encode_faithfully(codec, ["The", "Love", "And", "the", "Book", "of", "Peter"], "fr")
    assert in_other_case(codec, english, "fr") is not None
    german = Codec(Tokeniser("moses", "de", False), codec.vocabulary, codec.subwords)
    assert in_other_case(german, english, "fr") is None


def test_a_form_that_cannot_be_read_is_not_read() -> None:
    small = Codec(
        Tokeniser("moses", "en", False), Vocabulary(["books", "are", "here", "now", "BBC"])
    )
    for line in "books are here now", "BBC BBC now", "BBC ARE HERE":
        words = line.split()
        read = small.encode_words(words if line != "BBC ARE HERE" else ["BBC", "are", "here"])
        assert encode_faithfully(small, words, "fr").ids == read.ids


def test_a_word_that_was_cut_is_not_read_whole(codec: Codec) -> None:
    long = "munich" * 1000
    words = ["love", "you", long, "and", "books"]
    part = encode_faithfully(codec, words, "fr")
    cut = EncodedSentence(words, part.ids[:100], part.word_of[:100])
    assert in_other_case(codec, cut, "fr") is None
