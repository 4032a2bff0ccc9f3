"""Word links with their pairs as TMX and JSON lines: what is written is read again, and nothing malformed
passes."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packed import PACK

from rnnsearch import AlignedPair, Translation, read_gold, read_pharaoh
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import plain_field
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.formats.tmx import TMX_END, tmx_head, tmx_unit
from rnnsearch.translation.aligner import Aligned
from rnnsearch.word_links import GoldLinks, Link

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
Pairs = list[tuple[str, str, list[Link]]]
text = st.text(max_size=20) | st.text(
    st.sampled_from("<>&\"'] \0\x0b\x85\r\n\t\u2028\ufffe\U0001f600e\u0301")
)
links = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=5, unique=True)
pairs = st.lists(st.tuples(text, text, links), max_size=5)
ODD = [("", "", []), ("]]> &lt; <seg>", "\0\ud800\uffff", [(0, 12), (3, 0)]), (" a ", "\r\n", [])]


def tmx_of(some: Pairs, languages: tuple[str, str] = ("en", "fr")) -> str:
    units = "".join(f"{tmx_unit((source, target), languages, found)}\n" for source, target, found in some)
    return f"{tmx_head(languages[0])}{units}{TMX_END}"


@given(pairs)
@example(ODD)
def test_tmx_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, some: Pairs) -> None:
    path = tmp_path_factory.mktemp("tmx") / "a.tmx"
    path.write_bytes(tmx_of(some).encode())
    assert read_pharaoh(path) == [set(found) for _, _, found in some]
    no_xml = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
    expected = [tuple(plain_field(no_xml.sub("\ufffd", side), 1) for side in pair) for *pair, _ in some]
    assert list(parallel_texts([path])[0].pairs()) == expected


@given(pairs, text, text)
@example(ODD, '"<>&', "'\"")
def test_any_xml_parser_reads_the_tmx(some: Pairs, source: str, target: str) -> None:
    root = ET.fromstring(tmx_of(some, ("en", "fr")).encode())
    assert (root.tag, root.attrib) == ("tmx", {"version": "1.4"})
    head, body = root
    assert head.attrib.keys() == {
        *("creationtool", "creationtoolversion", "segtype", "o-tmf", "adminlang", "srclang", "datatype")
    }
    for unit, (*_, found) in zip(body, some, strict=True):
        prop, *sides = unit
        assert [side.get(LANGUAGE) for side in sides] == ["en", "fr"]
        assert prop.attrib == {"type": "x-word-links"}
        assert (prop.text or "").split() == [f"{j}-{i}" for j, i in found]


@given(pairs)
@example(ODD)
def test_json_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, some: Pairs) -> None:
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    some = [
        (source.replace("\ud800", ""), target.replace("\ud800", ""), found) for source, target, found in some
    ]
    objects = []
    for source, target, found in some:
        weights = np.linspace(0, 1, 101 * 100, dtype=np.float32).reshape(100, 101)
        words = Translation(target, ["f"] * 100, [*["e"] * 100, "</s>"], 0.0, [], weights)
        pair = AlignedPair.of(Aligned(words, found, found, lines=(source, target)))
        objects.append(pair.to_dict())
        assert objects[-1]["probabilities"] == [round(float(weights[i, j]), 5) for j, i in found]
    path.write_text(
        "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects), "utf-8", newline="\n"
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
                *("[[0, true]]", '[["0", "1"]]', '"0-0 1"', "[[0, " + "9" * 5000 + "]]", '{"ab": 1}'),
                "[[0, 9999999999]]",
            )
        ),
    ],
)
def test_malformed_json_is_one_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "links"
    path.write_text(f'{{"links": [[0, 0]]}}\n\n{line}\n')
    for read in (read_pharaoh, read_gold):
        with pytest.raises(
            InputError, match=re.escape(f"{path}:3: ") + "(is no JSON|.* is not a link)"
        ) as error:
            read(path)
        assert len(str(error.value)) < 300


def test_possible_links_in_json_and_tmx(tmp_path: Path) -> None:
    none = GoldLinks(frozenset())
    expected = [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 2)})), none, none]
    (tmp_path / "gold").write_text(' {"links": "0-0 1?2"}\n{"links": []}\n{"links": ""}\n')
    unit = '<tu><prop type="x-word-links">\n0-0\n1?2</prop><seg>9-9</seg></tu>'
    note = '<tu><prop type="x">9-9</prop><tuv xml:lang="en"><prop type="x-word-links">9-9</prop></tuv></tu>'
    tmx = f"<tmx><body>{unit}{note}{note.replace('en', 'de')}</body></tmx>".encode()
    for suffix, pack in PACK.items():
        (tmp_path / f"gold.tmx{suffix}").write_bytes(pack(tmx))
    for name in ("gold", *(f"gold.tmx{suffix}" for suffix in PACK)):
        assert read_gold(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<tmx>\n<tu>\n<prop type='x-word-links'>0-0 1</prop></tu></tmx>", "a.tmx:2: '1' is not a link"),
        ("<tmx><tu><tuv xml:lang='en'><seg>0-0</seg></tuv></tu></tmx>", "a.tmx: none of the 1 units has a"),
        ("<tmx>\n<tu><prop type='x-word-links'>0-0</tu></tmx>", "a.tmx:2: is not valid XML"),
        ("<!DOCTYPE tmx [<!ENTITY l '0-0'>]>\n<tmx/>", "a.tmx:1: declares the entity 'l'"),
        ("0-0 1-1\n", "a.tmx:1: is not valid XML"),
    ],
)
def test_malformed_tmx_is_one_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.tmx").write_text(content)
    for read in (read_pharaoh, read_gold):
        with pytest.raises(InputError, match=re.escape(f"{tmp_path}/{message}")):
            read(tmp_path / "a.tmx")
