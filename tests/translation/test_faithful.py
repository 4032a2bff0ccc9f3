"""Names, numbers, addresses and unknown characters are held to the source; words that training knew stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from letters import words_and_letters
from refusals import refusal

from rnnsearch.settings import TranslationSettings
from rnnsearch.text.codec import JOINER, Codec, EncodedSentence
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import UNK, Vocabulary, WordFilter
from rnnsearch.translation.case import first_word
from rnnsearch.translation.copied import STAND_INS, faithful_words, kind_of
from rnnsearch.translation.faithful import (
    Faithful,
    Glossary,
    read_glossary,
)
from rnnsearch.translation.number_forms import converted, is_source_number, read_figure
from rnnsearch.translation.numbers import LONGEST_NUMBER, Numbers
from rnnsearch.translation.reading import encode_faithfully, in_other_case
from rnnsearch.translation.target_words import COPIED, Word

WORDS = """
le la les a dit Pierre lit un livre arc en ciel l' euros de à 12 345 et arrêtez maintenant XX ne ouvrez porte
maison rouge douze fichiers heures troisième p.m.
"""
KNOWN = set(WORDS.split())
FAITHFUL = TranslationSettings(faithful=True)


def encoded(codec: Codec, line: str) -> EncodedSentence:
    return encode_faithfully(codec, faithful_words(codec, line))


@pytest.fixture(scope="module")
def codec() -> Codec:
    return words_and_letters()


def table(text: str) -> list[tuple[str, ...]]:
    """Reads rows of columns between bars."""
    return [tuple(map(str.strip, row.split(" |"))) for row in text.strip().split("\n")]


def looking(read: str, columns: int) -> np.ndarray:
    """Weights of target words that look at one source word each."""
    return np.eye(columns, dtype=np.float32)[[int(place) for place in read.split()]]


CASES = r"""
known words stay | the book | le livre | 0 1 | le livre
a known word of another case stays | said Peter | a pierre | 0 1 | a pierre
a sentence begins as in the source | The book | le livre | 0 1 | Le livre
a compound of known words stays | the bow | arc-en-ciel | 1 | arc-en-ciel
an invented name is the source's | Florez said | Forpourt a dit | 0 1 1 | Florez a dit
a name in several words is written once | Jhonathan said | Jhon Jathan a dit | 0 0 1 1 | Jhonathan a dit
<unk> is the source's word | Ж reads | <unk> lit | 0 1 | Ж lit
a part of a word is unknown | Čapek reads | <unk>ek lit | 0 1 | Čapek lit
a right number stays | it costs 12,345 euros | 12 345 euros | 2 2 3 | 12 345 euros
a wrong number is the source's | in 2013 | en 2031 | 0 1 | en 2013
a wrong hour is the source's | at 5 | à 17h | 0 1 | à 5h
a number without one in the source stays | a dozen | 12 | 1 | 12
two numbers for one are one | costs 1,234.56 euros | 1 1234.56 euros | 1 1 2 | 1 234,56 euros
an unknown word is no second number | $ 1,234.56 now | <unk> 1234.56 | 1 1 | 1 234,56 dollars
a decimal with a comma | fell 1.2 euros | a 1 , 2 euros | 0 1 1 1 2 | a 1,2 euros
half of a wrong decimal goes | fell 1.3 euros | a 1 , 2 euros | 0 1 1 1 2 | a 1,3 euros
a comma in front of a number stays its own | euros 7 pays | euros , 7 pays | 0 1 1 2 | euros , 7 pays
an ordinal has the language's ending | the 22nd book | le 22d livre | 0 1 2 | le 22e livre
a right ordinal stays | the 1st book | la 1re livre | 0 1 2 | la 1re livre
thousands with a letter are thousands | a 24k book | un livre de 24 000 | 0 2 1 1 1 | un livre de 24 000
thousands in digits | 12 thousand books | 12 000 livre | 0 1 2 | 12 000 livre
a number is not repeated | Peter reads 7 | 7 lit 7 | 2 1 2 | 7 lit
a number that occurs twice is | 7 and 7 | 7 et 7 | 0 1 2 | 7 et 7
years of a range are no wrong numbers | in 1914-18 | en 1914 à 18 | 0 1 1 1 | en 1914 à 18
a range is one number | in 6-7 euros | en 67 euros | 0 1 2 | en 6-7 euros
a range may have a word inside | in 6-16 euros | de 6 à 16 euros | 0 1 1 1 2 | de 6 à 16 euros
half a range is the whole | in 6-16 euros | de 6 à 6 euros | 0 1 1 1 2 | de 6-16 euros
thousands have the target's marks | costs 4,061,813.25 euros | 4,061,813.25 euros | 1 2 | 4 061 813,25 euros
equal numbers are as many as they are | 7,450 and 7,450 | 7450 et 7 000 | 0 1 2 2 | 7 450 et 7 450
a telephone number is whole | +33 1 45 67 89 10 now | + 33 45 89 10 et | 0 0 0 0 0 1 | +33 1 45 67 89 10 et
zeros in front stay | now 007 | et 7 | 0 1 | et 007
a clock may count to 24 | to 5:30 pm | à 17 h 30 | 0 1 1 1 | à 17 h 30
a clock without p.m. may not | to 5:30 am | à 17h30 | 0 1 | à 5:30
a wrong half of the day goes | in 6h05 now | en 6:05 p.m. et | 0 1 1 2 | en 6:05 et
a right one stays | in 18h05 now | en 6:05 p.m. et | 0 1 1 2 | en 6:05 p.m. et
a number gets its digits | 15 books | quinze livre | 0 1 | 15 livre
a number that is missing is added | the 15 books | le livre | 0 2 | le 15 livre
a number of nothing goes | the 15 books | le 1 15 livre | 0 0 1 2 | le 15 livre
an evening stays one | to 9 pm now | à 9 heures et | 0 1 1 3 | à 21 heures et
an evening in one word | to 9pm now | à 9 h 00 et | 0 1 1 1 2 | à 21 h 00 et
midnight | to 12.30 am | à 12 h 30 | 0 1 1 1 | à 0 h 30
an evening that is named | to 9 pm | à 9 heures du soir | 0 1 1 3 3 | à 9 heures du soir
an evening that is copied | to 9pm | à 9pm | 0 1 | à 9pm
thousands with a word inside | costs 6 thousand 74 euros | costs 6 74 euros | 0 1 1 2 | costs 6 074 euros
thousands of two kinds | costs 5 thousand 352 now | costs 5 mille 352 et | 0 1 1 1 2 | costs 5 mille 352 et
Roman numerals are numbers | the 19th book | le XIXe livre | 0 1 2 | le XIXe livre
a currency that is missing is added | costs 45 euros now | à 45 et | 0 1 3 | à 45 euros et
one in front of the number, too | costs $1 now | à 1 et | 0 2 3 | à 1 dollar et
one that is near is enough | costs 45 euros now | à 45 de euros et | 0 1 1 2 3 | à 45 de euros et
pounds may be a weight | costs 45 pounds now | à 45 et | 0 1 3 | à 45 et
a king is the same | Peter XIV and XX | Pierre XVI et XX | 0 1 2 3 | Pierre XIV et XX
a numeral may be spelt | Peter III and XX | Pierre troisième et XIX | 0 1 2 3 | Pierre troisième et XX
a number in letters | the two hundred and five euros | le 205 euros | 0 1 2 | le 205 euros
a wrong number for one in letters | the forty-five books | le 46 livre | 0 1 2 | le 45 livre
one in letters that is missing | the forty-five books | le livre | 0 2 | le 45 livre
thousands in letters | the twelve thousand six books | le 12006 livre | 0 1 2 | le 12 006 livre
an ordinal in letters | the thirty-fourth book | le 34e livre | 0 1 2 | le 34e livre
an ordinal that is spelt | the 3rd book | la troisième livre | 0 1 2 | la 3e livre
an ordinal that is missing | the 101st book | le livre | 0 2 | le 101e livre
a Roman number is one alone | in 15 to 19th | en 15 à XIXe | 0 1 2 3 | en 15 à XIXe
a number with a word | the 15-pack said | le quinze a dit | 0 1 2 2 | le 15 a dit
a year is not repeated | Peter said in 2004 | 2004 a dit en 2004 | 0 1 1 2 3 | A dit en 2004
billions | costs 6.5 thousand million euros | costs 7 euros | 0 1 2 | costs 6.5 euros
thousands inside a number are none | 9 thousand 200 | 9 000 200 | 0 0 0 | 9 200
an address is whole | see https://a.b/c-d?e now | lit XX et | 0 1 2 | lit https://a.b/c-d?e et
an address ends at a tag | <b>https://a.b/c</b> | XX | 1 | <b> https://a.b/c </b>
an e-mail address is whole | to anna@b.org. | à XX . | 0 1 2 | à anna@b.org .
a stand-in read as a number | to @anna now | à 20X et | 0 1 2 | à @anna et
a stand-in beside a number | to @anna 2 | à 20X 2 | 0 1 2 | à @anna 2
a number that reads a stand-in | to @anna twelve | à XX 12 | 0 1 1 | à @anna 12
a number beside a stand-in | to @anna in two now | 2 et XX | 1 2 3 | @anna 2 et XX
a stand-in is written once | to @anna now | à XX XX et | 0 1 1 2 | à @anna et
other words of a placeholder stay | you %s now | ne XX et | 1 1 2 | ne %s et
a number that is spelt out | %d books | douze livre | 0 1 | %d livre
placeholders are added | a {name} said | a dit | 0 2 | a {name} dit
several placeholders | %1$s ${x} {{ n }} __CODE__ | XX XX XX XX | 0 1 2 3 | %1$s ${x} {{ n }} __CODE__
paths | in C:\a\b.txt and /a/b.txt, a/bb.txt | en XX et XX , XX | 0 1 2 3 4 5 | en C:\a\b.txt et /a/b.txt , a/bb.txt
domains | a.b and aa.org/b. | a.b et XX . | 0 1 2 3 | a.b et aa.org/b .
code | get() a_b=c aaBb a::b --a=b -v | XX XX XX XX XX XX | 0 1 2 3 4 5 | get() a_b=c aaBb a::b --a=b -v
names with an ampersand | AT&T and R&D said | la XX et XX dit | 0 0 1 2 3 | La AT&T et R&D dit
a call of several values | aa.bb(c, d) said | XX dit | 0 1 | aa.bb(c, d) dit
variables of Windows | in %PATH% now | en XX et | 0 1 2 | en %PATH% et
an address in brackets | in <https://a.b/c> now | en XX et | 0 1 2 | en <https://a.b/c> et
calls and times | a.b.c(d) 2024-05-15T10:30:00Z said | XX XX dit | 0 1 2 | a.b.c(d) 2024-05-15T10:30:00Z dit
what looks like code | the-book and/or a - b | le | 0 | le
placeholders of other systems | :a <%= b %> $t(c) [[d]] $e %{f} | XX XX XX XX XX XX | 0 1 2 3 4 5 | :a <%= b %> $t(c) [[d]] $e %{f}
a message with its forms | a {n, plural, one {# a} other {b}} said | a XX dit | 0 1 2 | a {n, plural, one {# a} other {b}} dit
an escape | said\nPeter | dit Pierre | 0 2 | dit \n Pierre
a per cent sign is none | 10 % off | 10 % de | 0 1 2 | 10 % de
tags hold what they held | a <a href="x.y">book</a> now | le livre et | 0 2 4 | le <a href="x.y"> livre </a> et
tags of words in another order | the <b>red</b> book | le livre rouge | 0 4 2 | le <b> livre rouge </b>
an end of line | Peter<br/> | Pierre | 0 | Pierre <br/>
a line of nothing else | <br/> 😀 | Xyz | 2 | <br/> 😀
marks in front are copied | - [ ] 1.  Peter reads | Pierre lit | 1 2 | - [ ] 1.   Pierre lit
a letter in front | b. Peter reads | Pierre lit | 1 2 | b.  Pierre lit
a Roman number in front | iv. Peter reads | Pierre lit | 1 2 | iv.  Pierre lit
a plus in front | + Peter reads | Pierre lit | 1 2 | +  Pierre lit
a definition in front | [1]: https://a.b | XX | 1 | [1]:  https://a.b
a quoted line | > >> (a) Peter | Pierre | 1 | > >> (a)  Pierre
one sign of an amount | costs 3 € 7 $ now | costs $ 3 € 7 $ | 0 1 1 2 3 4 | costs 3 € 7 $
a single euro | costs € 1 now | costs 1 euros et | 0 2 1 3 | costs 1 euro et
a name that a tokeniser cuts | Peter O'Neill reads | Pierre Martin lit | 0 1 2 | Pierre O'Neill lit
a sign that the source has | £ 5 or 7 € | £ 5 dollars et 7 € euros | 0 1 1 2 3 4 4 | £ 5 et 7 euros
one sign of a number in two words | costs € 15,000 now | costs € 15 000 euros et | 0 1 2 2 2 3 | costs 15 000 euros et
a sign without a word | costs ₹ 200 now | costs ₹ 200 euros et | 0 1 2 2 3 | costs ₹ 200 et
marks in front of a number | - 3) 15 books | quinze livre | 1 2 | - 3)  15 livre
an amount is no time of day | costs $ 5.30 now | costs 5 h 30 $ et | 0 2 2 2 1 3 | costs 5,30 $ et
a share is no time of day | a 5.30 % book | a 5 h 30 % livre | 0 1 1 1 2 3 | a 5,30 % livre
a word is in front of a time | a times 9.30 am book | a times 9h30 livre | 0 1 2 4 | a times 9h30 livre
a time of day with a point | a 5.30 pm book | a 17 h 30 livre | 0 1 1 1 3 | a 17 h 30 livre
the sign of its own number | costs 200 € now | costs 200 $ et | 0 1 2 3 | costs 200 € et
no share that nobody named | Peter 15 books | Pierre 15 % livre | 0 1 1 2 | Pierre 15 livre
no sign of what is no money | Pierre 01 42 68 lit | Pierre EUR 01 42 68 lit | 0 1 1 1 1 2 | Pierre 01 42 68 lit
one sign of a long number | costs 4,061 € now | costs € 4,061 € et | 0 2 1 2 3 | costs 4 061 € et
no mark is in front | 1.5 - Peter | 1.5 - Pierre | 0 1 2 | 1.5 - Pierre
emoji are added | Peter reads 😀 a book | Pierre lit un livre | 0 1 3 4 | Pierre lit 😀 un livre
emoji stay together | 👨‍👩‍👧‍👦 👍🏽 🇫🇷 1️⃣ ❤️ Peter | Pierre | 5 | 👨‍👩‍👧‍👦 👍🏽 🇫🇷 1️⃣ ❤️ Pierre
a heart of two letters | Peter <3 a book <3 | Pierre un livre | 0 2 3 | Pierre <3 un livre <3
emoji are as many as they are | 🎉🎉🎉 Peter 🎉🎉 🎉 | Pierre | 1 | 🎉🎉🎉 Pierre 🎉🎉 🎉
unknown words are as many as they are | Ж reads Ж | lit | 1 | Ж lit Ж
marks of Markdown are around their words | # the **red** book | le livre rouge | 1 5 3 | #  le livre ** rouge **
and as many as there are | **a** and **the red** book | a et le livre rouge | 1 3 5 8 6 | ** a ** et ** le livre rouge **
a mark without another | a ** book | a livre | 0 2 | a ** livre
links of Markdown are around their words | the [red](u_v) book | le livre rouge | 0 4 2 | le livre [ rouge ](u_v)
links to a definition, too | the [book][1] | le livre | 0 2 | le [ livre ][1]
images of Markdown, too | ![a book](u_v) said | a livre dit | 1 2 4 | ![ a livre ](u_v) dit
a link without a word stays | the [book](u_v) said | le dit | 0 4 | le [ ](u_v) dit
brackets that are no link | the [book] said | le [ livre ] dit | 0 1 2 3 4 | le [ livre ] dit
a footnote | the book[^1] said | le livre dit | 0 1 3 | le livre [^1] dit
code of Markdown is whole | see `a b` now | lit XX et | 0 1 2 | lit `a b` et
capitals stay capitals | STOP IT NOW | arrêtez maintenant | 0 2 | ARRÊTEZ MAINTENANT
capitals in a sentence | the STOP said | le livre dit | 0 1 2 | le LIVRE dit
what reads the end of sentence stays | Peter | Pierre Xyzzy | 0 1 | Pierre Xyzzy
"""
"""Name, source, target, the source word that each target word looked at, expected target."""


@pytest.mark.parametrize(
    ("source", "target", "read", "expected"),
    [row[1:] for row in table(CASES)],
    ids=[row[0] for row in table(CASES)],
)
def test_words_are_held_to_the_source(
    codec: Codec, source: str, target: str, read: str, expected: str
) -> None:
    sentence, words = encoded(codec, source), target.split()
    weights = looking(read, len(sentence.words) + 1)
    if expected.endswith("Xyzzy"):
        weights[-1] = 0
    sure = [0.1 * (1 + place) for place in range(len(words))]
    found, alignment, confidence, _ = Faithful(codec, KNOWN, {}, "fr")(
        sentence, words, weights, sure, FAITHFUL
    )
    assert " ".join(found).replace(JOINER, " ") == expected
    assert len(confidence) == len(found)
    assert set(confidence) <= {*sure, COPIED}
    assert alignment.shape == (len(found), len(sentence.words) + 1)
    assert alignment.dtype == np.float32


@pytest.mark.parametrize(
    ("line", "target", "read", "found", "sure"),
    [
        ("Munich", "Munix", [0], ["Monaco"], [COPIED]),  # the dictionary comes before the source
        (
            "see a@b.org 😀 it",
            "lit XX livre",
            [0, 1, 3],
            ["lit", "a@b.org", "😀", "livre"],
            [0.9, COPIED, COPIED, 0.2],
        ),
    ],
)
def test_what_is_put_in_place_of_words(
    codec: Codec, line: str, target: str, read: list[int], found: list[str], sure: list[float]
) -> None:
    faithful = Faithful(codec, KNOWN, {"Munich": "Monaco"})
    sentence = encoded(codec, line)
    weights = np.eye(len(sentence.words) + 1, dtype=np.float32)[read]
    words, _, confidence, _ = faithful(
        sentence, target.split(), weights, [0.9, 0.8, 0.2][: len(read)], FAITHFUL
    )
    assert (words, confidence) == (found, sure)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("Book", "book"),
        ("The Book:", "the book :"),
        ("Pierre reads", "pierre reads"),
        ("the Book", "The Book"),
        ("peter reads", "Peter reads"),
        ("xx", "XX"),
        ("Peter Reads", "Peter reads"),
        ("Love You And Peter: The Book", "Love you and Peter : the book"),
        ("Love You and Book of Peter", "Love you and book of Peter"),
        ("Peter in Book and the love of it", None),
        ("Mr Book said Mr Love is in the US.", None),
        ("Books of Q&A and PETER: Love It", "Books of XX and PETER : love it"),
        ("the Love Book Of Peter", "The love book of Peter"),
        ("love you now munich", "Love you now Munich"),
        ("love you now the book", None),
        ("- love you !", "- Love you !"),
        ("the book reads now", None),
        ("A book of Pierre", None),
        ("USA", None),
        ("McDonald reads", None),
        ("Book 2", None),
        ("!", None),
    ],
)
def test_labels_are_read_in_the_other_case_too(codec: Codec, line: str, read: str | None) -> None:
    sentence = encode_faithfully(codec, faithful_words(codec, line), "fr")
    found = in_other_case(codec, sentence, "fr")
    assert (found is None) == (read is None)
    if found is not None and read is not None:
        assert (found.words, found.ids) == (sentence.words, encoded(codec, read).ids)


DOUBTFUL = """
the 15 books | le livre | 0 2 | 15
the 3rd book | la troisième livre | 0 1 2 |
the 3rd book | le livre | 0 2 | 3rd
the 15-pack said | le quinze a dit | 0 1 2 2 | 15-pack
a dozen | 12 | 1 | 12
the 15 and 2 books | le 2 quinze livre | 0 3 1 4 |
in 9 pm | à 21 heures | 0 1 2 |
9 thousand 200 now | 9 000 et | 0 0 1 |
1.168 thousand | 1,168 000 | 0 1 | 1,168 000
"""
"""Source, target, the source word that each target word looked at, the numbers to check."""


@pytest.mark.parametrize(("source", "target", "read", "doubtful"), table(DOUBTFUL))
def test_numbers_to_check(codec: Codec, source: str, target: str, read: str, doubtful: str) -> None:
    sentence, words = encoded(codec, source), target.split()
    weights = looking(read, len(sentence.words) + 1)
    made = Faithful(codec, KNOWN, {}, "fr")(sentence, words, weights, [0.5] * len(words), FAITHFUL)
    assert " ".join(made[3]) == doubtful


@pytest.mark.parametrize(
    ("figure", "read"),
    [
        ("6 thousand million", "6 billion"),
        ("6 mille millions", "6 milliards"),
        ("6 000", "6 000"),
        ("5:30pm", "5:30 pm"),
        ("10am", "10 am"),
        ("8AM", "8 am"),
        ("No. 7", "number 7"),
    ],
)
def test_figures_are_read_in_words_that_networks_know(figure: str, read: str) -> None:
    assert read_figure(figure, "en") == read


@pytest.mark.parametrize(
    ("rank", "other"),
    [("1er", "1st"), ("2e", "2nd"), ("12e", "12th"), ("XXIIIe", "23rd"), ("40ème", "40th")],
)
def test_ordinals_have_the_target_languages_endings(rank: str, other: str) -> None:
    assert converted(rank, "fr", "en") == other


@pytest.mark.parametrize(
    ("line", "words", "read"),
    [
        ("LOVE you", ["LOVE", "you"], "▁love ▁you"),
        ("don’t", ["don", "'t"], None),
        ("“you” ‘love", ["“", "you", "”", "‘", "love"], '▁" ▁you ▁" ▁\' ▁love'),
        (
            "the [love](x) **you**",
            ["the", "[", "love", "](x)", "**", "you", "**"],
            "▁the ▁love ▁you",
        ),
        ("see a@b.org, now", ["see", "a@b.org", ",", "now"], None),
        (
            '"https://a.b/c?d" <b>x@y.org</b>',
            ['"', "https://a.b/c?d", '"', "<b>", "x@y.org", "</b>"],
            None,
        ),
        ("", [], ""),
    ],
)
def test_a_line_is_read_as_its_own_words(
    codec: Codec, line: str, words: list[str], read: str | None
) -> None:
    sentence = encoded(codec, line)
    assert sentence.words == words
    assert len(sentence.ids) == len(sentence.word_of)
    assert sentence.word_of[-1] == len(words)
    if read is not None:
        assert " ".join(codec.vocabulary.word(number) for number in sentence.ids[:-1]) == read


def test_plain_lines_are_read_as_ever_and_unreadable_words_have_unknown_ids(codec: Codec) -> None:
    line = "Peter said: it costs 12.5 euros"
    assert encoded(codec, line) == codec.encode(line)
    assert UNK in encoded(codec, "Ж").ids


TERMS = dict(
    table("""
