"""Lines to words and back: sacremoses's own words and lines where its rules are right, and 40 languages."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesTokenizer

from rnnsearch.serve.export import moses_rules
from rnnsearch.text import moses
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.moses import Detokeniser, FastMoses
from rnnsearch.text.tokens import Tokeniser, changes, normalise

ENGLISH, FRENCH, GERMAN, CHINESE = (
    Tokeniser("moses", language) for language in ("en", "fr", "de", "zh")
)
SPACE = Tokeniser("space", "en")
KINDS = [ENGLISH, FRENCH, GERMAN, CHINESE, SPACE]
WELL_FORMED = [
    line.split("\t")
    for line in Path(__file__).with_name("languages.tsv").read_text(encoding="utf-8").splitlines()
]
BLANKS = [
    chr(i)
    for i in range(0x110000)
    if unicodedata.category(chr(i)) in ("Cc", "Zs", "Zl", "Zp") or chr(i).isspace()
]


@pytest.mark.parametrize(("language", "line"), WELL_FORMED)
def test_well_formed_text_comes_back(language: str, line: str) -> None:
    for runs in (False, True):
        tokeniser = Tokeniser("moses", language, runs=runs)
        assert tokeniser.text(tokeniser.words(line)) == line


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("fr", "Il parle d’« encourager », d'« un » et d'\"oeil\"."),
        ("it", "Parla dell’“arte” e dell'«uomo»."),
        ("en", "In the '60s and '70s, the ’80s."),
    ],
)
def test_apostrophes_before_quotations_and_decades_come_back(language: str, line: str) -> None:
    tokeniser = Tokeniser("moses", language)
    assert tokeniser.text(tokeniser.words(line)) == line


@pytest.mark.parametrize("language", ["en", "fr", "de", "es", "it", "pt", "ru", "cs"])
def test_amounts_and_signs_come_back(language: str) -> None:
    tokeniser = Tokeniser("moses", language)
    for line in (
        "It costs 15 € and 3 € more, 2 $ (4 £) or ¥500, US$5 in € or $.",
        "At 20 °C or −5 °C, 21°, n° 5, C++, C++17, C# and F#.",
        "R&D of AT&T. S&P 500, but Procter & Gamble, ~20 of my_file, +33 1 45",
        "Press # and then #1 or #MeToo, 2 + 2 = 4, 5~10, a 15 €-Note, 8 €/kg, 18+.",
        'the end of a quotation."',
        "It has 20 m², not 3 m³ (10⁻³ km).",
    ):
        assert tokeniser.text(tokeniser.words(line)) == line


def test_copied_marks_of_markdown_stand_beside_their_words() -> None:
    line = "See ![ a house ](a.png) , ** two ** words [^1] , ~~ no ~~ [ b ][1] . 2 ** 3"
    expected = "See ![a house](a.png), **two** words[^1], ~~no~~ [b][1]. 2 ** 3"
    assert Tokeniser("moses", "en").text(line.split()) == expected
    line = "a 2 * 3 * 4 , \\* old \\* , one \u2060\\n two \\t\u2060 three"
    expected = "a 2 * 3 * 4,\\*old\\*, one\u2060\\ntwo\\t\u2060three"
    assert Tokeniser("moses", "en").text(line.split(" ")) == expected


def test_copied_tags_enclose_words() -> None:
    line = "a <b> <i\u2060x='y'> c </i> </b> , </p> <name> <br> <br/> e < f > <b> g </b> <b> h <b> i </b> </b> <x-y> j </x-y>"
    expected = "a <b><i\u2060x='y'>c</i></b>, </p> <name> <br> <br/> e < f > <b>g</b> <b>h <b>i</b></b> <x-y>j</x-y>"
    assert Tokeniser("moses", "fr").text(line.split(" ")) == expected


@pytest.mark.parametrize(
    ("tokeniser", "line", "words"),
    [
        (ENGLISH, "It isn't far, is it?", "It isn 't far , is it ?"),
        (ENGLISH, "Mr. Smith left.", "Mr. Smith left ."),
        # nothing escaped, nothing resolved
        (ENGLISH, "stone &amp; tile <b>", "stone & amp ; tile < b >"),
        (ENGLISH, "the dogs' bones", "the dogs ' bones"),
        (ENGLISH, "soft\u00adhyphen a\u200bb", "softhyphen a b"),
        (ENGLISH, "Good 👍🏽 👨‍👩‍👧 🇫🇷🇩🇪 1️⃣", "Good 👍🏽 👨‍👩‍👧 🇫🇷 🇩🇪 1️⃣"),
        (FRENCH, "L'homme de la France.", "L' homme de la France ."),
        (FRENCH, "l' homme", "l ' homme"),  # a stray blank is left as Moses leaves it
        (FRENCH, "un 'l' isolé", "un ' l ' isolé"),  # a quotation, no elision
        (Tokeniser("moses", "fa"), "به خانه می‌روم.", "به خانه می‌روم ."),
        (Tokeniser("moses", "si"), "ශ්‍රී ලංකාව!", "ශ්‍රී ලංකාව !"),
        (Tokeniser("moses", "nl"), "zo'n auto, ’s avonds", "zo'n auto , ’ s avonds"),
        (CHINESE, "用 Python 3.10，好！", "用 ␣Python ␣3.10 ， 好 ！"),
        (Tokeniser("moses", "zh", runs=True), "你好，世界 ok", "你好 ， 世界 ␣ok"),
        (Tokeniser("moses", "th"), "น้ำแข็ง เย็น", "น้ ำ แข็ ง ␣เย็ น"),
        (Tokeniser("moses", "bo"), "བཀྲ་ཤིས།", "བཀྲ་ ཤིས །"),
        (SPACE, "It isn't far, is it?", "It isn't far, is it?"),
        (SPACE, "  a \t b\u3000c ", "a b c"),
    ],
)
def test_words(tokeniser: Tokeniser, line: str, words: str) -> None:
    assert tokeniser.words(line) == words.split(" ")


@pytest.mark.parametrize(
    ("language", "line", "normal", "kinds"),
    [
        (
            "fr",
            "Le cha\u0302teau a e\u0301te\u0301 vendu",
            "Le château a été vendu",
            {"decomposed character": 3},
        ),
        ("vi", "Vie\u0323\u0302t", "Việt", {"decomposed character": 2}),
        ("ko", "\u1112\u1161\u11ab", "한", {"decomposed character": 2}),
        ("fr", "ef\ufb01cace, e\ufb03cace", "efficace, efficace", {"ligature": 2}),
        (
            "en",
            "Ｈｅｌｌｏ，　１２！",
            "Hello, 12!",
            {"full-width or half-width form": 9, "unusual space": 1},
        ),
        ("zh", "你好，Ｇ７！", "你好，G7！", {"full-width or half-width form": 2}),
        ("ja", "ｶﾞｲﾄﾞ", "ガイド", {"full-width or half-width form": 5, "decomposed character": 2}),
        ("fr", "Quoi\u202f? 10\u00a0% 1\u2009000", "Quoi ? 10 % 1 000", {"unusual space": 3}),
        ("en", "ab\u00adcd e\u2011f", "abcd e-f", {"soft hyphen": 1, "unusual hyphen": 1}),
        ("he", "\u200fשלום\u200e", "שלום", {"invisible mark": 2}),
        ("en", "ze\u200dro wi\u200cdth", "zero width", {"stray joiner": 2}),
        ("en", "𝐁𝐨𝐥𝐝", "Bold", {"mathematical letter": 4}),
        ("ar", "\ufefb", "لا", {"presentation form": 1}),
        ("fa", "می‌روم", "می‌روم", {}),
        ("ro", "Ştiu ţara s\u0327i", "Știu țara și", {"Ş for Ș": 1, "ţ for ț": 1, "ş for ș": 1}),
        ("tr", "Şişli", "Şişli", {}),
        ("en", "❤️‍🔥 x² ½ ’tis… naïve – “q”", "❤️‍🔥 x² ½ ’tis… naïve – “q”", {}),
    ],
)
def test_one_spelling_of_each_line(
    language: str, line: str, normal: str, kinds: dict[str, int]
) -> None:
    counts = Counter[str]()
    assert normalise(line, language, counts) == normal
    assert counts == kinds
    assert normalise(normal, language, counts) == normal
    tokeniser = Tokeniser("moses", language)
    assert tokeniser.words(line) == tokeniser.words(normal)


ODD = [
    "Le cha\u0302teau e\ufb03cace Ｈｅｌｌｏ， \u200f 10\u00a0% a\u2011b ze\u200dro",
    "👨‍👩‍👧‍👦 👍🏽 🇫🇷🇩🇪 🎉🎉",
    "It’s ‘ok’ “x” «a» »b« l’homme 10:30 1990–95 a/b #tag me@x.org",
    "d’« un » d'« un » l'\"oeil\" dell’“arte” in the '60s and ’80s",
    "' ' 's \" x \" ( ? ) $ 5 % , .. ?! 5 ' s",
    'n° 5 C++17 R&D − 2 +3 € 4 $/kg US$ 9 F# it. " says \'no way\' 3 °C. 7° # a #abcde "x" -y',
]


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_the_page_s_engine_makes_the_same_words_and_lines(engine_folder: Path) -> None:
    jobs = []
    for language, line in WELL_FORMED:
        if not Tokeniser("moses", language).unspaced:
            rules = {
                "tokeniser": "moses",
                "language": language,
                "normalise": list(changes(language).values()),
            }
            jobs.append((rules | moses_rules(language), [line, *ODD]))
    program = f"""import {{ makeTokeniser }} from {json.dumps(str(engine_folder / "engine/moses.js"))};
      const jobs = JSON.parse(await new Response(process.stdin).text());
      console.log(JSON.stringify(jobs.map(([rules, lines]) => {{
        const tokeniser = makeTokeniser(rules);
        return lines.map((line) => [tokeniser.words(line), tokeniser.text(tokeniser.words(line))]);
      }})));"""
    command = ["node", "--input-type=module", "--eval", program]
    found = subprocess.run(
        command, input=json.dumps(jobs), capture_output=True, text=True, check=True
    ).stdout
    for (rules, lines), theirs in zip(jobs, json.loads(found), strict=True):
        tokeniser = Tokeniser("moses", rules["language"])
        ours = [[tokeniser.words(line), tokeniser.text(tokeniser.words(line))] for line in lines]
        assert theirs == ours


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
        (" \x01 ", ""),
    ],
)
def test_words_as_tokenizer_perl_cuts_them(line: str, words: str) -> None:
    """Found with the script, at its revision of February 2018."""
    assert ENGLISH.moses_words(line) == words.split()


@pytest.mark.parametrize("kind", ["moses", "space"])
def test_lowercase_changes_letters_and_no_word(kind: str) -> None:
    """`Mr.` keeps its full stop and `U.S.` its two, as they would not if the line were lowercased first."""
    line = "Mr. Smith's U.S. PAY, ÉTÉ and ΟΔΟΣ."
    cased, small = (Tokeniser(kind, "en", lowercase).words(line) for lowercase in (False, True))  # type: ignore[arg-type]
    assert small == [word.lower() for word in cased] != cased
    assert small[0] == "mr."


@pytest.mark.parametrize(
    ("language", "small"),
    [("tr", "ışık istanbul"), ("az-AZ", "ışık istanbul"), ("en", "işik i\u0307stanbul")],
)
def test_turkish_has_two_letters_i(language: str, small: str) -> None:
    for tokeniser in (
        Tokeniser("moses", language, lowercase=True),
        Tokeniser("space", language, lowercase=True),
    ):
        assert tokeniser.words("IŞIK İSTANBUL") == small.split()


@pytest.mark.parametrize("tokeniser", KINDS, ids=str)
def test_blanks_separate_words_and_are_none(tokeniser: Tokeniser) -> None:
    for line in ("", " ", "\t", "\u00a0\u2028 \x00", "\ufeff"):
        assert tokeniser.words(line) == []
    assert tokeniser.text([]) == ""
    for blank in BLANKS:
        assert [word.removeprefix("␣") for word in tokeniser.words(f"a{blank}b")] == ["a", "b"]


@given(st.text(st.characters(), max_size=60))
def test_words_hold_no_blank_and_lose_no_character(line: str) -> None:
    surrogate = any("\ud800" <= character <= "\udfff" for character in line)
    for tokeniser in KINDS:
        words = tokeniser.words(line)
        assert all(word and not any(character in BLANKS for character in word) for word in words)
        letters, kept = (
            [character for character in text if unicodedata.category(character)[0] in "LNPSM"]
            for text in (normalise(line, tokeniser.language), "".join(words).replace("␣", ""))
        )
        assert kept == [{"␣": "_"}.get(one, one) for one in letters] or "␣" in line or surrogate
        "\n".join(words).encode("utf-8")  # can be written


LANGUAGES = ["en", "fr", "de", "it", "fi", "cs", "ru", "zh", "ko", "xx"]
"""Every branch of Moses's rules; the last is none of its languages."""
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
    "'5|a.'|a. ' |a.' b|a.' b.'|...'|a...b|a.. .b|a....|a. b|a. B. 5. c.|Mr. x|Mr. X|Mr.|No. 5|No. five|"
    'No. Five|No.|No. ٣|U.S. x|U.S.|1.5. X|1.5.|(Mr.) X|(a.) b|a.) b|a.) B|a,) b|5,) 5|"a," b|"a." b|(5,|'
    "(5,5)|l'a|l'a.|l'a'b|l'Mr. X|Mr'l. X|5's|5's 's|a'5|5'a|DOTMULTI|DOTMULTI. a|aDOTMULTI.|"
    "a DOTDOTMULTI... b|DOT ..MULTI|x.DOTMULTI|a-b, -a- -|a.-b.|`a` ``b''|a,.|a.,|a),. b|a).. b|a). b|a).b|"
    "é. É. é|中文。句.|ª. ª|x. ²|x. 5a|x. -a|x. 'a|x. …|x. ...a|x...  a. . a .|a.). b|a,). b|5,,|a,,,|,,,5|"
    "a.) 5|No.) 5"
)


