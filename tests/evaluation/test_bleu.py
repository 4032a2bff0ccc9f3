"""BLEU, chrF and TER are sacreBLEU's own, multi-BLEU is the script's; all refuse what would be a silent misalignment."""

from __future__ import annotations

import pytest
import sacrebleu

from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu, bleu_statistics, chrf_statistics, multi_bleu_statistics, ter_statistics
from rnnsearch.evaluation.statistics import Score

METRICS = {"bleu": bleu_statistics, "chrf": chrf_statistics, "ter": ter_statistics, "multi-bleu": multi_bleu_statistics}
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


def test_bleu_is_sacrebleus_own() -> None:
    assert bleu(HYPOTHESES, REFERENCES).value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score


def test_bleu_takes_the_tokenisation_it_is_told() -> None:
    score = bleu(HYPOTHESES, REFERENCES, tokenise="char")
    assert score.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="char").score
    assert "tok:char" in score.signature
    assert score.value != bleu(HYPOTHESES, REFERENCES).value


def test_chrf_is_sacrebleus_own() -> None:
    assert chrf_statistics(HYPOTHESES, REFERENCES).score().value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score


@pytest.mark.parametrize("name", METRICS)
def test_the_best_and_the_worst(name: str) -> None:
    best, worst = (0, 100) if name == "ter" else (100, 0)
    metric = METRICS[name]
    assert metric(REFERENCES, REFERENCES).score().value == pytest.approx(best)
    assert metric(["0", "0"], ["xyz", "xyz"]).score().value == worst
    assert metric(REFERENCES, REFERENCES).lower_is_better == (best < worst)


@pytest.mark.parametrize("name", METRICS)
def test_scores_are_cased_or_not_and_their_signature_says_so(name: str) -> None:
    score = METRICS[name](["UN HOMME DORT SUR UN BANC"], ["un homme dort sur un banc"]).score()
    assert score.value < 50  # TER is not cased, so nothing needs to be edited
    assert ("case:lc" if name == "ter" else "case:mixed") in score.signature
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
def test_mismatched_or_missing_lines_are_refused(name: str, hypotheses: list[str], references: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        METRICS[name](hypotheses, references)


def test_an_unknown_tokenisation_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no BLEU tokenisation 'moses'.*13a"):
        bleu(["a"], ["a"], tokenise="moses")


def test_a_tokenisation_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise RuntimeError("please install the package")

    monkeypatch.setattr("sacrebleu.metrics.bleu._get_tokenizer", missing)
    with pytest.raises(InputError, match="cannot be used: please install"):
        bleu(["a"], ["a"], tokenise="ja-mecab")
