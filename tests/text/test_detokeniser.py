"""Words joined to lines, against sacremoses itself."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesTokenizer

from rnnsearch.text.moses import simple_chunks
from rnnsearch.text.moses.detokeniser import Detokeniser
from rnnsearch.text.moses.simple_chunks import LATIN, SIGNS, prefixes

LANGUAGES = ["en", "fr", "it", "de", "ga", "cs", "fi", "zh", "xx"]
LATIN_WORDS = ("a", "é", "5", "1.5", "U.S.", "x-y", "-", "-'", "'-", "l'", "qu'", "L'", "'s", "'S", "'5", "5'", "s'", "s", "EU:", "ssa")
MARKS = [*"().,?!:;%'[]$¿«…“„\"", "..", ",,", "?!", "@-@", "Жук", "中"]
WORDS = [*LATIN_WORDS, *MARKS]
ORDINARY = [*LATIN_WORDS, *"(),.?!"]


@cache
def reference(language: str) -> MosesDetokenizer:
    return MosesDetokenizer(language)


@cache
def detokeniser(language: str) -> Detokeniser:
    return Detokeniser(language)


@given(st.sampled_from(LANGUAGES), st.lists(st.sampled_from(WORDS), max_size=8))
@settings(max_examples=3_000)
def test_it_is_sacremoses_on_what_the_rules_look_at(language: str, words: list[str]) -> None:
    assert detokeniser(language).line(words) == reference(language).detokenize(list(words), unescape=False)


@given(st.sampled_from(["en", "fr", "it", "de"]), st.lists(st.sampled_from(ORDINARY), max_size=8))
@settings(max_examples=3_000)
def test_it_is_sacremoses_on_ordinary_words(language: str, words: list[str]) -> None:
    assert detokeniser(language).line(words) == reference(language).detokenize(list(words), unescape=False)


@pytest.mark.parametrize("language", [*LANGUAGES, "ru", "es", "french"])
def test_the_lists_of_abbreviations_are_sacremoses_own(language: str) -> None:
    tokeniser = MosesTokenizer(language)
    every = {*tokeniser.NONBREAKING_PREFIXES, *tokeniser.NUMERIC_ONLY_PREFIXES}
    assert prefixes(language) == {word for word in every if "#" not in word}


@pytest.mark.parametrize("language", ["en", "fr", "xx"])
def test_without_a_module_of_its_own_the_lists_come_from_sacremoses_as_a_whole(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simple_chunks, "_prefix_files", lambda: None)
    assert prefixes.__wrapped__(language) == prefixes(language)


def test_latin_letters_and_signs_are_what_sacremoses_takes_them_for() -> None:
    tokeniser = MosesTokenizer("en")
    letters = [letter for letter in map(chr, range(0x3000)) if LATIN.match(letter)]
    assert len(letters) > 200
    for letter in letters:
        assert letter in tokeniser.IsAlnum
        assert (letter in tokeniser.IsAlpha) == (not letter.isdigit())
        assert (letter in tokeniser.IsLower) == letter.islower()
    assert not SIGNS & {*tokeniser.IsAlnum, *tokeniser.IsLower}


def test_an_ordinary_sentence_needs_none_of_sacremoses_rules() -> None:
    program = (
        "import sys; from rnnsearch.text.tokenise import Tokeniser; t = Tokeniser('moses', 'fr');"
        "line = \"L'accord (signé en 1992) n'a pas été long, Madame ?\"; assert t.text(t.words(line)) == line, t.words(line);"
        "assert 'sacremoses' not in sys.modules; t.words('Жук'); assert 'sacremoses' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
