"""How test sets, runs and other systems are named and read; a file that is none is refused with one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refusal

from rnnsearch.lab.test_set import (
    file_stem,
    name_runs,
    read_hypotheses,
    read_systems,
    read_test_sets,
)


@pytest.fixture
def texts(here: Path) -> list[str]:
    """test.en and test.fr of two lines, other.en.txt and other.fr.txt of one; gold links of two sentences; the
    empty files a and b."""
    files = {"test.en": "a\nb\n", "test.fr": "c\nd\n", "other.en.txt": "e\n", "other.fr.txt": "f\n"}
    for name, lines in (files | {"gold": "0-0\n\n", "a": "", "b": ""}).items():
        (here / name).write_text(lines, "utf-8")
    return list(files)


def test_sets_are_called_by_their_files_or_as_told(texts: list[str]) -> None:
    first, second = read_test_sets(texts)
    assert (first.name, first.source, first.reference) == ("test", ["a", "b"], ["c", "d"])
    assert (second.name, second.source) == ("other", ["e"])
    assert [each.name for each in read_test_sets([f"news={texts[0]}", *texts[1:]])] == [
        "news",
        "other",
    ]
    assert first.first(1).source == ["a"]


def test_gold_links_belong_to_one_set(texts: list[str]) -> None:
    (one,) = read_test_sets(texts[:2], ["gold"])
    assert one.gold is not None
    assert [links.sure for links in one.gold] == [{(0, 0)}, frozenset()]
    assert one.first(1).gold == one.gold[:1]
    named = read_test_sets(texts, ["test=gold"])
    assert (named[0].gold, named[1].gold) == (one.gold, None)


@pytest.mark.parametrize(
    ("files", "gold", "message"),
    [
        ("test.en test.fr other.en.txt", "", "two files"),
        ("", "", "two files"),
        ("test.en other.fr.txt", "", "not parallel"),
        ("a b", "", "is empty"),
        ("test.en test.fr test.en test.fr", "", "two test sets are called test"),
        ("test.en test.fr other.en.txt other.fr.txt", "gold", "which test set"),
        ("test.en test.fr", "news=gold", "no test set 'news'"),
        ("other.en.txt other.fr.txt", "gold", "gold: has 2 sentences, but test set other has 1"),
    ],
)
def test_bad_sets_are_one_clear_line(texts: list[str], files: str, gold: str, message: str) -> None:
    with refusal(message):
        read_test_sets(files.split(), gold.split())


def test_runs_of_one_folder_name_keep_their_paths(tmp_path: Path) -> None:
    for name in ("x/run", "y/run", "z"):
        (tmp_path / name).mkdir(parents=True)
    x, y, z = (str(tmp_path / name) for name in ("x/run", "y/run", "z"))
    assert list(name_runs([x, z])) == ["run", "z"]
    assert list(name_runs([x, y + "/", z])) == [x, y, "z"]
    assert name_runs([f"best={x}", y]) == {"best": Path(x), y: Path(y)}
    with refusal("two runs are called z"):
        name_runs([f"z={x}", z])


def test_systems_have_a_file_for_each_set(texts: list[str]) -> None:
    sets = read_test_sets(texts)
    assert read_systems(["Moses=test.en", "other.en.txt", "Other=-", "other.fr.txt"], sets) == {
        "Moses": {"test": ["a", "b"], "other": ["e"]},
        "Other": {"other": ["f"]},
    }
    for wrong, message in (
        ("a b", "has no name"),
        ("A=a", "A has 1 file, but the test sets are: test, other .*- for a missing"),
        ("A=a b A=c d", "two systems"),
        ("A=- a", "a: has 0 lines, and the references have 1"),
        ("A=- test.fr", r"test\.fr: has 2 lines, and the references have 1"),
    ):
        with refusal(message):
            read_systems(wrong.split(), sets)


def test_plain_lines_are_kept_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "moses.test.fr"
    file.write_text("Un homme.\n\n a = b \u2028c ||| d\n", encoding="utf-8")
    expected = ["Un homme.", "", " a = b  c ||| d"]  # a line separator inside a line is a space
    assert (file_stem(str(file)), read_hypotheses(file, 3)) == ("moses", expected)
