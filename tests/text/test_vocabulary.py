from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.text.vocabulary import UNK, Vocabulary

SENTENCES = [["b", "a", "c"], ["a", "d"], ["a", "c"]]


def count(sentences: list[list[str]], size: int, minimum_count: int = 1) -> Vocabulary:
    return Vocabulary.from_counts(Counter(chain.from_iterable(sentences)), size, minimum_count)


def entries(vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.word(number) for number in range(len(vocabulary))]


@given(st.lists(st.lists(st.sampled_from("abcdefg"))), st.integers(1, 8), st.integers(1, 3))
def test_no_word_left_out_is_more_frequent_than_one_that_is_in(
    sentences: list[list[str]], size: int, minimum: int
) -> None:
    counts = Counter(word for words in sentences for word in words)
    vocabulary = count(sentences, size, minimum)
    inside = [word for word in counts if word in vocabulary]
    outside = [word for word in counts if word not in vocabulary and counts[word] >= minimum]
    assert len(inside) == min(size, sum(count >= minimum for count in counts.values()))
    assert all((-counts[i], i) < (-counts[o], o) for i in inside for o in outside)


def test_text_that_spells_a_special_is_an_unknown_word() -> None:
    vocabulary = count([["</s>", "</s>", "<unk>", "a"]], size=10)
    assert entries(vocabulary) == ["</s>", "<unk>", "a"]
    assert vocabulary.ids(["</s>", "<unk>"]) == [UNK, UNK]
    assert "</s>" not in vocabulary


def test_an_id_outside_and_a_repeated_word_are_refused() -> None:
    for number in (-1, 4):
        with pytest.raises(IndexError):
            Vocabulary(["a", "b"]).word(number)
    with pytest.raises(ValueError, match="twice"):
        Vocabulary(["a", "a"])


def test_the_file_has_one_word_a_line_and_comes_back(tmp_path: Path) -> None:
    vocabulary = Vocabulary(
        ["été", "a\u2028b", "\r", "x\x85"]
    )  # an end of line for str.splitlines(), not here
    vocabulary.save(tmp_path / "v.txt")
    assert (tmp_path / "v.txt").read_bytes().decode().split("\n")[:3] == ["</s>", "<unk>", "été"]
    assert Vocabulary.load(tmp_path / "v.txt") == vocabulary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is not a vocabulary"),
        (b"</s>\n<unk>\na", "is not a vocabulary"),  # incomplete
        (b"</s>\n<unk>\na\n\nb\n", "has each word once"),
        (b"</s>\n<unk>\na\nb\na\n", "has each word once"),
        (b"</s>\n<unk>\n\xff\n", "utf-8"),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: bytes | None, message: str) -> None:
    if text is not None:
        (tmp_path / "v.txt").write_bytes(text)
    with refusal(message):
        Vocabulary.load(tmp_path / "v.txt")
