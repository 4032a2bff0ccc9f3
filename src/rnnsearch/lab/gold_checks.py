"""Checks of gold links against the links and the words that are compared with them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from rnnsearch.errors import InputError, InputWarning
from rnnsearch.evaluation.alignment_error import alignment_error, from_one
from rnnsearch.text.links import FROM_ZERO
from rnnsearch.word_links import GoldLinks, Link

EXCHANGE = r"perl -pe 's/(\d+)([-?p])(\d+)/$3$2$1/g' FILE"
"""A command that exchanges source and target in Pharaoh links."""

FEWEST = 10
"""Fewest sentences from which `warn_if_beyond` concludes anything."""
EXCHANGED = "source and target exchanged"
SHIFTS = {
    "all positions one higher": (1, 1),
    "all positions one lower": (-1, -1),
    "source positions one higher": (1, 0),
    "source positions one lower": (-1, 0),
    "target positions one higher": (0, 1),
    "target positions one lower": (0, -1),
}
"""What links may mean instead → what is added to the positions of each link. Or they may be
EXCHANGED."""


def warn_if_misread(
    links: Sequence[Collection[Link]], gold: Sequence[GoldLinks], file: str | Path, option: str = ""
) -> None:
    """Issues an InputWarning if another reading of the links (SHIFTS, EXCHANGED) halves their
    error, and lowers it by ten points at least. file: the one that may list target-source; option:
    the one that reads it so."""
    given = alignment_error(links, gold).aer
    readings = {EXCHANGED: [{link[::-1] for link in each} for each in links]}
    for reading, (left, right) in SHIFTS.items():
        moved = ({(j + left, i + right) for j, i in each} for each in links)
        readings[reading] = [{link for link in each if min(link) >= 0} for each in moved]
    errors = {name: alignment_error(read, gold).aer for name, read in readings.items()}
    best = min(errors, key=errors.__getitem__)
    if errors[best] < min(given / 2, given - 0.1):
        rates = f"AER is {100 * errors[best]:.2f} with {best}, {100 * given:.2f} without"
        why = "Pharaoh links count both sides from 0, NAACL links both from 1"
        if best == EXCHANGED:
            remedy = f"{option}{' or: ' if option else ''}{EXCHANGE}"
            why = f"If the file lists target-source: {remedy}"
        warnings.warn(f"{file}: {rates}. {why}", InputWarning, stacklevel=2)


def warn_if_beyond(
    links: Sequence[Collection[Link]], gold: Sequence[GoldLinks], file: str | Path
) -> None:
    """Issues an InputWarning if in a fifth of the sentences a link is two words or more behind the
    last gold link of its side: links of the same words hardly are. file: of the links."""
    both = [(one, each.possible) for one, each in zip(links, gold, strict=True)]
    both = [(one, true) for one, true in both if one and true]
    sides = (0, 1)
    beyond = sum(any(_last(one, k) > _last(true, k) + 1 for k in sides) for one, true in both)
    if 5 * beyond >= len(both) >= FEWEST:
        what = f"in {beyond} of {len(both)} sentences, links are far behind the last gold link"
        remedy = "do both count the same words? align them with --words given"
        warnings.warn(f"{file}: {what} ({remedy})", InputWarning, stacklevel=2)


def _last(links: Collection[Link], side: int) -> int:
    return max(link[side] for link in links)


def require_same_start(
    gold: Sequence[GoldLinks], path: str | Path, links: Sequence[set[Link]], file: str | Path
) -> None:
    """Raises InputError if links have position 0 and the gold links have not, so that they seem to
    count from 1, or the other way round. path: of the gold links; file: of the links."""
    ours = {position for sentence in links for link in sentence for position in link}
    theirs = {position for sentence in gold for link in sentence.possible for position in link}
    if ours and theirs and (0 in ours) != (0 in theirs):
        if 0 in ours:
            raise from_one(path)
        remedy = f"count from 0: {FROM_ZERO}; add --gold-from 0 if they do"
        what = "the links seem to count words from 1: none has position 0"
        raise InputError(what, remedy, file=file)


def require_words(
    gold: Sequence[GoldLinks], words: Iterable[Sequence[Sequence[str]]], file: str | Path
) -> None:
    """Raises InputError for a gold link to a word that its sentence does not have. words: those of
    both sides of each sentence, which are in a line of `file`; nothing is said of a sentence
    without any."""
    for number, (sentence, sides) in enumerate(zip(gold, words, strict=False), 1):
        for link in sorted(sentence.possible):
            for side, position, have in zip(("source", "target"), link, sides, strict=False):
                if position >= len(have):
                    what = (
                        f"the gold link {link[0]}-{link[1]} (counted from 0) needs {position + 1}"
                        f" {side}"
                    )
                    what += f" words, but the sentence has {len(have)} here"
                    remedy = (
                        "align the words that the gold links count: --align.words given or"
                        " tokenised"
                    )
                    raise InputError(what, remedy, file=file, line=number)
