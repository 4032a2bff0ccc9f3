"""Table 1, and which of its differences are significant."""

from __future__ import annotations

from collections.abc import Iterator

from rnnsearch.drawing.document import Block, Column, Section, Table, Value
from rnnsearch.evaluation.measures import (
    ALL,
    BLEU,
    CHRF,
    KNOWN,
    LENGTH_RATIO,
    MULTI_BLEU,
    NLL_PER_SENTENCE,
    NLL_PER_WORD,
    OF_TEXTS,
    PERPLEXITY,
    TER,
)
from rnnsearch.evaluation.score_tables import COLUMNS as NUMBER_COLUMNS
from rnnsearch.evaluation.score_tables import number_rows
from rnnsearch.evaluation.significance import TRIALS, Comparison, p_statement
from rnnsearch.report.part import Part

COLUMNS = (
    (Column(BLEU, ".2f", best="highest"), BLEU, ALL),
    (Column("95 % interval", numeric=True), "", ALL),
    (Column("BLEU, No UNK", ".2f", best="highest"), BLEU, KNOWN),
    (Column(MULTI_BLEU, ".2f", best="highest"), MULTI_BLEU, ALL),
    (Column("multi-BLEU, No UNK", ".2f", best="highest"), MULTI_BLEU, KNOWN),
    (Column(CHRF, ".2f", best="highest"), CHRF, ALL),
    (Column(TER, ".2f", best="lowest"), TER, ALL),
    (Column("Length ratio", ".3f"), LENGTH_RATIO, ALL),
    (Column(NLL_PER_SENTENCE, ".2f", best="lowest"), NLL_PER_SENTENCE, ALL),
    (Column(NLL_PER_WORD, ".3f", best="lowest"), NLL_PER_WORD, ALL),
    (Column("Perplexity", ".2f", best="lowest"), PERPLEXITY, ALL),
)
"""Each with its metric and pairs."""
SIGNIFICANT = 0.05


def scores(part: Part) -> Section:
    """Returns Table 1, and a matrix of the differences between all systems."""
    measures = part.measures
    rows = [
        [_cell(part, system.name, metric, pairs) for _, metric, pairs in COLUMNS]
        for system in measures.systems
    ]
    used = [place for place in range(len(COLUMNS)) if any(row[place] is not None for row in rows)]
    table = Table(
        f"{part.prefix}table-1",
        f"Table 1. Scores on {measures.test.name}, {len(measures.test.source):,} sentences",
        [Column("System"), *(COLUMNS[place][0] for place in used)],
        [
            [system.name, *(row[place] for place in used)]
            for system, row in zip(measures.systems, rows, strict=True)
        ],
        notes=list(_notes(part)),
        made=part.signatures(OF_TEXTS),
    )
    blocks: list[Block] = [table]
    if measures.comparisons:
        blocks.append(_significance(part))
    return Section(f"{part.prefix}scores", "Scores", blocks)


def measures_file(part: Part) -> Table:
    """Returns every number that was measured, as `evaluate --tsv` prints them."""
    rows = [[row.get(column) for column in NUMBER_COLUMNS] for row in number_rows(part.measures)]
    columns = [Column(name) for name in NUMBER_COLUMNS]
    return Table(f"{part.prefix}measures", "All measures, with 95 % bootstrap intervals", columns, rows)


def _cell(part: Part, system: str, metric: str, pairs: str) -> Value:
    if metric:
        return part.measures.value(system, metric, pairs)
    score = part.measures.score(system, BLEU)
    return None if score is None else f"{score.low:.1f}–{score.high:.1f}"


def _notes(part: Part) -> Iterator[str]:
    yield "BLEU is sacreBLEU's, cased, on detokenised text; the interval is from the bootstrap."
    if MULTI_BLEU in part.measures.signatures:
        yield "multi-BLEU is that of Moses's multi-bleu.perl on tokenised text, as in the paper."
    if part.measures.known:
        yield (
            f"No UNK: only the {len(part.measures.known):,} pairs whose words, in source and reference, "
            "all of our "
            "runs know. On these pairs our runs may not write UNK. All systems are scored on the same pairs."
        )
    elif part.runs:
        yield "Every pair has an unknown word, so there are no columns for pairs without one."
    vocabularies = [run.target.vocabulary for _, run in part.runs]
    if any(vocabulary != vocabularies[0] for vocabulary in vocabularies):
        yield (
            "The runs write in different vocabularies: their NLL per word and perplexity cannot be compared."
        )


def _significance(part: Part) -> Table:
    """Returns BLEU of the row's system minus that of the column's, with p of approximate randomisation."""
    found = [each for each in part.measures.comparisons if each.metric == BLEU]
    cells = {(each.other, each.system): _difference(each.difference, each) for each in found}
    cells |= {(each.system, each.other): _difference(-each.difference, each) for each in found}
    names = [system.name for system in part.measures.systems]
    return Table(
        f"{part.prefix}significance",
        "Differences in BLEU, the row's system minus the column's",
        [Column("System"), *(Column(name) for name in names)],
        [[name, *(cells.get((name, other)) for other in names)] for name in names],
        notes=[
            f"p: approximate randomisation (Riezler and Maxwell 2005), two-sided, {TRIALS:,} trials. * marks "
            f"p < {SIGNIFICANT}. p is not corrected for the number of comparisons."
        ],
        made=[
            "Paired bootstrap (Koehn 2004), chrF2 and all p-values unrounded: "
            f"tables/{part.prefix}measures.csv",
            *part.signatures([BLEU]),
        ],
    )


def _difference(difference: float, comparison: Comparison) -> str:
    p = comparison.p_randomisation
    return f"{difference:+.2f}{'*' if p < SIGNIFICANT else ''} ({p_statement(p)})".replace("-", "−")
