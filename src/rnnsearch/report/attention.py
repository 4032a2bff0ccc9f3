"""What the attention says of translations: source words left out or attended to too often, words written
twice, the source words that UNK stands for, and what became of unknown words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rnnsearch.drawing.document import Column, Section, Table, Value
from rnnsearch.evaluation import alignment_behaviour as behaviour
from rnnsearch.evaluation.test_set import RunAnswers
from rnnsearch.records import Translation
from rnnsearch.report.part import Part
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import SPECIALS, UNK

UNKNOWN = SPECIALS[UNK]
SHOWN = 12
"""Unknown words listed of each run."""
COUNTS = ("Unknown in the source", "Became UNK", "Became other words", "Left out", "UNK written in total")


def left_out(translation: Translation) -> list[int]:
    """Returns the positions of the source words left out (`evaluation/alignment_behaviour.py`); punctuation
    is not missed."""
    words = translation.source_tokens
    places = behaviour.left_out(translation.alignment[:, :-1])
    return [place for place in places if _is_word(words[place])]


def too_often(translation: Translation) -> list[int]:
    """Returns the positions of the source words attended to too often, by the same definition."""
    return behaviour.too_often(translation.alignment[:, :-1])


def longest_gap(positions: list[int]) -> int:
    """Returns how many positions follow one another without a break, at most: a phrase left out, not an
    article here and there."""
    longest = current = 0
    previous = -2
    for position in positions:
        current = current + 1 if position == previous + 1 else 1
        longest, previous = max(longest, current), position
    return longest


def written_again(translation: Translation) -> list[int]:
    """Returns the positions of target words, punctuation aside, that were written before with the attention
    on the same source word."""
    seen: set[tuple[str, int]] = set()
    again = []
    for place, (word, row) in enumerate(zip(translation.tokens, translation.alignment, strict=True)):
        if not row.any():  # it read no context
            continue
        pair = word.lower(), int(np.argmax(row))
        if pair in seen and _is_word(word):
            again.append(place)
        seen.add(pair)
    return again


def unknown_sources(translation: Translation) -> list[str]:
    """Returns for every UNK that was written the source word with the largest weight, the end of sentence
    left aside."""
    rows = zip(translation.tokens, translation.alignment, strict=True)
    return [
        translation.source_tokens[int(np.argmax(row[:-1]))] if row[:-1].any() else "?"
        for word, row in rows
        if word == UNKNOWN
    ]


def _is_word(token: str) -> bool:
    return any(letter.isalnum() for letter in token)


@dataclass
class Outcomes:
    """Counts of what became of a run's unknown source words, and by word what was written for it."""

    unknown: int = 0
    as_unknown: int = 0
    as_words: int = 0
    left_out: int = 0
    written: int = 0
    of_word: dict[str, Counter[str]] = field(default_factory=dict)


def outcomes(run: RunAnswers) -> Outcomes:
    """Follows every unknown source word to the target words that attend to it more than to any other."""
    total = Outcomes()
    for translation in run.translations:
        total.written += translation.tokens.count(UNKNOWN)
        for position in unknown_positions(run.source, translation.source_tokens[:-1]):
            _follow(total, translation, position, run.attends)
    return total


def _follow(total: Outcomes, translation: Translation, position: int, attends: bool) -> None:
    total.unknown += 1
    counts = total.of_word.setdefault(translation.source_tokens[position], Counter())
    if not attends:
        counts[""] += 1
        return
    rows = zip(translation.tokens, translation.alignment, strict=True)
    aligned = [word for word, row in rows if int(np.argmax(row)) == position and row[position] > 0]
    counts[" ".join(aligned)] += 1
    total.left_out += not aligned
    total.as_unknown += UNKNOWN in aligned
    total.as_words += bool(aligned) and UNKNOWN not in aligned


def unknown_positions(codec: Codec, words: Sequence[str]) -> list[int]:
    """Returns the positions of the words outside the shortlist; with subwords, of those that need a subword
    which the vocabulary lacks."""
    encoded = codec.encode_words(words)
    return sorted({word for number, word in zip(encoded.ids, encoded.word_of, strict=True) if number == UNK})


def unknown_section(part: Part) -> Section | None:
    """Returns the tables; None where no run met or wrote an unknown word."""
    counts: list[list[Value]] = []
    words: list[list[Value]] = []
    for name, run in part.runs:
        found = outcomes(run)
        if found.unknown or found.written:
            became = [found.as_unknown, found.as_words, found.left_out] if run.attends else [None] * 3
            counts.append([name, found.unknown, *became, found.written])
        frequent = sorted(found.of_word.items(), key=lambda item: (-item[1].total(), item[0]))[:SHOWN]
        words += [[name, word, each.total(), _shown(each)] for word, each in frequent if run.attends]
    if not counts:
        return None
    note = (
        "An unknown source word became the target words that attend to it more than to any other source "
        "word. "
        "Without such a word it is left out."
    )
    columns = [Column(name) for name in ("System", *COUNTS)]
    tables = [
        Table(f"{part.prefix}unknown", "Unknown source words in translation", columns, counts, notes=[note])
    ]
    if words:
        note = (
            f"{UNKNOWN} stands for every word outside a run's shortlist. Dots separate what the word "
            "became at its "
            "different occurrences."
        )
        columns = [Column(name) for name in ("System", "Source word", "Times", "Became")]
        caption = "The most frequent unknown source words"
        tables.append(Table(f"{part.prefix}unknown-words", caption, columns, words, notes=[note]))
    return Section(f"{part.prefix}unknown-section", "Unknown words", tables)


def _shown(counter: Counter[str]) -> str:
    common = sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:4]
    return " · ".join(f"{text or '(left out)'}{f' ×{count}' if count > 1 else ''}" for text, count in common)
