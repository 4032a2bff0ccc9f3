from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packed import PACK, PACKED
from refusals import refusal

from rnnsearch.errors import InputError
from rnnsearch.text.formats import lines as reading
from rnnsearch.text.formats.lines import (
    InputWarnings,
    check_pairs,
    read_lines,
    read_pairs,
    warned_lines,
    warned_pairs,
)
from rnnsearch.text.formats.opening import is_on_disk


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return tmp_path / "text.en"


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", ""),
        (b"\n", "\n"),
        (b"a\nb", "a\nb\n"),
        (b"a\n\n\nb\n\n", "a\n\n\nb\n\n"),
        (b"a\r\nb\r\n\r\n", "a\nb\n\n"),
        (b"a\rb\n", "a b\n"),  # a lone carriage return ends no line
        (b"\xef\xbb\xbfa\nb", "a\nb\n"),
        (b"\xef\xbb\xbf", ""),
        (b"\xef\xbb\xbf\n", "\n"),
        (b"a\n\xef\xbb\xbfb", "a\n\ufeffb\n"),  # no mark of the file
        ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n".encode(), "a b c d e f g\n"),
        (b"a\tb\0c\x1bd\x7f\n", "a b c d \n"),
        (b"some words and \0a NUL character\n\0\n" * 9, "some words and  a NUL character\n \n" * 9),
        ("un\u00a0été \U0001f600\n".encode(), "un\u00a0été \U0001f600\n"),
    ],
)
@pytest.mark.parametrize("packed", PACK)
def test_lines(tmp_path: Path, content: bytes, lines: str, packed: str) -> None:
    path = tmp_path / f"text{packed}"
    path.write_bytes(PACK[packed](content))
    assert "".join(f"{line}\n" for line in read_lines(path)) == lines


def test_what_is_odd_is_counted_by_line(text: Path) -> None:
    text.write_bytes(
        "\ufeffa\tb\tc\nx\ny\tz\0\r\nQ&amp;A &#39; &lt;\nA & B; AT&T\nu\u2028v\x0bw\x1b\n".encode()
    )
    warnings = InputWarnings()
    list(read_lines(text, warnings))
    assert warnings.lines == {
        "byte order mark": 1,
        "tab": 2,
        "carriage return at the end": 1,
        "HTML entity": 1,
        "control character": 2,
    }
    assert warnings.first["tab"] == 1
    assert warnings.first["control character"] == warnings.first["carriage return at the end"] == 3
    assert warnings.first["HTML entity"] == 4


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "Les Ã©lÃ¨ves.\nLâ€™été.\nÐ¿Ñ€Ð¸\n15 â‚¬\nsÅ“ur\nÅ‚ada\nÄŒeÅ¡tina\n",
            "mojibake (UTF-8 that was read as Latin-1): 7 lines, first line 1 (repair",
        ),
        ("a\nL'\ufffdcole\n", "U+FFFD in place of a lost character: 1 line, first line 2 (get"),
        ("a\nb &amp; c\n", "HTML entity: 1 line, first line 2 (replace them"),
        ("a\rb\rc", "carriage return that may end a line: 2 lines, first line 1 (if it does"),
        ("L'âme, NÃO, Île, Škoda, Łódź, “Å”, Ñandú, Ðe, a\tb, «â»\r\n", ""),
    ],
)
def test_faults_of_a_text_are_named_once_at_its_end(text: Path, content: str, said: str) -> None:
    text.write_bytes(content.encode())
    for lines in (warned_lines(text), (target for _, target in warned_pairs(text, text))):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            list(lines)
        assert len(found) in ((1, 2) if said else (0,))
        assert all(said in str(one.message) for one in found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a\nb\nd\xe9j\xe0\n",
            r"text\.en:3: byte 2 of the line is not UTF-8 \(convert the file from its enc.*cp1251",
        ),
        *(
            (
                text.encode(name),
                rf"text\.en:1: the file is {name[:6].upper()} \(convert.*iconv -f {name} -t",
            )
            for name in (
                *("utf-16", "utf-16-le", "utf-16-be"),
                *("utf-32", "utf-32-le", "utf-32-be"),
            )
            for text in (
                *(
                    "Hi.\n",
                    "déjà vu\r\n",
                    "\nThe house is old.\nWhere is it?\n",
                    "Где мой дом? Там.\n" * 3,
                ),
                *("这座房子在山上。\n她在哪里？\n" * 9, "घर कहाँ है\n" * 9, "บ้านอยู่ที่ไหน\n" * 9),
            )
        ),
        *((PACK[end](b"a\n"), r"text\.en:1: .*the name of a compressed file") for end in PACKED),
        (b"\xed\xa0\x80\n", "not UTF-8"),  # a surrogate
    ],
)
def test_text_that_is_not_utf8_is_refused(text: Path, content: bytes, message: str) -> None:
    text.write_bytes(content)
    with refusal(message):
        list(read_lines(text))


def test_line_ends_of_old_macs_are_refused(text: Path) -> None:
    text.write_bytes(b"a\rb\rc\rd\r")
    with refusal(r"text\.en:1: the line ends are CR alone \(convert it with `tr "):
        list(read_lines(text))


