"""Tokenised BLEU is what Moses's multi-bleu.perl computes: against a plain loop that follows the script's arithmetic."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.evaluation.bleu import bleu, multi_bleu_statistics
from rnnsearch.evaluation.statistics import Score
from rnnsearch.text.tokenise import Tokeniser


def multi_bleu(hypotheses: list[str], references: list[str], tokeniser: Tokeniser | None = None) -> Score:
    return multi_bleu_statistics(hypotheses, references, tokeniser).score()


def plain_multi_bleu(hypotheses: list[str], references: list[str]) -> float:
    """In percent. Words stand between ASCII blanks; clipped matches; precisions and lengths of the whole corpus; no smoothing."""
    matching, every = [0, 0, 0, 0], [0, 0, 0, 0]
    hypothesis_words = reference_words = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        ours, theirs = ([word for word in line.split(" ") if word] for line in (hypothesis, reference))
        hypothesis_words += len(ours)
        reference_words += len(theirs)
        for n in (1, 2, 3, 4):
            in_reference: dict[tuple[str, ...], int] = {}
            for start in range(len(theirs) - n + 1):
                ngram = tuple(theirs[start : start + n])
                in_reference[ngram] = in_reference.get(ngram, 0) + 1
            in_hypothesis: dict[tuple[str, ...], int] = {}
            for start in range(len(ours) - n + 1):
                ngram = tuple(ours[start : start + n])
                in_hypothesis[ngram] = in_hypothesis.get(ngram, 0) + 1
            for ngram, count in in_hypothesis.items():
                every[n - 1] += count
                matching[n - 1] += min(count, in_reference.get(ngram, 0))
    if 0 in matching:
        return 0.0
    penalty = 1.0 if hypothesis_words >= reference_words else math.exp(1 - reference_words / hypothesis_words)
    return 100 * penalty * math.exp(sum(math.log(found / of) for found, of in zip(matching, every, strict=True)) / 4)


LINE = st.lists(st.sampled_from("abc"), max_size=12).map(" ".join)


@given(st.lists(st.tuples(LINE, LINE), min_size=1, max_size=8))
def test_any_text_as_by_the_plain_loop(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [list(side) for side in zip(*pairs, strict=True)]
    assert multi_bleu(hypotheses, references).value == pytest.approx(plain_multi_bleu(hypotheses, references), abs=1e-9)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("a b c d", "a b c d", 100),
        ("a b c d", "a b c d e f", 100 * math.exp(1 - 6 / 4)),  # brevity penalty alone
        ("a b c d e f", "a b c d", 100 * (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25),  # precisions alone
        ("a a a a a", "a a", 0),  # two of five words, one of four bigrams, no trigram
        ("a b c", "a b c", 0),  # too short for any 4-gram: 0, not smoothed
        ("", "a b c d", 0),
    ],
)
def test_counted_by_hand(hypothesis: str, reference: str, expected: float) -> None:
    assert multi_bleu([hypothesis], [reference]).value == pytest.approx(expected, abs=1e-9)


def test_it_is_not_smoothed_where_sacrebleu_is() -> None:
    hypothesis, reference = ["a b c x d e f"], ["a b c y d e f"]
    assert multi_bleu(hypothesis, reference).value == 0
    assert bleu(hypothesis, reference, tokenise="none").value > 0


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
    assert "tok:none|smooth:none" in multi_bleu([hypothesis], [reference], Tokeniser("space", "fr")).signature


@pytest.mark.parametrize("sign", ["\u00ad", "\u2060", "\ufeff", "\u200b", "\u200d", "\x7f", "\x93"], ids=ascii)
def test_invisible_characters_are_words_to_moses(sign: str) -> None:
    """`a b cXd e` has the words a, b, c, X, d, e, so that a hypothesis without X misses one, and no 4-gram is found."""
    found = multi_bleu(["a b cd e"], [f"a b c{sign}d e"], Tokeniser("moses", "en"))
    assert found.value == 0
    hypothesis, reference = f"f g h i c{sign}d e", f"a b c{sign}d e"
    expected = plain_multi_bleu([f"f g h i c {sign} d e"], [f"a b c {sign} d e"])
    assert multi_bleu([hypothesis], [reference], Tokeniser("moses", "en")).value == pytest.approx(expected)
    assert expected > 0


def test_lines_split_at_spaces_are_tokenised_already() -> None:
    """The signature says tok:none: nothing is repaired, and only what Perl takes for white space separates words."""
    hypothesis, reference = ["a b c d\u00ade\u00a0f"], ["a b c de f"]
    for tokeniser in (None, Tokeniser("space", "en")):
        assert multi_bleu(hypothesis, reference, tokeniser).value == plain_multi_bleu(hypothesis, reference) == 0


@pytest.mark.parametrize("kind", ["moses", "space"])
def test_small_letters_are_in_the_signature(kind: str) -> None:
    cased, small = (multi_bleu(["a Cat sat on it"], ["A cat sat on it"], Tokeniser(kind, "en", lowercase)) for lowercase in (False, True))  # type: ignore[arg-type]
    assert cased.value < small.value == pytest.approx(100)
    assert "case:mixed" in cased.signature
    assert "case:lc" in small.signature
