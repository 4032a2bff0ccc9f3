"""BLEU of tokenised text as Moses's script computes it."""

from __future__ import annotations

from collections.abc import Sequence

from rnnsearch.arguments import given_texts
from rnnsearch.evaluation.bleu import References, metric_statistics, streams_of
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.text.tokens import Tokeniser

# White space to str.split(), which sacreBLEU uses, but letters to multi-bleu.perl, which reads
# bytes.
_LETTERS_TO_PERL = {
    code: chr(0xF0000 + code)
    for code in range(0x3001)
    if chr(code).isspace() and chr(code) not in " \t\n\r\f\v"
}


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
    streams = [_words(stream, tokeniser) for stream in streams_of(references)]
    texts = _words(given_texts(hypotheses, "hypotheses"), tokeniser)
    return metric_statistics("multi-BLEU", metric, texts, streams)


def _words(lines: Sequence[str], tokeniser: Tokeniser | None) -> list[str]:
    """Returns the lines with one space between the words that multi-bleu.perl finds."""
    if tokeniser is not None:
        moses = tokeniser.kind == "moses"
        lines = [" ".join(tokeniser.moses_words(x)) if moses else tokeniser.cased(x) for x in lines]
    return [line.translate(_LETTERS_TO_PERL) for line in lines]
