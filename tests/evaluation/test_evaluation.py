"""An evaluation holds what was asked for, on the sentences it was asked for, and its three forms say the same."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import pytest
import sacrebleu

from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics, ter_statistics
from rnnsearch.evaluation.by_length import buckets, windows
from rnnsearch.evaluation.evaluation import ALL, WITHOUT_UNKNOWN, Evaluation, Wanted, evaluate
from rnnsearch.evaluation.likelihood import Likelihood
from rnnsearch.evaluation.score_tables import COLUMNS, as_json, as_text, as_tsv
from rnnsearch.evaluation.systems import System

REFERENCES = ["le chien voit un homme .", "un homme voit le chien .", "la femme dort dans le parc .", "le parc est grand et vert ."]
FIRST = System("erste", ["le chien voit un homme .", "un homme voit un chien .", "la femme dort .", "le parc est grand ."])
SECOND = System(
    "zweite",
    ["le chat voit un homme .", "un homme voit le chat .", "une femme dort dans le parc .", "le parc est <unk> et vert ."],
    likelihood=Likelihood([-7.0, -7.0, -8.0, -20.0], [7, 7, 8, 8]),
)
LENGTHS = [6, 6, 12, 13]
METRICS = [bleu_statistics, chrf_statistics, ter_statistics]


@pytest.fixture(scope="module")
def everything() -> Evaluation:
    wanted = Wanted(
        known=[True, True, True, False],
        without_unk={"zweite": ["le chien voit un homme .", "un homme voit le chien .", "la femme dort dans le parc ."]},
        lengths=buckets(LENGTHS, (0, 10)),
        windows=windows(LENGTHS, 2, fewest=2),
        significance=True,
        samples=50,
    )
    return evaluate([FIRST, SECOND], REFERENCES, METRICS, wanted)


def value(evaluation: Evaluation, system: str, metric: str, pairs: str = ALL) -> float:
    [score] = [one for one in evaluation.scores if (one.system, one.metric, one.pairs) == (system, metric, pairs)]
    assert score.low <= score.high
    return score.value


def test_scores_of_all_sentences_are_sacrebleus(everything: Evaluation) -> None:
    for system in (FIRST, SECOND):
        assert value(everything, system.name, "BLEU") == sacrebleu.corpus_bleu(system.hypotheses, [REFERENCES]).score
        assert value(everything, system.name, "chrF2") == sacrebleu.corpus_chrf(system.hypotheses, [REFERENCES]).score
        assert value(everything, system.name, "TER") == sacrebleu.corpus_ter(system.hypotheses, [REFERENCES]).score
    assert value(everything, "erste", "length ratio") == 21 / 26


def test_without_unknown_words_a_model_is_measured_by_what_it_writes_without_unk(everything: Evaluation) -> None:
    assert everything.known == [1, 2, 3]
    assert value(everything, "zweite", "BLEU", WITHOUT_UNKNOWN) == pytest.approx(100)
    expected = sacrebleu.corpus_bleu(FIRST.hypotheses[:3], [REFERENCES[:3]]).score  # a system that has nothing else
    assert value(everything, "erste", "BLEU", WITHOUT_UNKNOWN) == expected


def test_likelihood_is_that_of_the_models(everything: Evaluation) -> None:
    assert value(everything, "zweite", "NLL per word") == 42 / 30
    assert value(everything, "zweite", "perplexity") == math.exp(42 / 30)
    assert value(everything, "zweite", "NLL per sentence", WITHOUT_UNKNOWN) == 22 / 3
    assert value(everything, "zweite", "NLL per word", WITHOUT_UNKNOWN) == 1
    assert not [score for score in everything.scores if score.system == "erste" and score.metric == "NLL per word"]


def test_every_metric_is_given_by_length(everything: Evaluation) -> None:
    found = {(point.system, point.metric, point.score.shortest): point.score for point in everything.lengths}
    both, models = ("BLEU", "chrF2", "TER", "length ratio"), ("NLL per word",)
    assert set(found) == {*product(("erste", "zweite"), both, (1, 11)), *product(("zweite",), models, (1, 11))}
    assert found["erste", "BLEU", 1].value == sacrebleu.corpus_bleu(FIRST.hypotheses[:2], [REFERENCES[:2]]).score
    assert found["zweite", "NLL per word", 11].value == 28 / 16
    assert {(point.score.shortest, point.score.longest, point.score.sentences) for point in everything.windows} == {
        *((5, 6, 2), (6, 7, 2), (12, 13, 2))
    }


def test_every_metric_is_tested(everything: Evaluation) -> None:
    assert [(one.metric, one.system, one.other) for one in everything.significance] == [
        (metric, "erste", "zweite") for metric in ("BLEU", "chrF2", "TER")
    ]


def test_a_small_p_value_is_no_zero_for_a_person_and_a_number_for_a_program(everything: Evaluation) -> None:
    sure = [replace(one, p_bootstrap=1e-4, p_randomisation=2e-4) for one in everything.significance[:1]]
    table = as_text(replace(everything, significance=sure)).partition("Significance:")[2].split("\n\n")[1]
    assert table.count("< 0.001") == 2
    assert "0.000" not in table
    assert "\t0.0001\t0.0002" in as_tsv(replace(everything, significance=sure))


def test_nothing_is_measured_that_nobody_asked_for() -> None:
    plain = evaluate([FIRST], REFERENCES, [bleu_statistics], Wanted(samples=5))
    assert (plain.known, plain.lengths, plain.windows, plain.significance) == (None, [], [], [])
    none_known = evaluate([FIRST], REFERENCES, [bleu_statistics], Wanted(known=[False] * 4, samples=5))
    assert none_known.known == []
    assert {score.pairs for score in none_known.scores} == {ALL}
    assert "Without unknown words: 0 of 4 pairs" in as_text(none_known)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="no system to evaluate"):
        evaluate([], REFERENCES, METRICS)
    with pytest.raises(InputError, match="two systems are named 'erste'"):
        evaluate([FIRST, FIRST], REFERENCES, METRICS)


def test_json_and_tsv_hold_every_number(everything: Evaluation) -> None:
    whole = json.loads(as_json(everything, {"references": "file"}))
    assert whole["references"] == "file"
    assert whole["sentences"] == 4
    assert whole["systems"][1] == {"name": "zweite", "run": None, "candidates": None}
    assert whole["lines_without_unknown_words"] == [1, 2, 3]
    assert set(whole["signatures"]) == {"BLEU", "chrF2", "TER", "length ratio"}
    tables = {name: whole[name] for name in ("scores", "lengths", "windows", "significance")}
    heading, *lines = as_tsv(everything).split("\n")
    assert heading.split("\t") == list(COLUMNS)
    rows = [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in lines]
    expected = [{"table": name, **row} for name, rows in tables.items() for row in rows]
    assert len(rows) == len(expected) == len(everything.scores) + len(everything.lengths) + len(everything.windows) + 3
    for row, numbers in zip(rows, expected, strict=True):
        assert set(numbers) <= set(COLUMNS)
        for column in COLUMNS:
            told = numbers.get(column)
            if isinstance(told, float):
                assert float(row[column]) == pytest.approx(told, rel=1e-5)
            else:
                assert row[column] == ("" if told is None else str(told))


def test_a_value_that_is_no_number_is_null_in_json() -> None:
    system = System("a", ["x"], likelihood=Likelihood([-1e6], [1]))
    whole = json.loads(as_json(evaluate([system], ["x"], [bleu_statistics], Wanted(samples=2)), {}))
    [perplexity] = [row for row in whole["scores"] if row["metric"] == "perplexity"]
    assert perplexity["value"] is None


def test_one_system_is_a_line_a_metric() -> None:
    bleu, chrf, sentence, word, perplexity = as_text(
        evaluate([SECOND], REFERENCES, [bleu_statistics, chrf_statistics], Wanted(samples=2))
    ).split("\n")
    score = sacrebleu.corpus_bleu(SECOND.hypotheses, [REFERENCES])
    assert bleu == f"BLEU {score.score:.2f} (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__})"
    assert chrf.startswith("chrF2 ")
    assert (sentence, word, perplexity) == ("NLL per sentence 10.50", "NLL per word 1.400", "perplexity 4.06")


def test_the_text_has_a_row_a_system_and_a_column_a_metric(everything: Evaluation) -> None:
    text = as_text(everything)
    blocks = text.split("\n\n")
    heading, first, second = blocks[0].split("\n")
    assert heading.split("  ")[0] == "" != heading.strip()
    assert first.split()[0] == "erste"
    assert first.split()[1] == f"{value(everything, 'erste', 'BLEU'):.2f}"
    assert len({len(row) for row in (heading, second)}) == 1  # numbers stand under the ends of their headings
    assert "Without unknown words: 3 of 4 pairs" in text
    [title] = [block for block in blocks if "By source length in words: NLL per word" in block]
    table = blocks[blocks.index(title) + 1].split("\n")
    assert table[0].split() == ["words", "pairs", "zweite"]
    assert [row.split()[:3] for row in table[1:]] == [["1–10", "2", "1.00"], ["11+", "2", "1.75"]]
    assert blocks[-1].startswith("BLEU: nrefs:1|")
