"""Link files: what each line means, and that nothing malformed passes."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sized
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import read_gold, read_pharaoh
from rnnsearch.text.formats.links import parse_gold_links
from rnnsearch.word_links import Link, format_links

links = st.sets(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=8)


def written(folder: Path, text: str, name: str = "links.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


def outcome(read: Callable[[Path], Sized], path: Path) -> Sized | str:
    try:
        return read(path)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-0 1-2\n", [{(0, 0), (1, 2)}]),
        ("0-0 0-0\n", [{(0, 0)}]),
        ("\n3-4\n\n", [set(), {(3, 4)}, set()]),
        ("  0-0\t1-1 \r\n", [{(0, 0), (1, 1)}]),
        ("0-0 1?2 3p4\n", [{(0, 0), (1, 2), (3, 4)}]),
        ("0-0\u20281-1\n2-2", [{(0, 0), (1, 1)}, {(2, 2)}]),
        # a score behind each link; sentence numbers; fast_align's fields, with scores and without
        ("0-0:0.93 1p1/1e-3 2-3:-4\n", [{(0, 0), (1, 1), (2, 3)}]),
        ("1 0-0 1-1\n2\n3 2-2\n", [{(0, 0), (1, 1)}, set(), {(2, 2)}]),
        ("1\t0?0\n2\t1-1\n", [{(0, 0)}, {(1, 1)}]),
        ("the cat ||| le chat ||| 0-0 1-1\na ||| b |||\n", [{(0, 0), (1, 1)}, set()]),
        ("0-0 1-1 ||| -12.25\n ||| -0.5\n", [{(0, 0), (1, 1)}, set()]),
        ("", []),
    ],
)
def test_pharaoh_lines(tmp_path: Path, text: str, expected: list[set[Link]]) -> None:
    assert read_pharaoh(written(tmp_path, text)) == expected


def test_lines_without_any_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("\n\n")
    with refusal("gold: has no links"):
        read_gold(tmp_path / "gold")


def test_a_malformed_item_is_refused_with_its_line(tmp_path: Path) -> None:
    """What is one: tests/text/test_links.py."""
    path = written(tmp_path, "0-0\n\n1-1 3-4-5\n")
    with refusal(re.escape(f"{path}:3: ") + ".*is not a link"):
        read_pharaoh(path)


def test_a_number_left_out_is_refused(tmp_path: Path) -> None:
    with refusal(r"links.txt:2: does not begin with the sentence's number 2"):
        read_pharaoh(written(tmp_path, "1 0-0\n3 0-0\n"))


def test_gold_links_from_one_are_recognised_by_their_text(tmp_path: Path) -> None:
    """The third word of three is at position 3 in these files, which is no position of three words from 0."""
    path = written(tmp_path, "1-1 2p2 3-3\n1-1\n")
    pairs = [("a b c", "d e f"), ("a b", "d e")]
    with refusal(r"links.txt: its gold links seem to count words from 1.*--gold-from 1"):
        read_gold(path, pairs=pairs)
    assert read_gold(path, first=1, pairs=pairs)[0].possible == {(0, 0), (1, 1), (2, 2)}
    assert read_gold(path, first=0, pairs=pairs)[0].sure == {(1, 1), (3, 3)}
    longer = [("a b c d", "d e f g"), ("a b", "d e")]
    assert read_gold(path, pairs=longer) == read_gold(path)


@given(st.lists(links))
def test_pharaoh_reads_what_format_links_writes(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[set[Link]]
) -> None:
    text = "".join(format_links(sorted(sentence)) + "\n" for sentence in sentences)
    assert read_pharaoh(written(tmp_path_factory.mktemp("pharaoh"), text)) == sentences


@given(st.text(st.sampled_from("0123456789-?pSP \t\n\r\u2028\x0bé")))
def test_any_text_is_read_or_refused_with_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = written(tmp_path_factory.mktemp("fuzz"), text)
    for read in (read_pharaoh, read_gold):
        found = outcome(read, path)
        if isinstance(found, str):
            assert found.startswith(str(path))
            assert "\n" not in found
        else:
            assert len(found) <= text.count("\n") + 1


@pytest.mark.parametrize(
    "line",
    [
        "1 1",
        "1 1 1 X",
        "1 1 1 S P",
        "0 1 1 S",
        "1 -1 1 S",
        "1-1",
        "1 1 1 s",
        "one 1 1",
        "1 1 1 S 0.5 0.5",
    ],
)
def test_a_malformed_naacl_line_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"1 1 1 S\n{line}\n", "gold.wa")
    with refusal(re.escape(f"{path}:2: ") + ".*is not a NAACL link"):
        read_gold(path)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gold.wa", "1 1 1 S\n1 2 3 P\n", "0-0 1?2\n"),
        ("gold.wa", "0001 1 1\n", "0-0\n"),
        ("gold.wa", "1 1 1 P\n1 1 1 S\n", "0-0\n"),
        ("gold.wa", "1 2 0 S\n1 0 2 P\n", "\n"),
        ("gold.wa", "1 1 1 S 0.8\n1 2 2 0.5\n", "0-0 1-1\n"),
        ("gold.wa", "2 1 1 S\n\n1 2 2 P\n", "1?1\n0-0\n"),
        ("gold.wa", "2 1 1 S\n1 0 0\n", "\n0-0\n"),
        ("gold.wa.gz", "1 1 2 S\n", "0-1\n"),
        ("gold.txt", "1 1 2 S\n2 1 1 P\n", "0-1\n0?0\n"),
        ("gold.txt", "\n0-1 2?3\n", "\n0-1 2?3\n"),
        ("gold.wa", "", ""),
        ("gold.txt", "", ""),
    ],
)
def test_gold_is_read_in_sentence_order_whatever_the_format(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(content)
    lines = enumerate(expected.split("\n")[:-1], 1)
    assert read_gold(tmp_path / name) == [
        parse_gold_links(line, "", number) for number, line in lines
    ]


@pytest.mark.parametrize("line", ["1 0 0", "1 0 0 S", "1 0 0 P 0.5"])
def test_naacl_links_from_zero_are_asked_about(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"1 1 2 S\n{line}\n2 0 0\n", "gold.wa")
    with refusal(r"gold.wa: its links seem to count words from 0: .*--gold-from 0, or"):
        read_gold(path)
    one, two = read_gold(path, first=0)
    assert (one.possible, two.possible) == ({(0, 0), (1, 2)}, {(0, 0)})
    assert [each.possible for each in read_gold(path, first=1)] == [{(0, 1)}, set()]


def test_gold_that_leaves_out_a_sentence_is_refused(tmp_path: Path) -> None:
    with refusal(r"no line for sentence 2, but one for sentence 3.*'2 0 0'"):
        read_gold(written(tmp_path, "1 1 1 S\n3 1 1 S\n", "gold.wa"))


@pytest.mark.parametrize("name", ["gold.wa", "gold.wa.gz"])
def test_a_file_of_another_kind_named_wa_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"0-0 1-1\n") if name.endswith(".gz") else b"0-0 1-1\n")
    with refusal(r"is not a NAACL link .*if these are Pharaoh links, rename the file"):
        read_gold(path)


@pytest.mark.parametrize(("name", "sentences"), [("dev", 37), ("test", 200)])
def test_the_shared_tasks_gold_links(shared_data: Path, name: str, sentences: int) -> None:
    path = shared_data / "wpt03" / f"{name}.wa"
    found = read_gold(path)
    assert len(found) == sentences
    lines = path.read_text(encoding="ascii").split("\n")[:-1]
    assert sum(len(sentence.possible) for sentence in found) == len(lines)
    assert sum(len(sentence.sure) for sentence in found) == sum(
        line.endswith("S") for line in lines
    )
    assert all(sentence.sure <= sentence.possible for sentence in found)
