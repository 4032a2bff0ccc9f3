"""Scores of hand-made outputs, against values computed by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from study_files import study_in

from rnnsearch.config import load_config
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.studies.scores import Results
from rnnsearch.studies.study import StudyRun
from rnnsearch.text.codec import Codec
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.outputs import Kind, Outputs, open_run
from rnnsearch.translation.outputs_file import OutputLine, as_line
from rnnsearch.word_links import parse_links

STUDY = """
both_directions = true
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


def results(folder: Path, lines: dict[str, list[str]], tokeniser: str = "space") -> Results:
    for name, content in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content), "utf-8")
    return Results(study_in(folder, STUDY.replace('"space"', f'"{tokeniser}"')))


def run(results: Results, reverse: bool = False, tokeniser: str = "space") -> StudyRun:
    """A run of the study that was never trained: its weights are a name."""
    found = results.folder.runs[reverse]
    path, name = found.path, found.name
    if not path.exists():
        codec = Codec(Tokeniser(tokeniser, ""), Vocabulary("abcdxyz"))
        settings = load_config(overrides=[f"data.tokeniser={tokeniser}"])
        Run(path, settings, codec, codec).create().model_path.write_text(name, "utf-8")
    return found


def written(
    results: Results, run: StudyRun, kind: Kind, found: list[tuple[str, float, int, str, str]]
) -> None:
    """Outputs by hand: of each sentence (text, log p, ids, links by α, links by the posterior)."""
    test = results.folder.test_sets["news"].test
    test = test.reversed() if run.reverse else test
    path = Outputs(open_run(run.name, run.path), test, kind, results.folder.outputs).path
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"key": "by hand", "parameters": 7})]
    for number, (text, score, ids, links, known) in enumerate(found):
        targets, sources = len(test.reference[number].split()) + 2, len(test.source[number].split()) + 2
        weights = [_weights(line, targets, sources) for line in (links, known)]
        translation = Translation(
            text, ["x"] * targets, ["x"] * sources, score, [score / ids] * ids, weights[0]
        )
        lines.append(as_line(OutputLine(number, translation, 0.5, weights[1])))
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _weights(links: str, targets: int, sources: int) -> NDArray[np.float32]:
    """Those whose strongest are these links, and the end of sentence for every other target word."""
    weights = np.zeros((targets, sources), dtype=np.float32)
    weights[:, -1] = 0.5
    for source, target in parse_links(links, "", 1):
        weights[target, source] = 1.0
    return weights


def test_scores_by_hand(tmp_path: Path) -> None:
    """NLL (6 + 3) / (6 + 4) a word, ends included. Forward links {0-0, 1-1}, reverse {0-0, 1-1, 1-0} of
    sentence 1; S {0-0, 1-1}, P adds 0-1.

    Forward alone has 2-2 as well: A 3, in S 2, in P 2, S 2: AER 1 − 4/5. Intersection {0-0, 1-1}: AER 0.
    Posterior {2-0}, reverse {2-0, 1-1}: forward and intersection have one link, a wrong one, of which none is
    sure.
    """
    lines = {"news.en": ["a b c", LONG], "news.fr": ["x y v", "z"], "gold": ["0-0 1-1 0?1", ""]}
    ours = results(tmp_path, lines)
    forward, reverse = run(ours), run(ours, reverse=True)
    written(ours, forward, Kind.TRANSLATIONS, [("x y", 0.0, 1, "", ""), ("u", 0.0, 1, "", "")])
    written(ours, forward, Kind.POSTERIOR, [("", -6.0, 3, "0-0 1-1 2-2", "2-0"), ("", -3.0, 1, "", "")])
    written(ours, reverse, Kind.POSTERIOR, [("", -1.0, 4, "0-0 1-1", "0-2 1-1"), ("", -1.0, 42, "", "")])
    assert "aer_symmetrised" not in ours.statistics(forward, "news")
    ours.add({"run": reverse.name, "status": "done"})
    ours = Results(ours.folder)
    found = ours.statistics(forward, "news")
    value = {metric: statistics.score().value for metric, statistics in found.items()}
    assert (value["nll"], value["nll_per_word"]) == (4.5, 9 / 10)
    assert (value["aer"], value["precision"], value["recall"]) == pytest.approx((1 / 5, 2 / 3, 1.0))
    assert (value["aer_symmetrised"], value["precision_symmetrised"]) == (0.0, 1.0)
    assert (value["posterior_aer"], value["posterior_aer_symmetrised"]) == (1.0, 1.0)
    assert value["bleu"] == bleu(["x y", "u"], ["x y v", "z"]).value
    assert value["bleu_long"] == bleu(["u"], ["z"]).value
    assert len(found["bleu_long"]) == 1
    assert set(ours.statistics(reverse, "news")) == {"nll", "nll_per_word"}


def test_what_a_row_is_from_is_told_from_its_files(tmp_path: Path) -> None:
    lines = {"news.en": ["a b c", "d"], "news.fr": ["x y", "z"], "gold": ["0-0", ""]}
    ours = results(tmp_path, lines)
    forward, reverse = run(ours), run(ours, reverse=True)

    def told(these: Results) -> str:
        return these.fingerprint(these.opened(forward))

    prints = [told(ours)]
    ours.add({"run": reverse.name, "status": "done"})
    prints.append(told(ours))
    study = ours.folder.study.model_copy(update={"symmetrisation": "union"})
    prints.append(told(Results(replace(ours.folder, study=study))))
    for name, line in (("gold", "0-0 1-1"), ("news.fr", "x u"), ("news.en", "a b b")):
        prints.append(told(results(tmp_path, {name: [line, lines[name][1]]})))
    forward.path.joinpath("model.safetensors").write_text("other weights", "utf-8")
    assert len({*prints, told(ours)}) == 7


def test_gold_links_count_given_words_or_the_tokenisers_words(tmp_path: Path) -> None:
    """`house.` is one word between spaces and two to the tokeniser, whose links 1-1 and 2-2 are then one
    link, 1-1."""
    lines = {"news.en": ["the house.", "c d"], "news.fr": ["la maison.", "z u"]}
    for gold, expected in (
        (["0-0 1-1", "0-1"], [[0.0, 4.0], [0.0, 2.0]]),
        (["0-0 1-1 2-2", "0-0"], [[0.0, 6.0], [2.0, 2.0]]),
    ):
        ours = results(tmp_path, lines | {"gold": gold}, "moses")
        forward = run(ours, tokeniser="moses")
        written(ours, forward, Kind.TRANSLATIONS, [("x", 0.0, 1, "", ""), ("z", 0.0, 1, "", "")])
        written(ours, forward, Kind.POSTERIOR, [("", -1.0, 4, "0-0 1-1 2-2", ""), ("", -1.0, 3, "0-1", "")])
        assert ours.statistics(forward, "news")["aer"].values.tolist() == expected
