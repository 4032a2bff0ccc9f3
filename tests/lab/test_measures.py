"""The measures of a test set are sacreBLEU's, on the sentences asked for, and their three forms say the
same."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sacrebleu

from rnnsearch.lab.measures import (
    ALL,
    KNOWN,
    MeasureOptions,
    Measures,
    measure,
    nll_statistics,
    perplexity,
)
from rnnsearch.lab.metrics import OF_TEXTS, SCORES
from rnnsearch.lab.outputs import Kind, OpenedRun, OutputLine, System
from rnnsearch.lab.scores import measures_json as as_json
from rnnsearch.lab.scores import measures_text as as_text
from rnnsearch.lab.significance import Comparison
from rnnsearch.lab.tables import difference_table, score_table
from rnnsearch.lab.test_set import TestSet as Texts
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.word_links import GoldLinks

SOURCE = ["a b c d e f", "f e d c b a", " ".join("abcdefghijkl"), " ".join("abcdefghijklm")]
REFERENCES = [
    "le chien voit un homme .",
    "un homme voit le chien .",
    "la femme dort dans le parc .",
    "le parc est grand et vert .",
]
TEST = Texts("test", SOURCE, REFERENCES)
CODEC = Codec(Tokeniser("space", ""), Vocabulary("abc"))


def forced(score: float, words: int) -> Translation:
    """A reference of so many words in forced decoding."""
    return Translation(
        "", ["x"] * words, ["a", "</s>"], score, [], np.zeros((words, 2), np.float32)
    )


def answers(
    lines: list[OutputLine], alignment: str = "additive", **more: list[OutputLine]
) -> OpenedRun:
    """A run with these references in forced decoding."""
    model = SimpleNamespace(alignment=alignment)
    about = SimpleNamespace(
        path=Path("run"), source=CODEC, target=CODEC, settings=SimpleNamespace(model=model)
    )
    return OpenedRun("run", about, about.settings, outputs={Kind.REFERENCES: lines, **more})  # type: ignore[arg-type]


def run(
    scores: Sequence[float], words: Sequence[int], without_unk: dict[int, str] | None = None
) -> OpenedRun:
    lines = [OutputLine(n, forced(*each)) for n, each in enumerate(zip(scores, words, strict=True))]
    if without_unk is None:
        return answers(lines)
    texts = [OutputLine(n, replace(forced(0, 0), text=text)) for n, text in without_unk.items()]
    return answers(lines, **{Kind.WITHOUT_UNK: texts})


FIRST = System(
    "erste",
    [
        "le chien voit un homme .",
        "un homme voit un chien .",
        "la femme dort .",
        "le parc est grand .",
    ],
)
SECOND = System(
    "zweite",
    [
        "le chat voit un homme .",
        "un homme voit le chat .",
        "une femme dort dans le parc .",
        "le parc est <unk> et vert .",
    ],
    run=run([-7.0, -7.0, -8.0, -20.0], [6, 6, 7, 7], dict(enumerate(REFERENCES[:3]))),
)


@pytest.fixture(scope="module")
def everything() -> Measures:
    wanted = MeasureOptions(by_length=True, significance=OF_TEXTS, samples=50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnnsearch.lab.significance.FEWEST_SENTENCES", 2)
        return measure(TEST, [FIRST, SECOND], wanted)


def value(measures: Measures, system: str, metric: str, pairs: str = ALL) -> float:
    score = measures.score(system, metric, pairs)
    assert score is not None
    assert score.low <= score.high
    return score.value


def test_scores_of_all_sentences_are_sacrebleus(everything: Measures) -> None:
    for system in (FIRST, SECOND):
        assert (
            value(everything, system.name, "BLEU")
            == sacrebleu.corpus_bleu(system.texts, [REFERENCES]).score
        )
        assert (
            value(everything, system.name, "chrF2")
            == sacrebleu.corpus_chrf(system.texts, [REFERENCES]).score
        )
    assert value(everything, "erste", "length ratio") == 21 / 26


def test_without_unknown_words_a_model_is_measured_by_what_it_writes_without_unk(
    everything: Measures,
) -> None:
    assert everything.known == [0, 1, 2]
    assert value(everything, "zweite", "BLEU", KNOWN) == pytest.approx(100)
    expected = sacrebleu.corpus_bleu(
        FIRST.texts[:3], [REFERENCES[:3]]
    ).score  # a system that has nothing else
    assert value(everything, "erste", "BLEU", KNOWN) == expected


def test_likelihood_is_that_of_the_models(everything: Measures) -> None:
    assert value(everything, "zweite", "NLL per word") == 42 / 30
    assert value(everything, "zweite", "perplexity") == math.exp(42 / 30)
    assert value(everything, "zweite", "NLL per sentence", KNOWN) == 22 / 3
    assert value(everything, "zweite", "NLL per word", KNOWN) == 1
    assert everything.score("erste", "NLL per word") is None


def test_every_metric_is_given_by_length(everything: Measures) -> None:
    found = {
        (point.system, point.metric, str(point.words)): point for point in everything.by_length
    }
    both, models = ("BLEU", "chrF2", "length ratio"), ("NLL per word",)
    starts = ("1–10", "11–20", "21–30", "31–40", "41–50", "51–60", "61+")
    assert set(found) == {
        *product(("erste", "zweite"), both, starts),
        *product(("zweite",), models, starts),
    }
    assert [stretch.sentences for stretch in everything.buckets] == [2, 2]
    assert (
        found["erste", "BLEU", "1–10"].value
        == sacrebleu.corpus_bleu(FIRST.texts[:2], [REFERENCES[:2]]).score
    )
    assert found["zweite", "NLL per word", "11–20"].value == 28 / 16


def test_nothing_is_measured_that_nobody_asked_for() -> None:
    plain = measure(TEST, [FIRST], MeasureOptions(samples=5))
    assert (plain.known, plain.by_length, plain.comparisons) == (None, [], [])
    assert {score.metric for score in plain.scores} == {"BLEU", "chrF2", "length ratio"}
    none_known = measure(
        TEST, [replace(SECOND, run=run([-1.0] * 4, [1] * 4, {}))], MeasureOptions(samples=5)
    )
    assert none_known.known == []
    assert {score.pairs for score in none_known.scores} == {ALL}
    assert "Without unknown words: 0 of 4 pairs" in as_text(none_known)


@pytest.mark.parametrize("lowercase", [False, True])
def test_case_does_not_count_beside_a_model_that_writes_none(lowercase: bool) -> None:
    options = MeasureOptions(multi_bleu=Tokeniser("moses", "fr", lowercase), samples=2)
    test = Texts("", ["x"], ["Le Chien voit un Homme."])
    found = measure(test, [System("a", ["le chien voit un homme."])], options)
    scores = [value(found, "a", metric) for metric in ("BLEU", "chrF2", "multi-BLEU")]
    assert (scores == pytest.approx([100, 100, 100])) == lowercase
    assert ("case:lc" in found.signatures["BLEU"]) == lowercase
    assert (", cased, on" in score_table(found).notes[0]) != lowercase


def test_text_without_spaces_has_no_multi_bleu() -> None:
    """Moses does not split it: every sentence would be one word."""
    options = MeasureOptions(multi_bleu=Tokeniser("moses", "zh"), samples=2)
    found = measure(
        Texts("", ["x"], ["我喜欢你们的书。"]), [System("a", ["我喜欢他们的书。"])], options
    )
    assert {score.metric for score in found.scores} == {"BLEU", "chrF2", "length ratio"}


def test_resamples_are_those_of_the_differences_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rnnsearch.lab.significance.FEWEST_SENTENCES", 2)
    options = MeasureOptions(significance=["BLEU"], samples=1)
    (found,) = measure(TEST, [FIRST, replace(SECOND, run=None)], options).comparisons
    assert found.low == found.high


@pytest.mark.parametrize(
    ("subwords", "kind", "compared"),
    [(None, "moses", False), (object(), "moses", True), (object(), "space", False)],
)
def test_runs_of_other_words_are_not_compared_by_words(
    subwords: object, kind: str, compared: bool
) -> None:
    def with_words(words: str, name: str, tokeniser: Tokeniser) -> System:
        one = replace(answers([OutputLine(n, forced(-1.0, 2)) for n in range(4)]), name=name)
        about: Any = one.run
        about.target = SimpleNamespace(
            vocabulary=Vocabulary(words), subwords=subwords, tokeniser=tokeniser
        )
        return System(name, REFERENCES, one)

    systems = [
        with_words("x", "a", Tokeniser("moses", "fr")),
        with_words("y", "b", Tokeniser(kind, "fr")),
    ]
    found = measure(TEST, systems, MeasureOptions(samples=2))
    assert ("in different vocabularies" not in as_text(found)) == compared


@pytest.mark.filterwarnings(
    "ignore:.*with source positions one lower"
)  # so few links fit by chance
def test_alignment_error_is_that_of_the_references_links() -> None:
    """Links 0-0 and 1-0 of each sentence; S {0-0}, P adds 1-1: A 1, in S 1, in P 1."""
    gold = [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 1)}))] * 4
    weights = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]], np.float32)
    line = Translation("", ["x", "y"], ["a", "b", "</s>"], -1.0, [], weights)
    lines = [OutputLine(0, line, posterior=np.array([[0, 0.9, 0.1], [0, 0, 1]], np.float32))] * 4
    found = measure(
        replace(TEST, gold=gold),
        [System("a", REFERENCES, answers(lines))],
        MeasureOptions(samples=2),
    )
    rates = ("AER", "precision", "posterior AER")
    assert [value(found, "a", rate) for rate in rates] == [0.0, 1.0, 1.0]
    blind = answers(lines, "fixed")  # as RNNencdec
    unaligned = measure(replace(TEST, gold=gold), [System("a", REFERENCES, blind)])
    assert not any("AER" in score.metric for score in unaligned.scores)


def test_a_model_that_tosses_a_coin_has_perplexity_2() -> None:
    """Two words and an end of probability ½ each, and four and an end. Words are counted, not sentences."""
    found = nll_statistics([forced(-math.log(8), 2), forced(-math.log(32), 4)])
    per_word = found["NLL per word"]
    assert found["NLL per sentence"].score().value == pytest.approx(math.log(16))
    assert perplexity(per_word.score().value) == pytest.approx(2)
    assert (
        nll_statistics([forced(-1.0, 0), forced(-10.0, 3)])["NLL per word"].score().value == 11 / 5
    )
    assert perplexity(1e6) == math.inf


def test_a_value_that_is_no_number_is_null_in_json() -> None:
    system = System("a", ["x"], run=run([-1e6], [0]))
    whole = json.loads(
        as_json(measure(Texts("", ["x"], ["x"]), [system], MeasureOptions(samples=2)), {})
    )
    [perplexity] = [row for row in whole["scores"] if row["metric"] == "perplexity"]
    assert perplexity["value"] is None


def test_one_system_is_a_line_a_metric() -> None:
    bleu, chrf, sentence, word, perplexity = as_text(
        measure(
            TEST,
            [replace(SECOND, run=run([-7, -7, -8, -20], [6, 6, 7, 7]))],
            MeasureOptions(samples=2),
        )
    ).split("\n")
    score = sacrebleu.corpus_bleu(SECOND.texts, [REFERENCES])
    assert (
        bleu == f"BLEU {score.score:.2f} "
        f"(nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__})"
    )
    assert chrf.startswith("chrF2 ")
    assert (sentence, word, perplexity) == (
        "NLL per sentence 10.50",
        "NLL per word 1.400",
        "perplexity 4.06",
    )


def test_scores_are_shown_as_they_are_measured() -> None:
    """`Metric.factor` is for errors of links: Table 1 and `evaluate` write scores without it."""
    assert {name: shown.factor for name, shown in SCORES.items() if shown.factor != 1} == {}


def test_a_difference_of_nothing_has_one_sign() -> None:
    names = ["System", "copy"]
    same = Comparison("BLEU", *names, -1e-7, 0.0, 0.0, 1.0)
    table = difference_table([same], names, "BLEU")
    cells = [cell for row in table.rows for cell in row[1:] if cell]
    assert cells == ["+0.00 (p = 1.000)"] * 2
    assert len({column.name for column in table.columns}) == 3  # the name of the rows is another
    assert SCORES["BLEU"].format(-1e-7, "+") == "+0.00"