@cache
def both(language: str) -> tuple[FastMoses, MosesTokenizer, Detokeniser, MosesDetokenizer]:
    fast = FastMoses(language, whole=False), MosesTokenizer(language)
    return *fast, Detokeniser(language), MosesDetokenizer(language)


def check(language: str, line: str) -> None:
    fast, reference, _, _ = both(language)
    assert fast.words(line) == reference.tokenize(line, escape=False), (language, line)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_corners(language: str) -> None:
    for line in CORNERS.split("|"):
        check(language, line)
        # in the middle of a line what is said of its ends does not hold
        check(language, f"x {line} x")


@given(st.sampled_from(LANGUAGES), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=500)
def test_it_is_sacremoses_on_what_the_rules_look_at(language: str, line: str) -> None:
    check(language, line)


@given(
    st.sampled_from(LANGUAGES),
    st.text(
        st.characters(exclude_categories=["Zs", "Zl", "Zp", "Cc", "Cs"]) | st.just(" "), max_size=40
    ),
)
@example("en", "x" * 100 + ". " + "y" * 100)
def test_it_is_sacremoses_on_any_characters(language: str, line: str) -> None:
    check(language, line)


REAL = [
    ("europarl/train.en", "en", 20_000),
    ("europarl/train.fr", "fr", 20_000),
    ("newstest/newstest2012.en", "en", 3_003),
    ("newstest/newstest2013.fr", "fr", 3_000),
    ("multi30k/train.en", "en", 5_000),
    ("multi30k/train.fr", "fr", 5_000),
    ("multi30k/train.de", "de", 5_000),
    ("multi30k/val.en", "cs", 1_014),
]


