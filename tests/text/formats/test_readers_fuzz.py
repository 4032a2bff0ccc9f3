"""Whatever a file holds, a reader gives its pairs or one clear line, and never puts two sides together that
were not together."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packed import PACK, PACKED

from rnnsearch.errors import InputError
from rnnsearch.text.formats.layout import Layout
from rnnsearch.text.formats.readers import parallel_texts

Pair = tuple[str, str]


def tsv_of(pairs: list[Pair]) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in pairs).encode()


def json_lines_of(pairs: list[Pair], ascii: bool = True) -> bytes:
    return "".join(
        json.dumps({"en": source, "fr": target}, ensure_ascii=ascii) + "\n"
        for source, target in pairs
    ).encode()


def unit_of(source: str, target: str) -> str:
    sides = [
        f'<tuv xml:lang="{code}"><seg>{escape(text, {chr(13): "&#13;"})}</seg></tuv>'
        for code, text in (("en", source), ("fr", target))
    ]
    return f"<tu>{''.join(sides)}</tu>\n"


def tmx_of(pairs: list[Pair]) -> bytes:
    return f"<tmx><body>\n{''.join(unit_of(*pair) for pair in pairs)}</body></tmx>".encode()


WRITERS: dict[str, list[Callable[[list[Pair]], bytes]]] = {
    "tsv": [tsv_of, lambda pairs: tsv_of(pairs).removesuffix(b"\n")],
    "jsonl": [json_lines_of, lambda pairs: json_lines_of(pairs, ascii=False)],
    "tmx": [tmx_of, lambda pairs: tmx_of(pairs).decode().encode("utf-16")],
}

SPECIAL = [*'\n\r\0\t\ufeff\u2028\x85\x0b\x1c",\\<&é日\U0001f600', "\r\n", '""', "]]>", "a b"]
TEXT = st.lists(st.one_of(st.sampled_from(SPECIAL), st.text(max_size=5)), max_size=6).map("".join)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read(path: Path) -> tuple[list[Pair], InputError | None]:
    """The pairs up to the fault, and the fault."""
    columns = ("1", "2") if ".tsv" in path.name else ("", "")
    (text,) = parallel_texts([path], layout=Layout("", *columns))
    pairs: list[Pair] = []
    fault = None
    try:
        for pair in text.pairs():
            pairs.append(pair)
    except InputError as error:
        fault = error
    assert fault is None or (str(path) in str(fault) and "\n" not in str(fault))
    return pairs, fault


def representable(text: str, format: str) -> str:
    """The text without what the format has no way to hold."""
    if format == "tsv":
        return re.sub("[\t\n\0]", "", text)  # many NULs would be UTF-16
    if format == "tmx":
        return "".join(
            character
            for character in text
            if character in "\t\n\r" or (character >= " " and character not in "\ufffe\uffff")
        )
    return text


def essence(text: str) -> str:
    """All that may not be lost or added: blanks and control characters become one another."""
    return "".join(
        character
        for character in text
        if unicodedata.category(character) not in ("Cc", "Zl", "Zp") and character not in " \ufeff"
    )


@pytest.mark.parametrize(
    ("format", "writer"),
    [(format, writer) for format, writers in WRITERS.items() for writer in writers],
)
@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(TEXT, TEXT), max_size=12))
def test_what_was_written_comes_back_pair_for_pair(
    scratch: Path, format: str, writer: Callable[[list[Pair]], bytes], pairs: list[Pair]
) -> None:
    pairs = [
        (representable(source, format), representable(target, format)) for source, target in pairs
    ]
    path = scratch / f"whole.{format}"
    path.write_bytes(writer(pairs))
    found, fault = read(path)
    assert fault is None
    assert [tuple(map(essence, pair)) for pair in found] == [
        tuple(map(essence, pair)) for pair in pairs
    ]
    for text in (text for pair in found for text in pair):
        assert not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text)


# No damage makes one of another.
PAIRS = [(f"source {letter * 5}", f"target, {letter * 5}") for letter in "abcdefghijklmnopqrst"]

MARKS = r"""
 " , "," { } {"en":" \ \u < > & </seg> <seg> </tuv> </tu> <tu> </tu><tu> <!-- --> <![CDATA[ ]]> <tuv> <tuv/> <ph> </ph> <!DOCTYPE
