"""Moses n-best lists: what is one, what is wrong with one, and the order in which a model puts it."""

from __future__ import annotations

import numpy as np
import pytest

from rnnsearch.cli.nbest import NbestEntry, is_nbest, parse_nbest, rerank
from rnnsearch.cli.translate import as_nbest
from rnnsearch.records import Translation

NBEST = ["0 ||| a b ||| lm= -1 ||| -3", "0 ||| a", "  12 ||| a ||| b", "0 |||  ||| f= 1"]
OTHERS = ["", "a sentence", "one ||| a", "-1 ||| a", "1.5 ||| a", "||| a", "0|||a", "3 a ||| b"]


@pytest.mark.parametrize("line", [*NBEST, *OTHERS])
def test_what_is_a_line_of_an_nbest_list(line: str) -> None:
    assert is_nbest(line) is (line in NBEST)


def test_fields_are_kept() -> None:
    lines = ["0 ||| a  b ||| lm= -1 d= 0 ||| -3 ||| 0-0 1-1", "0 |||  ||| f= 1", "02 ||| c"]
    assert list(parse_nbest(lines, 3, "list")) == [
        NbestEntry(0, "a  b", ("lm= -1 d= 0", "-3", "0-0 1-1")),
        NbestEntry(0, "", ("f= 1",)),
        NbestEntry(2, "c", ()),
    ]
    assert list(parse_nbest([], 3, "list")) == []


def test_each_sentence_is_ordered_by_itself() -> None:
    scores, asked = {"a": -3.0, "b": -1.0, "c": -2.0, "d": -9.0}, []

    def score(pairs: list[tuple[str, str]]) -> list[float]:
        asked.extend(pairs)
        return [scores[target] for _, target in pairs]

    candidates = parse_nbest(
        [
            "0 ||| a ||| lm= 1 ||| -1",
            "0 ||| b",
            "2 ||| d ||| lm= 2 rnnsearch= -1.5",
            "2 ||| c ||| lm= 3 x= 4 ||| -2 ||| 0-0",
        ],
        3,
        "list",
    )
    assert list(rerank(score, ["zero", "one", "two"], candidates)) == [
        "0 ||| b ||| rnnsearch= -1.0000 ||| -1.0000",
        "0 ||| a ||| lm= 1 rnnsearch= -3.0000 ||| -3.0000",
        "2 ||| c ||| lm= 3 x= 4 rnnsearch= -2.0000 ||| -2.0000 ||| 0-0",
        "2 ||| d ||| lm= 2 rnnsearch= -9.0000 ||| -9.0000",
    ]
    candidates = parse_nbest([f"0 ||| {text}" for text in "bca"], 1, "list")
    ranked = rerank(lambda pairs: [-1.0] * len(pairs), ["x"], candidates)
    # equal scores keep their order
    assert [line.split(" ||| ")[1] for line in ranked] == ["b", "c", "a"]
    assert asked == [("zero", "a"), ("zero", "b"), ("two", "d"), ("two", "c")]


def test_what_is_printed_is_read_back() -> None:
    def translation(text: str, score: float) -> Translation:
        return Translation(text, [], [], score, [score], np.zeros((0, 0), dtype=np.float32))

    best = translation("l'été |", -1.5)
    best.alternatives.extend([translation("", -2.0), translation("c", -3.0)])
    found = list(parse_nbest(as_nbest(4, best).split("\n"), 5, "list"))
    assert [(candidate.sentence, candidate.text) for candidate in found] == [
        (4, "l'été |"),
        (4, ""),
        (4, "c"),
    ]
