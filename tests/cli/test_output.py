"""How results are printed: one line of JSON, Moses n-best lists, Pharaoh links."""

from __future__ import annotations

import json

import numpy as np

from rnnsearch.cli.output import as_json, as_links, as_nbest
from rnnsearch.records import Translation

ALPHA = np.array([[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]], dtype=np.float32)
SOURCE, TARGET, LOGS = ["the", "summer", "</s>"], ["l'", "été"], [-0.1, -0.02, -0.003456789]
OTHER = Translation("été", TARGET, SOURCE, -2.0, LOGS, ALPHA, finished=False)
RESULT = Translation("l'été", TARGET, SOURCE, -0.123456789, LOGS, ALPHA, alternatives=[OTHER])
NOTHING = Translation("", [], ["</s>"], 0.0, [], np.zeros((0, 1), dtype=np.float32))


def test_json_holds_everything_on_one_line() -> None:
    line = as_json(RESULT)
    assert "\n" not in line
    assert "été" in line  # letters, not \u00e9
    plain = {
        "tokens": ["l'", "été"],
        "source_tokens": ["the", "summer", "</s>"],
        "log_probabilities": [-0.1, -0.02, -0.00346],
        "confidence": [],
        "alignment": [[0.7, 0.2, 0.1], [0.33333, 0.33333, 0.33333]],
    }
    alternative = plain | {"text": "été", "score": -2.0, "finished": False}
    expected = plain | {"text": "l'été", "score": -0.12346, "finished": True, "alternatives": [alternative]}
    assert json.loads(line) == expected
    found = json.loads(as_json(NOTHING))
    assert (found["text"], found["tokens"], found["alignment"], found["alternatives"]) == ("", [], [], [])


def test_an_nbest_list_has_log_p_as_its_feature_and_the_score_last() -> None:
    assert as_nbest(7, RESULT).split("\n") == [
        "7 ||| l'été ||| rnnsearch= -0.1235 ||| -0.1235",
        "7 ||| été ||| rnnsearch= -0.1235 ||| -2.0000",
    ]
    assert as_nbest(0, NOTHING) == "0 |||  ||| rnnsearch= 0.0000 ||| 0.0000"


def test_links_leave_out_what_looks_at_the_end_of_sentence() -> None:
    alpha = np.array([[0.1, 0.8, 0.1], [0.0, 0.1, 0.9], [0.9, 0.1, 0.0]], dtype=np.float32)
    assert as_links(Translation("", ["a", "b", "c"], ["x", "y", "</s>"], 0.0, [], alpha)) == "0-2 1-0"
    assert as_links(NOTHING) == ""