"""
FRAGMENT = st.sampled_from(
    [mark.encode() for mark in MARKS.split()] + [b"\n", b"\r", b"\t", b'"\n"', b"\xff", b"\0"]
)
FRAGMENTS = st.lists(st.one_of(st.binary(max_size=3), FRAGMENT), max_size=6).map(b"".join)


def records(format: str) -> Iterator[tuple[bytes, bytes, bytes]]:
    """For each of PAIRS: what comes before it in the file, itself, and the rest."""
    alone: dict[str, Callable[[Pair], bytes]] = {
        "tsv": lambda pair: tsv_of([pair]),
        "jsonl": lambda pair: json_lines_of([pair]),
        "tmx": lambda pair: unit_of(*pair).encode(),
    }
    whole = WRITERS[format][0](PAIRS)
    for pair in PAIRS:
        before, record, after = whole.partition(alone[format](pair))
        assert record
        yield before, record, after


RECORDS = {format: list(records(format)) for format in WRITERS}


@pytest.mark.parametrize("format", WRITERS)
@settings(max_examples=150)
@given(
    number=st.integers(0, len(PAIRS) - 1),
    cut=st.tuples(st.integers(0, 90), st.integers(0, 90)),
    garbage=FRAGMENTS,
)
def test_a_damaged_record_puts_no_other_out_of_step(
    scratch: Path, format: str, number: int, cut: tuple[int, int], garbage: bytes
) -> None:
    """Bytes of one record are replaced by others: all other records come back as they were, or after them
    comes a fault."""
    before, record, after = RECORDS[format][number]
    start, end = sorted(cut)
    path = scratch / f"damaged.{format}"
    path.write_bytes(before + record[:start] + garbage + record[end:] + after)
    found, fault = read(path)
    assert found[:number] == PAIRS[:number] or (
        fault and format == "tmx" and found == PAIRS[: len(found)]
    )
    partner = {
        text: other
        for source, target in PAIRS[:number] + PAIRS[number + 1 :]
        for text, other in ((source, target), (target, source))
    }
    # the record's own end, or its neighbour's, may be gone
    joined = start == 0 or end >= len(record)
    for pair in found:
        for text, other in (pair, pair[::-1]):
            assert joined or partner.get(text, other) == other
    if fault is None and format in ("tsv", "jsonl") and end < len(record):
        lines = path.read_bytes().split(b"\n")
        assert len(found) == len(lines) - 1
        assert found[len(found) - len(PAIRS) + number + 1 :] == PAIRS[number + 1 :]


@pytest.mark.parametrize("format", WRITERS)
@settings(max_examples=60)
@given(
    content=st.one_of(st.binary(max_size=100), FRAGMENTS),
    start=st.integers(0, 3000),
    length=st.integers(0, 300),
)
def test_no_bytes_give_another_error(
    scratch: Path, format: str, content: bytes, start: int, length: int
) -> None:
    """Files of anything, and sound ones with anything inside."""
    path = scratch / f"anything.{format}"
    path.write_bytes(content)
    read(path)
    whole = WRITERS[format][0](PAIRS)
    place = start % len(whole)
    path.write_bytes(whole[:place] + content + whole[place + length :])
    read(path)


@pytest.mark.parametrize(
    ("format", "suffix"),
    [*product(WRITERS, PACKED), ("tmx", "")],  # those that have an end
)
@settings(max_examples=30)
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_file_that_is_cut_is_never_taken_for_whole(
    scratch: Path, format: str, suffix: str, kept: float
) -> None:
    packed = PACK[suffix](WRITERS[format][0](PAIRS))
    path = scratch / f"cut.{format}{suffix}"
    path.write_bytes(packed[: int(kept * len(packed))])
    found, fault = read(path)
    assert fault is not None
    assert found == PAIRS[: len(found)]
