from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import InputError
from rnnsearch.text.links.words import character_ranges, check_links, project, word_ranges
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.word_links import parse_links


@pytest.mark.parametrize(
    ("line", "swapped", "links"),
    [
        ("", False, []),
        ("  ", False, []),
        ("0-0 1-2", False, [(0, 0), (1, 2)]),
        ("0-0 1-2", True, [(0, 0), (2, 1)]),
        (" 10-3\t0-0 ", False, [(10, 3), (0, 0)]),
    ],
)
def test_a_line_of_links(line: str, swapped: bool, links: list[tuple[int, int]]) -> None:
    assert parse_links(line, "f", 1, swapped=swapped) == links


@pytest.mark.parametrize(
    "item",
    [
        "1 - 2",
        *[
            "x",
            "1",
            "1-",
            "-1",
            "1--2",
            "-1-2",
            "1-2-3",
            "1?2",
            "²-1",
            "٣-1",
            "1-2,",
            "9999999999-1",
            "1.0-2",
        ],
    ],
)
def test_what_is_no_link_is_refused_with_its_line(item: str) -> None:
    with pytest.raises(InputError, match=r"^gold.txt:7: '.*' is not a link \(write links source-target"):
        parse_links(f"0-0 {item} 1-1", "gold.txt", 7)


@given(st.text())
def test_any_line_is_links_or_one_clear_line(line: str) -> None:
    said = ""
    try:
        links = parse_links(line, "f", 1)
    except InputError as error:
        links, said = [], str(error)
    assert all(source >= 0 and target >= 0 for source, target in links)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("links", "message"),
    [([(2, 0)], "refers to source word 2, but the line has 2"), ([(0, 0), (1, 3)], "target word 3")],
)
def test_a_link_to_a_word_that_is_not_there_is_refused(links: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(InputError, match=f"^f:3: .*{message}"):
        check_links(links, 2, 3, "f", 3)
    check_links([(1, 2)], 2, 3, "f", 3)


@pytest.mark.parametrize(
    ("given_words", "words", "ranges"),
    [
        (["a", "b"], ["a", "b"], [(0, 1), (1, 2)]),
        ([], [], []),
        (["don't,", "stop."], ["don", "'t", ",", "stop", "."], [(0, 3), (3, 5)]),
        (["a", "b", "c"], ["ab", "c"], [(0, 1), (0, 1), (1, 2)]),  # merged
        (["ab", "cd"], ["a", "bc", "d"], [(0, 2), (1, 3)]),  # a word with letters of both
        (["a", "", "b"], ["a", "b"], [(0, 1), (1, 1), (1, 2)]),  # one that is no letter to the tokeniser
        (["a", "", "b"], ["ab"], [(0, 1), (0, 0), (0, 1)]),
        (["a"], ["b"], None),
        (["a"], ["a", "b"], None),
        ([""], [], [(0, 0)]),
    ],
)
def test_words_are_found_by_their_letters(
    given_words: list[str], words: list[str], ranges: list[tuple[int, int]] | None
) -> None:
    assert word_ranges(given_words, words) == ranges


@given(st.lists(st.text("ab.'", min_size=1, max_size=4), max_size=6), st.data())
def test_a_word_shares_a_letter_with_every_given_word_it_belongs_to(
    given_words: list[str], data: st.DataObject
) -> None:
    letters = "".join(given_words)
    cuts = (
        [0, *sorted(data.draw(st.sets(st.integers(1, max(len(letters) - 1, 1))))), len(letters)]
        if letters
        else [0]
    )
    words = [letters[begin:end] for begin, end in pairwise(cuts) if begin < end]
    owner = [number for number, word in enumerate(given_words) for _ in word]
    of_word = [number for number, word in enumerate(words) for _ in word]
    expected = [
        sorted({word for word, given in zip(of_word, owner, strict=True) if given == number})
        for number in range(len(given_words))
    ]
    found = word_ranges(given_words, words)
    assert found is not None
    assert [list(range(*one)) for one in found] == expected


@given(st.text("abéÀİΣß.,'’-&;:()«»0123 ", max_size=30), st.sampled_from(["en", "fr"]), st.booleans())
def test_every_letter_survives_the_tokeniser(line: str, language: str, lowercase: bool) -> None:
    """What makes the projection possible for Moses's words."""
    assert word_ranges(line.split(), Tokeniser("moses", language, lowercase).words(line)) is not None


def test_letters_made_small_are_the_same_letters() -> None:
    assert word_ranges(["ΟΔΟΣ'Α"], ["οδος", "'α"]) == word_ranges(["ΟΔΟΣ'Α"], ["ΟΔΟΣ", "'Α"]) == [(0, 2)]
    assert word_ranges(["I", "CAN'T", "İzmir!"], ["i", "can", "'t", "i̇zmir", "!"]) == [(0, 1), (1, 3), (3, 5)]


def test_a_link_becomes_links_between_all_words() -> None:
    assert project([(0, 0), (1, 1)], [(0, 2), (2, 3)], [(0, 1), (1, 3)]) == [(0, 0), (1, 0), (2, 1), (2, 2)]
    assert project([(0, 0), (0, 1)], [(0, 1)], [(0, 1), (0, 1)]) == [(0, 0)]  # merged: once
    assert project([(0, 0)], [(1, 1)], [(0, 1)]) == []


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("", [], []),
        ("It's  over.", ["It", "'s", "over", "."], [(0, 2), (2, 4), (6, 10), (10, 11)]),
        ("New York !", ["New York", "!"], [(0, 8), (9, 10)]),
        ("Straße", ["STRASSE"], [(0, 6)]),
        ("so\u00adft", ["soft"], [(0, 5)]),
        ("a b", ["a", "c"], None),
    ],
)
def test_words_have_their_places_in_the_text(
    text: str, words: list[str], expected: list[tuple[int, int]] | None
) -> None:
    assert character_ranges(text, words) == expected
