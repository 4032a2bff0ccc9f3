"""Word links on their way into the store: from the words of the given text to those of the tokeniser, and on to their pieces."""

from __future__ import annotations

from collections.abc import Sequence

from rnnsearch.errors import InputError

Link = tuple[int, int]
Range = tuple[int, int]
"""(first, one after the last)"""

_LARGEST = 9  # digits: no sentence has a longer position


def parse_links(line: str, swapped: bool, file: str, number: int) -> list[Link]:
    """`0-0 1-2` → [(0, 0), (1, 2)]: source and target word, counted from 0; a blank line has none. swapped: the file says target-source.

    Raises InputError, with file and line, for anything else.
    """
    links = []
    for item in line.split():
        left, dash, right = item.partition("-")
        if not (dash and _is_position(left) and _is_position(right)):
            remedy = "links are written source-target, as 0-0 1-2, counted from 0; a line without links is blank"
            raise InputError(f"{_shown(item)} is not a link", file=file, line=number, remedy=remedy)
        links.append((int(right), int(left)) if swapped else (int(left), int(right)))
    return links


def check_links(links: Sequence[Link], source_words: int, target_words: int, file: str, number: int) -> None:
    """Raises InputError for a link to a word that a sentence of so many words does not have."""
    for source, target in links:
        for side, position, words in (("source", source, source_words), ("target", target, target_words)):
            if position >= words:
                what = f"the link {source}-{target} (source-target) names {side} word {position}, and the line has {words} words"
                remedy = "links count the words between blanks from 0; if the file says target-source, give --links-reversed"
                raise InputError(what, file=file, line=number, remedy=remedy)


def word_ranges(given: Sequence[str], words: Sequence[str]) -> list[Range] | None:
    """Which of the tokeniser's words each given word became: the words that share a character with it. None if that cannot be said.

    A tokeniser moves blanks and leaves the other characters alone, so that both sequences spell the same without blanks, and a
    character's place in that spelling ties them together. Usually a given word is cut; words that it merges share their links.
    """
    if list(given) == list(words):
        return [(number, number + 1) for number in range(len(words))]
    if "".join(given) != "".join(words):
        return None
    ranges, word, place = [], 0, 0  # place: where words[word] begins
    begin = 0
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


def project(links: Sequence[Link], source: Sequence[Range], target: Sequence[Range]) -> list[Link]:
    """A link between two given words becomes links between all the words they became; sorted, each once."""
    return sorted({(i, j) for left, right in links for i in range(*source[left]) for j in range(*target[right])})


def _is_position(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LARGEST


def _shown(item: str) -> str:
    return repr(item if len(item) <= 30 else item[:29] + "…")
