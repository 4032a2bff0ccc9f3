"""Sentences of a test set: Figure 3 (soft alignments), Table 3 (every system's translation side by side),
words left out or repeated by the attention, and the translations of unknown words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from rnnsearch.drawing.alignments import alignment_figure
from rnnsearch.drawing.page import (
    Block,
    Paragraph,
    Pictures,
    Section,
    Sentence,
    Sentences,
    SentenceText,
    Word,
)
from rnnsearch.drawing.tables import Column, Table, Value
from rnnsearch.evaluation.alignment_error import LEFT_OUT, TOO_OFTEN, left_out, too_often
from rnnsearch.evaluation.measures import CHRF
from rnnsearch.evaluation.test_set import RunAnswers
from rnnsearch.records import Translation
from rnnsearch.report.scores import TestSetReport, links_table
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import SPECIALS, UNK

UNKNOWN = SPECIALS[UNK]
LISTED = 12
"""Unknown words listed for each run."""
MET, AS_UNK, AS_WORDS, OMITTED, WRITTEN = COUNTS = (
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
    missed = [place for place in left_out(weights[:, :-1]) if _is_word(source[place])]
    return Faults(missed, too_often(weights[:, :-1]), again, unknown)


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
            counts[OMITTED if not became else AS_UNK if UNKNOWN in became else AS_WORDS] += 1
            of_word.setdefault(translation.source_tokens[position], Counter())[" ".join(became)] += 1
    return counts, of_word


def unknown_positions(codec: Codec, words: Sequence[str]) -> list[int]:
    """Returns the positions of the words outside the shortlist; with subwords, of words with a subword
    outside the vocabulary."""
    encoded = codec.encode_words(words)
    return sorted({word for number, word in zip(encoded.ids, encoded.word_of, strict=True) if number == UNK})


def unknown_section(part: TestSetReport) -> Section | None:
    """Returns the tables of unknown words; None if no run met or wrote one."""
    rows: list[list[Value]] = []
    words: list[list[Value]] = []
    for name, run in part.runs:
        counts, of_word = outcomes(run)
        if counts[MET] or counts[WRITTEN]:
            said = COUNTS if run.attends else (MET, WRITTEN)
            rows.append([name, *(counts[count] if count in said else None for count in COUNTS)])
        frequent = sorted(of_word.items(), key=lambda item: (-item[1].total(), item[0]))[:LISTED]
        words += [
            [name, word, each.total(), _top_translations(each)] for word, each in frequent if run.attends
        ]
    if not rows:
        return None
    note = (
        "An unknown source word became the target words that attend to it more than to any other source "
        "word. Without such a word it is left out."
    )
    tables = [
        part.table("unknown", "Unknown source words in translation", ["System", *COUNTS], rows, notes=[note])
    ]
    if words:
        note = (
            f"{UNKNOWN} stands for every word outside a run's shortlist. Dots separate what the word "
            "became at its different occurrences."
        )
        columns = ["System", "Source word", "Times", "Became"]
        caption = "The most frequent unknown source words"
        tables.append(part.table("unknown-words", caption, columns, words, notes=[note]))
    return part.section("unknown-section", "Unknown words", tables)


def _top_translations(counter: Counter[str]) -> str:
    common = sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:4]
    return " · ".join(f"{text or '(left out)'}{f' ×{count}' if count > 1 else ''}" for text, count in common)


def alignments(part: TestSetReport) -> Section | None:
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


def _gold_scores(part: TestSetReport) -> Table:
    measures = part.measures
    note = (
        "Forced decoding of the references: each target word is linked to the source word with the largest "
        "weight, unless that is the end of the sentence. "
    )
    found = {name: measures.statistics[name] for name, _ in part.attending}
    return links_table(f"{part.prefix}alignment-error", found, measures.test.gold or (), note)


def _choose_sentences(part: TestSetReport) -> list[int]:
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


SHOWN = 3
"""Sentences shown of each kind."""
SHORTEST = 10
"""Fewest source words of a best or worst sentence: many shorter sentences score very high or very low, which
says little."""
ATTENDED: tuple[tuple[str, str, Callable[[Faults], int]], ...] = (
    ("left-out", "phrases left out", lambda each: longest_gap(each.left_out)),
    ("repeated", "repeated words", lambda each: len(each.again)),
)
"""Faults that the attention shows, as (stem of the block's name, title, severity in a sentence)."""

LEGEND = (
    "Marked words of a translation are not in the reference, or not at this place. Framed words are UNKs "
    "that a run wrote. "
    f"Best and worst are by chrF2, among sentences of at least {SHORTEST} words."
)
LEGEND_OF_ATTENTION = (
    " Remarks on source words come from the attention. Among phrases left out, the "
    "source words left out are struck through."
)

_WORD = re.compile(rf"{re.escape(UNKNOWN)}|\w+(?:-\w+)*['’]?|[^\w\s]")


def words(text: str) -> list[Word]:
    """Splits a line into words, punctuation marks and UNKs, and notes whether a space follows each."""
    found = list(_WORD.finditer(text))
    follows = [*(match.start() for match in found), len(text)][1:]
    return [
        Word(match[0], "unknown" if match[0] == UNKNOWN else "", space=match.end() < start)
        for match, start in zip(found, follows, strict=True)
    ]


def marked(text: str, reference: str) -> list[Word]:
    """Splits a translation into words, and marks those outside the blocks that match the reference. Case
    counts."""
    ours, theirs = words(text), words(reference)
    matcher = SequenceMatcher(
        None, [word.text for word in ours], [word.text for word in theirs], autojunk=False
    )
    kept = {block.a + offset for block in matcher.get_matching_blocks() for offset in range(block.size)}
    return [
        word if place in kept or word.kind else replace(word, kind="differs")
        for place, word in enumerate(ours)
    ]


class Compared:
    """The sentences of a test set with every system's translation, its faults and its chrF2."""

    def __init__(self, part: TestSetReport) -> None:
        self.part = part
        self.faults = {name: [faults(each) for each in run.translations] for name, run in part.attending}
        self.chrf = {name: found[CHRF].by_sentence() for name, found in part.measures.statistics.items()}
        """chrF2, because BLEU and TER are noisy on single sentences."""

    def block(
        self, name: str, caption: str, numbers: Sequence[int], source_of: str = "", *, open: bool = False
    ) -> Sentences:
        """Returns these sentences with the texts of all systems. source_of: the run whose left-out source
        words are struck through."""
        found = [self._sentence(number, source_of) for number in numbers]
        return Sentences(f"{self.part.prefix}{name}", caption, found, open=open)

    def _sentence(self, number: int, source_of: str) -> Sentence:
        measures = self.part.measures
        source, reference = words(measures.test.source[number]), measures.test.reference[number]
        lines = []
        for system in measures.systems:
            shown = marked(system.texts[number], reference) or [Word("(nothing)")]
            remarks: list[str] = []
            if system.run is not None:
                translation = system.run.translations[number]
                found = self.faults[system.name][number] if system.run.attends else None
                remarks = list(_remarks(translation, found))
                notes = iter(found.unknown if found else ())
                if found:
                    shown = [
                        replace(word, note=f"for {next(notes, '?')}") if word.text == UNKNOWN else word
                        for word in shown
                    ]
                if found and system.name == source_of:
                    source = [
                        Word(word, "left-out", "little attention") if place in found.left_out else Word(word)
                        for place, word in enumerate(translation.source_tokens[:-1])
                    ]
            score = f"chrF2 {self.chrf[system.name][number]:.1f}"
            lines.append(SentenceText(system.name, shown, score, remarks))
        lines = [
            SentenceText("Source", source, role="source"),
            SentenceText("Reference", words(reference), role="reference"),
            *lines,
        ]
        return Sentence(f"Line {number + 1}", f"{measures.lengths[number]} words", lines)


def browsing(part: TestSetReport) -> tuple[Section, Table]:
    """Returns a section of sentences to look at, and a table of all sentences. The section has the longest
    sentences, the best and the worst of each system, and those in which a run left words out or wrote them
    twice."""
    compared, lengths = Compared(part), part.measures.lengths
    numbers = range(len(lengths))
    longest = sorted(numbers, key=lambda n: (-lengths[n], n))[:SHOWN]
    blocks: list[Block] = [
        Paragraph(LEGEND + (LEGEND_OF_ATTENTION if part.attending else "")),
        compared.block("longest", "The longest sentences", longest, open=True),
    ]
    enough = [n for n in numbers if lengths[n] >= SHORTEST] or list(numbers)
    for name, values in compared.chrf.items():
        ranked = sorted(enough, key=lambda n: (values[n], n))
        for kind, chosen in (("worst", ranked[:SHOWN]), ("best", ranked[::-1][:SHOWN])):
            caption = f"{name}: the {kind} sentences"
            blocks.append(compared.block(f"{kind}-{part.places[name]}", caption, chosen))
    for name, each in compared.faults.items():
        for kind, title, severity in ATTENDED:
            found = [severity(one) for one in each]
            worst = sorted((n for n in numbers if found[n] > 1), key=lambda n: (-found[n], n))[:SHOWN]
            if worst:
                caption = f"{name}: {title}"
                blocks.append(compared.block(f"{kind}-{part.places[name]}", caption, worst, name))
    if part.attending:
        blocks.append(_coverage(compared))
    section = part.section("table-3", "Table 3. Translations side by side", blocks)
    return section, _every_sentence(compared)


def _remarks(translation: Translation, found: Faults | None) -> Iterator[str]:
    if not translation.finished:
        yield "Ended by the length limit."
    if found is None:
        return
    source, target = translation.source_tokens, translation.tokens
    said = {
        "Left out (little attention)": [source[place] for place in found.left_out],
        "Attended to too often": [source[place] for place in found.too_often],
        "Repeated from the same source word": [target[place] for place in found.again],
        "UNK stands for": found.unknown,
    }
    yield from (f"{what}: {', '.join(which)}" for what, which in said.items() if which)


def _coverage(compared: Compared) -> Table:
    """Returns a table of the words that each run left out or wrote twice."""
    part = compared.part
    rows: list[list[Value]] = []
    for name, run in part.attending:
        found = compared.faults[name]
        source_words = max(1, sum(len(translation.source_tokens) - 1 for translation in run.translations))
        target_words = max(1, sum(len(translation.tokens) for translation in run.translations))
        rows.append(
            [
                name,
                100 * sum(len(each.left_out) for each in found) / source_words,
                sum(longest_gap(each.left_out) > 2 for each in found),
                100 * sum(len(each.too_often) for each in found) / source_words,
                100 * sum(len(each.again) for each in found) / target_words,
                sum(not translation.finished for translation in run.translations),
            ]
        )
    columns: list[Column | str] = [
        "System",
        Column("Source words left out, %", ".2f", best="lowest"),
        "Sentences with three or more in a row",
        Column("Source words attended to too often, %", ".2f", best="lowest"),
        Column("Target words repeated, %", ".2f", best="lowest"),
        "Ended by the length limit",
    ]
    note = (
        f"Coverage of a source word is Σ_i α_ij over the translation: left out below {LEFT_OUT} "
        f"(punctuation excepted), too often above {TOO_OFTEN}, as in the measures of `rnnsearch align`. "
        "Function words that the target language does not need count as left out, too. Repeated: the "
        "same word was written before in the sentence, with most attention on the same source word."
    )
    caption = "Words left out and words repeated, by the attention"
    return part.table("coverage", caption, columns, rows, notes=[note])


def _every_sentence(compared: Compared) -> Table:
    part = compared.part
    test, lengths = part.measures.test, part.measures.lengths
    columns: dict[str, Sequence[Value]] = {
        "line": range(1, len(lengths) + 1),
        "words": lengths,
        "source": test.source,
        "reference": test.reference,
    }
    for system in part.measures.systems:
        columns |= {system.name: system.texts, f"{system.name}, chrF2": compared.chrf[system.name]}
        if system.run is not None and system.run.attends:
            columns[f"{system.name}, source words left out"] = [
                " ".join(one.source_tokens[place] for place in found.left_out)
                for one, found in zip(system.run.translations, compared.faults[system.name], strict=True)
            ]
    rows = list(zip(*columns.values(), strict=True))
    return part.table("sentences", "Every sentence with every translation", list(columns), rows)
