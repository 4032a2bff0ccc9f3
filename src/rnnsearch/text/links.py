"""Word links: those of two directions made one (Och & Ney 2003; Koehn, Och & Marcu 2003), and links between
words of the given text or of the tokeniser: which of the two a file counts, and how one becomes the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.text.codec import Repair
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.word_links import Link

DEFAULT = "grow-diag-final-and"

_STRAIGHT = ((0, -1), (-1, 0), (0, 1), (1, 0))
_DIAGONAL = ((-1, -1), (1, -1), (-1, 1), (1, 1))
"""Neighbours (source, target), in the order in which Moses's symal looks at them; the order decides which of
two rivals is added."""


def symmetrise(forward: Collection[Link], reverse: Collection[Link], method: str = DEFAULT) -> list[Link]:
    """Returns one set of links from those of both directions, sorted.

    forward: links (source, target) of the direction that gives every target word its source word, as
    RNNsearch itself does; reverse: links, (source, target) too, of the direction that gives every source word
    its target word. method: one of METHODS. The growing methods do exactly what Moses's symal does where a
    direction links a word at most once, and are defined for any links.
    """
    return sorted(METHODS[method](set(forward), set(reverse)))


def _grow(
    forward: set[Link], reverse: set[Link], *, diagonal: bool, final: Callable[[bool, bool], bool] | None
) -> set[Link]:
    """Begins with the intersection; adds neighbours from the union that reach a word without link, until
    there are none; then `final`.

    final: decides about a link that only one direction has. It takes whether the source word and the target
    word have links already, and returns True to add the link.
    """
    union, grown = forward | reverse, forward & reverse
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}

    def add(link: Link) -> None:
        grown.add(link)
        sources.add(link[0])
        targets.add(link[1])

    fresh = True
    while fresh:
        fresh = False
        waiting = sorted(grown, key=_by_target, reverse=True)
        # By target, then source; what is added further on in this order has its turn in the same round.
        while waiting:
            i, j = waiting.pop()
            for di, dj in _STRAIGHT + _DIAGONAL if diagonal else _STRAIGHT:
                link = (i + di, j + dj)
                if link in union and not (link[0] in sources and link[1] in targets):
                    add(link)
                    fresh = True
                    if _by_target(link) > _by_target((i, j)):
                        waiting = sorted([*waiting, link], key=_by_target, reverse=True)
    if final is not None:
        for alone in (forward - reverse, reverse - forward):
            for link in sorted(alone - grown, key=_by_target):
                if final(link[0] in sources, link[1] in targets):
                    add(link)
    return grown


def _by_target(link: Link) -> Link:
    return link[1], link[0]


METHODS: dict[str, Callable[[set[Link], set[Link]], set[Link]]] = {
    "grow-diag-final-and": partial(_grow, diagonal=True, final=lambda source, target: not (source or target)),
    "grow-diag-final": partial(_grow, diagonal=True, final=lambda source, target: not (source and target)),
    "grow-diag": partial(_grow, diagonal=True, final=None),
    "grow": partial(_grow, diagonal=False, final=None),
    "intersection": set.intersection,
    "union": set.union,
    "forward": lambda forward, reverse: forward,
    "reverse": lambda forward, reverse: reverse,
}
"""Name → what it makes of (forward, reverse). `final-and` adds links between two words without any, `final`
those of one such word."""

Range = tuple[int, int]
"""(first, one after the last)"""

LinkWords = Literal["given", "tokenised"]
"""What the positions in a link file refer to: words as given, between spaces, as most aligners have it, or
the tokeniser's words."""

_PLAIN = Tokeniser("space", "")


class PairWordCounts(NamedTuple):
    """The links of one pair, and how many words it has on either side, counted in both ways."""

    links: Sequence[Link]
    given: tuple[int, int]
    tokenised: tuple[int, int]


def recognise(pairs: Iterable[PairWordCounts]) -> LinkWords:
    """Returns the words that these links refer to.

    They are the tokeniser's words only if the links fit those of every pair, and not the given words of every
    pair. A few pairs of ordinary text decide it: the full stop at the end, a word only to the tokeniser, is
    nearly always linked.
    """
    fits_given = True
    for links, given, tokenised in pairs:
        if not _fit(links, tokenised):
            return "given"
        fits_given = fits_given and _fit(links, given)
    return "given" if fits_given else "tokenised"


