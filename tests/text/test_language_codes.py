"""Codes of languages: those of three letters and of countries mean the language, too."""

from __future__ import annotations

import pytest

from rnnsearch.evaluation.bleu import tokenisation_of
from rnnsearch.text.language_codes import LANGUAGES, base
from rnnsearch.text.tokens import UNSPACED, Tokeniser


@pytest.mark.parametrize(
    ("code", "language"),
    [
        *(pair.split() for pair in ("zh-TW zh", "pt_BR pt", "zho zh", "cmn zh", "cn zh", "CN zh")),
        *(pair.split() for pair in ("jpn ja", "jp ja", "rus ru", "ua uk", "cz cs", "yue yue")),
        *(pair.split() for pair in ("xx xx", "tha th", "tib bo", "zho_Hans zh")),
    ],
)
def test_base(code: str, language: str) -> None:
    assert base(code) == language


def test_every_code_is_in_two_letters() -> None:
    assert all(len(code) == 2 and len(three) == 3 for code, (_, three) in LANGUAGES.items())
    assert len({three for _, three in LANGUAGES.values()}) == len(LANGUAGES)
    assert UNSPACED.keys() - {"yue", "wuu"} <= LANGUAGES.keys()


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("jp", "本を。", "本 を 。"),
        ("jpn", "本を。", "本 を 。"),
        ("cn", "他来了。", "他 来 了 。"),
        ("zho", "他来了。", "他 来 了 。"),
        ("tha", "ดี", "ดี"),
        ("fra", "l'eau", "l' eau"),
        ("pt-BR", "O Sr. Silva", "O Sr. Silva"),
    ],
)
def test_words_and_lines_are_those_of_the_language(code: str, line: str, words: str) -> None:
    """Text of train.jp was cut at spaces, and its full-width punctuation became ASCII."""
    tokeniser = Tokeniser("moses", code)
    assert tokeniser.words(line) == words.split()
    assert tokeniser.text(words.split()) == line


def test_bleu_of_other_codes() -> None:
    assert tokenisation_of("cn") == tokenisation_of("zh") == "zh"
    assert tokenisation_of("jp") == tokenisation_of("ja")
    assert tokenisation_of("tib") == "char"
