"""The fast tokeniser and detokeniser against sacremoses itself, whose every word and line they must give."""

from __future__ import annotations

import gzip
import subprocess
import sys
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesTokenizer

from rnnsearch.text import moses
from rnnsearch.text.moses import LATIN, SIGNS, Detokeniser, FastMoses, prefixes
from rnnsearch.text.tokenise import Tokeniser

LANGUAGES = ["en", "fr", "de", "it", "fi", "cs", "ru", "zh", "ko", "xx"]
"""Every branch of the rules; the last is none of Moses's."""

# What the rules look at, and words of their lists of prefixes, some of which are followed by a number alone.
SIGNS_AND_WORDS = """
.. ... 's n't L' l'a'b .' -- 5,300 1.5 DOTMULTI DOT MULTI &amp;
Mr Dr. No Nos. Art pp U.S e.g. Nr bzw Prof M Mme. obj z.B. p fig. Feb
"""
PIECES = [
    *" .,'`-\"()[]{}<>&|/:;?!%$€§«»“”’…#@_*+=~^\\",
    *"aAsStTzéÉßøΩωжЖ中あ한ª²½5٣0ⅷ\u0301\u094d\u093c\U0001f600\U00020000",
    *(". ", ", ", "' ", " '", "  "),
    *SIGNS_AND_WORDS.split(),
]

CORNERS = (
    "| |a|.|,|'|..|...|a.|a,|a'|.a|,a|'a|,5|5,|5,,5| ,5 ,5|'5 '5|5' '5|a' 'b|a ' ' b|' ' '|''a ''b|5' ' "
    "'5|a.'|a. ' |a.' b|a.' b.'|"
    "...'|a...b|a.. .b|a....|a. b|a. B. 5. c.|Mr. x|Mr. X|Mr.|No. 5|No. five|No. Five|No.|No. ٣|U.S. "
    "x|U.S.|1.5. X|1.5.|(Mr.) X|"
    "(a.) b|a.) b|a.) B|a,) b|5,) 5|\"a,\" b|\"a.\" b|(5,|(5,5)|l'a|l'a.|l'a'b|l'Mr. X|Mr'l. X|5's|5's "
    "'s|a'5|5'a|DOTMULTI|DOTMULTI. a|"
    "aDOTMULTI.|a DOTDOTMULTI... b|DOT ..MULTI|x.DOTMULTI|a-b, -a- -|a.-b.|`a` ``b''|a,.|a.,|a),. b|a).. "
    "b|a). b|a).b|é. É. é|"
    "中文。句.|ª. ª|x. ²|x. 5a|x. -a|x. 'a|x. …|x. ...a|x...  a. . a .|a.). b|a,). b|5,,|a,,,|,,,5|a.) 5|No.) 5"
)


@cache
def reference(language: str) -> MosesTokenizer:
    return MosesTokenizer(language)


@cache
def fast(language: str) -> FastMoses:
    return FastMoses(language)


def check(language: str, line: str) -> None:
    assert fast(language).words(line) == reference(language).tokenize(line, escape=False), (language, line)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_corners(language: str) -> None:
    for line in CORNERS.split("|"):
        check(language, line)
        check(language, f"x {line} x")  # in the middle of a line what is said of its ends does not hold


@given(st.sampled_from(LANGUAGES), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=2_000)
def test_it_is_sacremoses_on_what_the_rules_look_at(language: str, line: str) -> None:
    check(language, line)


@given(
    st.sampled_from(LANGUAGES),
    st.text(st.characters(exclude_categories=["Zs", "Zl", "Zp", "Cc", "Cs"]) | st.just(" "), max_size=40),
)
@example("en", "x" * 100 + ". " + "y" * 100)
def test_it_is_sacremoses_on_any_characters(language: str, line: str) -> None:
    check(language, line)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "language", "lines"),
    [
        ("europarl/train.en", "en", 100_000),
        ("europarl/train.fr", "fr", 100_000),
        ("newstest/newstest2012.en", "en", 3_003),
        ("newstest/newstest2013.fr", "fr", 3_000),
        ("multi30k/train.en", "en", 29_000),
        ("multi30k/train.fr", "fr", 29_000),
        ("multi30k/train.de", "de", 29_000),
        ("multi30k/val.en", "cs", 1_014),
    ],
)
def test_it_is_sacremoses_on_300_000_real_lines(
    shared_data: Path, name: str, language: str, lines: int
) -> None:
    assert _lines_alike(shared_data / f"{name}.gz", language, lines) == lines


