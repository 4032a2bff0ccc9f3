from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.text import subword_training
from rnnsearch.text.subword_training import train_subwords
from rnnsearch.text.subwords import WORD_START, Subwords
from rnnsearch.text.tokens import Tokeniser

SENTENCES = [
    f"the {adjective} {noun} {verb}s the {noun}s .".split()
    for adjective in ("small", "tall", "smaller")
    for noun in ("house", "mouse", "horse")
    for verb in ("see", "house", "call")
]
COUNTS = Counter(word for words in SENTENCES for word in words)


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def kind(request: pytest.FixtureRequest) -> Literal["unigram", "bpe"]:
    chosen: Literal["unigram", "bpe"] = request.param
    return chosen


@pytest.fixture(scope="module")
def subwords(kind: Literal["unigram", "bpe"]) -> Subwords:
    return train_subwords(COUNTS, kind, 40)


@pytest.mark.parametrize("limit", [1, 7, 30, 1000])
def test_unigram_reads_an_even_share_of_the_words(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    counts = {"common": 60, "rare": 3, "once": 1, "under\u2581line": 20}
    monkeypatch.setattr(subword_training, "_RUNNING_WORDS", limit)
    drawn = Counter(
        word for line in subword_training._running_text(counts) for word in line.split(" ")
    )
    every = max(1, -(-84 // limit))
    assert 0 < drawn.total() <= limit
    assert all(
        abs(drawn[word.replace("\u2581", "_")] - count / every) < 1
        for word, count in counts.items()
    )


@given(line=st.text(st.characters(), max_size=40), seen=st.booleans())
def test_any_text_is_cut_without_mixing_its_words(
    subwords: Subwords, line: str, seen: bool
) -> None:
    words = Tokeniser("space", "").words(f"{line} {' '.join(SENTENCES[0])}" if seen else line)
    split = subwords.split(words)
    assert all(split)
    word_of = [place for place, pieces in enumerate(split) for _ in pieces]
    spelt = [word.replace(WORD_START, "_") for word in words]
    assert subwords.join([piece for pieces in split for piece in pieces]) == (spelt, word_of)


@pytest.mark.parametrize(
    ("pieces", "words", "word_of"),
    [
        ("▁the ▁mou se", "the mouse", [0, 1, 1]),
        ("mou se", "mouse", [0, 0]),  # a model may begin inside a word
        ("▁ <unk> ▁a", "<unk> a", [0, 0, 1]),
        ("▁ ▁a", "a", [0, 0]),
        ("▁a ▁ ▁b", "a b", [0, 1, 1]),
        ("▁a ▁ ▁", "a", [0, 0, 0]),
        ("▁", "", [0]),
    ],
)
def test_joining_what_a_model_may_write(
    subwords: Subwords, pieces: str, words: str, word_of: list[int]
) -> None:
    assert subwords.join(pieces.split(" ")) == (words.split(" "), word_of)
    assert subwords.join([]) == ([], [])


def test_the_vocabulary_is_no_larger_than_asked_for_and_holds_no_special(
    subwords: Subwords,
) -> None:
    vocabulary = subwords.vocabulary()
    assert (
        len({character for words in SENTENCES for word in words for character in word})
        < len(vocabulary)
        <= 40
    )
    assert len(set(vocabulary)) == len(vocabulary)
    assert not {"<unk>", "<s>", "</s>", "<pad>"} & set(vocabulary)


def test_a_model_depends_on_the_words_alone_and_comes_back(
    kind: Literal["unigram", "bpe"], subwords: Subwords, tmp_path: Path
) -> None:
    for name, model in (("a", subwords), ("b", train_subwords(COUNTS, kind, 40))):
        model.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    for copy in (Subwords.load(tmp_path / "a"), pickle.loads(pickle.dumps(subwords))):
        assert copy.split(SENTENCES[0]) == subwords.split(SENTENCES[0])
    with refusal("sentencepiece cannot make 40"):
        train_subwords({}, kind, 40)


def test_more_characters_than_subwords_leave_room_for_longer_ones(
    kind: Literal["unigram", "bpe"],
) -> None:
    kanji = [chr(code) for code in range(0x4E00, 0x4E00 + 300)]
    counts = Counter({"東京都": 900, "東京": 500} | dict.fromkeys(kanji, 1))
    vocabulary = train_subwords(counts, kind, 40, marks_words=False).vocabulary()
    assert "東京" in vocabulary
    assert sum(len(one) == 1 for one in vocabulary) <= 25
