"""Alignment measures of each pair of a test set, and of all pairs together: the columns of `align --measures`
and of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rnnsearch.drawing.alignment_figure import Panel
from rnnsearch.evaluation.alignment_error import Behaviour, alignment_error, behaviour, shares, summed
from rnnsearch.evaluation.alignment_page import MEASURES, BrowsedRun, BrowsedSentence
from rnnsearch.translation.word_aligner import Aligned
from rnnsearch.word_links import GoldLinks, Link, hard_links


class Measured(NamedTuple):
    """Measures of one or several pairs. log_probability: the sum over the pairs. links, gold: one entry for
    each pair."""

    behaviour: Behaviour
    log_probability: float
    links: Sequence[Sequence[Link]]
    gold: Sequence[GoldLinks]

    def values(self) -> dict[str, float]:
        """Returns the available measures by their names in MEASURES. The log-probability is per target word;
        ends of sentence count as words."""
        source_words, target_words = (self.behaviour[name][1] for name in ("under_translated", "entropy"))
        return {
            "source_words": source_words,
            "target_words": target_words,
            "log_probability": self.log_probability / (target_words + len(self.links)),
            **shares(self.behaviour),
            **_rates(self.links, self.gold),
        }


def measured(aligned: Aligned, gold: GoldLinks | None) -> Measured:
    """Measures one pair by its links. The agreement compares the links of the two directions."""
    counted = behaviour(aligned.result.alignment, aligned.forward_links, aligned.reverse_links)
    return Measured(counted, aligned.result.score, [aligned.links], [gold] if gold else [])


def together(pairs: Sequence[Measured]) -> Measured:
    """Combines the measures of at least one pair. Long pairs weigh more than short ones."""
    counted = summed([pair.behaviour for pair in pairs])
    links, gold = [one for pair in pairs for one in pair.links], [one for pair in pairs for one in pair.gold]
    return Measured(counted, sum(pair.log_probability for pair in pairs), links, gold)


def table(pairs: Sequence[Measured]) -> Iterator[str]:
    """Yields lines of TSV: the columns' names, a line for each pair, and `all`. A measure that a pair
    lacks is left empty."""
    yield "\t".join(["pair", *MEASURES])
    rows = [(str(number), pair) for number, pair in enumerate(pairs, 1)]
    for name, pair in [*rows, ("all", together(pairs))] if pairs else []:
        values = pair.values()
        yield "\t".join([name, *(_cell(values.get(measure)) for measure in MEASURES)])


def panels(aligned: Aligned, titles: Sequence[str]) -> list[Panel]:
    """Returns the pictures of a pair: the run, the reverse run (transposed), and the other runs. titles:
    their titles in this order."""
    results = [(one.source_tokens, one.tokens, one.alignment) for one in (aligned.result, *aligned.others)]
    if aligned.reverse is not None:
        reverse = aligned.reverse
        results.insert(1, (reverse.tokens, reverse.source_tokens[:-1], reverse.alignment[:, :-1].T))
    return [Panel(title, *result) for title, result in zip(titles, results, strict=True)]


def browsed(number: int, aligned: Aligned, titles: Sequence[str], gold: GoldLinks | None) -> BrowsedSentence:
    """Returns a pair as the page shows it. The first run shows the combined links, the others their own."""
    pictures = panels(aligned, titles)
    runs = [BrowsedRun(pictures.pop(0), aligned.links, measured(aligned, gold).values())]
    if aligned.reverse is not None and aligned.reverse_links is not None:
        rates = _rates([aligned.reverse_links], [gold] if gold else [])
        runs.append(BrowsedRun(pictures.pop(0), aligned.reverse_links, rates))
    for picture, result in zip(pictures, aligned.others, strict=True):
        links = hard_links(result.alignment)
        runs.append(BrowsedRun(picture, links, measured(Aligned(result, links, links), gold).values()))
    return BrowsedSentence(number, runs, gold)


def _rates(links: Sequence[Sequence[Link]], gold: Sequence[GoldLinks]) -> dict[str, float]:
    if not gold:
        return {}
    score = alignment_error(links, gold)
    return {"aer": score.aer, "precision": score.precision, "recall": score.recall}


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}".rstrip("0").rstrip(".")
