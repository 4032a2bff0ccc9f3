"""Which words of a translation are marked, and that nothing of its text is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.report.sentences import marked, words


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("a b c", "a b c", []),
        ("a x c", "a b c", ["x"]),
        ("a c", "a b c", []),  # what is missing cannot be marked
        ("b a", "a b", ["a"]),  # one of the two stands elsewhere
        ("l'homme.", "l'homme !", ["."]),
        ("Le chat", "le chat", ["Le"]),
        ("", "a", []),
        ("a b", "", ["a", "b"]),
    ],
)
def test_words_that_differ(text: str, reference: str, expected: list[str]) -> None:
    assert [word.text for word in marked(text, reference) if word.kind == "differs"] == expected


def test_an_unknown_word_is_shown_as_one() -> None:
    found = marked("de <unk>, <unk>.", "de <unk> .")
    assert [(word.text, word.kind) for word in found if word.kind == "unknown"] == [("<unk>", "unknown")] * 2
    assert [word.text for word in found if word.kind == "differs"] == [","]


@given(st.text())
def test_no_letter_is_lost(text: str) -> None:
    shown = "".join(word.text + (" " if word.space else "") for word in words(text))
    assert "".join(shown.split()) == "".join(text.split())
