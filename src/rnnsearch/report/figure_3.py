"""Figure 3: soft alignments of a few sentences, each run beside the others."""

from __future__ import annotations

from collections.abc import Sequence

from rnnsearch.drawing.alignment_figure import alignment_figure
from rnnsearch.drawing.document import Block, Column, Paragraph, Pictures, Section, Table, Value
from rnnsearch.evaluation.alignment_error import alignment_error
from rnnsearch.report.measures import Measures, RunOutput, attending
from rnnsearch.report.pictures import Album
from rnnsearch.word_links import GoldLinks

LENGTHS = (10, 20, 30, 45)
"""Source words: a sentence of about each of these lengths is drawn."""


def alignments(measures: Measures, album: Album, prefix: str) -> Section | None:
    """None where no run has an attention."""
    runs = attending(measures.outputs)
    if not runs:
        return None
    blocks: list[Block] = [
        Paragraph("Rows are the words of the translation, columns the words of the source. The brighter a cell, the larger its weight α.")
    ]
    for place, number in enumerate(chosen(measures, runs), 1):
        pictures = []
        for run in runs:
            translation = run.translations[number]
            figure = alignment_figure(translation.source_tokens, translation.tokens, translation.alignment)
            name = f"{prefix}alignment-{number + 1}-{run.place}"
            alt = f"Alignment matrix. Source: {measures.test.source[number]} Translation: {translation.text}"
            pictures.append(album.add(figure, name, run.name, alt))
        caption = f"Figure 3{'abcdefgh'[place - 1]}. Line {number + 1}, {measures.lengths[number]} words"
        blocks.append(Pictures(f"{prefix}figure-3-{place}", caption, pictures, wide=True))
    if measures.test.gold is not None:
        blocks.append(_gold_scores(runs, measures.test.gold, prefix))
    return Section(f"{prefix}figure-3", "Alignments", blocks)


def _gold_scores(runs: Sequence[RunOutput], gold: Sequence[GoldLinks], prefix: str) -> Table:
    rows: list[list[Value]] = []
    for run in runs:
        score = alignment_error([line.translation.links() for line in run.references], gold)
        rows.append([run.name, 100 * score.aer, 100 * score.precision, 100 * score.recall, score.links])
    rates = (Column("AER, %", ".2f", best="lowest"), Column("Precision, %", ".2f", "highest"), Column("Recall, %", ".2f", "highest"))
    return Table(
        f"{prefix}alignment-error",
        "Alignment error rate on the references",
        (Column("System"), *rates, Column("Links")),
        rows,
        notes=[
            "Forced decoding of the references: each target word is linked to the source word with the largest weight, unless that is the "
            f"end of the sentence. Gold links: {sum(len(each.sure) for each in gold):,} sure, {sum(len(each.possible) for each in gold):,} "
            "possible with the sure ones; AER as Och and Ney (2003) define it."
        ],
    )


def chosen(measures: Measures, runs: Sequence[RunOutput]) -> list[int]:
    """A sentence of each of LENGTHS, as far as there are any: the first of the nearest length that every run translated."""
    usable = [n for n in range(len(measures.lengths)) if all(run.translations[n].tokens for run in runs)]
    found: list[int] = []
    for length in LENGTHS:
        near = sorted((n for n in usable if n not in found), key=lambda n: (abs(measures.lengths[n] - length), n))
        if near and abs(measures.lengths[near[0]] - length) <= max(2, length // 5):
            found.append(near[0])
    return sorted(found or usable[:1], key=lambda n: measures.lengths[n])
