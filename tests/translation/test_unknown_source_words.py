"""Source words that a run does not know are named once, after the last line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.text.codec import Codec
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.unknown_source_words import unknown_words_noted


def noted(source: Codec, *lines: str) -> list[str]:
    notes: list[str] = []
    results = [Translation("", [], [*source.tokeniser.words(line), "</s>"], 0.0, [], np.zeros((0, 1), np.float32)) for line in lines]
    passed = unknown_words_noted(iter(results), source, notes.append)
    assert next(passed) is results[0]
    assert notes == []
    assert list(passed) == results[1:]
    return notes


@pytest.fixture
def words() -> Codec:
    return Codec(Tokeniser("space", "en"), Vocabulary(["the", "man", "."]))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["the man .", ""], None),
        (["the xyzzy .", "the plugh plugh"], "3 of 6 source words: xyzzy, plugh ("),
        (["a b c d e a"], "6 of 6 source words: a, b, c, d, e ("),
        (["a b c d e f g"], "7 of 7 source words: a, b, c, d, e, … ("),
        (["z" * 100], f"1 of 1 source words: {'z' * 29}… ("),
        (["</s> <unk>"], "2 of 2 source words: </s>, <unk> ("),
    ],
)
def test_unknown_words_of_a_word_list(words: Codec, lines: list[str], said: str | None) -> None:
    notes = noted(words, *lines)
    if said is None:
        assert notes == []
    else:
        [note] = notes
        assert note.startswith(f"warning: the run does not know {said}")
        assert "data.subwords" in note


def test_with_subwords_only_characters_are_unknown(tiny_subword_run: Path) -> None:
    source = Run.open(tiny_subword_run).source
    assert noted(source, "The manhorse thesees.") == []
    assert noted(source, "The Жук man.") == [
        "warning: the run does not know 1 of 4 source words: Жук (they hold characters that did not occur in training)"
    ]


def test_translate_warns_on_stderr_once(command: Callable[..., Any], tiny_run: Path) -> None:
    done = command("translate", tiny_run, "--beam", 1, stdin=b"The xyzzy.\n\nNobody sees the plugh.\n")
    assert (done.code, len(done.lines), done.err.count("\n")) == (0, 3, 1)
    assert done.err.startswith("warning: the run does not know ")
    assert "xyzzy" in done.err
    assert command("translate", tiny_run, "--beam", 1, stdin=b"The man sees.\n").err == ""
