"""Table 1, and whether its differences are significant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rnnsearch.drawing.document import Block, Column, Section, Table, Value
from rnnsearch.evaluation.likelihood import perplexity
from rnnsearch.evaluation.significance import TRIALS, Comparison, comparisons, p_statement
from rnnsearch.report.measures import Measures, RunOutput, Statistics

COLUMNS = (
    Column("System"),
    Column("BLEU", ".2f", best="highest"),
    Column("95 % interval", numeric=True),
    Column("BLEU, No UNK", ".2f", best="highest"),
    Column("multi-BLEU", ".2f", best="highest"),
    Column("multi-BLEU, No UNK", ".2f", best="highest"),
    Column("chrF2", ".2f", best="highest"),
    Column("TER", ".2f", best="lowest"),
    Column("Length ratio", ".3f"),
    Column("NLL per sentence", ".2f", best="lowest"),
    Column("NLL per word", ".3f", best="lowest"),
    Column("Perplexity", ".2f", best="lowest"),
)
SIGNIFICANT = 0.05


def scores(measures: Measures, prefix: str) -> tuple[Section, list[Table]]:
    """Table 1 with further measures, and a matrix of the differences between all systems; the tests behind it as a table for a file."""
    rows = [_row(measures, output.name) for output in measures.outputs]
    used = [place for place in range(len(COLUMNS)) if place == 0 or any(row[place] is not None for row in rows)]
    table = Table(
        f"{prefix}table-1",
        f"Table 1. Scores on {measures.test.name}, {len(measures.test.source):,} sentences",
        [COLUMNS[place] for place in used],
        [[row[place] for place in used] for row in rows],
        notes=list(_notes(measures)),
        made=signatures(measures),
    )
    blocks: list[Block] = [table]
    files = []
    if len(measures.outputs) > 1:
        found = comparisons(measures.bleu)
        blocks.append(significance(measures, found, prefix))
        files.append(_tests([*found, *comparisons(measures.chrf)], prefix))
    return Section(f"{prefix}scores", "Scores", blocks), files


def signatures(measures: Measures) -> list[str]:
    """How each metric was computed."""
    every = (measures.bleu, measures.multi_bleu, measures.chrf, measures.ter)
    firsts = (next(iter(statistics.values())) for statistics in every if statistics)
    return [f"{first.name}: {first.signature}" for first in firsts]


def _row(measures: Measures, name: str) -> list[Value]:
    low, high = measures.bleu[name].interval()
    likelihood = measures.nll.get(name)
    return [
        name,
        measures.bleu[name].score().value,
        f"{low:.1f}–{high:.1f}",
        _score(measures.known_bleu, name),
        _score(measures.multi_bleu, name),
        _score(measures.known_multi_bleu, name),
        measures.chrf[name].score().value,
        measures.ter[name].score().value,
        measures.length_ratio[name].score().value,
        likelihood.nll_per_sentence if likelihood else None,
        likelihood.nll_per_word if likelihood else None,
        perplexity(likelihood.nll_per_word) if likelihood else None,
    ]


def _score(statistics: Statistics, name: str) -> float | None:
    return statistics[name].score().value if name in statistics else None


def _notes(measures: Measures) -> Iterable[str]:
    runs = [output for output in measures.outputs if isinstance(output, RunOutput)]
    yield "BLEU is sacreBLEU's, cased, on detokenised text; the interval is from the bootstrap."
    if measures.multi_bleu:
        yield "multi-BLEU is that of Moses's multi-bleu.perl on tokenised text, as in the paper."
    if measures.known:
        yield (
            f"No UNK: only the {len(measures.known):,} pairs whose words, in source and reference, all of our runs know. On these pairs "
            "our runs may not write UNK. All systems are scored on the same pairs."
        )
    elif runs:
        yield "Every pair has an unknown word, so there are no columns for pairs without one."
    if len(runs) > 1 and any(run.loaded.run.target.vocabulary != runs[0].loaded.run.target.vocabulary for run in runs):
        yield "The runs write in different vocabularies: their NLL per word and perplexity cannot be compared."


def significance(measures: Measures, found: Sequence[Comparison], prefix: str) -> Table:
    """BLEU of the row's system minus that of the column's, with the p-value of approximate randomisation."""
    cells = {(each.other, each.system): _cell(each.difference, each) for each in found}
    cells |= {(each.system, each.other): _cell(-each.difference, each) for each in found}
    names = [output.name for output in measures.outputs]
    return Table(
        f"{prefix}significance",
        "Differences in BLEU, the row's system minus the column's",
        [Column("System"), *(Column(name) for name in names)],
        [[name, *(cells.get((name, other)) for other in names)] for name in names],
        notes=[
            f"p: approximate randomisation (Riezler and Maxwell 2005), two-sided, {TRIALS:,} trials. * marks p < {SIGNIFICANT}. p is not "
            "corrected for the number of comparisons."
        ],
        made=[
            "Paired bootstrap (Koehn 2004), chrF2 and all p-values unrounded: tables/" + f"{prefix}comparisons.csv",
            *signatures(measures)[:1],
        ],
    )


def _cell(difference: float, comparison: Comparison) -> str:
    p = comparison.p_randomisation
    return f"{difference:+.2f}{'*' if p < SIGNIFICANT else ''} ({p_statement(p)})".replace("-", "−")


def _tests(found: Sequence[Comparison], prefix: str) -> Table:
    columns = ("metric", "system", "other", "difference", "p_bootstrap", "p_randomisation", "share_better")
    return Table(
        f"{prefix}comparisons",
        "Paired tests of every two systems: the other's score minus the system's",
        [Column(name) for name in columns],
        [[getattr(each, name) for name in columns] for each in found],
    )
