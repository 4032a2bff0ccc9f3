"""Numbers of several words are read as their digits."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.codec import JOINER, Codec
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.copied import faithful_words, kind_of
from rnnsearch.translation.spelt import in_digits

ENGLISH, ENGLISH_TENS, FRENCH, FRENCH_TENS = map(
    str.split,
    (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
        "dix vingt trente quarante cinquante soixante",
    ),
)


NO_NUMBERS = """seventeen men, dix-sept hommes, two hundred, deux cents, six cents
one two three, un deux trois, one third, a twenty-second film
cinq pour cent vingt fois, several hundred and twenty men, four score and seven
trois mille mille, neuf cents cents, deux heures dix minutes, soixante quatre vingts
tous deux cinquante ans, un quinzième, two thirty-year-old men, the eighty-second man
up ten per cent two years ago, 18 per cent six months earlier, five per cent twenty years ago
to 74 cents three months later, fifty cents ten years ago
Police seize thirty kilos, seize fifty thousand cigarettes
the last one thirty minutes ago, one in five thirty years ago, Formula One twenty years ago
he was nine fifty people died, half past ten twenty kilometres away, one by one twenty times
two twenty pound notes, twenty ten-pound notes, twenty fifty-dollar bills
nineteen seventeen-year-old boys, Twenty one-way tickets, sixty one-bedroom flats
Twenty first-year students, A hundred one-dollar bills, a hundred one day
one million and twenty men, between one hundred and five thousand dollars
entre cent mille et un million d'euros, entre vingt et une trentaine d'années
in fourteen fifteen, it costs three fifty, one twenty over eight
deux heures vingt minutes, pendant deux heures trente hommes ont cherché, un million deux
fifteen-twenty minutes, ten-fifteen minutes, the score is fifteen thirty, twenty-twenty vision
worth one million two years ago, she eighty-sixed it, in her eighties, twenty thirty people"""


def english(number: int) -> str:
    """The grammar of the numbers below a million, from the top."""
    if number < 20:
        return ENGLISH[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return ENGLISH_TENS[ten - 2] + (f"-{ENGLISH[one]}" if one else "")
    above, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    many, rest = divmod(number, above)
    link = " and " if 0 < rest < 100 else " "
    return f"{english(many)} {name}" + (link + english(rest) if rest else "")


def french(number: int) -> str:
    if number < 17:
        return FRENCH[number]
    if number < 100:
        ten, one = divmod(number, 10)
        if ten in (1, 7, 9):
            ten, one = ten - 1, one + 10
        if ten == 0:
            return f"dix-{FRENCH[one - 10]}"
        if ten == 8:
            return f"quatre-vingt-{french(one)}" if one else "quatre-vingts"
        link = " et " if one in (1, 11) else "-"
        return FRENCH_TENS[ten - 1] + (link + french(one) if one else "")
    above, name = (1000, "mille") if number >= 1000 else (100, "cent")
    many, rest = divmod(number, above)
    several = f"{french(many)} " if many > 1 else ""
    plural = "s" if name == "cent" and many > 1 and not rest else ""
    return several + name + plural + (f" {french(rest)}" if rest else "")


def read(line: str) -> list[str | None]:
    """Returns the digits of the numbers of a line."""
    codec = Codec(Tokeniser("moses", "en", False), Vocabulary(["a"]))
    return [
        in_digits(word)
        for word in faithful_words(codec, line)
        if kind_of(word) in ("spelt", "time")
    ]


def is_round(text: str) -> bool:
    first, *others = re.split("[ -]", text)
    if not others and first in ("seventy", "eighty", "ninety"):
        return False
    return {*others} <= {"hundred", "thousand", "cent", "cents", "mille"}


@given(st.integers(20, 999_999), st.sampled_from([english, french]))
def test_a_number_has_its_digits(number: int, write: Callable[[int], str]) -> None:
    text = write(number)
    found = in_digits(text)
    assert (found or "").replace(" ", "") == ("" if is_round(text) else str(number))
    assert in_digits(text.replace(" ", JOINER)) == found


def test_every_number_below_2000() -> None:
    for number in range(20, 2000):
        for text in (english(number), french(number)):
            assert (in_digits(text) or str(number)).replace(" ", "") == str(number), text
            assert (in_digits(text) is None) == is_round(text), text


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("In nineteen eighty-four and since twenty twenty-four", ["1984", "2024"]),
        ("A hundred and fifty men, a thousand and one nights", ["150", "1001"]),
        ("at three forty-five, six-thirty", ["3:45", "6:30"]),
        ("à dix-sept heures trente ou une heure vingt-cinq.", ["17:30", "1:25"]),
        ("two million three hundred thousand", ["2 300 000"]),
        ("un million deux cent mille", ["1 200 000"]),
        ("two hundred and fifty million", ["250"]),
        ("the twenty-third, the one hundred and first", ["23rd", "101st"]),
        ("the hundred, the two hundred and eleventh", ["211th"]),
        ("la quarante-deuxième, le vingt et unième, la soixante-dixième", ["42nd", "21st", "70th"]),
        (
            "twenty-six cents, vingt-cinq cents, quatre vingt ans, nonante-neuf",
            ["26", "25", "80", "99"],
        ),
        ("deux-cent-quinze voix, Quatre-vingt-dix ans, mil neuf cent six", ["215", "90", "1906"]),
        ("fifty-five cents, seventy men, eighty of ninety", ["55", "70", "80", "90"]),
        (
            "seventy two men, ninety nine thousand, seventy thousand six hundred and two",
            ["72", "99 000", "70 602"],
        ),
        ("a thirty-two-year-old man, a forty-five-minute film", ["32-year-old", "45-minute"]),
    ],
)
def test_numbers_in_a_line(line: str, found: list[str]) -> None:
    assert read(line) == found


@pytest.mark.parametrize(
    "line",
    NO_NUMBERS.split("\n"),
)
def test_what_is_no_number(line: str) -> None:
    assert read(line) == []
