"""Texts split into sentences: nothing is lost, and the white space stays where it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.serve.paragraphs import by_line, split_paragraphs


@given(
    st.text(st.sampled_from("ab. !?\n\r\t\u2028\u3000Dr…\"'«»()1,;é")),
    st.sampled_from(["en", "fr", "", "zz"]),
)
def test_sentences_and_gaps_are_the_text(text: str, language: str) -> None:
    found = split_paragraphs(text, language)
    assert found.joined(found.sentences) == text
    assert len(found.gaps) == len(found.sentences) + 1
    assert all(gap.strip() == "" for gap in found.gaps)
    assert all(
        sentence and sentence == sentence.strip() and len(sentence.splitlines()) == 1
        for sentence in found.sentences
    )


def test_translations_of_other_lengths_take_the_places_of_the_sentences() -> None:
    assert split_paragraphs(" One. Two!\n\n", "en").joined(["", "Deux fois."]) == "  Deux fois.\n\n"


def test_lines_of_a_text_have_their_own_beginnings() -> None:
    text = split_paragraphs("One. Two.\n\n Three.\nFour. Five.", "en")
    begun = by_line(text, "Un. Deux\n\n\nTrois. Et\nQua", "fr")
    assert begun == ["Un. \n", "Deux\n", "Trois. Et\n", "Qua", ""]
    assert by_line(text, "Un.\n", "fr") == ["Un.\n", "", "", "", ""]
    assert by_line(text, "", "fr") == [""] * 5
