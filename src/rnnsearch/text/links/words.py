"""Word links between words of the given text or of the tokeniser: which of the two a file counts, and how one
becomes the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.text.formats.repairs import Repair
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.word_links import Link

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
    links: Sequence[Link],
    source_words: int,
    target_words: int,
    file: str,
    number: int,
    count: LinkWords = "given",
) -> None:
    """Raises InputError for a link to a word that a sentence of so many words does not have."""
    for source, target in links:
        for side, position, words in (("source", source, source_words), ("target", target, target_words)):
            if position >= words:
                what = (
                    f"the link {source}-{target} (source-target) refers to {side} word {position}, but the "
                    f"line has {words} words"
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
    given, words = (
        [token.casefold() for token in given],
        [word.casefold() for word in words],
    )
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


def character_ranges(text: str, words: Sequence[str]) -> list[Range] | None:
    """Returns where each of the tokeniser's or the given words stands in its text, or None if that cannot be
    said."""
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    owners = tokeniser_ranges([text[place] for place in places], ["".join(word.split()) for word in words])
    if owners is None:
        return None
    found = [(len(text), 0) for _ in words]
    for place, word in (
        (place, word) for place, own in zip(places, owners, strict=True) for word in range(*own)
    ):
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
