"""Evidence from the attention: Figure 3 (soft alignments), alignment error, source words left out, target
words written twice, and the translations of unknown words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rnnsearch.drawing.alignment_figure import alignment_figure
from rnnsearch.drawing.page import Block, Column, Paragraph, Pictures, Section, Table, Value
from rnnsearch.evaluation import alignment_error as behaviour
from rnnsearch.evaluation.measures import AER
from rnnsearch.evaluation.test_set import RunAnswers
from rnnsearch.records import Translation
from rnnsearch.report.part import Part
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import SPECIALS, UNK

UNKNOWN = SPECIALS[UNK]
SHOWN = 12
"""Unknown words listed for each run."""
MET, AS_UNK, AS_WORDS, LEFT_OUT, WRITTEN = COUNTS = (
    *("Unknown in the source", "Became UNK", "Became other words", "Left out"),
    "UNK written in total",
)
LENGTHS = (10, 20, 30, 45)
"""Lengths in source words: one sentence of about each is drawn."""


class Faults(NamedTuple):
    """Findings of the attention in one translation.

    left_out, too_often: positions of source words (`evaluation/alignment_error.py`); left_out excludes
    punctuation. again: positions of target words, without punctuation, that were written before with most
    attention on the same source word. unknown: for every UNK, the source word with the largest weight, the
    end of sentence excluded.
    """

    left_out: list[int]
    too_often: list[int]
    again: list[int]
    unknown: list[str]


def faults(translation: Translation) -> Faults:
    """Returns the faults of a translation whose run has an attention."""
    source, weights = translation.source_tokens, translation.alignment
    seen: set[tuple[str, int]] = set()
    again, unknown = [], []
    for place, (word, row) in enumerate(zip(translation.tokens, weights, strict=True)):
        if word == UNKNOWN:
            unknown.append(source[int(np.argmax(row[:-1]))] if row[:-1].any() else "?")
        pair = word.lower(), int(np.argmax(row))
        if not row.any():  # it read no context
            continue
        if pair in seen and _is_word(word):
            again.append(place)
        seen.add(pair)
    missed = [place for place in behaviour.left_out(weights[:, :-1]) if _is_word(source[place])]
    return Faults(missed, behaviour.too_often(weights[:, :-1]), again, unknown)


def _is_word(token: str) -> bool:
    return any(letter.isalnum() for letter in token)


def longest_gap(positions: list[int]) -> int:
    """Returns the length of the longest run of consecutive positions, such as those of a phrase left out."""
    runs = Counter(position - place for place, position in enumerate(positions))
    return max(runs.values(), default=0)


def outcomes(run: RunAnswers) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """Counts the translations of unknown source words. A word's translation is the target words that attend
    to it more than to any other word.

    Returns (COUNTS → number, source word → counts of its translations).
    """
    counts: Counter[str] = Counter()
    of_word: dict[str, Counter[str]] = {}
    for translation in run.translations:
        counts[WRITTEN] += translation.tokens.count(UNKNOWN)
        rows = list(zip(translation.tokens, translation.alignment, strict=True)) if run.attends else []
        for position in unknown_positions(run.source, translation.source_tokens[:-1]):
            became = [word for word, row in rows if int(np.argmax(row)) == position and row[position] > 0]
            counts[MET] += 1
            counts[LEFT_OUT if not became else AS_UNK if UNKNOWN in became else AS_WORDS] += 1
            of_word.setdefault(translation.source_tokens[position], Counter())[" ".join(became)] += 1
    return counts, of_word


def unknown_positions(codec: Codec, words: Sequence[str]) -> list[int]:
    """Returns the positions of the words outside the shortlist; with subwords, of words with a subword
    outside the vocabulary."""
    encoded = codec.encode_words(words)
    return sorted({word for number, word in zip(encoded.ids, encoded.word_of, strict=True) if number == UNK})


def unknown_section(part: Part) -> Section | None:
    """Returns the tables of unknown words; None if no run met or wrote one."""
    rows: list[list[Value]] = []
    words: list[list[Value]] = []
    for name, run in part.runs:
        counts, of_word = outcomes(run)
        if counts[MET] or counts[WRITTEN]:
            said = COUNTS if run.attends else (MET, WRITTEN)
            rows.append([name, *(counts[count] if count in said else None for count in COUNTS)])
        frequent = sorted(of_word.items(), key=lambda item: (-item[1].total(), item[0]))[:SHOWN]
        words += [
            [name, word, each.total(), _top_translations(each)] for word, each in frequent if run.attends
        ]
    if not rows:
        return None
    note = (
        "An unknown source word became the target words that attend to it more than to any other source "
        "word. Without such a word it is left out."
    )
    tables = [part.table("unknown", "Unknown source words in translation", ["System", *COUNTS], rows, [note])]
    if words:
        note = (
            f"{UNKNOWN} stands for every word outside a run's shortlist. Dots separate what the word "
            "became at its different occurrences."
        )
        columns = ["System", "Source word", "Times", "Became"]
        caption = "The most frequent unknown source words"
        tables.append(part.table("unknown-words", caption, columns, words, [note]))
    return part.section("unknown-section", "Unknown words", tables)


def _top_translations(counter: Counter[str]) -> str:
    common = sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:4]
    return " · ".join(f"{text or '(left out)'}{f' ×{count}' if count > 1 else ''}" for text, count in common)


def alignments(part: Part) -> Section | None:
    """Returns the pictures of Figure 3, runs side by side, and the alignment error if there are gold links;
    None if no run has an attention."""
    if not part.attending:
        return None
    test, lengths = part.measures.test, part.measures.lengths
    blocks: list[Block] = [
        Paragraph(
            "Rows are the words of the translation, columns the words of the source. The brighter a cell, "
            "the larger its weight α."
        )
    ]
    for place, number in enumerate(_choose_sentences(part), 1):
        pictures = []
        for name, run in part.attending:
            found = run.translations[number]
            figure = alignment_figure(found.source_tokens, found.tokens, found.alignment)
            alt = f"Alignment matrix. Source: {test.source[number]} Translation: {found.text}"
            file = f"alignment-{number + 1}-{part.places[name]}"
            pictures.append(part.picture(figure, file, name, alt))
        caption = f"Figure 3{'abcd'[place - 1]}. Line {number + 1}, {lengths[number]} words"
        blocks.append(Pictures(f"{part.prefix}figure-3-{place}", caption, pictures, wide=True))
    if test.gold is not None:
        blocks.append(_gold_scores(part))
    return part.section("figure-3", "Alignments", blocks)


def _gold_scores(part: Part) -> Table:
    gold = part.measures.test.gold or ()
    rows: list[list[Value]] = []
    for name, _ in part.attending:
        found = part.measures.statistics[name]
        rates = [100 * found[metric].score().value for metric in (AER, "precision", "recall")]
        rows.append([name, *rates, int(found["precision"].values[:, 1].sum())])
    note = (
        "Forced decoding of the references: each target word is linked to the source word with the largest "
        "weight, unless that is the end of the sentence. "
        f"Gold links: {sum(len(each.sure) for each in gold):,} sure, "
        f"{sum(len(each.possible) for each in gold):,} possible with the sure ones; AER as Och and Ney "
        "(2003) define it."
    )
    columns: list[Column | str] = [
        "System",
        Column("AER, %", ".2f", best="lowest"),
        *(Column(f"{rate}, %", ".2f", "highest") for rate in ("Precision", "Recall")),
        "Links",
    ]
    return part.table("alignment-error", "Alignment error rate on the references", columns, rows, [note])


def _choose_sentences(part: Part) -> list[int]:
    """Returns the number of one sentence for each of LENGTHS: the first one of the nearest length to which
    every run gave a translation. Lengths without a sentence near them are skipped."""
    lengths = part.measures.lengths
    usable = [n for n in range(len(lengths)) if all(run.translations[n].tokens for _, run in part.attending)]
    found: list[int] = []
    for length in LENGTHS:
        near = sorted((n for n in usable if n not in found), key=lambda n: (abs(lengths[n] - length), n))
        if near and abs(lengths[near[0]] - length) <= max(2, length // 5):
            found.append(near[0])
    return sorted(found or usable[:1], key=lambda n: lengths[n])
