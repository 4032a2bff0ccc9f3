from __future__ import annotations

import pickle
import re
import unicodedata
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.tokenise import Tokeniser

ENGLISH, FRENCH, GERMAN = (Tokeniser("moses", language) for language in ("en", "fr", "de"))
SPACE = Tokeniser("space", "en")
KINDS = [ENGLISH, FRENCH, GERMAN, SPACE]

ALL_BLANKS = [
    chr(i)
    for i in range(0x110000)
    if unicodedata.category(chr(i)) in ("Cc", "Zs", "Zl", "Zp") or chr(i).isspace()
]


@pytest.mark.parametrize(
    ("tokeniser", "line", "words"),
    [
        (ENGLISH, "It isn't far, is it?", "It isn 't far , is it ?"),
        (ENGLISH, "Mr. Smith left.", "Mr. Smith left ."),
        (ENGLISH, "stone &amp; tile <b>", "stone & amp ; tile < b >"),  # nothing escaped, nothing resolved
        (FRENCH, "L'homme de la France.", "L' homme de la France ."),
        (FRENCH, "l' homme", "l ' homme"),  # a stray blank is left as Moses leaves it
        (FRENCH, "un 'l' isolé", "un ' l ' isolé"),  # a quotation, no elision
        (ENGLISH, "the dogs' bones", "the dogs ' bones"),
        (ENGLISH, "soft\u00adhyphen", "softhyphen"),
        (SPACE, "It isn't far, is it?", "It isn't far, is it?"),
        (SPACE, "  a \t b\u3000c ", "a b c"),
    ],
)
def test_words(tokeniser: Tokeniser, line: str, words: str) -> None:
    assert tokeniser.words(line) == words.split(" ")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("soft\u00adhyphen", "soft \u00ad hyphen"),
        ("\ufeffThe end.", "\ufeff The end ."),
        ("a\u2060b\u200bc\u200dd", "a \u2060 b \u200b c \u200d d"),
        ("a\x7fb\x93c", "a \x7f b \x93 c"),
        ("a\x00b\x1cc", "abc"),  # other ASCII control characters go, and separate nothing
        ("a\u00a0b\x85c\u2028d\x0be", "a b c d e"),
        ("It\u00ad's at e.\u00adg.", "It \u00ad ' s at e . \u00ad g ."),
        ("It isn't far.", "It isn 't far ."),
    ],
)
def test_words_as_tokenizer_perl_cuts_them(line: str, words: str) -> None:
    """Found with the script, at its revision of February 2018."""
    assert ENGLISH.moses_words(line) == words.split(" ")
    assert ENGLISH.moses_words(" \x01 ") == []


@pytest.mark.parametrize("kind", ["moses", "space"])
def test_lowercase_changes_letters_and_no_word(kind: str) -> None:
    """`Mr.` keeps its full stop and `U.S.` its two, as they would not if the line were in small letters
    before it is cut."""
    line = "Mr. Smith's U.S. PAY, ÉTÉ and ΟΔΟΣ."
    cased, small = (Tokeniser(kind, "en", lowercase).words(line) for lowercase in (False, True))  # type: ignore[arg-type]
    assert small == [word.lower() for word in cased] != cased
    assert small[0] == "mr."


@pytest.mark.parametrize("line", ["", " ", "\t", "\u00a0\u2028 \x00", "\ufeff"])
@pytest.mark.parametrize("tokeniser", KINDS, ids=str)
def test_an_empty_line_has_no_words(tokeniser: Tokeniser, line: str) -> None:
    assert tokeniser.words(line) == []
    assert tokeniser.text([]) == ""


@pytest.mark.parametrize(
    ("tokeniser", "line"),
    [
        *((FRENCH, line) for line in ("l'homme", "de la France.", "Aujourd'hui, l'école est fermée.")),
        (FRENCH, "« Bien », dit-il (à 10,5 km)."),
        *((ENGLISH, line) for line in ("It isn't far, is it?", 'He said "yes" (twice).')),
        (ENGLISH, "The U.S. paid $5,300.50 & more."),
    ],
)
def test_ordinary_text_comes_back(tokeniser: Tokeniser, line: str) -> None:
    assert tokeniser.text(tokeniser.words(line)) == line


def test_every_kind_of_blank_separates_words() -> None:
    for tokeniser in KINDS:
        for blank in ALL_BLANKS:
            assert tokeniser.words(f"a{blank}b") == ["a", "b"], (tokeniser, blank)


@given(st.text(st.characters(), max_size=60))
def test_words_hold_no_blank_and_lose_no_character(line: str) -> None:
    for tokeniser in KINDS:
        words = tokeniser.words(line)
        assert all(word and not any(character in ALL_BLANKS for character in word) for word in words)
        letters = [
            character
            for character in re.sub("[\ud800-\udfff]", "\ufffd", line)
            if unicodedata.category(character)[0] in "LNPSM"
        ]
        assert [
            character for character in "".join(words) if unicodedata.category(character)[0] in "LNPSM"
        ] == letters
        "\n".join(words).encode("utf-8")  # can be written


@given(st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=1), max_size=8))
def test_separated_words_come_back(words: list[str]) -> None:
    assert SPACE.words(SPACE.text(words)) == words


def test_it_can_be_sent_to_another_process_after_use() -> None:
    FRENCH.words("l'homme")
    assert pickle.loads(pickle.dumps(FRENCH)) == FRENCH


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_real_text_comes_back_but_for_blanks(shared_data: Path, language: str) -> None:
    tokeniser = Tokeniser("moses", language)
    for line in islice(read_lines(shared_data / "multi30k" / f"train.{language}.gz"), 1000):
        words = tokeniser.words(line)
        assert "".join(words) == "".join(line.split())
        assert "".join(tokeniser.text(words).split()) == "".join(words)
