"""Corpus scores of cased, detokenised translations, by sacreBLEU; every score carries the signature that says how it was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rnnsearch.errors import InputError


@dataclass(frozen=True, slots=True)
class Score:
    """A corpus score: `value` in percent, and sacreBLEU's `signature` of how it was computed."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


def bleu(hypotheses: Sequence[str], references: Sequence[str], *, tokenise: str = "13a") -> Score:
    """Cased corpus BLEU (Papineni et al. 2002) of detokenised lines, one reference each; 0 to 100.

    tokenise: sacreBLEU's name of the tokenisation inside the metric: 13a, intl, zh, char, none, …
    Raises InputError for different numbers of lines, no line at all, or a tokenisation that is unknown or not installed.
    """
    from sacrebleu.metrics.bleu import BLEU

    _require_pairs(hypotheses, references)
    if tokenise not in BLEU.TOKENIZERS:
        raise InputError(f"no BLEU tokenisation {tokenise!r}", remedy=f"one of {', '.join(BLEU.TOKENIZERS)}")
    try:
        metric = BLEU(tokenize=tokenise)
    except (ImportError, RuntimeError) as error:  # how sacreBLEU reports a tokeniser whose package is not installed
        raise InputError(f"BLEU tokenisation {tokenise!r} cannot be used: {error}") from None
    result = metric.corpus_score(hypotheses, [references])
    return Score("BLEU", result.score, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2 (Popović 2015): character 6-grams, cased, blanks ignored; 0 to 100.

    Raises InputError for different numbers of lines or no line at all.
    """
    from sacrebleu.metrics.chrf import CHRF

    _require_pairs(hypotheses, references)
    metric = CHRF()
    result = metric.corpus_score(hypotheses, [references])
    return Score("chrF2", result.score, str(metric.get_signature()))


METRICS: dict[str, Callable[[Sequence[str], Sequence[str]], Score]] = {"bleu": bleu, "chrf": chrf}


def _require_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} hypotheses but {len(references)} references",
            remedy="line n of the one file must translate line n of the other",
        )
    if not hypotheses:
        raise InputError("no sentence to score", remedy="the hypotheses and the references are empty")