book | manuel
red house | maison peinte
red | rougeâtre
Ж | J
US | EU
door | porte
woman | iFemme
C# | C#
F# | F♯
aa.bb/cc | l'AT&T
red/book | tome/rouge
N/A | s.o.
""")
)


# The second: at the beginning of the sentence; then the longest term, articles that stay, "US" with capitals,
# a term to which no word attends, and at last terms with symbols, of which nothing is left, beside marks that stay.
TERM_CASES = """
the book | le livre | 0 1 | le manuel
the Book | le livre | 0 1 | le manuel
book reads | Livre lit | 0 1 | Manuel lit
woman reads | Dame lit | 0 1 | iFemme lit
the red house | la maison rouge | 0 2 1 | la maison peinte
the red house | la la maison rouge | 0 2 2 1 | la la maison peinte
the red book | le livre rouge | 0 2 1 | le manuel rougeâtre
the Ж reads | le <unk> lit | 0 1 2 | le J lit
love us | ouvrez livre | 0 1 | ouvrez livre
open the door | ouvrez la porte | 0 1 2 | ouvrez la porte
the book | le dit | 0 2 | le dit
the C# said | le XX dit | 0 1 2 | le C# dit
the aa.bb/cc | le XX | 0 1 | le l'AT&T
the red/book | le red / book | 0 1 2 3 | le tome/rouge
"C#" said | " XX " dit | 0 1 2 3 | " C# " dit
the F# said | le XX dit | 0 1 2 | le F♯ dit
the N/A. | le N / A. | 0 1 2 3 | le s.o.
"""


@pytest.mark.parametrize(("source", "target", "read", "expected"), table(TERM_CASES))
@pytest.mark.parametrize("faithful", [True, False])
def test_terms_of_a_glossary(
    codec: Codec, source: str, target: str, read: str, expected: str, faithful: bool
) -> None:
    sentence, words = Glossary(codec, codec, TERMS).mark(encoded(codec, source)), target.split()
    weights = looking(read, len(sentence.words) + 1)
    settings = TranslationSettings(faithful=faithful)
    made = Faithful(codec, KNOWN, {})(sentence, words, weights, [0.5] * len(words), settings)
    assert " ".join(made[0]) == expected
    assert len(made[1]) == len(made[2]) == len(made[0])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("car\t\n", "terms:1: is not a source term"),
        ("car\tauto\ncar\tvoiture\n", "terms:2: 'car' has the translation 'auto' already"),
    ],
)
def test_a_file_of_terms(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "terms"
    path.write_text("red house\tmaison peinte\n us\tnous \n", encoding="utf-8")
    assert read_glossary(path) == {"red house": "maison peinte", "us": "nous"}
    path.write_text(content, encoding="utf-8")
    with refusal(said):
        read_glossary(path)


def test_nothing_to_hold(codec: Codec) -> None:
    empty = np.zeros((0, 1), dtype=np.float32)
    words, alignment, *_ = Faithful(codec, set(), {})(
        EncodedSentence([], [0], [0]), [], empty, [], FAITHFUL
    )
    assert (words, alignment.shape) == ([], (0, 1))


def test_a_filter_knows_its_words_and_hardly_others() -> None:
    words = [f"word{number}" for number in range(2000)]
    known = WordFilter.of(words[:1000])
    assert all(word in known for word in words[:1000])
    assert sum(word in known for word in words[1000:]) <= 10
    more = known.with_words(["été"])
    assert "été" in more
    assert "été" not in known
    assert all(word in more for word in words[:1000])
    more = known.with_words(others := [f"other{number}" for number in range(20_000)])
    assert all(word in more for word in [*words[:1000], *others])
    assert sum(word in more for word in words[1000:]) <= 20


@pytest.mark.parametrize(
    ("source", "target", "languages", "expected"),
    [
        ("1 200", "1 200", ("fr", "en"), "1,200"),
        ("12 500,50", "12 500.50", ("fr", "en"), "12,500.50"),
        ("1 234 567", "1 234 567", ("fr", "en"), "1,234,567"),
        ("1 200", "1 200", ("fr", "es"), "1 200"),
        ("01 42 68 53", "01 42 68 53", ("fr", "en"), "01 42 68 53"),
        ("1,200", "1 200", ("en", "fr"), "1 200"),
    ],
)
def test_thousands_have_english_commas(
    source: str, target: str, languages: tuple[str, str], expected: str
) -> None:
    rows = looking("0 " * len(target.split()), 2)
    made = [Word(word, row, 0.9) for word, row in zip(target.split(), rows, strict=True)]
    held, doubtful = Numbers([source.replace(" ", JOINER)], [0], made, languages).held()
    assert (" ".join(word.text for word in held), doubtful) == (expected, [])


IN_LANGUAGES = """
en nl | the 3rd house | het 3e huis | 0 1 2 | het 3e huis
en es | at 9 pm | a las 9 noche | 0 0 1 2 | a las 9 noche
de en | um 5 Uhr nachmittags | at 5 p.m. | 0 1 3 | at 5 p.m.
de en | 3,125 kg | 3,120 kg | 0 1 | 3.125 kg
de en | 1.200 Euro | 1,300 euros | 0 1 | 1,200 euros
en de | 3.125 kg | 3.120 kg | 0 1 | 3,125 kg
pt en | 3ª casa | 3rd house | 0 1 | 3rd house
ja en | 5 万 人 | 50,000 people | 0 2 | 50,000 people
en zh | 50,000 people | 5 万 人 | 0 0 1 | 5 万 人
ja en | 7 人 | 8 people | 0 1 | 7 people
en fr | at 12 pm | à midi | 0 1 | à midi
en fr | at 12 am | Minuit | 1 | Minuit
fr en | à 12 h | at noon | 0 1 | at noon
fr en | ouvert 17-19 h | open 5-7 p.m. | 0 1 2 | open 5-7 p.m.
en fr | My 1st car | Ma première voiture | 0 1 2 | Ma première voiture
fr en | les 1ères fois | the 1 times | 0 1 2 | the 1st times
fr en | les 8es finale | the 8ths final | 0 1 2 | the 8ths final
fr en | Il est 18h | He is 18th | 0 1 2 | He is 18:00
fr en | gagne 45 k € | earns EUR 45 000 | 0 3 1 1 | earns EUR 45,000
en fr | the 3rd floor | le 3 étage | 0 1 2 | le 3e étage
en fr | on the 3rd . | le 3 . | 1 2 3 | le 3 .
en fr | May 3rd 1988 | le 3 mai 1988 | 0 1 0 2 | le 3 mai 1988
en fr | in 42:15 | en 42 h 15 | 0 1 1 1 | en 42:15
en fr | July 4th | 4 juillet | 1 0 | 4 juillet
fr en | Ver de terre | Vers of earth | 0 1 2 | Vers of earth
"""
"""Languages, source, target, the source word that each target word looked at, expected target."""


@pytest.mark.parametrize(("languages", "source", "target", "read", "expected"), table(IN_LANGUAGES))
def test_rules_of_english_and_french_are_for_them_alone(
    languages: str, source: str, target: str, read: str, expected: str
) -> None:
    words, (first, other) = source.split(), languages.split()
    rows = looking(read, len(words) + 1)
    made = [Word(word, row, 0.9) for word, row in zip(target.split(), rows, strict=True)]
    places = [place for place, word in enumerate(words) if is_source_number(word)]
    held, _ = Numbers(words, places, made, (first, other)).held()
    assert " ".join(word.text for word in held) == expected


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("i am tired.please help", []),
        ("hello.how are you", []),
        ("Il dit :viens ici.", []),
        ("It costs $5 /month", []),
        ("see node.js and a_b.cfg", ["node.js", "a_b.cfg"]),
        ("example.org, com.example.thing", ["example.org", "com.example.thing"]),
        ("Hello :name and :user_id in /home", [":name", ":user_id", "/home"]),
        ("see C:/Users/an/a.txt, $HOME/b", ["C:/Users/an/a.txt", "$HOME/b"]),
        ("at ftp://a.org/b or %APP%\\c", ["ftp://a.org/b", "%APP%\\c"]),
        ("call getUser(42) in C++17 and C#", ["getUser(42)", "C++17", "C#"]),
        ("an A+ by Ctrl+C, 5× at 48°51′", ["A+", "Ctrl+C", "5×", "48°51′"]),
        ("| --- | :---: |", ["| --- | :---: |"]),
        ("B. The M. Dupont", ["B. "]),
        ("M. Dupont -> Paris", []),
        ("① --> it", ["① --> "]),
        ("// •it", ["// • "]),
        ("Paris • London • Rome", []),
        ("D. Trump said so", []),
        ("E. coli is, C. est", []),
        ("1.2.3 is out", []),
        ("10.0.0.1 is it", []),
        ("the room# is", []),
        ("Mr O'Neill-Smith's at five O'Clock", ["O'Neill-Smith"]),
        ("30 $CAD/month", ["$CAD"]),
        ("1.2.3 a.) it", ["1.2.3 a.) "]),
        ("1.234.567 men, 3.5 men", []),
        ("to <a@b.org> in v1.2.3-beta", ["<a@b.org>", "v1.2.3-beta"]),
        ('a [b](c_(d) "e f")', ['](c_(d) "e f")']),
        (r"one \n\t two\tthree", [r" \n\t ", r"\t"]),
    ],
)
def test_what_is_a_file_or_a_placeholder(codec: Codec, line: str, kinds: list[str]) -> None:
    words = [word for word in faithful_words(codec, line) if kind_of(word) in STAND_INS]
    assert [word.replace(JOINER, " ") for word in words] == kinds


def test_a_term_that_ends_in_a_full_stop_is_found_inside(codec: Codec) -> None:
    glossary = Glossary(codec, codec, {"Rock Inc.": "Roche"})
    for line in ("Rock Inc. said so", "said Rock Inc."):
        assert [term.translation for term in glossary.mark(encoded(codec, line)).terms] == [
            ("Roche",)
        ]


def test_german_dates_are_no_lists() -> None:
    german = Codec(Tokeniser("moses", "de"), Vocabulary(["3.", "Oktober"]))
    assert faithful_words(german, "3. Oktober") == ["3.", "Oktober"]
    assert kind_of(faithful_words(german, "3) Oktober")[0]) == "front"


def test_an_empty_entry_of_a_dictionary_leaves_a_word_out(codec: Codec) -> None:
    sentence = encoded(codec, "Florez said")
    faithful = Faithful(codec, KNOWN, {"Florez": ""}, "fr")
    words, *_ = faithful(sentence, ["Forpourt", "dit"], looking("0 1", 3), [0.9, 0.9], FAITHFUL)
    assert [word for word in words if word] == ["Dit"]


@pytest.mark.parametrize("number", ["10⁠000", "Cent⁠six"])
def test_a_number_of_several_words_is_the_first_word(number: str) -> None:
    assert first_word([number, "personnes"]) == 0
    assert first_word(["3.⁠", "personnes"]) == 1


@pytest.mark.parametrize(
    "line", ["x" + " " * 20_000 + "x", "-" * 20_000 + "x", "x" * 20_000, "/" * 20_000]
)
def test_no_line_takes_the_square_of_its_length(codec: Codec, line: str) -> None:
    """It would be minutes."""
    assert faithful_words(codec, line * 20)


def test_a_run_of_numbers_is_read_once_for_all_numbers_of_the_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def values(text: str, *others: str) -> set[object]:
        read.append(text)
        return {text}

    monkeypatch.setattr("rnnsearch.translation.numbers.values", values)
    for count in (20, 40):
        texts = [str(number) for number in range(100, 100 + count)]
        rows = np.eye(count + 1, dtype=np.float32)[:count]
        made = [Word(text, row, 0.9) for text, row in zip(texts, rows, strict=True)]
        numbers = Numbers(texts, list(range(count)), made, ("fr", "en"))
        read.clear()
        numbers.keep_equal()
        assert len(read) <= count + count * LONGEST_NUMBER  # and not a run for each number
        assert [word.copied for word in numbers.made] == list(range(count))
