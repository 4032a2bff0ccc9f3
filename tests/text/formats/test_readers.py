from __future__ import annotations

import gzip
import io
import json
import sys
import tracemalloc
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packed import PACK
from pairs import Pair, pairs_of

from rnnsearch.errors import InputError
from rnnsearch.text.formats import tmx
from rnnsearch.text.formats.readers import Format, Layout, parallel_texts


def unit(*segments: str) -> str:
    """A unit of a translation memory, from "language: text"."""
    variants = (segment.partition(": ") for segment in segments)
    return (
        "<tu>"
        + "".join(f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, _, text in variants)
        + "</tu>\n"
    )


def memory(*units: str, head: str = "") -> bytes:
    return f'{head}<tmx version="1.4"><header srclang="en"/><body>\n{"".join(units)}</body></tmx>\n'.encode()


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


def write_parquet(path: Path, content: pa.Table, **options: Any) -> Path:
    pq.write_table(content, path, **options)
    return path


def save_to_disk(folder: Path, content: pa.Table, files: int = 1) -> Path:
    """As the library `datasets` saves a dataset."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{files:05}.arrow" for number in range(files)]
    rows = -(-len(content) // files)
    for number, name in enumerate(names):
        with pa.ipc.new_stream(str(folder / name), content.schema) as stream:
            stream.write_table(content.slice(number * rows, rows), max_chunksize=2)
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": name} for name in names]}), encoding="utf-8"
    )
    return folder


def read(path: Path | str, **layout: Any) -> list[Pair]:
    (text,) = parallel_texts([path], layout=Layout(**layout))
    return list(text.pairs())


def laid_out(cases: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The cases with a layout, which most leave out, as their last part."""
    return [case if isinstance(case[-1], dict) else (*case, {}) for case in cases]


