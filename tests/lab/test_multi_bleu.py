"""Multi-BLEU is what Moses's multi-bleu.perl computes, against a plain loop that follows the script's
arithmetic."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.evaluation.bleu import bleu
from rnnsearch.evaluation.statistics import Score
from rnnsearch.lab.multi_bleu import multi_bleu_statistics
from rnnsearch.text.tokens import Tokeniser


def multi_bleu(
    hypotheses: list[str], references: list[str], tokeniser: Tokeniser | None = None
) -> Score:
    return multi_bleu_statistics(hypotheses, references, tokeniser).score()


def plain_multi_bleu(hypotheses: list[str], references: list[str]) -> float:
    """In percent. Words stand between ASCII blanks; clipped matches; precisions and lengths of the whole
    corpus; no smoothing."""
    matching, every = [0, 0, 0, 0], [0, 0, 0, 0]
    hypothesis_words = reference_words = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        ours, theirs = (
            [word for word in line.split(" ") if word] for line in (hypothesis, reference)
        )
        hypothesis_words += len(ours)
        reference_words += len(theirs)
        for n in (1, 2, 3, 4):
            in_hypothesis, in_reference = (
                Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
                for words in (ours, theirs)
            )
            for ngram, count in in_hypothesis.items():
                every[n - 1] += count
                matching[n - 1] += min(count, in_reference[ngram])
    if 0 in matching:
        return 0.0
    penalty = (
        1.0
        if hypothesis_words >= reference_words
        else math.exp(1 - reference_words / hypothesis_words)
    )
    return (
        100
        * penalty
        * math.exp(sum(math.log(found / of) for found, of in zip(matching, every, strict=True)) / 4)
    )


LINE = st.lists(st.sampled_from("abc"), max_size=12).map(" ".join)


@given(st.lists(st.tuples(LINE, LINE), min_size=1, max_size=8))
def test_any_text_as_by_the_plain_loop(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [list(side) for side in zip(*pairs, strict=True)]
    assert multi_bleu(hypotheses, references).value == pytest.approx(
        plain_multi_bleu(hypotheses, references), abs=1e-9
    )


def test_only_ascii_blanks_separate_words() -> None:
    """A no-break space is a letter to the script: French text that others have tokenised may hold some."""
    hypothesis, reference = ["a\u00a0b c d e\u2028f"], ["a\u00a0b c d e\u2028g"]
    assert multi_bleu(hypothesis, reference).value == plain_multi_bleu(hypothesis, reference) == 0
    assert bleu(hypothesis, reference, tokenise="none").value > 0


def test_the_tokeniser_makes_the_words_and_signs_the_score() -> None:
    hypothesis, reference = "L'homme dort sur un banc, dit-il.", "L'homme dort sur un banc."
    tokeniser = Tokeniser("moses", "fr")
    score = multi_bleu([hypothesis], [reference], tokeniser)
    words = [[" ".join(tokeniser.moses_words(line))] for line in (hypothesis, reference)]
    assert score.value == pytest.approx(plain_multi_bleu(*words))
    assert "tok:moses-fr|smooth:none" in score.signature
    assert (
        "tok:none|smooth:none"
        in multi_bleu([hypothesis], [reference], Tokeniser("space", "fr")).signature
    )


def test_it_is_cased_and_its_signature_says_so() -> None:
    score = multi_bleu(["UN HOMME DORT SUR UN BANC"], ["un homme dort sur un banc"])
    assert score.value < 50
    assert "case:mixed" in score.signature
    assert f"version:{sacrebleu.__version__}" in score.signature