def _fit(links: Sequence[Link], words: tuple[int, int]) -> bool:
    return all(source < words[0] and target < words[1] for source, target in links)


def given_words(line: str) -> list[str]:
    """Returns the words between spaces, as aligners see them. A no-break space or a soft hyphen is a letter
    to them."""
    return [token for token in line.split(" ") if token]


def tokeniser_ranges(
    given: Sequence[str], words: Sequence[str], repair: Repair | None = None
) -> list[Range] | None:
    """Returns the `word_ranges` of given words as they stand in a file, invisible characters included.

    repair: was applied to the line before it was tokenised.
    """
    return word_ranges([_spelling(token, repair) for token in given], words)


def _spelling(token: str, repair: Repair | None) -> str:
    """Returns the letters of a token that the tokeniser sees: none of a soft hyphen, `&` of `&amp;`."""
    if repair is not None:
        token = repair(token)
    return token if token.isprintable() and " " not in token else "".join(_PLAIN.words(token))


def check_links(
    links: Sequence[Link], words: Sequence[int], file: str, number: int, count: LinkWords = "given"
) -> None:
    """Raises InputError for a link to a word that a sentence does not have. words: the number of the source's
    and of the target's."""
    for link in links:
        for side, position, size in zip(("source", "target"), link, words, strict=True):
            if position >= size:
                what = (
                    f"the link {link[0]}-{link[1]} (source-target) refers to {side} word {position}, but the "
                    f"line has {size} words"
                )
                counted = "words between spaces" if count == "given" else "tokeniser's words"
                remedy = (
                    f"links count the {counted} from 0; if the file lists target-source, add --links-reversed"
                )
                raise InputError(what, file=file, line=number, remedy=remedy)


def word_ranges(given: Sequence[str], words: Sequence[str]) -> list[Range] | None:
    """Returns for each given word the tokeniser's words that share a character with it, None if that cannot
    be said.

    A tokeniser moves spaces and leaves the other characters alone, but for their case, so that both sequences
    spell the same without spaces, and a character's place in that spelling ties them together. Usually a
    given word is cut; those that it merges share links.
    """
    if list(given) == list(words):
        return [(number, number + 1) for number in range(len(words))]
    # lower() spells Σ by its neighbours.
    given, words = [token.casefold() for token in given], [word.casefold() for word in words]
    if "".join(given) != "".join(words):
        return None
    ranges, begin, word, place = [], 0, 0, 0  # place: where words[word] begins
    for token in given:
        end = begin + len(token)
        while word < len(words) and place + len(words[word]) <= begin:
            place += len(words[word])
            word += 1
        last, reached = word, place
        while token and last < len(words) and reached < end:
            reached += len(words[last])
            last += 1
        ranges.append((word, last))
        begin = end
    return ranges


def character_ranges(text: str, words: Sequence[str]) -> list[Range] | None:
    """Returns where each of the tokeniser's or the given words stands in its text, or None if that cannot be
    said."""
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    owners = tokeniser_ranges([text[place] for place in places], ["".join(word.split()) for word in words])
    if owners is None:
        return None
    found = [(len(text), 0) for _ in words]
    for place, own in zip(places, owners, strict=True):
        for word in range(*own):
            found[word] = min(found[word][0], place), max(found[word][1], place + 1)
    return found


def project(links: Sequence[Link], source: Sequence[Range], target: Sequence[Range]) -> list[Link]:
    """Turns a link between two given words into links between all the words they became; sorted, each
    once."""
    return sorted(
        {(i, j) for left, right in links for i in range(*source[left]) for j in range(*target[right])}
    )


def project_back(links: Sequence[Link], source: Sequence[Range], target: Sequence[Range]) -> list[Link]:
    """Turns links between the tokeniser's words into links between all the given words that share a letter
    with them."""
    sources, targets = _owners(source), _owners(target)
    return sorted(
        {(i, j) for left, right in links for i in sources.get(left, ()) for j in targets.get(right, ())}
    )


def _owners(ranges: Sequence[Range]) -> dict[int, list[int]]:
    """Returns, for each word of the tokeniser, the given words that it has letters of."""
    owners: dict[int, list[int]] = {}
    for given, (first, end) in enumerate(ranges):
        for word in range(first, end):
            owners.setdefault(word, []).append(given)
    return owners
