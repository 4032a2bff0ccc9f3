"""Link files of one or more systems against gold links: what `rnnsearch aer` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_behaviour import jumps
from rnnsearch.evaluation.alignment_error import AlignmentScore, alignment_error, alignment_statistics
from rnnsearch.evaluation.gold_links import read_pharaoh
from rnnsearch.evaluation.score_tables import text_table
from rnnsearch.evaluation.significance import Comparison, comparisons, p_statement
from rnnsearch.word_links import GoldLinks, Link


class ScoredLinks(NamedTuple):
    """A link file by its name."""

    name: str
    links: list[set[Link]]
    score: AlignmentScore


def read_systems(names: Sequence[str], gold: Sequence[GoldLinks], swapped: bool = False) -> list[ScoredLinks]:
    """Reads and scores link files. swapped: they say target-source. Raises InputError as `read_pharaoh` and
    `alignment_error` do."""
    if len(set(names)) < len(names):
        raise InputError("the same link file is given twice", remedy="give each file once")
    systems = []
    for name in names:
        links = [
            {link[::-1] for link in sentence} if swapped else sentence for sentence in read_pharaoh(name)
        ]
        try:
            systems.append(ScoredLinks(name, links, alignment_error(links, gold)))
        except InputError as error:
            raise InputError(str(error), file=name) from None
    return systems


def differences(systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks]) -> list[Comparison]:
    """Compares the alignment error rates of each two systems, by sentence; none without sure links, where a
    system may have no error rate."""
    if not any(reference.sure for reference in gold):
        return []
    return comparisons({system.name: alignment_statistics(system.links, gold)["aer"] for system in systems})


def as_table(systems: Sequence[ScoredLinks], differences: Sequence[Comparison], alpha: float) -> str:
    """Returns one line for a system by itself; for several a table, how far each two agree, and whether
    chance makes such differences."""
    if len(systems) == 1 and alpha == 0.5:
        return str(systems[0].score)
    rows = [
        [
            name,
            *(
                f"{100 * rate:.2f}"
                for rate in (score.aer, score.precision, score.recall, score.f_measure(alpha))
            ),
            f"{score.links:,}",
        ]
        for name, _, score in systems
    ]
    lines = [text_table(["system", "AER", "precision", "recall", f"F({alpha:g})", "links"], rows)]
    lines.append(
        f"gold: {systems[0].score.sure:,} sure and {systems[0].score.possible:,} possible links, the sure "
        "ones among them"
    )
    for place, one in enumerate(systems):
        for other in systems[place + 1 :]:
            lines.append(f"agreement {100 * _agreement(one, other):.2f}: {one.name}, {other.name}")
    for found in differences:
        lines.append(
            f"difference {100 * found.difference:+.2f} ({p_statement(found.p_randomisation)}): AER of "
            f"{found.other} - {found.system}"
        )
    return "\n".join(lines)


def as_json(
    systems: Sequence[ScoredLinks], differences: Sequence[Comparison], gold: str, alpha: float
) -> dict[str, Any]:
    """Returns rates from 0 to 1, counts, the share of jumps that do not go back, the agreement of each two
    systems and their difference in AER."""
    return {
        "gold": gold,
        "sentences": len(systems[0].links),
        "alpha": alpha,
        "systems": [
            {"name": name, **_rates(score, alpha), "monotone": _monotone(links)}
            for name, links, score in systems
        ],
        "agreement": [[round(_agreement(one, other), 6) for other in systems] for one in systems],
        "differences": [
            {
                "system": found.system,
                "other": found.other,
                "aer": round(found.difference, 6),
                "p": found.p_randomisation,
            }
            for found in differences
        ],
    }


def sentence_table(systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks]) -> Iterator[str]:
    """Yields lines of TSV, one for each sentence of each system; a rate that nothing could miss is 1, an
    error rate 0."""
    columns = ("aer", "precision", "recall", "f_measure", "links", "sure", "possible")
    yield "\t".join(["system", "sentence", *columns])
    for name, links, _ in systems:
        for number, (found, reference) in enumerate(zip(links, gold, strict=True), 1):
            rates = _rates(alignment_error([found], [reference]), 0.5)
            yield "\t".join([name, str(number), *(f"{rates[column]:g}" for column in columns)])


def _rates(score: AlignmentScore, alpha: float) -> dict[str, float]:
    rates = {
        "aer": score.aer,
        "precision": score.precision,
        "recall": score.recall,
        "f_measure": score.f_measure(alpha),
    }
    counts = {"links": score.links, "sure": score.sure, "possible": score.possible}
    return {name: round(rate, 6) for name, rate in rates.items()} | counts


def _monotone(links: Sequence[set[Link]]) -> float:
    moves = [move for sentence in links for move in jumps(sentence)]
    return round(sum(move >= 0 for move in moves) / len(moves), 6) if moves else 1.0


def _agreement(one: ScoredLinks, other: ScoredLinks) -> float:
    both = sum(len(left & right) for left, right in zip(one.links, other.links, strict=True))
    either = sum(len(left) + len(right) for left, right in zip(one.links, other.links, strict=True))
    return 2 * both / either if either else 1.0
