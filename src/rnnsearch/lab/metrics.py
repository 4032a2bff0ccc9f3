"""The measures that tables, figures and pages show: what each is called and means, and how it is
written."""

from __future__ import annotations

from typing import Literal, NamedTuple

from rnnsearch.lab.link_measures import LEFT_OUT, TOO_OFTEN
from rnnsearch.lab.page import Column

BLEU, CHRF, MULTI_BLEU, LENGTH_RATIO = "BLEU", "chrF2", "multi-BLEU", "length ratio"
NLL_PER_SENTENCE, NLL_PER_WORD, PERPLEXITY = "NLL per sentence", "NLL per word", "perplexity"
AER, POSTERIOR_AER, DEPARTURE = "AER", "posterior AER", "distance from the links"


class Metric(NamedTuple):
    """A measure. heading: of its column. meaning: shown on pages of alignments. factor: multiplies
    the errors of links where they are shown; scores have 1. better: which numbers of a column are
    the best.

    of_texts: whether it compares texts with the references; others need a run's network, or follow
    from these. known: whether Table 1 has it on the pairs without unknown words, too. tested:
    whether a report tests its differences. drawn: whether a report draws it by length; unit: of
    that axis. in_study: whether the tables of a study have it, with the heading `short`, if given.
    by_length: name of its table and figure by length in a study; "" for none.
    """

    heading: str
    meaning: str = ""
    factor: float = 1.0
    digits: int = 2
    better: Literal["", "highest", "lowest"] = ""
    of_texts: bool = False
    known: bool = False
    tested: bool = False
    drawn: bool = False
    unit: str = ""
    in_study: bool = False
    short: str = ""
    by_length: str = ""

    @property
    def column(self) -> Column:
        """A column of a table."""
        return Column(self.heading, f",.{self.digits}f", self.better)

    def format(self, value: float, sign: str = "") -> str:
        """Returns a value as text. sign: `+` if positive ones have one."""
        return f"{value * self.factor:{sign}z,.{self.digits}f}".replace("-", "−")


SCORES = {
    BLEU: Metric(
        "BLEU",
        better="highest",
        of_texts=True,
        known=True,
        tested=True,
        drawn=True,
        in_study=True,
        by_length="bleu",
    ),
    CHRF: Metric("chrF2", better="highest", of_texts=True, tested=True, drawn=True, in_study=True),
    MULTI_BLEU: Metric("multi-BLEU", better="highest", of_texts=True, known=True, in_study=True),
    LENGTH_RATIO: Metric("Length ratio", digits=3),
    NLL_PER_SENTENCE: Metric("NLL per sentence", better="lowest"),
    NLL_PER_WORD: Metric(
        "NLL per word",
        digits=3,
        better="lowest",
        drawn=True,
        unit="in nats",
        in_study=True,
        short="NLL/word",
    ),
    PERPLEXITY: Metric("Perplexity", better="lowest"),
}
"""Scores of translations and of a run's network, in the order of display."""
OF_TEXTS = tuple(metric for metric, shown in SCORES.items() if shown.of_texts)
OF_LINKS = {
    AER: Metric("AER % by α", factor=100.0, in_study=True),
    POSTERIOR_AER: Metric("AER % by the posterior", factor=100.0, in_study=True),
    DEPARTURE: Metric(
        "α off the links, %",
        "1 − Σ_j α_ij over the linked words j, averaged over i",
        100.0,
        in_study=True,
        by_length="departure",
    ),
}
"""Errors of links, of the references."""
LEARNING = {
    "updates": Metric("Updates", digits=0),
    "epochs": Metric("Epochs"),
    "hours": Metric("Hours"),
    "train_nll": Metric("NLL, training"),
    "dev_nll": Metric("NLL, development", better="lowest"),
    "dev_bleu": Metric("BLEU, development", better="highest"),
    "best_update": Metric("Best update", digits=0),
    "pairs_seen": Metric("Pairs seen", digits=0),
    "parameters": Metric("Parameters", digits=0),
}
"""Keys of a run's learning statistics: the columns of Table 2."""
OF_PAIRS = {
    "source_words": Metric("source words", "Words of the source sentence, without its end."),
    "target_words": Metric("target words", "Words of the target sentence, without its end."),
    "log_probability": Metric(
        "log p per word",
        "Log-probability of the target sentence per word, its end included, in nats; 0 is the"
        " best.",
    ),
    "aer": Metric(
        "AER",
        "Alignment error rate, 1 − (|A∩S| + |A∩P|) / (|A| + |S|), of the links A, sure S and"
        " possible P; 0 is the best.",
    ),
    "precision": Metric(
        "precision",
        "Share of the links that are possible gold links (sure ones are possible, too).",
    ),
    "recall": Metric("recall", "Share of the sure gold links that were found."),
    "entropy": Metric(
        "entropy",
        "Mean entropy of the weights of a target word, in nats; 0 if every word attends to one"
        " source word alone.",
    ),
    "under_translated": Metric(
        "under-translated", f"Share of the source words whose weights sum to less than {LEFT_OUT}."
    ),
    "over_translated": Metric(
        "over-translated", f"Share of the source words whose weights sum to more than {TOO_OFTEN}."
    ),
    "monotone": Metric(
        "monotone",
        "Share of the steps from one linked target word to the next that do not go back in the"
        " source.",
    ),
    "agreement": Metric(
        "agreement",
        "2 |A∩B| / (|A| + |B|) of the links A and B of the two directions; 1 if they are the same.",
    ),
}
"""Measures of the alignment of one pair, as a page of alignments shows and sorts by them."""
METRICS = SCORES | OF_LINKS | LEARNING | OF_PAIRS
"""Key of a measure → how it is shown."""
