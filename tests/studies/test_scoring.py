"""Scores of hand-made outputs, against values computed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.studies.scoring import Scorer
from rnnsearch.studies.study import read_plan
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.studies.test_sets import set_files
from rnnsearch.text.codec import Codec
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.outputs import Kind, open_run
from rnnsearch.translation.outputs_file import OutputLine, as_line
from rnnsearch.word_links import parse_links

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


SETTINGS = load_config(overrides=["data.tokeniser=space"])


def scorer(folder: Path, lines: dict[str, list[str]], tokeniser: str = "space") -> Scorer:
    for name, content in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    (folder / "study.toml").write_text(STUDY.replace('"space"', f'"{tokeniser}"'), encoding="utf-8")
    plan = read_plan(str(folder / "study.toml"))
    study = StudyFolder(folder / "out")
    return Scorer(study, set_files(plan, study), plan.data, "intersection")


def run(folder: Path, name: str, reverse: bool = False) -> StudyRun:
    """A run that was never trained: its weights are a name."""
    path = folder / name
    if not path.exists():
        codec = Codec(Tokeniser("space", ""), Vocabulary("abcdxyz"))
        Run.create(path, SETTINGS, codec, codec).model_path.write_text(name, encoding="utf-8")
    return StudyRun(name, "one", 1, path, reverse)


def written(scorer: Scorer, run: StudyRun, kind: Kind, found: list[tuple[str, float, int, str, str]]) -> None:
    """Outputs by hand: of each sentence (text, log p, ids, links by α, links by the posterior)."""
    test = scorer.tests["news"].read(run.reverse)
    path = open_run(run.name, run.path).path(scorer.folder.outputs, test, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"key": "by hand", "parameters": 7})]
    for number, (text, score, ids, links, known) in enumerate(found):
        targets, sources = len(test.reference[number].split()) + 2, len(test.source[number].split()) + 2
        weights = [_weights(line, targets, sources) for line in (links, known)]
        translation = Translation(text, ["x"] * targets, ["x"] * sources, score, [score / ids] * ids, weights[0])
        lines.append(as_line(OutputLine(number, translation, 0.5, weights[1])))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _weights(links: str, targets: int, sources: int) -> NDArray[np.float32]:
    """Those whose strongest are these links, and the end of sentence for every other target word."""
    weights = np.zeros((targets, sources), dtype=np.float32)
    weights[:, -1] = 0.5
    for source, target in parse_links(links, "", 1):
        weights[target, source] = 1.0
    return weights


def test_scores_by_hand(tmp_path: Path) -> None:
    """NLL (6 + 3) / (3 + 1) a word. Forward links {0-0, 1-1}, reverse {0-0, 1-1, 1-0} of sentence 1; S {0-0, 1-1}, P adds 0-1.

    Forward alone has 2-2 as well: A 3, in S 2, in P 2, S 2: AER 1 − 4/5. Intersection {0-0, 1-1}: AER 0.
    Posterior {2-0}, reverse {2-0, 1-1}: forward and intersection have one link, a wrong one, of which none is sure.
    """
    lines = {"news.en": ["a b c", LONG], "news.fr": ["x y v", "z"], "gold": ["0-0 1-1 0?1", ""]}
    ours, forward, reverse = scorer(tmp_path, lines), run(tmp_path, "one"), run(tmp_path, "one.reverse", reverse=True)
    written(ours, forward, Kind.TRANSLATIONS, [("x y", 0.0, 1, "", ""), ("u", 0.0, 1, "", "")])
    written(ours, forward, Kind.POSTERIOR, [("", -6.0, 3, "0-0 1-1 2-2", "2-0"), ("", -3.0, 1, "", "")])
    written(ours, reverse, Kind.POSTERIOR, [("", -1.0, 4, "0-0 1-1", "0-2 1-1"), ("", -1.0, 42, "", "")])
    assert ours.is_measured(forward)
    assert ours.is_measured(reverse)
    found = ours.statistics(forward, "news", reverse)
    value = {metric: statistics.score().value for metric, statistics in found.items()}
    assert (value["nll"], value["nll_per_word"]) == (4.5, 2.25)
    assert (value["aer"], value["precision"], value["recall"]) == pytest.approx((1 / 5, 2 / 3, 1.0))
    assert (value["aer_symmetrised"], value["precision_symmetrised"]) == (0.0, 1.0)
    assert (value["posterior_aer"], value["posterior_aer_symmetrised"]) == (1.0, 1.0)
    assert value["bleu"] == bleu(["x y", "u"], ["x y v", "z"]).value
    assert value["bleu_long"] == bleu(["u"], ["z"]).value
    assert len(found["bleu_long"]) == 1
    assert "aer_symmetrised" not in ours.statistics(forward, "news")
    assert set(ours.statistics(reverse, "news")) == {"nll", "nll_per_word"}


def test_what_a_row_is_from_is_told_from_its_files(tmp_path: Path) -> None:
    lines = {"news.en": ["a b c", "d"], "news.fr": ["x y", "z"], "gold": ["0-0", ""]}
    ours, forward = scorer(tmp_path, lines), run(tmp_path, "one")
    reverse = run(tmp_path, "one.reverse", reverse=True)
    assert not ours.is_measured(forward)
    for kind in (Kind.TRANSLATIONS, Kind.POSTERIOR):
        written(ours, forward, kind, [("", -1.0, 1, "", "")] * 2)
    assert ours.is_measured(forward)
    assert not Scorer(ours.folder, ours.tests, ours.data, "union", page=True).is_measured(forward)  # a page wants more
    prints = [ours.fingerprint(forward), ours.fingerprint(forward, reverse)]
    prints.append(Scorer(ours.folder, ours.tests, ours.data, "union").fingerprint(forward, reverse))
    (path,) = (ours.folder.outputs / "one").glob("*.translations.*")
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"{")])
    assert not ours.is_measured(forward)
    path.write_bytes(whole)
    for name, line in (("gold", "0-0 1-1"), ("news.fr", "x u"), ("news.en", "a b b")):
        scorer(tmp_path, {name: [line, lines[name][1]]})
        prints.append(ours.fingerprint(forward))
        assert ours.is_measured(forward) == (name == "gold")
    forward.path.joinpath("model.safetensors").write_text("other weights", encoding="utf-8")
    assert len({*prints, ours.fingerprint(forward)}) == 7


def test_outputs_that_are_not_whole_are_named(tmp_path: Path) -> None:
    ours = scorer(tmp_path, {"news.en": ["a", "b"], "news.fr": ["x", "y"], "gold": ["0-0", ""]})
    forward = run(tmp_path, "one")
    written(ours, forward, Kind.POSTERIOR, [("", -1.0, 1, "", "")])
    with pytest.raises(InputError, match=r"jsonl: has 1 sentences, and test set news has 2"):
        ours.statistics(forward, "news")


def test_gold_links_count_given_words_or_the_tokenisers_words(tmp_path: Path) -> None:
    """`house.` is one word between spaces and two to the tokeniser, whose links 1-1 and 2-2 are then one link, 1-1."""
    lines = {"news.en": ["the house.", "c d"], "news.fr": ["la maison.", "z u"]}
    for gold, expected in ((["0-0 1-1", "0-1"], [[0.0, 4.0], [0.0, 2.0]]), (["0-0 1-1 2-2", "0-0"], [[0.0, 6.0], [2.0, 2.0]])):
        ours, forward = scorer(tmp_path, lines | {"gold": gold}, "moses"), run(tmp_path, "one")
        written(ours, forward, Kind.TRANSLATIONS, [("x", 0.0, 1, "", ""), ("z", 0.0, 1, "", "")])
        written(ours, forward, Kind.POSTERIOR, [("", -1.0, 4, "0-0 1-1 2-2", ""), ("", -1.0, 3, "0-1", "")])
        assert ours.statistics(forward, "news")["aer"].values.tolist() == expected
