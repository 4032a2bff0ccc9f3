"""Word links between words of the given text or of the tokeniser: which of the two a file counts, and how one becomes the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.text.formats.entities import resolve_entities
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.word_links import Link

Range = tuple[int, int]
"""(first, one after the last)"""

LinkWords = Literal["given", "tokenised"]
"""What the positions in a link file refer to: words as given, between spaces, as most aligners have it, or the tokeniser's words."""

_PLAIN = Tokeniser("space", "")


class PairWordCounts(NamedTuple):
    """The links of one pair, and how many words it has on either side, counted in both ways."""

    links: Sequence[Link]
    given: tuple[int, int]
    tokenised: tuple[int, int]


def recognise(pairs: Iterable[PairWordCounts]) -> LinkWords:
    """What these links count: the tokeniser's words only if they fit those of every pair, and the given words not of every one.

    A few pairs of ordinary text decide it: the full stop at the end, a word only to the tokeniser, is nearly always linked.
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
    """What stands between spaces, as aligners see it. A no-break space or a soft hyphen is a letter to them."""
    return [token for token in line.split(" ") if token]


def tokeniser_ranges(given: Sequence[str], words: Sequence[str], resolves: bool) -> list[Range] | None:
    """As `word_ranges`, for given words as they stand in a file: of the letters that the tokeniser does not see there is nothing left.

    resolves: HTML entities were resolved before the line was tokenised.
    """
    return word_ranges([_spelling(token, resolves) for token in given], words)


def _spelling(token: str, resolves: bool) -> str:
    """The letters of a token that the tokeniser sees: none of a soft hyphen, and of `&amp;` what it stands for, if that is wanted."""
    if resolves:
        token = resolve_entities(token)
    return token if token.isprintable() and " " not in token else "".join(_PLAIN.words(token))


def check_links(links: Sequence[Link], source_words: int, target_words: int, file: str, number: int, count: LinkWords = "given") -> None:
    """Raises InputError for a link to a word that a sentence of so many words does not have."""
    for source, target in links:
        for side, position, words in (("source", source, source_words), ("target", target, target_words)):
            if position >= words:
                what = f"the link {source}-{target} (source-target) refers to {side} word {position}, but the line has {words} words"
                counted = "words between spaces" if count == "given" else "tokeniser's words"
                remedy = f"links count the {counted} from 0; if the file lists target-source, add --links-reversed"
                raise InputError(what, file=file, line=number, remedy=remedy)


def word_ranges(given: Sequence[str], words: Sequence[str]) -> list[Range] | None:
    """Which of the tokeniser's words each given word became: the words that share a character with it. None if that cannot be said.

    A tokeniser moves spaces and leaves the other characters alone, but for their case, so that both sequences spell the same without
    spaces, and a character's place in that spelling ties them together. Usually a given word is cut; those that it merges share links.
    """
    if list(given) == list(words):
        return [(number, number + 1) for number in range(len(words))]
    given, words = [token.casefold() for token in given], [word.casefold() for word in words]  # lower() spells Σ by its neighbours
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


def project_back(links: Sequence[Link], source: Sequence[Range], target: Sequence[Range]) -> list[Link]:
    """The other way: links between the tokeniser's words become links between all the given words that share a letter with them."""
    sources, targets = _owners(source), _owners(target)
    return sorted({(i, j) for left, right in links for i in sources.get(left, ()) for j in targets.get(right, ())})


def _owners(ranges: Sequence[Range]) -> dict[int, list[int]]:
    """Word of the tokeniser → the given words that it has letters of."""
    owners: dict[int, list[int]] = {}
    for given, (first, end) in enumerate(ranges):
        for word in range(first, end):
            owners.setdefault(word, []).append(given)
    return owners
