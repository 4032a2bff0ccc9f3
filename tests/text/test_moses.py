"""The fast tokeniser against sacremoses itself, whose every word it must give."""

from __future__ import annotations

import gzip
import pickle
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from rnnsearch.text.moses import tokeniser as moses
from rnnsearch.text.moses.tokeniser import FastMoses
from rnnsearch.text.tokenise import Tokeniser

LANGUAGES = ["en", "fr", "de", "it", "fi", "cs", "ru", "zh", "ko", "xx"]  # every branch of the rules; the last is none of Moses's

# What the rules look at, and words of their lists of prefixes, some of which are followed by a number alone.
PIECES = [
    *" .,'`-\"()[]{}<>&|/:;?!%$€§«»“”’…#@_*+=~^\\",
    *"aAsStTzéÉßøΩωжЖ中あ한ª²½5٣0ⅷ\u0301\u094d\u093c\U0001f600\U00020000",
    *(
        "..",
        "...",
        ". ",
        ", ",
        "' ",
        " '",
        "'s",
        "n't",
        "L'",
        "l'a'b",
        ".'",
        "--",
        "  ",
        "5,300",
        "1.5",
        "DOTMULTI",
        "DOT",
        "MULTI",
        "&amp;",
    ),
    *("Mr", "Dr.", "No", "Nos.", "Art", "pp", "U.S", "e.g.", "Nr", "bzw", "Prof", "M", "Mme.", "obj", "z.B.", "p", "fig.", "Feb"),
]

CORNERS = (
    "| |a|.|,|'|..|...|a.|a,|a'|.a|,a|'a|,5|5,|5,,5| ,5 ,5|'5 '5|5' '5|a' 'b|a ' ' b|' ' '|''a ''b|5' ' '5|a.'|a. ' |a.' b|a.' b.'|"
    "...'|a...b|a.. .b|a....|a. b|a. B. 5. c.|Mr. x|Mr. X|Mr.|No. 5|No. five|No. Five|No.|No. ٣|U.S. x|U.S.|1.5. X|1.5.|(Mr.) X|"
    "(a.) b|a.) b|a.) B|a,) b|5,) 5|\"a,\" b|\"a.\" b|(5,|(5,5)|l'a|l'a.|l'a'b|l'Mr. X|Mr'l. X|5's|5's 's|a'5|5'a|DOTMULTI|DOTMULTI. a|"
    "aDOTMULTI.|a DOTDOTMULTI... b|DOT ..MULTI|x.DOTMULTI|a-b, -a- -|a.-b.|`a` ``b''|a,.|a.,|a),. b|a).. b|a). b|a).b|é. É. é|"
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
@settings(max_examples=3_000)
def test_it_is_sacremoses_on_what_the_rules_look_at(language: str, line: str) -> None:
    check(language, line)


@given(st.sampled_from(LANGUAGES), st.text(st.characters(exclude_categories=["Zs", "Zl", "Zp", "Cc", "Cs"]) | st.just(" "), max_size=40))
@example("en", "x" * 100 + ". " + "y" * 100)
def test_it_is_sacremoses_on_any_characters(language: str, line: str) -> None:
    check(language, line)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "language", "lines"),
    [
        *(("europarl/train.en", "en", 20_000), ("europarl/train.fr", "fr", 20_000), ("newstest/newstest2012.en", "en", 3_003)),
        *(("newstest/newstest2013.fr", "fr", 3_000), ("multi30k/train.en", "en", 18_000), ("multi30k/train.fr", "fr", 18_000)),
        *(("multi30k/train.de", "de", 18_000), ("multi30k/val.en", "cs", 1_014)),
    ],
)
def test_it_is_sacremoses_on_100_000_real_lines(shared_data: Path, name: str, language: str, lines: int) -> None:
    assert _lines_alike(shared_data / f"{name}.gz", language, lines) == lines


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr"])
def test_it_is_sacremoses_on_a_hundred_thousand_lines_of_one_language(shared_data: Path, language: str) -> None:
    assert _lines_alike(shared_data / "europarl" / f"train.{language}.gz", language, 100_000) == 100_000


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_it_is_sacremoses_on_all_of_multi30k(shared_data: Path, language: str) -> None:
    files = [shared_data / "multi30k" / f"{part}.{language}.gz" for part in ("train", "val", "test2016")]
    assert [_lines_alike(file, language) for file in files] == [29_000, 1_014, 1_000]


def test_it_is_sacremoses_on_real_lines(shared_data: Path) -> None:
    """A few thousand; the tests marked slow have all of them."""
    assert _lines_alike(shared_data / "newstest/newstest2013.fr.gz", "fr", 1_000) == 1_000
    assert _lines_alike(shared_data / "europarl/train.en.gz", "en", 1_000) == 1_000


def _lines_alike(path: Path, language: str, lines: int | None = None) -> int:
    """How many lines were compared, as a user has them: control characters and foreign blanks made plain beforehand, for both."""
    tokeniser, compared = Tokeniser("moses", language), 0
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for compared, line in enumerate(islice(file, lines), 1):
            plain = " ".join(Tokeniser("space", language).words(line))
            assert tokeniser.words(line) == reference(language).tokenize(plain, escape=False), (compared, line)
    return compared


def test_a_full_memory_changes_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moses, "_REMEMBERED", 3)
    tokeniser = FastMoses("en")
    line = "Mr. Smith's dogs' bones, and (so on). No. 5 isn't it... It's no. Yes, 'it' is, Mr."
    for _ in range(3):
        assert tokeniser.words(line) == reference("en").tokenize(line, escape=False)
        assert len(tokeniser._memory) <= 3


def test_long_chunks_are_not_remembered() -> None:
    tokeniser = FastMoses("en")
    for length in range(30, 300):
        tokeniser.words("x" * length)
    assert all(len(key) <= moses._LONGEST for key in tokeniser._memory)
    assert len(tokeniser._memory) < 20


def test_a_copy_in_another_process_gives_the_same_words() -> None:
    line = "It isn't No. 5, Mr. Smith."
    tokeniser = FastMoses("en")
    words = tokeniser.words(line)
    copy = pickle.loads(pickle.dumps(tokeniser))
    assert copy.words(line) == words == reference("en").tokenize(line, escape=False)
