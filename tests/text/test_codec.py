from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest

from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.subword_training import train_subwords
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import EOS, UNK, Vocabulary

COUNTS = Counter(["la", "maison", "rouge", "la", "raison", "le", "roi", "rouge"])


@pytest.fixture
def plain() -> Codec:
    return Codec(Tokeniser("space", "fr"), Vocabulary.from_counts(COUNTS, 4))


@pytest.fixture
def split() -> Codec:
    subwords = train_subwords(COUNTS, "bpe", 25)
    return Codec(Tokeniser("space", "fr", runs=True), Vocabulary(subwords.vocabulary()), subwords)


def test_a_sentence_ends_with_the_end_of_sentence(plain: Codec) -> None:
    encoded = plain.encode("la maison bleue")
    assert encoded == EncodedSentence(
        ["la", "maison", "bleue"], [*plain.vocabulary.ids(["la", "maison"]), UNK, EOS], [0, 1, 2, 3]
    )
    assert plain.decode(encoded.ids) == (["la", "maison", "<unk>"], [0, 1, 2])
    assert plain.decode([2, EOS, 3, EOS])[0] == [plain.vocabulary.word(2)]


def test_an_empty_line_is_the_end_of_sentence_alone(plain: Codec, split: Codec) -> None:
    for codec in (plain, split):
        assert codec.encode("") == EncodedSentence([], [EOS], [0])
        assert codec.decode([EOS]) == codec.decode([]) == ([], [])
        assert codec.text([]) == ""


def test_subwords_know_their_words(split: Codec) -> None:
    encoded = split.encode("la saison rose")
    assert len(encoded.ids) == len(encoded.word_of) > 4
    assert encoded.word_of[-1] == 3
    assert sorted(set(encoded.word_of)) == [0, 1, 2, 3]
    decoded = split.decode(encoded.ids)
    assert decoded == (encoded.words, encoded.word_of[:-1])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_subwords_are_the_words_of_text_without_spaces(kind: Literal["bpe", "unigram"]) -> None:
    tokeniser = Tokeniser("moses", "zh", runs=True)
    lines = ["猫想要那封信。", "老师喜欢 Python。", "狗看见那棵树，猫看见那条河！"]
    counts = Counter(word for line in lines for word in tokeniser.words(line))
    subwords = train_subwords(counts, kind, 60, marks_words=False)
    codec = Codec(tokeniser, Vocabulary(subwords.vocabulary()), subwords)
    for line in lines:
        encoded = codec.encode(line)
        assert "".join(encoded.words) == line.replace(" ", "␣")
        assert encoded.word_of == list(range(len(encoded.ids)))
        assert codec.decode(encoded.ids)[0] == encoded.words
        assert codec.text(encoded.words) == line
        assert codec.encode_words(encoded.words) == encoded
        assert codec.tokeniser.link_words(line) == [
            word.removeprefix("␣") for word in Tokeniser("moses", "zh").words(line)
        ]
