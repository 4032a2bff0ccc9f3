"""Word links: symmetrised ones against cases worked out by hand and another writing of the algorithm of Moses's
symal; and links between given words and the tokeniser's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.text.formats.links import parse_links
from rnnsearch.text.links import (
    character_ranges,
    project,
    symmetrise,
    word_ranges,
)
from rnnsearch.word_links import Link


def pairs(text: str) -> list[Link]:
    return [
        (int(source), int(target)) for source, target in (item.split("-") for item in text.split())
    ]


# Drawn on paper. Where only one result stands, the three methods agree.
CASES = """
they agree                           : 0-0 1-1         | 0-0 1-1     | 0-0 1-1
nothing to grow from                 : 0-0             |             |             | 0-0         | 0-0
neighbours on both sides             : 0-0 0-1         | 0-0 1-0     | 0-0 0-1 1-0
a diagonal neighbour of no links     : 0-0 1-1         | 0-0         | 0-0 1-1
an island, whose words have no link  : 0-0 3-3         | 0-0         | 0-0         | 0-0 3-3     | 0-0 3-3
an island, whose target has a link   : 0-0             | 0-0 3-0     | 0-0         | 0-0 3-0     | 0-0
a chain                              : 0-0 1-1         | 0-0 1-0     | 0-0 1-0 1-1
straight neighbours before corners   : 0-0 0-1         | 0-0 1-0 1-1 | 0-0 0-1 1-0
forward islands before reverse ones  : 0-0 4-6         | 0-0 4-2     | 0-0         | 0-0 4-2 4-6 | 0-0 4-6
islands by target, then by source    : 0-0 7-3 3-3 3-9 | 0-0         | 0-0         | 0-0 3-3 3-9 7-3 | 0-0 3-3
"""
"""What is tested: forward | reverse | grow-diag | grow-diag-final | grow-diag-final-and"""


@pytest.mark.parametrize(
    "case", CASES.strip().split("\n"), ids=lambda case: case.split(":")[0].strip()
)
def test_by_hand(case: str) -> None:
    forward, reverse, *results = map(pairs, case.split(":")[1].split("|"))
    grown, final, final_and = results * (3 // len(results))
    assert symmetrise(forward, reverse, "grow-diag") == grown
    assert symmetrise(forward, reverse, "grow-diag-final") == final
    assert (
        symmetrise(forward, reverse)
        == symmetrise(forward, reverse, "grow-diag-final-and")
        == final_and
    )


def test_plain_methods() -> None:
    forward, reverse = pairs("2-2 0-0 0-1"), pairs("0-0 1-0")
    expected = {
        "intersection": "0-0",
        "union": "0-0 0-1 1-0 2-2",
        "forward": "0-0 0-1 2-2",
        "reverse": "0-0 1-0",
    }
    for method, links in expected.items():
        assert symmetrise(forward, reverse, method) == pairs(links)
    assert symmetrise(pairs("0-0 1-1"), pairs("0-0"), "grow") == pairs("0-0")  # no corners


def symal(a: list[int], b: list[int], diagonal: bool, final: bool, both: bool) -> list[Link]:
    """The algorithm as symal has it: a[j] is the target of source word j, b[i] the source of target word i,
    from 1, 0 for none; a matrix
    instead of sets, and a scan of the whole matrix instead of an ordered set."""
    m, n = len(a), len(b)
    kind = {(i, j): 0 for i in range(1, n + 1) for j in range(1, m + 1)}
    for j, i in enumerate(a, 1):
        if i:
            kind[i, j] = 2 if b[i - 1] == j else -1
    for i, j in enumerate(b, 1):
        if j and a[j - 1] != i:
            kind[i, j] = 1
    covered_target = {i for (i, _), value in kind.items() if value == 2}
    covered_source = {j for (_, j), value in kind.items() if value == 2}
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1)] + (
        [(-1, -1), (-1, 1), (1, -1), (1, 1)] if diagonal else []
    )
    added = True
    while added:
        added = False
        for cell in list(
            kind
        ):  # by target, then source; one that becomes 2 on the way is seen if it comes later
            if kind[cell] != 2:
                continue
            for step in neighbours:
                point = cell[0] + step[0], cell[1] + step[1]
                if kind.get(point) and not (
                    point[0] in covered_target and point[1] in covered_source
                ):
                    kind[point] = 2
                    covered_target.add(point[0])
                    covered_source.add(point[1])
                    added = True
    for direction in (1, -1) if final else ():
        for i, j in [cell for cell, value in kind.items() if value == direction]:
            one, other = i in covered_target, j in covered_source
            if not (one or other) if both else not (one and other):
                kind[i, j] = 2
                covered_target.add(i)
                covered_source.add(j)
    return sorted((j - 1, i - 1) for (i, j), value in kind.items() if value == 2)


OPTIONS = {  # corners, islands, only those of two words without links
    "grow": (False, False, False),
    "grow-diag": (True, False, False),
    "grow-diag-final": (True, True, False),
    "grow-diag-final-and": (True, True, True),
}


@st.composite
def directions(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    m, n = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    a = draw(st.lists(st.integers(0, n), min_size=m, max_size=m))
    # Half of the links of one direction are those of the other, else there would be nothing to grow from.
    b = [
        a.index(i) + 1 if i in a and draw(st.booleans()) else draw(st.integers(0, m))
        for i in range(1, n + 1)
    ]
    return a, b


@given(directions())
def test_against_symal(words: tuple[list[int], list[int]]) -> None:
    a, b = words
    forward = [(j - 1, i) for i, j in enumerate(b) if j]
    reverse = [(j, i - 1) for j, i in enumerate(a) if i]
    for method, options in OPTIONS.items():
        assert symmetrise(forward, reverse, method) == symal(a, b, *options), method


NO_LINKS = "x|1|1-|-1|1--2|-1-2|1-2-3|1?2|²-1|٣-1|1-2,|0-0,1-1|9999999999-1|1.0-2|1 - 2"


@pytest.mark.parametrize("item", NO_LINKS.split("|"))
def test_what_is_no_link_is_refused_with_its_line(item: str) -> None:
    with refusal(r"^gold.txt:7: '.*' is not a link \(write links source-target"):
        parse_links(f"0-0 {item} 1-1", "gold.txt", 7)


@pytest.mark.parametrize(
    ("given_words", "words", "ranges"),
    [
        ("a b", "a b", "0-1 1-2"),
        ("don't, stop.", "don 't , stop .", "0-3 3-5"),
        ("a b c", "ab c", "0-1 0-1 1-2"),  # merged
        ("ab cd", "a bc d", "0-2 1-3"),  # a word with letters of both
        ("a  b", "a b", "0-1 1-1 1-2"),  # one that is no letter to the tokeniser
        ("a  b", "ab", "0-1 0-0 0-1"),
        ("a", "b", None),
        ("a", "a b", None),
        ("ΟΔΟΣ'Α", "οδος 'α", "0-2"),  # lower() spells Σ by its neighbours
        ("I CAN'T İzmir!", "i can 't i̇zmir !", "0-1 1-3 3-5"),
    ],
)
def test_words_are_found_by_their_letters(given_words: str, words: str, ranges: str | None) -> None:
    expected = None if ranges is None else pairs(ranges)
    assert word_ranges(given_words.split(" "), words.split()) == expected
    assert word_ranges([], []) == []
    assert word_ranges([""], []) == [(0, 0)]


@pytest.mark.parametrize(
    ("links", "source", "target", "expected"),
    [
        ("0-0 1-1", "0-2 2-3", "0-1 1-3", "0-0 1-0 2-1 2-2"),
        ("0-0 0-1", "0-1", "0-1 0-1", "0-0"),  # merged: once
        ("0-0", "1-1", "0-1", ""),
    ],
)
def test_a_link_becomes_links_between_all_words(
    links: str, source: str, target: str, expected: str
) -> None:
    assert project(pairs(links), pairs(source), pairs(target)) == pairs(expected)


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("", [], ""),
        ("It's  over.", ["It", "'s", "over", "."], "0-2 2-4 6-10 10-11"),
        ("New York !", ["New York", "!"], "0-8 9-10"),
        ("Straße", ["STRASSE"], "0-6"),
        ("so\u00adft", ["soft"], "0-5"),
        ("cafe\u0301 \ufb01n", ["café", "fin"], "0-5 6-8"),
        ("你好", ["你", "␣好"], "0-1 1-2"),
    ],
)
def test_words_have_their_places_in_the_text(text: str, words: list[str], expected: str) -> None:
    assert character_ranges(text, words) == pairs(expected)
    assert character_ranges("a b", ["a", "c"]) is None
