"""Symmetrises word links of two directions (Och & Ney 2003; Koehn, Och & Marcu 2003). Recognises
whether links refer to the words of the given text or of the tokeniser, and converts between the
two."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import accumulate
from math import inf
from typing import Literal, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.text.language_codes import base
from rnnsearch.text.tokens import SPACE, UNSPACED, Tokeniser
from rnnsearch.word_links import Link, given_links

DEFAULT = "grow-diag-final-and"

_STRAIGHT = ((0, -1), (-1, 0), (0, 1), (1, 0))
_DIAGONAL = ((-1, -1), (1, -1), (-1, 1), (1, 1))
"""Neighbours (source, target) in the order of Moses's symal. The order decides which of two
competing links is added."""


def symmetrise(
    forward: Collection[Link], reverse: Collection[Link], method: str = DEFAULT
) -> list[Link]:
    """Returns one sorted set of links from those of both directions.

    forward: links (source, target) of the direction that gives every target word its source word,
    as RNNsearch itself does. reverse: links of the other direction, also as (source, target).
    method: grow-diag-final-and, grow-diag-final, grow-diag, grow, intersection, union, forward or
    reverse. If each direction links a word at most once, the growing methods give exactly the links
    of Moses's symal. Raises InputError for another method, and for what is no links."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"there is no method {method!r}", f"use one of {', '.join(METHODS)}")
    return sorted(METHODS[method](given_links(forward, "forward"), given_links(reverse, "reverse")))


def _grow(
    forward: set[Link],
    reverse: set[Link],
    *,
    neighbours: Sequence[tuple[int, int]] = _STRAIGHT + _DIAGONAL,
    final: Callable[[Iterable[bool]], bool] | None = None,
) -> set[Link]:
    """Starts with the intersection. Adds neighbours from the union that have a word without a link,
    until there are none; then applies `final`.

    final: any or all; links of only one direction are added unless any or all of their words have a
    link.
    """
    union, grown = sorted(forward | reverse, key=_by_target), forward & reverse
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}

    def add(link: Link, covered: Callable[[Iterable[bool]], bool]) -> None:
        if not covered((link[0] in sources, link[1] in targets)):
            grown.add(link)
            sources.add(link[0])
            targets.add(link[1])

    before = -1
    while before < len(grown):
        before = len(grown)
        # By target, then source. A link added later in this order is visited in the same round.
        for i, j in union:
            for di, dj in neighbours if (i, j) in grown else ():
                if (link := (i + di, j + dj)) in forward or link in reverse:
                    add(link, all)
    if final:
        for alone in (forward - reverse, reverse - forward):
            for link in union:
                if link in alone and link not in grown:
                    add(link, final)
    return grown


def _by_target(link: Link) -> Link:
    return link[1], link[0]


METHODS: dict[str, Callable[[set[Link], set[Link]], set[Link]]] = {
    "grow-diag-final-and": partial(_grow, final=any),
    "grow-diag-final": partial(_grow, final=all),
    "grow-diag": _grow,
    "grow": partial(_grow, neighbours=_STRAIGHT),
    "intersection": set.intersection,
    "union": set.union,
    "forward": lambda forward, reverse: forward,
    "reverse": lambda forward, reverse: reverse,
}
"""Name → function of (forward, reverse). `final-and` adds links between two words without links;
`final` needs only one such word."""

FROM_ZERO = "perl -pe 's/[0-9]+/$&-1/ge' LINKS"
"""A command that converts Pharaoh links from 1 to links from 0."""

Range = tuple[int, int]
"""(first, one after the last)"""

LinkWords = Literal["given", "tokenised"]
"""The words to which positions in a link file refer: given words between spaces, as in most
aligners, or the tokeniser's words."""

_SPELLING = Tokeniser("space", "")
_LETTER = re.compile("\\S[\u0300-\u036f]*")  # with its combining marks


class PairWordCounts(NamedTuple):
    """The links of one pair, and the numbers of given words and of the tokeniser's words on each
    side."""

    links: Sequence[Link]
    given: Sequence[int]
    tokenised: Sequence[int]


def recognise(pairs: Sequence[PairWordCounts]) -> LinkWords:
    """Returns the words that these links refer to.

    They are the tokeniser's words only if all links fit these, and some links do not fit the given
    words. A few pairs of ordinary text are enough: the final full stop, a word only to the
    tokeniser, is nearly always linked.
    """
    fits_given = all(_fit(links, given) for links, given, _ in pairs)
    fits_tokenised = all(_fit(links, tokenised) for links, _, tokenised in pairs)
    return "tokenised" if fits_tokenised and not fits_given else "given"


