"""Texts in words, each marked if the reference has it not at this place."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import SequenceMatcher

from rnnsearch.drawing.document import Word
from rnnsearch.text.vocabulary import SPECIALS, UNK

UNKNOWN = SPECIALS[UNK]

_WORD = re.compile(rf"{re.escape(UNKNOWN)}|\w+(?:-\w+)*['’]?|[^\w\s]")


def words(text: str) -> list[Word]:
    """Words, punctuation marks and UNKs of a line, and whether a space follows each."""
    found = list(_WORD.finditer(text))
    follows = [*(match.start() for match in found), len(text)][1:]
    return [
        Word(match[0], "unknown" if match[0] == UNKNOWN else "", space=match.end() < start)
        for match, start in zip(found, follows, strict=True)
    ]


def marked(text: str, reference: str) -> list[Word]:
    """The words of a translation; those that are in no common run with the reference differ. Case counts."""
    ours, theirs = words(text), words(reference)
    same = SequenceMatcher(None, [word.text for word in ours], [word.text for word in theirs], autojunk=False).get_matching_blocks()
    kept = {block.a + offset for block in same for offset in range(block.size)}
    return [word if place in kept or word.kind else replace(word, kind="differs") for place, word in enumerate(ours)]
