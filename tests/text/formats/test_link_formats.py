"""Word links with their pairs as JSON lines: what is written is read again, and nothing malformed
passes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch import AlignedPair, Translation, read_gold, read_pharaoh
from rnnsearch.text.formats.lines import plain_field
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.word_links import GoldLinks, Link

Pairs = list[tuple[str, str, list[Link]]]
text = st.text(max_size=20) | st.text(
    st.sampled_from("<>&\"'] \0\x0b\x85\r\n\t\u2028\ufffe\U0001f600e\u0301")
)
links = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=5, unique=True)
pairs = st.lists(st.tuples(text, text, links), max_size=5)
ODD = [("", "", []), ("]]> &lt; <seg>", "\0\ud800\uffff", [(0, 12), (3, 0)]), (" a ", "\r\n", [])]


@given(pairs)
@example(ODD)
def test_json_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, some: Pairs
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    some = [
        (source.replace("\ud800", ""), target.replace("\ud800", ""), found)
        for source, target, found in some
    ]
    objects = []
    for source, target, found in some:
        weights = np.linspace(0, 1, 101 * 100, dtype=np.float32).reshape(100, 101)
        words = Translation(target, ["f"] * 100, [*["e"] * 100, "</s>"], 0.0, [], weights)
        pair = AlignedPair(source, target, words, found, found)
        objects.append(pair.to_dict())
        assert objects[-1]["probabilities"] == [round(float(weights[i, j]), 5) for j, i in found]
    path.write_text(
        "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects),
        "utf-8",
        newline="\n",
    )
    assert read_pharaoh(path) == [set(found) for *_, found in some]
    expected = [tuple(plain_field(side, 1) for side in pair) for *pair, _ in some]
    assert list(parallel_texts([path])[0].pairs()) == expected


@pytest.mark.parametrize(
    "line",
    [
        *("{", "{}", "{'links': []}", '{"links": ' + "[" * 100_000, '{"links": [[0, 1]]} 0-0'),
        *(
            f'{{"links": {links}}}'
            for links in (
                *("null", "7", "[7]", '["0-0"]', "[[0]]", "[[0, 1, 2]]", "[[0, -1]]", "[[0, 1.0]]"),
                *(
                    "[[0, true]]",
                    '[["0", "1"]]',
                    '"0-0 1"',
                    "[[0, " + "9" * 5000 + "]]",
                    '{"ab": 1}',
                ),
                "[[0, 9999999999]]",
            )
        ),
    ],
)
def test_malformed_json_is_one_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "links"
    path.write_text(f'{{"links": [[0, 0]]}}\n\n{line}\n')
    for read in (read_pharaoh, read_gold):
        with refusal(re.escape(f"{path}:3: ") + "(is no JSON|.* is not a link)") as error:
            read(path)
        assert len(str(error.value)) < 300


def test_possible_links_in_json(tmp_path: Path) -> None:
    none = GoldLinks(frozenset())
    expected = [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 2)})), none, none]
    (tmp_path / "gold").write_text(' {"links": "0-0 1?2"}\n{"links": []}\n{"links": ""}\n')
    assert read_gold(tmp_path / "gold") == expected
