"""How results are printed: one line of JSON, Moses n-best lists, Pharaoh links."""

from __future__ import annotations

import json

import numpy as np

from rnnsearch.cli.output import as_json, as_links, as_nbest
from rnnsearch.records import Translation


def translation(text: str = "l'été", score: float = -0.123456789, **others: object) -> Translation:
    alpha = np.array([[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]], dtype=np.float32)
    fields: dict[str, object] = {"finished": True, "alternatives": []} | others
    return Translation(
        text, ["l'", "été"], ["the", "summer", "</s>"], score, [-0.1, -0.02, -0.003456789], alpha, **fields
    )  # type: ignore[arg-type]


def test_json_holds_everything_on_one_line() -> None:
    other = translation("été", -2.0, finished=False)
    line = as_json(translation(alternatives=[other]))
    assert "\n" not in line
    assert "été" in line  # letters, not \u00e9
    found = json.loads(line)
    [alternative] = found.pop("alternatives")
    assert found == {
        "text": "l'été",
        "tokens": ["l'", "été"],
        "source_tokens": ["the", "summer", "</s>"],
        "score": -0.12346,
        "log_probabilities": [-0.1, -0.02, -0.00346],
        "confidence": [],
        "finished": True,
        "alignment": [[0.7, 0.2, 0.1], [0.33333, 0.33333, 0.33333]],
    }
    assert (alternative["text"], alternative["score"], alternative["finished"]) == ("été", -2.0, False)
    assert "alternatives" not in alternative


def test_json_of_nothing_is_empty_lists() -> None:
    nothing = Translation("", [], ["</s>"], 0.0, [], np.zeros((0, 1), dtype=np.float32))
    found = json.loads(as_json(nothing))
    assert (found["text"], found["tokens"], found["alignment"], found["alternatives"]) == ("", [], [], [])
    assert as_links(nothing) == ""
    assert as_nbest(0, nothing) == "0 |||  ||| rnnsearch= 0.0000 ||| 0.0000"


def test_an_nbest_list_has_log_p_as_its_feature_and_the_score_last() -> None:
    both = translation(alternatives=[translation("été", -2.0)])
    assert as_nbest(7, both).split("\n") == [
        "7 ||| l'été ||| rnnsearch= -0.1235 ||| -0.1235",
        "7 ||| été ||| rnnsearch= -0.1235 ||| -2.0000",
    ]


def test_links_leave_out_what_looks_at_the_end_of_sentence() -> None:
    alpha = np.array([[0.1, 0.8, 0.1], [0.0, 0.1, 0.9], [0.9, 0.1, 0.0]], dtype=np.float32)
    assert as_links(Translation("", ["a", "b", "c"], ["x", "y", "</s>"], 0.0, [], alpha)) == "0-2 1-0"
