"""Figure 3: soft alignments of a few sentences, each run beside the others; alignment error."""

from __future__ import annotations

from rnnsearch.drawing.alignment_figure import alignment_figure
from rnnsearch.drawing.document import Block, Column, Paragraph, Pictures, Section, Table, Value
from rnnsearch.evaluation.measures import AER
from rnnsearch.report.part import Part

LENGTHS = (10, 20, 30, 45)
"""Source words: a sentence of about each of these lengths is drawn."""


def alignments(part: Part) -> Section | None:
    """Returns the pictures, and the alignment error where there are gold links; None where no run has an
    attention."""
    if not part.attending:
        return None
    test, prefix = part.measures.test, part.prefix
    blocks: list[Block] = [
        Paragraph(
            "Rows are the words of the translation, columns the words of the source. The brighter a cell, "
            "the larger its weight α."
        )
    ]
    for place, number in enumerate(_chosen(part), 1):
        pictures = []
        for name, run in part.attending:
            found = run.translations[number]
            figure = alignment_figure(found.source_tokens, found.tokens, found.alignment)
            alt = f"Alignment matrix. Source: {test.source[number]} Translation: {found.text}"
            file = f"{prefix}alignment-{number + 1}-{part.places[name]}"
            pictures.append(part.album.add(figure, file, name, alt))
        caption = f"Figure 3{'abcdefgh'[place - 1]}. Line {number + 1}, {part.measures.lengths[number]} words"
        blocks.append(Pictures(f"{prefix}figure-3-{place}", caption, pictures, wide=True))
    if test.gold is not None:
        blocks.append(_gold_scores(part))
    return Section(f"{prefix}figure-3", "Alignments", blocks)


def _gold_scores(part: Part) -> Table:
    gold = part.measures.test.gold or ()
    rows: list[list[Value]] = []
    for name, _ in part.attending:
        found = part.measures.statistics[name]
        rates = [100 * found[metric].score().value for metric in (AER, "precision", "recall")]
        rows.append([name, *rates, int(found["precision"].values[:, 1].sum())])
    note = (
        "Forced decoding of the references: each target word is linked to the source word with the largest "
        "weight, "
        f"unless that is the end of the sentence. Gold links: {sum(len(each.sure) for each in gold):,} sure, "
        f"{sum(len(each.possible) for each in gold):,} possible with the sure ones; AER as Och and Ney "
        "(2003) define it."
    )
    columns = (
        Column("System"),
        Column("AER, %", ".2f", best="lowest"),
        Column("Precision, %", ".2f", "highest"),
        Column("Recall, %", ".2f", "highest"),
        Column("Links"),
    )
    caption = "Alignment error rate on the references"
    return Table(f"{part.prefix}alignment-error", caption, columns, rows, notes=[note])


def _chosen(part: Part) -> list[int]:
    """Returns a sentence of each of LENGTHS, as far as there are any: the first of the nearest length that
    every run translated."""
    lengths = part.measures.lengths
    usable = [n for n in range(len(lengths)) if all(run.translations[n].tokens for _, run in part.attending)]
    found: list[int] = []
    for length in LENGTHS:
        near = sorted((n for n in usable if n not in found), key=lambda n: (abs(lengths[n] - length), n))
        if near and abs(lengths[near[0]] - length) <= max(2, length // 5):
            found.append(near[0])
    return sorted(found or usable[:1], key=lambda n: lengths[n])