@pytest.mark.parametrize(
    "name",
    [
        *(
            "a.SGML",
            "a.xliff.gz",
            "a.srt",
            "a.po",
            "a.json",
            "a.tsv",
            "a.csv",
            "a.html",
            "a.properties",
        ),
        *("a.yaml", "a.yml", "a.tex", "a.docx", "a.tar.gz", "a.tgz"),
        *("a.jsonl.gz", "a.NDJSON", "a.tmx", "a.toml", "a.ini", "a.resx", "a.svg", "a.sbv"),
    ],
)
def test_lines_that_are_not_sentences_are_refused(name: str) -> None:
    with refusal(rf"{name}: .* are not sentences \((write|save|give|add|unpack)"):
        read_lines(name)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: b"",  # a download that left nothing
        lambda packed: b"plain text",
        lambda packed: packed[:-9],
        lambda packed: packed[:20] + b"\xff" * 99,
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, suffix: str, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(damage(PACK[suffix](bytes(range(128)) * 1000)))
    said = r"the compressed file is damaged or incomplete: .* \(copy or download it again"
    with refusal(rf"text\{suffix}: {said}"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", PACKED)
def test_files_packed_in_parts_are_one(tmp_path: Path, suffix: str) -> None:
    """As `cat a.gz b.gz` joins them."""
    (tmp_path / f"text{suffix}").write_bytes(PACK[suffix](b"a\nb") + PACK[suffix](b"c\nd"))
    assert list(read_lines(tmp_path / f"text{suffix}")) == ["a", "bc", "d"]


def test_a_line_without_end_is_refused(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE", 100)
    text.write_bytes(b"a" * 99 + b"\n" + b"a" * 100 + b"\n")
    with refusal(r"text\.en:2: the line is longer than 100 bytes"):
        list(read_lines(text))


def test_a_dash_is_standard_input(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text.write_bytes(b"1\n2\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\r\nb")))
    assert list(read_pairs("-", text)) == [("a", "1"), ("b", "2")]
    with refusal("both sides cannot come from standard input"):
        next(read_pairs("-", "-"))


def test_files_that_are_not_parallel_are_refused(tmp_path: Path) -> None:
    for name, text in {"three": "1\n2\n3", "one": "1\n", "none": ""}.items():
        (tmp_path / name).write_text(text)
    for one, other in (
        ("three has 3", "one has 1"),
        ("one has 1", "three has 3"),
        ("none has 0", "one has 1"),
    ):
        files = (tmp_path / said.split()[0] for said in (one, other))
        with refusal(rf"{one} lines? and .*{other}, so they are not parallel"):
            list(read_pairs(*files))


def test_a_file_named_as_standard_input_is_does_not_stand_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-", "text"):
        (tmp_path / name).write_text("a\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\n2\n")))
    assert (is_on_disk("text"), is_on_disk("-"), is_on_disk("nosuch")) == (True, False, False)
    check_pairs("-", "text")
    assert list(read_lines("-")) == ["1", "2"]  # nothing has read it before


# Bytes that are special to some reader somewhere, thrown in among any others.
CONTENT = st.lists(
    st.one_of(
        st.binary(max_size=4),
        st.sampled_from([*"\n\r\0\t\ufeff\u2028\u2029\x85\x0b\x1eé日", "\r\n", "a b"]).map(
            str.encode
        ),
    ),
    max_size=30,
).map(b"".join)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read(path: Path) -> list[str] | InputError:
    try:
        return list(read_lines(path, InputWarnings()))
    except InputError as error:
        return error


@given(content=CONTENT, packed=st.sampled_from(sorted(PACK)))
def test_no_bytes_put_lines_out_of_step(scratch: Path, content: bytes, packed: str) -> None:
    path = scratch / f"fuzz{packed}"
    path.write_bytes(PACK[packed](content))
    raw_lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if raw_lines[-1] == b"":
        raw_lines.pop()
    lines = read(path)
    broken = [
        number
        for number, raw in enumerate(raw_lines, 1)
        if raw.decode("utf-8", "ignore").encode() != raw
    ]
    if isinstance(lines, InputError):
        assert "the file is UTF-" in str(lines) or f"{path}:{broken[0]}: " in str(lines)
        return
    assert not broken
    assert len(lines) == len(raw_lines)
    for line, raw in zip(lines, raw_lines, strict=True):
        assert not any(
            character in line for character in "\n\r\0\t\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
        )
        assert [character for character in line if character.isalnum()] == [
            character for character in raw.decode() if character.isalnum()
        ]


@given(content=st.binary(max_size=200), cut=st.integers(0, 30), suffix=st.sampled_from(PACKED))
def test_no_damage_to_a_packed_file_gives_another_error(
    scratch: Path, content: bytes, cut: int, suffix: str
) -> None:
    path = scratch / f"damaged{suffix}"
    packed = PACK[suffix](b"a line\n" * 50)
    path.write_bytes(packed[: len(packed) - cut] + content)
    lines = read(path)
    assert str(path) in str(lines) if isinstance(lines, InputError) else lines == ["a line"] * 50
