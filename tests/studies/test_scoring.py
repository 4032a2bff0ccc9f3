"""Scores of hand-made outputs, against values computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnnsearch.evaluation.bleu import bleu
from rnnsearch.studies.scoring import Scorer
from rnnsearch.studies.study import read_plan
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.studies.test_sets import SetFiles, set_files

STUDY = """
[corpus]
train = ["train.en", "train.fr"]
[settings.data]
tokeniser = "space"
[variants.one]
[tests.news]
source = "news.en"
reference = "news.fr"
gold = "gold"
"""
LONG = " ".join(f"w{number}" for number in range(41))


def scorer(folder: Path, lines: dict[str, list[str]], tokeniser: str = "space") -> Scorer:
    for name, content in lines.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    (folder / "study.toml").write_text(STUDY.replace('"space"', f'"{tokeniser}"'), encoding="utf-8")
    plan = read_plan(str(folder / "study.toml"))
    study = StudyFolder(folder / "out")
    sets: dict[str, SetFiles] = set_files(plan, study)
    return Scorer(study, sets, plan.data, "intersection")


def run(name: str, reverse: bool = False) -> StudyRun:
    return StudyRun(name, "one", 1, Path(name), reverse)


def test_scores_by_hand(tmp_path: Path) -> None:
    """NLL (6 + 3) / (3 + 1) a word. Forward links {0-0, 1-1, 2-0}, reverse {0-0, 1-1, 1-0} of sentence 1; S {0-0, 1-1}, P adds 0-1.

    Forward alone, both sentences: A 3, in S 2, in P 2, S 2: AER 1 − 4/5. Intersection {0-0, 1-1}: AER 0.
    Posterior {2-0}, reverse {2-0, 1-1}: forward and intersection have one link, a wrong one, of which none is sure.
    """
    lines = {
        "news.en": ["a b c", LONG],
        "news.fr": ["x y", "z"],
        "gold": ["0-0 1-1 0?1", ""],
        "out/translations/one/news.txt": ["x y", "u"],
        "out/forced/one/news.tsv": ["-6.0\t3\t0-0 1-1 2-0\t2-0", "-3.0\t1\t\t"],
        "out/forced/one.reverse/news.tsv": ["-1.0\t4\t0-0 1-1 0-1\t0-2 1-1", "-1.0\t42\t\t"],
    }
    found = scorer(tmp_path, lines).statistics(run("one"), "news", run("one.reverse", reverse=True))
    value = {metric: statistics.score().value for metric, statistics in found.items()}
    assert (value["nll"], value["nll_per_word"]) == (4.5, 2.25)
    assert (value["aer"], value["precision"], value["recall"]) == pytest.approx((1 / 5, 2 / 3, 1.0))
    assert (value["aer_symmetrised"], value["precision_symmetrised"]) == (0.0, 1.0)
    assert (value["posterior_aer"], value["posterior_aer_symmetrised"]) == (1.0, 1.0)
    assert value["bleu"] == bleu(["x y", "u"], ["x y", "z"]).value
    assert value["bleu_long"] == bleu(["u"], ["z"]).value
    assert len(found["bleu_long"]) == 1
    (tmp_path / "out/forced/one.reverse/news.tsv").write_text("-1.0\t4\t0-0\t0-2\n-1.0\t42\t\n", encoding="utf-8")
    some = scorer(tmp_path, {}).statistics(run("one"), "news", run("one.reverse", reverse=True))
    assert "posterior_aer" in some
    assert "posterior_aer_symmetrised" not in some  # a pair of the other direction has none
    reverse = scorer(tmp_path, {}).statistics(run("one.reverse", reverse=True), "news")
    assert set(reverse) == {"nll", "nll_per_word"}


def test_gold_links_count_blanks_or_the_tokenisers_words(tmp_path: Path) -> None:
    """`house.` is one word between blanks and two to the tokeniser, whose links 1-1 and 2-2 are then one link, 1-1."""
    lines = {
        "news.en": ["the house.", "c d"],
        "news.fr": ["la maison.", "z u"],
        "out/translations/one/news.txt": ["x", "z"],
        "out/forced/one/news.tsv": ["-1.0\t4\t0-0 1-1 2-2", "-1.0\t3\t0-1"],
    }
    given = scorer(tmp_path, lines | {"gold": ["0-0 1-1", "0-1"]}, "moses").statistics(run("one"), "news")
    assert given["aer"].values.tolist() == [[0.0, 4.0], [0.0, 2.0]]
    tokenised = scorer(tmp_path, lines | {"gold": ["0-0 1-1 2-2", "0-0"]}, "moses").statistics(run("one"), "news")
    assert tokenised["aer"].values.tolist() == [[0.0, 6.0], [2.0, 2.0]]