CASES: list[tuple[Any, ...]] = [
    # TSV: no quotes, an empty line is a pair, more columns do no harm
    ("a.tsv", b"a\tb\nc\td", "a|b, c|d"),
    (
        "a.tsv",
        b'\xef\xbb\xbf"a\t"b"\tx\r\n\n\t\nc\td\r\n',
        '"a|"b", |, |, c|d',
    ),
    ("a.tsv", "a\u2028b\x0b\tc\rd\0e\n".encode(), "a b |c d e"),
    ("a.tsv", b"1\ta\tb\tx\n2\tc\td\n", "b|a, d|c", {"source": "3", "target": "2"}),
    ("a.tsv", b"id\tfr\ten\r\n1\ta\tb\r\n", "b|a"),
    ("a.tsv", b"id\tnl\tsv\n1\ta\tb\n", "b|a", {"source": "sv", "target": "nl"}),
    ("a.tsv", b"sv\tnl\n", "sv|nl"),  # no names that anyone could know: a pair
    ("a.tsv", b"", ""),
    # CSV
    (
        "a.csv",
        b'a,b\r\n"c, ""d""","e\r\nf\ng"\r\n\r\n,\r\n"",""\r\nh,i',
        [("a", "b"), ('c, "d"', "e f g"), ("", "")] + [("", "")] * 2 + [("h", "i")],
    ),
    ("a.csv", b"source,target\na,b\n", "a|b"),
    ("a.csv", b"\xef\xbb\xbfen,fr\na,b\n", "a|b"),
    ("a.csv", b"a\rb,c\r\rd\n", "a b|c  d"),  # a lone carriage return ends no record
    ("a.csv", b'a "quoted" word,b\n', 'a "quoted" word|b'),
    ("a.csv", b"a,b,c\n", "c|a", {"source": "3", "target": "1"}),
    # JSON lines
    ("a.jsonl", b'{"source": "a", "target": "b"}\n', "a|b"),
    (
        "a.jsonl",
        b'{"src": "a\\tb\\u2029c\\n", "tgt": "\\u00e9\\ud83d\\ude00"}',
        "a b c |é😀",
    ),
    (
        "a.jsonl",
        b'{"translation": {"en": "a", "fr": "b"}, "id": 1}\n\n \r\n{"translation": {"fr": null, "en": "c"}}',
        "a|b, |, |, c|",
    ),
    (
        "a.jsonl",
        b'{"a": {"b.c": 1, "b": {"c": "x"}}, "a.d": "y"}\n',
        "x|y",
        {"source": "a.b.c", "target": "a.d"},
    ),
    ("a.jsonl", b'{"en": "a", "de": "b"}\n', "a|b", {"target_language": "de"}),
    # TMX
    (
        "a.tmx",
        memory(unit("en: a &amp; b", "fr: c"), unit("fr: d", "en: e", "de: f")),
        "a & b|c, e|d",
    ),
    ("a.tmx", memory(unit("EN-us: a", "fr_CA: b")), "a|b"),
    ("a.tmx", memory(unit("en: a", "en-GB: b", "fr: c")), "b|c", {"source": "EN_gb", "target": "fr"}),
    (
        "a.tmx",
        memory(unit("en: a", "fr: b"), unit("en: c", "de: d"), "<tu></tu>"),
        "a|b, c|, |",
    ),
    ("a.tmx", memory(unit("en: a", "en: b", "fr: c")), "a|c"),
    (
        "a.tmx",
        memory(
            unit(
                'en: a<bpt i="1">&lt;b><sub>x</sub></bpt>b<ept i="1">y</ept> <hi>c</hi><ph/>',
                "fr: d\n<![CDATA[<e>]]>",
            )
        ),
        "ab c|d <e>",
    ),
    (
        "a.tmx",
        memory(unit("en: caf&eacute;", "fr: b"), head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'),
        "caf&eacute;|b",
    ),
    ("a.tmx", memory(unit("en: &#233;", "fr: é")).decode().encode("utf-16"), "é|é"),
    (
        "a.tmx",
        b'<?xml version="1.0" encoding="iso-8859-1"?>'
        + memory(unit("en: a", "fr: é")).decode().encode("latin1"),
        "a|é",
    ),
    (
        "a.tmx",
        b'<tmx><body><tu><note>x</note><tuv lang="en"><prop>y</prop><seg>a</seg></tuv><tuv '
        b'lang="fr"><seg/></tuv></tu></body></tmx>',
        "a|",
    ),
    ("a.tmx", memory(), ""),
]


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize(("name", "content", "pairs", "layout"), laid_out(CASES))
def test_pairs(
    tmp_path: Path,
    name: str,
    content: bytes,
    layout: dict[str, Any],
    pairs: str | list[Pair],
    packed: str,
) -> None:
    path = tmp_path / (name + packed)
    path.write_bytes(PACK[packed](content))
    assert read(path, **layout) == (pairs_of(pairs) if isinstance(pairs, str) else pairs)


TABLES: list[tuple[Any, ...]] = [
    (
        table(source=["a\nb", None, ""], target=["c", "d", "\u2028é"]),
        "a b|c, |d, | é",
    ),
    (table(id=[1], translation=[{"en": "a", "fr": "b", "de": "c"}]), "a|b"),
    (
        table(translation=[{"en": "a", "fr": None}, None, {"en": "b", "fr": "c"}]),
        "a|, |, b|c",
    ),
    (table(nl=["a"], x=[{"sv.x": 1, "sv": {"y": "b"}}]), "b|a", {"source": "x.sv.y", "target": "nl"}),
    (
        table(en=pa.array(["a", "b"] * 3).dictionary_encode(), fr=pa.array(["c"] * 6, pa.large_string())),
        "a|c, b|c, a|c, b|c, a|c, b|c",
    ),
    (table(en=pa.array([], pa.string()), fr=pa.array([], pa.string())), ""),
    (
        table(en=[str(n) for n in range(5000)], fr=[str(-n) for n in range(5000)]),
        [(str(n), str(-n)) for n in range(5000)],
    ),
]


@pytest.mark.parametrize(("content", "pairs", "layout"), laid_out(TABLES))
def test_pairs_of_tables(
    tmp_path: Path, content: pa.Table, layout: dict[str, Any], pairs: str | list[Pair]
) -> None:
    """The same rows from Parquet, from a folder of its files, and from datasets of one file and of three."""
    pairs = pairs_of(pairs) if isinstance(pairs, str) else pairs
    assert read(write_parquet(tmp_path / "a.parquet", content, row_group_size=3), **layout) == pairs
    (tmp_path / "parts").mkdir()
    half = len(content) // 2
    for number, part in enumerate([content.slice(0, half), content.slice(half)]):
        write_parquet(tmp_path / "parts" / f"train-{number:05}-of-00002-0abc.parquet", part)
    assert read(tmp_path / "parts", **layout) == pairs
    assert read(save_to_disk(tmp_path / "one", content), **layout) == pairs
    assert read(tmp_path / "one" / "data-00000-of-00001.arrow", **layout) == pairs
    if len(content) > 2:
        assert read(save_to_disk(tmp_path / "three", content, files=3), **layout) == pairs


BREAK, NO_TEXT = "line break inside the text", "no text on this side"

ODDITIES = [
    (
        "a.tsv",
        "\ufeffen\tfr\na\x1b\tb&amp;\r\n\nc\0\td\n".encode(),
        {
            "byte order mark": 1,
            "line of column names": 1,
            "control character": 1,
            "empty line": 1,
            "NUL character": 1,
        },
        {"HTML entity": 1, "carriage return at the end": 1},
        {"control character": 2, "empty line": 3},
    ),
    ("a.csv", b'a,b\n"c\nd","e\r\nf"\ng,"\nh"\n', {BREAK: 1}, {BREAK: 2}, {BREAK: 2}),
    (
        "a.jsonl",
        b'{"en": "a\\nb\\t", "fr": null}\n\n',
        {BREAK: 1, "tab": 1, "empty line": 1},
        {NO_TEXT: 1},
        {"empty line": 2},
    ),
    (
        "a.tmx",
        memory(unit("en: a", "en: b", "fr: c\nd"), unit("en: e")),
        {"second segment in the language": 1},
        {BREAK: 1, NO_TEXT: 1},
        {"second segment in the language": 2, NO_TEXT: 4},
    ),
    (
        "saved",
        table(en=["a", None, "b\nc"], fr=["d", "e", None]),
        {NO_TEXT: 1, BREAK: 1},
        {NO_TEXT: 1},
        {BREAK: 3},  # rows are counted through all files
    ),
]


@pytest.mark.parametrize(("name", "content", "source", "target", "first"), ODDITIES)
def test_what_is_odd_is_counted(
    tmp_path: Path,
    name: str,
    content: bytes | pa.Table,
    source: dict[str, int],
    target: dict[str, int],
    first: dict[str, int],
) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        save_to_disk(path, content, files=3)
    (text,) = parallel_texts([path])
    list(text.pairs())
    sides = text.warnings
    assert (sides[0].lines, sides[1].lines) == (source, target)
    assert (sides[0].first | sides[1].first).items() >= first.items()


FAULTS: list[tuple[Any, ...]] = [
    ("a.tsv", b"a\tb\nc\n", r"a\.tsv:2: has 1 column, but column 2 is needed \(correct"),
    ("a.tsv", b"a\tb\tc\nc\td\n", r"a\.tsv:2: has 2 columns, but column 3 is needed", {"source": "1", "target": "3"}),
    ("a.tsv", b"a\tb\n", r"a\.tsv:1: the first line does not name the columns 'en' and 'fr'; it has: a", {"source": "en", "target": "fr"}),
    ("a.tsv", b"a\tb\nc\xff\td\n", r"a\.tsv:2: byte 2 of the line is not UTF-8"),
    ("a.csv", b'a,b\nc,d\n"e\nf,g\nh,i\n', r"a\.csv:3: the record that begins here is not valid CSV: "
    r"unexpected end of data"),
    ("a.csv", b'a,b\n"c"d,e\n', r"a\.csv:2: the record that begins here is not valid CSV"),
    ("a.csv", b'a,b\n"' + b"c\n" * 100_000, r"a\.csv:2: .*field larger than field limit"),
    ("a.csv", b"a\n", r"a\.csv:1: has 1 column, but column 2"),
    ("a.jsonl", b'{"en": "a", "fr": "b"}\n{"en": "a", "fr":\n', r"a\.jsonl:2: is not valid JSON: .* \(each "
    r"line must be one JSON"),
    ("a.jsonl", b'["a", "b"]\n', r"a\.jsonl:1: is JSON, but not an object: \["),
    ("a.jsonl", b"[" * 100_000, r"a\.jsonl:1: is not valid JSON"),
    ("a.jsonl", b'{"en": 1' + b"0" * 5000 + b"}", r"a\.jsonl:1: is not valid JSON"),
    ("a.jsonl", b'{"en": "a", "text": "b"}\n', r"a\.jsonl:1: does not have the keys 'source' and 'target' "
    r"or .*; it has: en, text"),
    ("a.jsonl", b'{"en": "a", "fr": "b"}\n{"en": "a"}\n', r"a\.jsonl:2: does not have the key 'fr'"),
    ("a.jsonl", b'{"en": "a", "fr": ["b"]}\n', r"a\.jsonl:1: has no text at the key 'fr', but \[\"b\"\]"),
    ("a.jsonl", b'{"en": "\\ud800", "fr": "b"}\n', r"a\.jsonl:1: has an incomplete character"),
    ("a.tmx", b"", r"a\.tmx:1: is not valid XML: no element found"),
    ("a.tmx", memory(unit("en: a", "fr: b"))[:-8], r"a\.tmx:3: is not valid XML: .* \(the file is damaged "
    r"or incomplete"),
    ("a.tmx", memory(unit("en: a", "fr: b < c")), r"a\.tmx:2: is not valid XML: not well-formed"),
    ("a.tmx", memory(unit("en: a", "fr: \xe9")).decode().encode("latin1"), r"a\.tmx:2: is not valid XML"),
    ("a.tmx", memory(unit("en: a", "fr: &nbsp;")), r"a\.tmx:2: is not valid XML: undefined entity"),
    ("a.tmx", b"<html></html>", r"a\.tmx:1: is no TMX file: its first element is <html>"),
    ("a.tmx", b'<?xml version="1.0" encoding="klingon"?><tmx/>', r"a\.tmx: its encoding cannot be read: "
    r"unknown encoding"),
    ("a.tmx", b'<?xml version="1.0" encoding="utf-7"?><tmx/>', r"a\.tmx: its encoding cannot be read"),
    ("a.tmx", b"<tmx>" + b"<x>" * 200, r"a\.tmx:1: elements are nested more than 100 deep"),
    ("a.tmx", b"<tmx><tu><tu></tu></tu></tmx>", r"a\.tmx:1: a unit <tu> begins inside another"),
    ("a.tmx", memory(unit("en: a", "de: b"), unit("en: c", "nl: d")), "none of the 2 units has the "
    "language 'fr'; there are: de, en"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message", "layout"), laid_out(FAULTS))
def test_faults_are_one_clear_line(
    tmp_path: Path, name: str, content: bytes, layout: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as fault:
        read(tmp_path / name, **layout)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    "declaration", ['<!ENTITY lol "lol">', '<!ENTITY lol SYSTEM "file:///etc/passwd">', '<!ENTITY % lol "x">']
)
def test_a_translation_memory_declares_no_entities(tmp_path: Path, declaration: str) -> None:
    """So that a few lines cannot stand for gigabytes, or for other files."""
    content = memory(unit("en: &lol;", "fr: b"), head=f"<!DOCTYPE tmx [{declaration}]>")
    (tmp_path / "a.tmx").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.tmx:1: declares the entity 'lol'"):
        read(tmp_path / "a.tmx")


@pytest.mark.parametrize(
    "content", [memory(unit("en: " + "a" * 300_000, "fr: b")), b"<tmx><x y='" + b"a" * 300_000 + b"'/></tmx>"]
)
def test_a_translation_memory_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(tmx, "LONGEST_LINE", 100_000)
    (tmp_path / "a.tmx").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.tmx:\d+: .* is longer than 100,000"):
        read(tmp_path / "a.tmx")


@pytest.mark.parametrize(
    ("content", "message", "layout"),
    laid_out(
        [
            (table(text=["a"], number=[1]), "the columns 'source' and 'target' or .*; it has: text, n"),
            (table(en=["a"], fr=[1]), ":1: has no text at the key 'fr', but 1"),
            (table(en=["a"], fr=[["b"]]), r":1: has no text at the key 'fr', but \[\"b\"\]"),
            (table(en=["a"], fr=["b"]), "the columns 'en' and 'x'", {"source": "en", "target": "x"}),
        ]
    ),
)
def test_tables_without_text_are_refused(
    tmp_path: Path, content: pa.Table, layout: dict[str, Any], message: str
) -> None:
    for path in (write_parquet(tmp_path / "a.parquet", content), save_to_disk(tmp_path / "saved", content)):
        with pytest.raises(InputError, match=message):
            read(path, **layout)


def test_folders_that_are_no_dataset_are_refused(tmp_path: Path) -> None:
    content = table(en=["a"], fr=["b"])
    with pytest.raises(InputError, match="is not a dataset"):
        read(tmp_path)
    save_to_disk(tmp_path / "dict" / "train", content)
    save_to_disk(tmp_path / "dict" / "test", content)
    (tmp_path / "dict" / "dataset_dict.json").write_text("{}")
    with pytest.raises(InputError, match="dict: holds several datasets: test, train"):
        read(tmp_path / "dict")
    (tmp_path / "hub" / "data").mkdir(parents=True)
    for split in ("train", "test"):
        write_parquet(tmp_path / "hub" / "data" / f"{split}-00000-of-00001.parquet", content)
    with pytest.raises(InputError, match=r"hub: has \.parquet files only in these folders: data"):
        read(tmp_path / "hub")
    with pytest.raises(
        InputError, match=r"holds several splits: test, train \(name the files of one: .*test-\*\.parquet"
    ):
        read(tmp_path / "hub" / "data")


def test_a_dataset_that_lacks_files_is_refused(tmp_path: Path) -> None:
    content = table(en=["a", "b", "c"], fr=["d", "e", "f"])
    saved = save_to_disk(tmp_path / "saved", content, files=3)
    (saved / "data-00001-of-00003.arrow").unlink()
    with pytest.raises(InputError, match=r"data-00001-of-00003\.arrow: no such file"):
        read(saved)
    (saved / "state.json").write_text("{}")
    with pytest.raises(InputError, match=r"state\.json: is damaged"):
        read(saved)
    (saved / "state.json").unlink()
    with pytest.raises(InputError, match="lacks 1 of the 3 files of data, the first is 00001"):
        read(saved)


def test_an_arrow_file_that_is_cut_between_its_batches_is_refused(tmp_path: Path) -> None:
    """Arrow itself takes the end of such a file for the end of its rows."""
    saved = save_to_disk(tmp_path / "saved", table(en=["a"] * 8, fr=["b"] * 8))
    file = saved / "data-00000-of-00001.arrow"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match="does not end like an Arrow stream"):
        read(saved)


def test_without_its_library_a_format_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(tmp_path / "a.parquet", table(en=["a"], fr=["b"]))
    (tmp_path / "a.tsv.zst").write_bytes(PACK[".zst"](b"a\tb\n"))
    for module in ("pyarrow.parquet", "pyarrow.compute", "compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"a\.parquet: .*pip install 'rnnsearch\[arrow\]'"):
        read(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.tsv\.zst: .*pip install 'rnnsearch\[zstd\]'"):
        read(tmp_path / "a.tsv.zst")


def test_several_corpora_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "a.en": b"1\n",
        "a.fr.gz": gzip.compress(b"2\n"),
        "b.TSV": b"3\t4\n",
        "c.en": b"5",
        "c.tsv.fr": b"6",
    }.items():
        Path(name).write_bytes(content)
    texts = parallel_texts(["a.en", "a.fr.gz", Path("b.TSV"), "c.en", "c.tsv.fr"])
    assert [text.name for text in texts] == ["a.en | a.fr.gz", "b.TSV", "c.en | c.tsv.fr"]
    assert [pair for text in texts for pair in text.pairs()] == [("1", "2"), ("3", "4"), ("5", "6")]
    (lines,) = parallel_texts(["b.TSV", "a.en"], layout=Layout(format="lines"))  # as if named otherwise
    assert list(lines.pairs()) == [("3 4", "1")]


@pytest.mark.parametrize(
    ("names", "layout", "message"),
    [
        ("", {}, "no corpus is named"),
        ("a.en", {}, r"a\.en: has no target text \(give source and target files alternating, .* \(\.tsv, "),
        ("a.en a.fr b.en", {}, r"b\.en: has no target text"),
        ("a.en b.tsv a.fr", {}, r"a\.en: has no target text: the next file, b\.tsv, is a bilingual file"),
        ("a.en x.fr", {}, r"x\.fr: no such file"),
        ("- -", {}, "standard input can be read only once"),
        ("b.tsv", {"format": "tvs"}, r"there is no format 'tvs' \(name one of: lines, tsv, "),
        ("-", {"format": "parquet"}, "parquet cannot be read from standard input"),
        ("b.tsv", {"source": "1"}, "source and target each need a column, key or language"),
        ("b.tsv", {"source": "1", "target": "1"}, "source and target each need a column, key or language"),
        ("b.tsv", {"source": "0", "target": "1"}, "columns are counted from 1"),
    ],
)
def test_names_that_do_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str, layout: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.fr", "b.en", "b.tsv"):
        Path(name).touch()
    with pytest.raises(InputError, match=message):
        parallel_texts(names.split(), layout=Layout(**layout))


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("tsv", b"a\tb\n"),
        ("csv", b'"a",b\n'),
        ("jsonl", b'{"en": "a", "fr": "b"}'),
        ("tmx", memory(unit("en: a", "fr: b"))),
    ],
)
def test_a_given_format_counts_more_than_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format, content: bytes
) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    assert read(tmp_path / "a.txt", format=format) == [("a", "b")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read("-", format=format) == [("a", "b")]


def test_a_text_can_be_read_twice(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"a\tb\n\n")
    (text,) = parallel_texts([tmp_path / "a.tsv"])
    assert list(text.pairs()) == list(text.pairs()) == [("a", "b"), ("", "")]
    assert text.warnings[0].lines == {"empty line": 1}


RECORDS: dict[str, Callable[[int], bytes]] = {
    "tsv": lambda n: b"source %d\ttarget %d\n" % (n, n),
    "csv": lambda n: b'"source %d","target\n%d"\n' % (n, n),
    "jsonl": lambda n: b'{"en": "source %d", "fr": "target %d"}\n' % (n, n),
    "tmx": lambda n: unit(f"en: source {n}", f"fr: target {n}").encode(),
}


@pytest.mark.parametrize("format", RECORDS)
def test_a_large_file_is_read_pair_by_pair_up_to_its_damage(tmp_path: Path, format: str) -> None:
    path, records = tmp_path / f"large.{format}", 20_000
    with path.open("wb") as file:
        file.write(b"<tmx>" if format == "tmx" else b"")
        file.writelines(map(RECORDS[format], range(records)))
        file.write(b'{"\xff\n')
    (text,) = parallel_texts([path])
    pairs, sound = text.pairs(), records * 4 // 5
    tracemalloc.start()
    try:
        for number, pair in enumerate(islice(pairs, sound)):
            assert pair == (f"source {number}", f"target {number}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert number == sound - 1
    assert peak < path.stat().st_size / 3
    with pytest.raises(InputError, match=f"{path}:(20|40)001: "):
        list(pairs)
