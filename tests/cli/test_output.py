"""How results are printed: one line of JSON, Moses n-best lists, Pharaoh links."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rnnsearch.cli.answers import json_line
from rnnsearch.cli.models import models
from rnnsearch.cli.translate import as_nbest
from rnnsearch.records import Translation
from rnnsearch.serve.terminal import in_colours
from rnnsearch.system.progress import note, show

ALPHA = np.array([[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]], dtype=np.float32)
SOURCE, TARGET, LOGS = ["the", "summer", "</s>"], ["l'", "été"], [-0.1, -0.02, -0.003456789]
OTHER = Translation("été", TARGET, SOURCE, -2.0, LOGS, ALPHA, finished=False)
RESULT = Translation("l'été", TARGET, SOURCE, -0.123456789, LOGS, ALPHA, alternatives=[OTHER])
NOTHING = Translation("", [], ["</s>"], 0.0, [], np.zeros((0, 1), dtype=np.float32))


def test_json_holds_everything_on_one_line() -> None:
    line = json_line(0, RESULT)
    assert "\n" not in line
    assert "été" in line  # letters, not \u00e9
    plain = {
        "tokens": ["l'", "été"],
        "source_tokens": ["the", "summer", "</s>"],
        "log_probabilities": [-0.1, -0.02, -0.00346],
        "confidence": [],
        "doubtful_numbers": [],
        "unknown_words": [],
        "alignment": [[0.7, 0.2, 0.1], [0.33333, 0.33333, 0.33333]],
    }
    alternative = plain | {"text": "été", "score": -2.0, "finished": False}
    expected = plain | {
        "text": "l'été",
        "score": -0.12346,
        "finished": True,
        "alternatives": [alternative],
    }
    assert json.loads(line) == expected
    found = json.loads(json_line(0, NOTHING))
    assert (found["text"], found["tokens"], found["alignment"], found["alternatives"]) == (
        "",
        [],
        [],
        [],
    )


def test_an_nbest_list_has_log_p_as_its_feature_and_the_score_last() -> None:
    assert as_nbest(7, RESULT).split("\n") == [
        "7 ||| l'été ||| rnnsearch= -0.1235 ||| -0.1235",
        "7 ||| été ||| rnnsearch= -0.1235 ||| -2.0000",
    ]
    assert as_nbest(0, NOTHING) == "0 |||  ||| rnnsearch= 0.0000 ||| 0.0000"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


FORGED = "\x1b]0;title\x07\x1b[2J\x9b2J a\u202eb\u2066c\x7f\r d\u2028e"
ESCAPED = r"\x1b]0;title\x07\x1b[2J\x9b2J a\u202eb\u2066c\x7f\r d\u2028e"


def test_control_sequences_reach_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters with joiners, marks of direction and no-break spaces are text; files and pipes get all."""
    text = "à la\N{NO-BREAK SPACE}carte, می\N{ZERO WIDTH NON-JOINER}روم, \u200fא\ttab\nline 👩\N{ZERO WIDTH JOINER}🚀"
    for stream, expected in ((Terminal(), ESCAPED), (io.StringIO(), FORGED)):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        show(FORGED)
        note(FORGED)
        show(text)
        assert stream.getvalue() == f"{expected}\n{expected}\n{text}\n"


def test_models_words_and_copied_words_are_made_visible() -> None:
    forged = replace(RESULT, text=f"{FORGED} l'été", tokens=[FORGED, "été"], confidence=[0.1, 0.9])
    source, target = in_colours(FORGED, forged)
    assert not {*source.plain, *target.plain} & {*FORGED} - {*"2J0;]title abcde["}


def test_a_models_card_reaches_no_terminal_raw(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SimpleNamespace(name=FORGED, fault=FORGED)
    monkeypatch.setattr("rnnsearch.pretrained.card.listed_models", lambda: [model])
    for stream, expected in ((Terminal(), ESCAPED), (io.StringIO(), FORGED)):
        monkeypatch.setattr(sys, "stdout", stream)
        models()
        assert stream.getvalue() == f"{expected:12} {expected}\n"