@pytest.mark.parametrize(
    ("name", "language", "lines"),
    [
        *(pytest.param(*each, marks=pytest.mark.slow) for each in REAL),
        ("newstest/newstest2013.fr", "fr", 1_000),
        ("multi30k/train.de", "de", 1_000),
    ],
)
def test_it_is_sacremoses_on_real_lines(
    shared_data: Path, name: str, language: str, lines: int
) -> None:
    """Words, with control characters and foreign blanks made plain beforehand; and lines, but for blanks."""
    tokeniser, compared = Tokeniser("moses", language), 0
    with gzip.open(shared_data / f"{name}.gz", "rt", encoding="utf-8", newline="\n") as file:
        for compared, line in enumerate(islice(file, lines), 1):
            plain = " ".join(Tokeniser("space", language).words(line))
            words = tokeniser.words(line)
            assert words == both(language)[1].tokenize(plain, escape=False), (compared, line)
            assert "".join(tokeniser.text(words).split()) == "".join(words)
    assert compared == lines


def test_the_cache_is_bounded_and_changes_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moses, "_CACHE_SIZE", 3)
    tokeniser = FastMoses("en")
    line = "Mr. Smith's dogs' bones, and (so on). No. 5 isn't it... It's no. Yes, 'it' is, Mr."
    for text in (line, line, f"{line} {'x' * 300}"):
        assert tokeniser.words(text) == both("en")[1].tokenize(text, escape=False)
        assert tokeniser._cached.cache_info().currsize <= 3


