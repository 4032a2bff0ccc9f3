"""Table 3 and error browsing: chosen sentences with every system's translation side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rnnsearch.drawing.document import Block, Column, Paragraph, Section, Sentence, Sentences, SentenceText, Table, Value, Word
from rnnsearch.evaluation.alignment_behaviour import LEFT_OUT, TOO_OFTEN
from rnnsearch.records import Translation
from rnnsearch.report.attention import left_out, longest_gap, too_often, written_again
from rnnsearch.report.differences import UNKNOWN, marked, words
from rnnsearch.report.measures import Measures, Output, RunOutput, attending

SHOWN = 3
"""Sentences of each kind."""
SHORTEST = 10
"""Words of a source sentence that may be among the best and the worst: among shorter ones, both are plenty and say little."""

LEGEND = (
    "Marked words of a translation are not in the reference, or not at this place. Framed words are UNKs that a run wrote. "
    f"Best and worst are by chrF2, among sentences of at least {SHORTEST} words."
)
LEGEND_OF_ATTENTION = (
    " Remarks on source words come from the attention. Among phrases left out, the source words left out are struck through."
)


def browsing(measures: Measures, prefix: str) -> Section:
    """Sentences to look at: the longest; the best and the worst of each system; where a run left words out, or wrote them twice."""
    numbers = range(len(measures.lengths))
    longest = sorted(numbers, key=lambda n: (-measures.lengths[n], n))[:SHOWN]
    blocks: list[Block] = [
        Paragraph(LEGEND + (LEGEND_OF_ATTENTION if attending(measures.outputs) else "")),
        _group(measures, f"{prefix}longest", "The longest sentences", longest, shown=True),
    ]
    enough = [n for n in numbers if measures.lengths[n] >= SHORTEST] or list(numbers)
    for output in measures.outputs:
        values = measures.sentence_chrf[output.name]
        ranked = sorted(enough, key=lambda n: (values[n], n))
        blocks.append(_group(measures, f"{prefix}worst-{output.place}", f"{output.name}: the worst sentences", ranked[:SHOWN]))
        blocks.append(_group(measures, f"{prefix}best-{output.place}", f"{output.name}: the best sentences", ranked[::-1][:SHOWN]))
    for run in attending(measures.outputs):
        blocks += _attended(measures, run, prefix)
    if attending(measures.outputs):
        blocks.append(every_word(measures, prefix))
    return Section(f"{prefix}table-3", "Table 3. Translations side by side", blocks)


def _attended(measures: Measures, run: RunOutput, prefix: str) -> list[Block]:
    groups: list[Block] = []
    chosen: tuple[tuple[str, str, Callable[[Translation], int]], ...] = (
        ("left-out", "phrases left out", lambda each: longest_gap(left_out(each))),
        ("repeated", "repeated words", lambda each: len(written_again(each))),
    )
    for kind, title, measure in chosen:
        found = [measure(translation) for translation in run.translations]
        worst = [n for n in sorted(range(len(found)), key=lambda n: (-found[n], n)) if found[n] > 1][:SHOWN]
        if worst:
            groups.append(_group(measures, f"{prefix}{kind}-{run.place}", f"{run.name}: {title}", worst, source_of=run))
    return groups


def _group(
    measures: Measures, name: str, caption: str, numbers: Sequence[int], *, shown: bool = False, source_of: RunOutput | None = None
) -> Sentences:
    return Sentences(name, caption, [_sentence(measures, number, source_of) for number in numbers], open=shown)


def _sentence(measures: Measures, number: int, source_of: RunOutput | None) -> Sentence:
    source, reference = measures.test.source[number], measures.test.reference[number]
    read = words(source) if source_of is None else _with_left_out(source_of.translations[number])
    lines = [SentenceText("Source", read, role="source"), SentenceText("Reference", words(reference), role="reference")]
    for output in measures.outputs:
        score = f"chrF2 {measures.sentence_chrf[output.name][number]:.1f}"
        remarks = _remarks(output, number) if isinstance(output, RunOutput) else []
        lines.append(SentenceText(output.name, _translated(output, number, reference), score, remarks))
    return Sentence(f"Line {number + 1}", f"{measures.lengths[number]} words", lines)


def _with_left_out(translation: Translation) -> list[Word]:
    missing = set(left_out(translation))
    return [
        Word(word, "left-out" if place in missing else "", "little attention" if place in missing else "")
        for place, word in enumerate(translation.source_tokens[:-1])
    ]


def _translated(output: Output, number: int, reference: str) -> list[Word]:
    shown = marked(output.texts[number], reference) or [Word("(nothing)")]
    if not isinstance(output, RunOutput) or not output.loaded.attends:
        return shown
    notes = iter(unknown_sources(output.translations[number]))
    return [replace(word, note=f"for {next(notes, '?')}") if word.text == UNKNOWN else word for word in shown]


def unknown_sources(translation: Translation) -> list[str]:
    """For every UNK that was written: the source word that the attention was on most, the end of sentence left aside."""
    aligned = []
    for word, row in zip(translation.tokens, translation.alignment, strict=True):
        if word == UNKNOWN:
            aligned.append(translation.source_tokens[int(np.argmax(row[:-1]))] if row[:-1].any() else "?")
    return aligned


def _remarks(output: RunOutput, number: int) -> list[str]:
    translation = output.translations[number]
    remarks = [] if translation.finished else ["Ended by the length limit."]
    if not output.loaded.attends:
        return remarks
    source = translation.source_tokens
    said = (
        ("Left out (little attention)", [source[j] for j in left_out(translation)]),
        ("Attended to too often", [source[j] for j in too_often(translation)]),
        ("Repeated from the same source word", [translation.tokens[i] for i in written_again(translation)]),
        ("UNK stands for", unknown_sources(translation)),
    )
    return [*remarks, *(f"{what}: {', '.join(found)}" for what, found in said if found)]


def every_word(measures: Measures, prefix: str) -> Table:
    """How often each run left source words out or wrote words twice."""
    rows: list[list[Value]] = []
    for run in attending(measures.outputs):
        source_words = sum(len(translation.source_tokens) - 1 for translation in run.translations)
        target_words = sum(len(translation.tokens) for translation in run.translations)
        omitted = sum(len(left_out(translation)) for translation in run.translations)
        gaps = sum(longest_gap(left_out(translation)) > 2 for translation in run.translations)
        often = sum(len(too_often(translation)) for translation in run.translations)
        again = sum(len(written_again(translation)) for translation in run.translations)
        cut = sum(not translation.finished for translation in run.translations)
        shares = [100 * part / max(whole, 1) for part, whole in ((omitted, source_words), (often, source_words), (again, target_words))]
        rows.append([run.name, shares[0], gaps, shares[1], shares[2], cut])
    return Table(
        f"{prefix}coverage",
        "Words left out and words repeated, by the attention",
        (
            Column("System"),
            Column("Source words left out, %", ".2f", best="lowest"),
            Column("Sentences with three or more in a row"),
            Column("Source words attended to too often, %", ".2f", best="lowest"),
            Column("Target words repeated, %", ".2f", best="lowest"),
            Column("Ended by the length limit"),
        ),
        rows,
        notes=[
            f"Coverage of a source word is Σ_i α_ij over the translation: left out below {LEFT_OUT} (punctuation excepted), "
            f"too often above {TOO_OFTEN}, as in the measures of `rnnsearch align`. "
            "Function words that the target language does not need count as left out, too. Repeated: the same word was written before in "
            "the sentence, with most attention on the same source word."
        ],
    )


def sentences_file(measures: Measures, prefix: str) -> Table:
    """Every sentence with every translation, for a spreadsheet."""
    columns = [Column(name) for name in ("line", "words", "source", "reference")]
    for output in measures.outputs:
        columns += [Column(output.name), Column(f"{output.name}, chrF2")]
        if isinstance(output, RunOutput) and output.loaded.attends:
            columns.append(Column(f"{output.name}, source words left out"))
    rows = [_file_row(measures, number) for number in range(len(measures.lengths))]
    return Table(f"{prefix}sentences", "Every sentence with every translation", columns, rows)


def _file_row(measures: Measures, number: int) -> list[Value]:
    row: list[Value] = [number + 1, measures.lengths[number], measures.test.source[number], measures.test.reference[number]]
    for output in measures.outputs:
        row += [output.texts[number], measures.sentence_chrf[output.name][number]]
        if isinstance(output, RunOutput) and output.loaded.attends:
            translation = output.translations[number]
            row.append(" ".join(translation.source_tokens[j] for j in left_out(translation)))
    return row