def count_from_one(pairs: Iterable[PairWordCounts]) -> bool:
    """Tells whether links seem to count words from 1: no link has position 0, and a link refers to
    the word after the last given word of its sentence."""
    found = [(link, given) for links, given, _ in pairs for link in links]
    beyond = any(link[side] == given[side] for link, given in found for side in (0, 1))
    return beyond and not any(0 in link for link, _ in found)


def _fit(links: Sequence[Link], words: Sequence[int]) -> bool:
    return all(source < words[0] and target < words[1] for source, target in links)


class Clauses:
    """Counts given words of text without spaces that are far too long: such text is not split into
    words. side: source or target; tokeniser: that of the side."""

    def __init__(self, side: str, tokeniser: Tokeniser) -> None:
        self.side, self.longest = side, 4 * UNSPACED.get(base(tokeniser.language), inf)
        self.letters = self.in_clauses = self.lines = 0
        self.first = ""

    def look(self, words: Sequence[str], file: str, line: int) -> None:
        """Counts the words of a line."""
        lengths = [len(word) for word in words if not word.isascii()]
        long = sum(length for length in lengths if length > self.longest)
        self.letters += sum(lengths)
        self.in_clauses += long
        self.lines += long > 0
        if long and not self.first:
            self.first = f"line {line:,} of {file}"

    def check(self, lines: int, remedy: str) -> None:
        """Raises InputError if most letters are in such words. lines: how many were counted."""
        if 2 * self.in_clauses > self.letters:
            raise InputError(
                f"{self.lines:,} of {lines:,} {self.side} lines are not split into words, the first"
                f" is {self.first}",
                f"split them into words first, or {remedy}",
            )


def tokeniser_ranges(given: Sequence[str], words: Sequence[str]) -> list[Range] | None:
    """Returns the `word_ranges` of given words, which may have invisible characters and other
    spellings. If a line was repaired before it was tokenised, its given words must be repaired
    too."""
    spelt = ["".join(_SPELLING.words(word.removeprefix(SPACE))) for word in words]
    return word_ranges(["".join(_SPELLING.words(token)) for token in given], spelt)


def check_links(
    links: Sequence[Link], words: Sequence[int], file: str, number: int, count: str = "given"
) -> None:
    """Raises InputError for a link to a word that a sentence does not have. words: the numbers of
    source and target words."""
    for link in links:
        for side, position, size in zip(("source", "target"), link, words, strict=True):
            if position >= size:
                counted = "words between spaces" if count == "given" else "tokeniser's words"
                hint = "lists target-source, add --links-reversed"
                if position == size:
                    hint = f"counts from 1: {FROM_ZERO}"
                raise InputError(
                    f"the link {link[0]}-{link[1]} (source-target) refers to {side} word"
                    f" {position}, but the line has {size} words",
                    f"links count the {counted} from 0; if the file {hint}",
                    file=file,
                    line=number,
                )


def word_ranges(given: Sequence[str], words: Sequence[str]) -> list[Range] | None:
    """Returns, for each given word, the range of the tokeniser's words that share a character with
    it; None if it is unknown.

    A tokeniser changes only spaces and case, so both sequences spell the same text without spaces.
    Words are matched by character positions in that text. Usually a given word is cut into several;
    given words that are merged share links.
    """
    if list(given) == list(words):
        return [(number, number + 1) for number in range(len(words))]
    # lower() spells Σ by its neighbours.
    given, words = list(map(str.casefold, given)), list(map(str.casefold, words))
    if "".join(given) != "".join(words):
        return None
    ends = list(accumulate(map(len, words)))
    ranges, begin = [], 0
    for token in given:
        end = begin + len(token)
        first = bisect_right(ends, begin)
        ranges.append((first, bisect_left(ends, end) + 1 if token else first))
        begin = end
    return ranges


def character_ranges(text: str, words: Sequence[str]) -> list[Range] | None:
    """Returns the range of characters of each word in the text; None if it is unknown."""
    letters = list(_LETTER.finditer(text))
    if (owners := tokeniser_ranges([letter.group() for letter in letters], words)) is None:
        return None
    found = [(len(text), 0) for _ in words]
    for letter, own in zip(letters, owners, strict=True):
        for word in range(*own):
            found[word] = min(found[word][0], letter.start()), max(found[word][1], letter.end())
    return found


def project(
    links: Iterable[Sequence[int]], source: Sequence[Range], target: Sequence[Range]
) -> list[Link]:
    """Converts links between given words to links between all of their tokeniser's words; sorted,
    each once."""
    return sorted(
        {
            (i, j)
            for left, right in links
            for i in range(*source[left])
            for j in range(*target[right])
        }
    )
