"""Unknown words: how many of the source's words each run does not know, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rnnsearch.drawing.document import Column, Section, Table, Value
from rnnsearch.records import Translation
from rnnsearch.report.differences import UNKNOWN
from rnnsearch.report.measures import Output, RunOutput
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import UNK

SHOWN = 12
"""Unknown words listed of each run."""


@dataclass
class Outcomes:
    """What became of a run's unknown source words: counts, and by word what was written for it."""

    unknown: int = 0
    as_unknown: int = 0
    as_words: int = 0
    left_out: int = 0
    written: int = 0
    of_word: dict[str, Counter[str]] = field(default_factory=dict)


def outcomes(output: RunOutput) -> Outcomes:
    """Follows every unknown source word to the target words that attend to it more than to any other."""
    total = Outcomes()
    for translation in output.translations:
        total.written += translation.tokens.count(UNKNOWN)
        positions = unknown_positions(output.loaded.run.source, translation.source_tokens[:-1])
        for position in positions:
            _follow(total, translation, position, output.loaded.attends)
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
    """Of the words outside the shortlist; with subwords, of those that need a subword which the vocabulary lacks."""
    encoded = codec.encode_words(words)
    return sorted({word for number, word in zip(encoded.ids, encoded.word_of, strict=True) if number == UNK})


def unknown_section(outputs: list[Output], prefix: str) -> Section | None:
    """None where no run met or wrote an unknown word."""
    found = [(output, outcomes(output)) for output in outputs if isinstance(output, RunOutput)]
    found = [(output, outcome) for output, outcome in found if outcome.unknown or outcome.written]
    if not found:
        return None
    rows = [_row(output, outcome) for output, outcome in found]
    counts = Table(
        f"{prefix}unknown",
        "Unknown source words in translation",
        (
            Column("System"),
            Column("Unknown in the source"),
            Column("Became UNK"),
            Column("Became other words"),
            Column("Left out"),
            Column("UNK written in total"),
        ),
        rows,
        notes=[
            "An unknown source word became the target words that attend to it more than to any other source word. Without such a word "
            "it is left out."
        ],
    )
    words: list[list[Value]] = [
        [output.name, word, sum(counter.values()), _shown(counter)]
        for output, outcome in found
        if output.loaded.attends
        for word, counter in sorted(outcome.of_word.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:SHOWN]
    ]
    columns = Column("System"), Column("Source word"), Column("Times"), Column("Became")
    note = f"{UNKNOWN} stands for every word outside a run's shortlist. Dots separate what the word became at its different occurrences."
    listed = Table(f"{prefix}unknown-words", "The most frequent unknown source words", columns, words, notes=[note])
    return Section(f"{prefix}unknown-section", "Unknown words", [counts, listed] if words else [counts])


def _row(output: RunOutput, outcome: Outcomes) -> list[str | int | None]:
    became = [outcome.as_unknown, outcome.as_words, outcome.left_out] if output.loaded.attends else [None, None, None]
    return [output.name, outcome.unknown, *became, outcome.written]


def _shown(counter: Counter[str]) -> str:
    common = sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:4]
    return " · ".join(f"{text or '(left out)'}{f' ×{count}' if count > 1 else ''}" for text, count in common)