SOME_LATIN = [
    "a",
    "é",
    "5",
    "1.5",
    "U.S.",
    "x-y",
    "-",
    "-'",
    "l'",
    "qu'",
    "L'",
    "'s",
    "'S",
    "s'",
    "s",
    "EU:",
    "ssa",
]
MARKS = [*"().,?!;%[]¿", *["..", ",,", "?!", "@-@", "Жук"]]


@given(
    st.sampled_from(["en", "fr", "it", "de", "ga", "fi", "zh", "xx"]),
    st.lists(st.sampled_from([*SOME_LATIN, *MARKS]), max_size=8),
)
@settings(max_examples=300)
def test_words_are_joined_as_sacremoses_joins_them(language: str, words: list[str]) -> None:
    _, _, ours, theirs = both(language)
    expected = theirs.detokenize(list(words), unescape=False)
    if language == "fr":  # several marks have one space before them
        expected = re.sub(r"(?<=[!?]) (?=[!?]+(?: |$))", "", expected)
    assert ours.line(words) == expected


def test_an_ordinary_sentence_needs_none_of_sacremoses_rules() -> None:
    program = (
        "import sys; from rnnsearch.text.tokens import Tokeniser; t = Tokeniser('moses', 'fr');"
        "line = \"L'accord (signé en 1992) n'a pas été long, Madame ?\"; assert t.text(t.words(line)) == "
        "line, t.words(line);"
        "assert 'sacremoses' not in sys.modules; t.words('Жук'); assert 'sacremoses' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("newstest/newstest2012", "newstest/newstest2013", "ntrex128/test", "tatoeba-fr/dev"),
        *("europarl/test", "europarl/test_bylen", "wpt03/dev", "wpt03/test"),
    ],
)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_normalisation_changes_no_word_of_the_test_sets(
    shared_data: Path, name: str, language: str
) -> None:
    """So scores on them are the same with and without it."""
    kept, normal = (Tokeniser("moses", language, runs=True, normalised=on) for on in (False, True))
    for line in read_lines(shared_data / f"{name}.{language}.gz"):
        assert kept.words(line) == normal.words(line)