def test_it_is_sacremoses_on_real_lines(shared_data: Path) -> None:
    """A few thousand; the tests marked slow have all of them."""
    assert _lines_alike(shared_data / "newstest/newstest2013.fr.gz", "fr", 1_000) == 1_000
    assert _lines_alike(shared_data / "europarl/train.en.gz", "en", 1_000) == 1_000


def _lines_alike(path: Path, language: str, lines: int | None = None) -> int:
    """How many lines were compared, as a user has them: control characters and foreign blanks made plain
    beforehand, for both."""
    tokeniser, compared = Tokeniser("moses", language), 0
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for compared, line in enumerate(islice(file, lines), 1):
            plain = " ".join(Tokeniser("space", language).words(line))
            assert tokeniser.words(line) == reference(language).tokenize(plain, escape=False), (
                compared,
                line,
            )
    return compared


def test_a_full_memory_changes_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moses, "_CACHE_SIZE", 3)
    tokeniser = FastMoses("en")
    line = "Mr. Smith's dogs' bones, and (so on). No. 5 isn't it... It's no. Yes, 'it' is, Mr."
    for _ in range(3):
        assert tokeniser.words(line) == reference("en").tokenize(line, escape=False)
        assert len(tokeniser._cache) <= 3


def test_long_chunks_are_not_remembered() -> None:
    tokeniser = FastMoses("en")
    for length in range(30, 300):
        tokeniser.words("x" * length)
    assert all(len(key) <= moses._LONGEST for key in tokeniser._cache)
    assert len(tokeniser._cache) < 20


JOINED_LANGUAGES = ["en", "fr", "it", "de", "ga", "cs", "fi", "zh", "xx"]
SOME_LATIN = "a é 5 1.5 U.S. x-y - -' '- l' qu' L' 's 'S '5 5' s' s EU: ssa"
LATIN_WORDS = SOME_LATIN.split()
MARKS = [*"().,?!:;%'[]$¿«…“„\"", *["..", ",,", "?!", "@-@", "Жук", "中"]]
WORDS = [*LATIN_WORDS, *MARKS]
ORDINARY = [*LATIN_WORDS, *"(),.?!"]


@cache
def joining(language: str) -> tuple[Detokeniser, MosesDetokenizer]:
    return Detokeniser(language), MosesDetokenizer(language)


@given(
    st.sampled_from(JOINED_LANGUAGES),
    st.one_of(st.lists(st.sampled_from(words), max_size=8) for words in (WORDS, ORDINARY)),
)
@settings(max_examples=3_000)
def test_words_are_joined_as_sacremoses_joins_them(language: str, words: list[str]) -> None:
    ours, theirs = joining(language)
    assert ours.line(words) == theirs.detokenize(list(words), unescape=False)


@pytest.mark.parametrize("language", [*JOINED_LANGUAGES, "ru", "es", "french"])
def test_the_lists_of_abbreviations_are_sacremoses_own(language: str) -> None:
    tokeniser = MosesTokenizer(language)
    every = {*tokeniser.NONBREAKING_PREFIXES, *tokeniser.NUMERIC_ONLY_PREFIXES}
    assert prefixes(language) == {word for word in every if "#" not in word}


@pytest.mark.parametrize("language", ["en", "fr", "xx"])
def test_without_a_module_of_its_own_the_lists_come_from_sacremoses_as_a_whole(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moses, "_prefix_files", lambda: None)
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
        "line = \"L'accord (signé en 1992) n'a pas été long, Madame ?\"; assert t.text(t.words(line)) == "
        "line, t.words(line);"
        "assert 'sacremoses' not in sys.modules; t.words('Жук'); assert 'sacremoses' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
