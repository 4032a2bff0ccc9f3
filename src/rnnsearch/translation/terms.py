"""Writes the terms of a glossary into a translation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rnnsearch.text.codec import EncodedSentence
from rnnsearch.translation.case import begun
from rnnsearch.translation.target_words import Word, copy, has_text, reword

LONGEST_ARTICLE = 3
"""Longest word in front of a term's translation that stays, because it may be an article or a
preposition."""


def with_terms(sentence: EncodedSentence, kept: Sequence[Word], made: list[Word]) -> list[Word]:
    """Replaces the run of words that attends to a term by the term's translation. Short words in
    front of it stay; so does the run if the beginning attends more to the term."""
    for term in sentence.terms:
        before, attended = (
            [float(word.row[term.first : term.end].sum()) for word in words]
            for words in (kept, made)
        )
        gains = [2 * own - float(word.row.sum()) for own, word in zip(attended, made, strict=True)]
        if (found := best_run(gains)) is None or sum(before) > sum(attended):
            continue
        first, end = _own_run(made, *found, sentence.words[term.first : term.end], term.translation)
        run = made[first:end]
        copied = [copy(text, run, term.first) for text in term.translation]
        if [word.text.lower() for word in run] == [text.lower() for text in term.translation]:
            copied = [replace(word, copied=term.first) for word in run]
        elif first == 0 and run[0].text[:1].isupper() and copied[0].text.islower():
            reword(copied, 0, begun(copied[0].text))
        made[first:end] = copied
    return made


def _own_run(
    made: Sequence[Word], first: int, end: int, term: Sequence[str], translation: Sequence[str]
) -> tuple[int, int]:
    """Returns the run of words without the punctuation around it that is not the term's, and
    without articles in front of it, which read the same word as the next one."""

    def is_foreign(word: Word) -> bool:
        return word.text not in term and not has_text(word.text)

    def is_article(word: Word, following: Word) -> bool:
        short = len(word.text) <= LONGEST_ARTICLE < len(translation[0])
        letters = word.text not in term and word.text.strip("'").isalpha()
        return short and letters and word.read == following.read

    while end - first > 1 and is_foreign(made[end - 1]):
        end -= 1
    while end - first > 1 and (is_foreign(made[first]) or is_article(made[first], made[first + 1])):
        first += 1
    return first, end


def best_run(gains: Iterable[float]) -> tuple[int, int] | None:
    """Returns the run [first, end) with the largest sum; None if no gain is above 0."""
    found, best, begin, total = None, 0.0, 0, 0.0
    for place, gain in enumerate(gains):
        if total <= 0:
            begin, total = place, 0.0
        total += gain
        if total > best:
            found, best = (begin, place + 1), total
    return found
