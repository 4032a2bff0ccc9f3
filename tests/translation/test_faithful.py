"""Names, numbers, addresses and unknown characters are held to the source; words that training knew stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import UNK, Vocabulary, WordFilter
from rnnsearch.translation.faithful import Faithful, encode_faithfully

KNOWN = [
    "le",
    "la",
    "les",
    "a",
    "dit",
    "Pierre",
    "lit",
    "un",
    "livre",
    "arc",
    "en",
    "ciel",
    "l'",
    "euros",
    "de",
    "à",
    "12",
    "345",
    "et",
    "arrêtez",
    "maintenant",
]


@pytest.fixture(scope="module")
def codec() -> Codec:
    """English words of one subword each, letters for all others, and no emoji."""
    words = "the a said Peter reads book love you now stop it costs euros in to"
    counts = dict.fromkeys(words.split(), 1000)
    counts |= dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/.@-#", 1)
    subwords = Subwords.train(counts, "bpe", 200)
    return Codec(Tokeniser("moses", "en", False), Vocabulary(subwords.vocabulary()), subwords)


@dataclass(frozen=True)
class Case:
    """read: for each target word the source word that it looked at."""

    source: str
    target: str
    read: list[int]
    expected: str


CASES = {
    "known words stay": Case("the book", "le livre", [0, 1], "le livre"),
    "a known word of another case stays": Case("Peter", "pierre", [0], "pierre"),
    "a compound of known words stays": Case("the bow", "arc-en-ciel", [1], "arc-en-ciel"),
    "an invented name is the source's": Case("Florez said", "Forpourt a dit", [0, 1, 1], "Florez a dit"),
    "a name in several words is written once": Case("Jhonathan said", "Jhon Jathan a dit", [0, 0, 1, 1], "Jhonathan a dit"),
    "<unk> is the source's word": Case("Ж reads", "<unk> lit", [0, 1], "Ж lit"),
    "a part of a word is unknown": Case("Čapek reads", "<unk>ek lit", [0, 1], "Čapek lit"),
    "a right number stays": Case("it costs 12,345 euros", "12 345 euros", [2, 2, 3], "12 345 euros"),
    "a wrong number is the source's": Case("in 2013", "en 2031", [0, 1], "en 2013"),
    "an hour is no wrong number": Case("at 5", "à 17h", [0, 1], "à 17h"),
    "a number without one in the source stays": Case("a dozen", "12", [1], "12"),
    "an address is whole": Case("see https://a.b/c-d?e now", "lit exe : / ample et", [0, 1, 1, 1, 1, 2], "lit https://a.b/c-d?e et"),
    "an e-mail address is whole": Case("to anna@b.org.", "à l' année <unk> .", [0, 1, 1, 1, 2], "à anna@b.org ."),
    "emoji are added": Case("Peter reads 😀 a book", "Pierre lit un livre", [0, 1, 3, 4], "Pierre lit 😀 un "
    "livre"),
    "emoji are written once": Case("Peter 😀", "Pierre <unk>", [0, 1], "Pierre 😀"),
    "capitals stay capitals": Case("STOP IT NOW", "arrêtez maintenant", [0, 2], "ARRÊTEZ MAINTENANT"),
    "capitals in a sentence": Case("the STOP said", "le livre dit", [0, 1, 2], "le LIVRE dit"),
    "what reads the end of sentence stays": Case("Peter", "Pierre Xyzzy", [0, 1], "Pierre Xyzzy"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_words_are_held_to_the_source(codec: Codec, case: Case) -> None:
    sentence = encode_faithfully(codec, case.source)
    weights = np.zeros((len(case.read), len(sentence.words) + 1), dtype=np.float32)
    weights[np.arange(len(case.read)), case.read] = 1
    if case.expected.endswith("Xyzzy"):
        weights[-1] = 0
    faithful = Faithful(codec, set(KNOWN), {})
    given = [0.1 * (1 + place) for place in range(len(case.read))]
    words, alignment, confidence = faithful(sentence, case.target.split(), weights, given)
    assert " ".join(words) == case.expected
    assert len(confidence) == len(words)
    assert set(confidence) <= {*given, 1.0}
    assert alignment.shape == (len(words), len(sentence.words) + 1)
    assert alignment.dtype == np.float32


@pytest.mark.parametrize(
    ("line", "target", "read", "found", "sure"),
    [
        ("Munich", "Munix", [0], ["Monaco"], [0.9]),  # the dictionary comes before the source
        # A copy is as sure as the least sure word that it replaces.
        ("see a@b.org 😀", "lit un livre", [0, 1, 1], ["lit", "a@b.org", "😀"], [0.9, 0.2, 1.0]),
    ],
)
def test_what_is_put_in_place_of_words(
    codec: Codec, line: str, target: str, read: list[int], found: list[str], sure: list[float]
) -> None:
    faithful = Faithful(codec, set(KNOWN), {"Munich": "Monaco"})
    sentence = encode_faithfully(codec, line)
    weights = np.eye(len(sentence.words) + 1, dtype=np.float32)[read]
    words, _, confidence = faithful(sentence, target.split(), weights, [0.9, 0.8, 0.2][: len(read)])
    assert (words, confidence) == (found, sure)


@pytest.mark.parametrize(
    ("line", "words", "read"),
    [
        ("LOVE you", ["LOVE", "you"], "▁love ▁you"),
        ("don’t", ["don", "'t"], None),
        ("see a@b.org, now", ["see", "a@b.org", ",", "now"], None),
        ("", [], ""),
    ],
)
def test_a_line_is_read_as_its_own_words(codec: Codec, line: str, words: list[str], read: str | None) -> None:
    sentence = encode_faithfully(codec, line)
    assert sentence.words == words
    assert len(sentence.ids) == len(sentence.word_of)
    assert sentence.word_of[-1] == len(words)
    if read is not None:
        assert " ".join(codec.vocabulary.word(number) for number in sentence.ids[:-1]) == read


def test_plain_lines_are_read_as_ever_and_unreadable_words_have_unknown_ids(codec: Codec) -> None:
    line = "Peter said: it costs 12.5 euros"
    assert encode_faithfully(codec, line) == codec.encode(line)
    assert UNK in encode_faithfully(codec, "😀").ids


def test_nothing_to_hold(codec: Codec) -> None:
    empty = np.zeros((0, 1), dtype=np.float32)
    words, alignment, _ = Faithful(codec, set(), {})(EncodedSentence([], [0], [0]), [], empty, [])
    assert words == []
    assert alignment is empty


def test_a_filter_knows_its_words_and_hardly_others(tmp_path: object) -> None:
    words = [f"word{number}" for number in range(2000)]
    known = WordFilter.of(words[:1000])
    assert all(word in known for word in words[:1000])
    assert sum(word in known for word in words[1000:]) <= 10
    more = known.with_words(["été"])
    assert "été" in more
    assert "été" not in known
    assert all(word in more for word in words[:1000])
