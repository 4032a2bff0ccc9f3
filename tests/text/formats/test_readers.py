from __future__ import annotations

import io
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from packed import PACK
from pairs import Pair, pairs_of
from refusals import refusal

from rnnsearch.text.formats import tmx
from rnnsearch.text.formats.layout import Format, Layout
from rnnsearch.text.formats.lines import InputWarnings
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.formats.tsv import QUOTED


def unit(*segments: str) -> str:
    """A unit of a translation memory, from "language: text"."""
    variants = (segment.partition(": ") for segment in segments)
    return (
        "<tu>"
        + "".join(
            f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, _, text in variants
        )
        + "</tu>\n"
    )


def memory(*units: str, head: str = "") -> bytes:
    return f'{head}<tmx version="1.4"><header srclang="en"/><body>\n{"".join(units)}</body></tmx>\n'.encode()


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
        {"source": "1", "target": "2"},
    ),
    ("a.tsv", "a\u2028b\x0b\tc\rd\0e\n".encode(), "a b |c d e"),
    ("a.tsv", b"1\ta\tb\tx\n2\tc\td\n", "b|a, d|c", {"source": "3", "target": "2"}),
    ("a.tsv", b"id\tFR\tEnglish\n1\ta\tb\n", "b|a", {"source": "3", "target": "2"}),
    ("a.tsv", b"en\tfr\na\tb\n", "b|a", {"source": "2", "target": "1"}),
    ("a.tsv", b"id\tnl\tsv\n1\ta\tb\n", "b|a", {"source": "sv", "target": "nl"}),
    ("a.tsv", b"ID\tFR \tEn\n7\ta\tb\n", "b|a"),
    ("a.tsv", b"English sentence\tFrench sentence\na\tb\n", "a|b", {"source": "1", "target": "2"}),
    (
        "a.tsv",
        "Speak French!\tParle en fran\u00e7ais !\n".encode(),
        "Speak French!|Parle en fran\u00e7ais !",
        {"source": "1", "target": "2"},
    ),
    ("a.tsv", b"en\tfr\tnote\na\tb\tx\nc\tb\tx\na\td\tx\n", "a|b, c|b, a|d"),
    ("a.tsv", b"French\tenglish\na\tb\n", "b|a"),
    ("a.tsv", b"fra_Latn\teng_Latn\na\tb\n", "b|a"),
    ("a.tsv", b"source\tText (fr)\tText (en-GB)\n7\ta\tb\n", "b|a"),
    ("a.tsv", b"Target text\tsrc_text\nb\ta\n", "a|b"),
    (
        "a.tsv",
        "français ?\tL'anglais oui.\n1998\t1998\n".encode(),
        "français ?|L'anglais oui., 1998|1998",
    ),
    ("a.tsv", b"sv\tnl\n", "sv|nl"),  # no names that anyone could know: a pair
    ("a.tsv", b"", ""),
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
    (
        "a.tmx",
        memory(unit("en: a", "en-GB: b", "fr: c")),
        "b|c",
        {"source": "EN_gb", "target": "fr"},
    ),
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
        "a b c|d <e>",
    ),
    ("a.tmx", memory(unit("en: a", "fr: b"), head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'), "a|b"),
    ("a.tmx", memory(unit("en: a", "fr: b")).replace(b"<tmx", b"<tmx xmlns='x'"), "a|b"),
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


CODES = [
    ('Save<ph x="1">&lt;br/&gt;</ph>the file', "Save the file"),
    ('one<ph type="lb"/>two', "one two"),
    ('End.<ph/>Next, "<bpt>b</bpt>one<ept>b</ept>"', 'End. Next, "one"'),
    ("l'<bpt/>arbre<ept/>, <it/> (<ph/>x)", "l'arbre,  (x)"),
    ("保存<ph/>文件", "保存文件"),
    ('You have <ph x="1">{0}</ph> new', "You have {0} new"),
    ("<ph>%1</ph> of <ph>%d</ph>", "%1 of %d"),
    ("<ph>&lt;b&gt;%1$s</ph>, <bpt>{\\b </bpt>${n}<ept>}</ept><ph>50 % of</ph>", "%1$s, ${n}"),
]


@pytest.mark.parametrize(("segment", "text"), CODES)
def test_codes_leave_placeholders_and_the_space_between_words(
    tmp_path: Path, segment: str, text: str
) -> None:
    (tmp_path / "a.tmx").write_bytes(
        memory(unit("en: x", "fr: y"), unit(f"en: {segment}", "fr: y"))
    )
    (corpus,), warnings = parallel_texts([tmp_path / "a.tmx"]), (InputWarnings(), InputWarnings())
    assert list(corpus.pairs(warnings)) == [("x", "y"), (text, "y")]
    assert warnings[0].lines == {"formatting code": 1}


@pytest.mark.parametrize(
    "control", ["&#x1F;", "&#x0b;", "&#1;", "\x1f", "\0", "&#xFFFE;", "&#65535;"]
)
def test_a_control_character_in_a_memory_is_a_counted_space(tmp_path: Path, control: str) -> None:
    """Also at the end of what is read at a time."""
    for before in (1, 16_278, 16_279, 16_280, 16_281):
        content = memory(
            unit(f"en: {'x' * before}{control}&#233;", "fr: y"), unit("en: a", "fr: b")
        )
        (tmp_path / "a.tmx").write_bytes(content)
        (corpus,) = parallel_texts([tmp_path / "a.tmx"])
        warnings = (InputWarnings(), InputWarnings())
        assert list(corpus.pairs(warnings)) == [("x" * before + " é", "y"), ("a", "b")]
        assert (warnings[0].lines, warnings[1].lines) == ({"control character": 1}, {})


@pytest.mark.parametrize(
    ("references", "text"),
    [
        ("&#xD83D;&#xDE00;", "\U0001f600"),
        ("&#55357;&#56832;!", "\U0001f600!"),
        ("&#xd83d; &#xD7FF;", "\ufffd \ud7ff"),
        ("&#xDE00;&#xD83D;", "\ufffd\ufffd"),
    ],
)
def test_references_of_surrogates_in_a_memory_are_characters(
    tmp_path: Path, references: str, text: str
) -> None:
    """Also at the end of what is read at a time."""
    for before in (1, *range(16_255, 16_285)):
        content = memory(unit(f"en: {'x' * before}{references}", "fr: y"))
        (tmp_path / "a.tmx").write_bytes(content)
        (corpus,) = parallel_texts([tmp_path / "a.tmx"])
        assert list(corpus.pairs()) == [("x" * before + text, "y")]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.XLF", "a.srt.bz2", "a.json"])
def test_formats_that_are_not_read_say_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"a,b\n")
    with refusal(rf"{name}: \.\w+ files are not read \((write|save)"):
        parallel_texts([tmp_path / name])
    with refusal(r"is a folder.*TSV or JSON lines"):
        parallel_texts([tmp_path])


def zipped(path: Path, **texts: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in texts.items():
            archive.writestr(name.replace("_", "."), content)
    return path


def test_archives_of_one_text_or_of_both_sides(tmp_path: Path) -> None:
    both = {"README": b"x", "a.en-fr_fr": b"1\n2\n", "a.en-fr_en": b"3\n4", "dir/a_xml": b"<x/>"}
    assert read(zipped(tmp_path / "a.zip", **both)) == [("3", "1"), ("4", "2")]
    (text,) = parallel_texts([str(tmp_path / f"a.zip/a.en-fr.{end}") for end in ("fr", "en")])
    assert list(text.pairs()) == [("1", "3"), ("2", "4")]
    assert read(zipped(tmp_path / "b.zip", c_tsv=b"a\tb\n")) == [("a", "b")]
    assert read(zipped(tmp_path / "c.tmx.zip", x=memory(unit("en: a", "fr: b")))) == [("a", "b")]
    with refusal(r"zip: has no such text; it has 3: .* \(name one of"):
        read(tmp_path / "a.zip", format="tsv")
    with refusal("has no such text"):
        list(parallel_texts([tmp_path / "a.zip/x.en", tmp_path / "a.zip/a.en-fr.fr"])[0].pairs())
    (tmp_path / "a.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:-30])
    with refusal(r"a\.zip: the compressed file is damaged or incomplete"):
        read(tmp_path / "a.zip")


BREAK, NO_TEXT = "line break inside the text", "no text on this side"

ODDITIES = [
    (
        "a.tsv",
        "\ufeffen\tfr\na\x1b\tb&amp;\r\n\nc\0\td\n".encode(),
        {
            "byte order mark": 1,
            "line of column names": 1,
            "control character": 2,
            "empty line": 1,
        },
        {"HTML entity": 1, "carriage return at the end": 1},
        {"control character": 2, "empty line": 3},
    ),
    (  # the marks around one cell alone may be those of its sentence
        "a.tsv",
        b'"Hi."\tHi.\n"Hi."\t"Hi."\r\na "b"\t"c ""d""."\n"a" b "c"\t"d" e\n',
        {QUOTED: 2},
        {"carriage return at the end": 1},
        {QUOTED: 2},
    ),
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
        {"second segment in the language": 1, NO_TEXT: 2},
    ),
]


@pytest.mark.parametrize(("name", "content", "source", "target", "first"), ODDITIES)
def test_what_is_odd_is_counted(
    tmp_path: Path,
    name: str,
    content: bytes,
    source: dict[str, int],
    target: dict[str, int],
    first: dict[str, int],
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (text,), sides = parallel_texts([path]), (InputWarnings(), InputWarnings())
    list(text.pairs(sides))
    assert (sides[0].lines, sides[1].lines) == (source, target)
    assert (sides[0].first | sides[1].first).items() >= first.items()


BILLION_LAUGHS = "<!DOCTYPE tmx [<!ENTITY a 'ha ha ha'>"
for name, inner in pairwise("abcdefghij"):
    BILLION_LAUGHS += f"<!ENTITY {inner} '{f'&{name};' * 10}'>"
BILLION_LAUGHS += "]>"

FAULTS: list[tuple[Any, ...]] = [
    ("a.tsv", b"a\tb\nc\n", r"a\.tsv:2: has no column 2, but only 1 \(write TABs"),
    ("a.tsv", b'a\tb\n"c\nd"\t"e\n"\n', r"a\.tsv:2: has no column 2, but only 1 \(write each pair on one line"),
    ("a.tsv", b"a\tb\tc\nc\td\n", r"a\.tsv:2: has no column 3, but only 2", {"source": "1", "target": "3"}),
    ("a.tsv", b"a\tb\n", r"a\.tsv:1: does not name columns 'en' and 'fr'; it has: a, b", {"source": "en", "target": "fr"}),
    ("a.tsv", b"a\tb\nc\xff\td\n", r"a\.tsv:2: byte 2 of the line is not UTF-8"),
    ("a.tsv", b"1.5\ta b\n", "a.tsv:1: does not name columns"),
    ("a.tsv", b"Hi you\tdoc-1:3\n", "a.tsv:1: does not name columns"),
    ("a.tsv", b"".join(b"a%d b\tz\n" % i for i in range(20)), "column 2 holds the same words again and again"),
    ("a.tsv", b"en\tfr\tHi\tSalut\n" * 4, "column 1 holds the same words again and again"),
    ("a.tsv", b"en\tfr\nHi\tSalut\nen\tfr\n", "a.tsv:3: repeats the names of columns, en and fr"),
    ("a.tsv", b"en\tfr\tHi you\tSalut\n" * 3, "column 1 holds the same words again and again"),
    ("a.tsv", b"en\tfr\tkind\n" + b"Hi you\tnews\tx\nHi all\ttalk\ty\nSo\tnews\tz\n" * 2, "column 2 holds the same"),
    ("a.tsv", b"id\ttext\n" + b"".join(b"%d\tHi %d you\n" % (i, i) for i in range(20)), "column 1 holds numbers or"),
    ("a.tsv", b"id\tscore\n" + b"0\t0.1\n1\t0.2\n" * 10, "column 1 holds numbers or identifiers"),
    ("a.tsv", b"\n1\tHi you\tSalut\n", "a.tsv:2: does not name columns 'source' and 'target' or .*; it has: 1, Hi you"),
    ("a.jsonl", b'{"en": "a", "fr": "b"}\n{"en": "a", "fr":\n', r"a\.jsonl:2: is not valid JSON: .* \(each "
    r"line must be one JSON"),
    ("a.jsonl", b'["a", "b"]\n', r"a\.jsonl:1: is a JSON array \(write JSON lines"),
    ("a.jsonl", b'7\n', r"a\.jsonl:1: is JSON, but not an object: 7"),
    ("a.jsonl", b"[" * 100_000, r"a\.jsonl:1: is not valid JSON"),
    ("a.jsonl", b'{"en": 1' + b"0" * 5000 + b"}", r"a\.jsonl:1: is not valid JSON"),
    ("a.jsonl", b'{"en": "a", "text": "b"}\n', r"a\.jsonl:1: does not have the keys 'source' and 'target' "
    r"or .*; it has: en, text .give the keys of the text, by --columns SOURCE TARGET, or by --set data.source_language="),
    ("a.jsonl", b'{"en": "a", "fr": "b"}\n{"en": "a"}\n', r"a\.jsonl:2: does not have the key 'fr'"),
    ("a.jsonl", b'{"en": "a", "fr": ["b"]}\n', r"a\.jsonl:1: has no text at the key 'fr', but \[\"b\"\]"),
    ("a.jsonl", b'{"en": "\\ud800", "fr": "b"}\n', r"a\.jsonl:1: has an incomplete character"),
    ("a.tmx", b"", r"a\.tmx:1: is not valid XML: no element found \(column"),
    ("a.tmx", memory(unit("en: a", "fr: b"))[:-8], r"a\.tmx:3: is not valid XML: .* \(the file is damaged "
    r"or incomplete"),
    ("a.tmx", memory(unit("en: a", "fr: b < c")), r"a\.tmx:2: is not valid XML: not well-formed"),
    ("a.tmx", memory(unit("en: a", "fr: \xe9")).decode().encode("latin1"), r"a\.tmx:2: it declares the encoding UTF-8, or none"),
    ("a.tmx", b'<?xml version="1.0" encoding="us-ascii"?>' + memory(unit("en: a", "fr: \xe9")), "it declares the encoding us-ascii"),
    ("a.tmx", b'<?xml version="1.0" encoding="UTF-16"?>' + memory(unit("en: a", "fr: b")), "it declares the encoding UTF-16"),
    ("a.tmx", b'\xff\xfe' + ('<?xml version="1.0" encoding="UTF-8"?>' + memory(unit("en: a", "fr: b")).decode()).encode("utf-16-le"), "it declares the encoding UTF-8"),
    ("a.tmx", memory(unit("en: a", "fr: &nbsp;")), r"a\.tmx:2: is not valid XML: undefined entity"),
    ("a.tmx", b"<html></html>", r"a\.tmx: is no TMX file: its first element is <html>"),
    ("a.tmx", b'<?xml version="1.0" encoding="klingon"?><tmx/>', r"a\.tmx: its encoding cannot be read: "
    r"unknown encoding"),
    ("a.tmx", b'<?xml version="1.0" encoding="utf-7"?><tmx/>', r"a\.tmx: its encoding cannot be read"),
    ("a.tmx", b"<tmx><tu><tu></tu></tu></tmx>", r"a\.tmx: a unit <tu> stands inside another"),
    ("a.tmx", memory(unit("en: &x;", "fr: b"), head='<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), "undefined entity"),
    ("a.tmx", memory(unit("en: &j;", "fr: b"), head=BILLION_LAUGHS), r"a\.tmx:\d+: is not valid XML: limit on input"),
    ("a.tmx", memory(unit("en: a", "de: b"), unit("en: c", "nl: d")), "none of the 2 units has the "
    "language 'fr'; there are: de, en, nl .give the languages as the file writes them, by --columns SOURCE TARGET, or by --set data"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message", "layout"), laid_out(FAULTS))
def test_faults_are_one_clear_line(
    tmp_path: Path, name: str, content: bytes, layout: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with refusal(message) as fault:
        read(tmp_path / name, **layout)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    "content",
    [memory(unit("en: " + "a" * 300_000, "fr: b")), b"<tmx><x y='" + b"a" * 300_000 + b"'/></tmx>"],
)
def test_a_translation_memory_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(tmx, "LONGEST_LINE", 100_000)
    (tmp_path / "a.tmx").write_bytes(content)
    with refusal(r"a\.tmx: .* is longer than 100,000"):
        read(tmp_path / "a.tmx")


def test_without_its_library_a_compression_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.tsv.zst").write_bytes(PACK[".zst"](b"a\tb\n"))
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    with refusal(r"a\.tsv\.zst: .*pip install 'rnnsearch\[zstd\]'"):
        read(tmp_path / "a.tsv.zst")


@pytest.mark.parametrize(
    ("names", "layout", "message"),
    [
        ("", {}, "no corpus is named"),
        (
            "a.en",
            {},
            r"a\.en: has no target text \(give source and target files alternating, .* \(\.tsv, ",
        ),
        ("a.en a.fr b.en", {}, r"b\.en: has no target text"),
        (
            "a.en b.tsv a.fr",
            {},
            r"a\.en: has no target text: the next file, b\.tsv, is a bilingual file",
        ),
        ("a.en x.fr", {}, r"x\.fr: no such file"),
        ("- -", {}, "standard input can be read only once"),
        ("b.tsv", {"format": "tvs"}, r"there is no format 'tvs' \(name one of: lines, tsv, "),
        ("b.tsv", {"source": "1"}, "source and target each need a column, key or language"),
        (
            "b.tsv",
            {"source": "1", "target": "1"},
            "source and target each need a column, key or language",
        ),
        ("b.tsv", {"source": "0", "target": "1"}, "columns are counted from 1"),
    ],
)
def test_names_that_do_not_fit_are_refused(
    here: Path,
    names: str,
    layout: dict[str, Any],
    message: str,
) -> None:
    for name in ("a.en", "a.fr", "b.en", "b.tsv"):
        Path(name).touch()
    with refusal(message):
        parallel_texts(names.split(), layout=Layout(**layout))


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("tsv", b"a\tb\n"),
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


RECORDS: dict[str, Callable[[int], bytes]] = {
    "tsv": lambda n: b"source %d\ttarget %d\n" % (n, n),
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
    pairs, sound = text.pairs(), records // 5
    tracemalloc.start()
    try:
        for number, pair in enumerate(islice(pairs, sound)):
            assert pair == (f"source {number}", f"target {number}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert number == sound - 1
    assert peak < path.stat().st_size
    with refusal(f"{path}:20001: "):
        list(pairs)
