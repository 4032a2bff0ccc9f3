"""How runs, test sets and other systems are named on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnnsearch.errors import InputError
from rnnsearch.report.arguments import name_runs, read_systems, read_test_sets, system_files
from rnnsearch.system.files import file_name


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """test.en and test.fr of two lines, other.en.txt and other.fr.txt of one."""
    files = []
    for name, lines in (
        ("test.en", "a\nb\n"),
        ("test.fr", "c\nd\n"),
        ("other.en.txt", "e\n"),
        ("other.fr.txt", "f\n"),
    ):
        (tmp_path / name).write_text(lines, "utf-8")
        files.append(str(tmp_path / name))
    return files


def test_sets_are_called_by_their_files_or_as_told(texts: list[str]) -> None:
    first, second = read_test_sets(texts)
    assert (first.name, first.source, first.reference) == ("test", ["a", "b"], ["c", "d"])
    assert (second.name, second.source) == ("other", ["e"])
    assert [each.name for each in read_test_sets([f"news={texts[0]}", *texts[1:]])] == ["news", "other"]
    assert first.first(1).source == ["a"]


def test_gold_links_belong_to_one_set(texts: list[str], tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    gold.write_text("0-0\n\n", "utf-8")
    (one,) = read_test_sets(texts[:2], [str(gold)])
    assert one.gold is not None
    assert [links.sure for links in one.gold] == [{(0, 0)}, frozenset()]
    assert one.first(1).gold == one.gold[:1]
    named = read_test_sets(texts, [f"test={gold}"])
    assert (named[0].gold, named[1].gold) == (one.gold, None)


@pytest.mark.parametrize(
    ("files", "gold", "message"),
    [
        ([0, 1, 2], "", "two files"),
        ([], "", "two files"),
        ([0, 3], "", "not parallel"),
        ([0, 1, 0, 1], "", "two test sets are called test"),
        ([0, 1, 2, 3], "{gold}", "which test set"),
        ([0, 1], "news={gold}", "no test set 'news'"),
        ([2, 3], "{gold}", "gold: has 2 sentences, and test set other has 1"),
    ],
)
def test_bad_sets_are_one_clear_line(
    texts: list[str], tmp_path: Path, files: list[int], gold: str, message: str
) -> None:
    (tmp_path / "gold").write_text("0-0\n\n", "utf-8")
    with pytest.raises(InputError, match=message):
        read_test_sets(
            [texts[place] for place in files], [gold.format(gold=tmp_path / "gold")] if gold else []
        )


def test_an_empty_set_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match="is empty"):
        read_test_sets([str(tmp_path / "a"), str(tmp_path / "b")])


def test_runs_of_one_folder_name_keep_their_paths(tmp_path: Path) -> None:
    for name in ("x/run", "y/run", "z"):
        (tmp_path / name).mkdir(parents=True)
    x, y, z = (str(tmp_path / name) for name in ("x/run", "y/run", "z"))
    assert [run.name for run in name_runs([x, z])] == ["run", "z"]
    assert [run.name for run in name_runs([x, y + "/", z])] == [x, y, "z"]
    assert [(run.name, run.path) for run in name_runs([f"best={x}", y])] == [("best", Path(x)), (y, Path(y))]
    with pytest.raises(InputError, match="two runs are called z"):
        name_runs([f"z={x}", z])


def test_systems_have_a_file_for_each_set(texts: list[str]) -> None:
    sets = read_test_sets(texts)
    words = ["Moses=a", "b", "Other=-", "c"]
    assert system_files(words, sets) == {"Moses": {"test": "a", "other": "b"}, "Other": {"other": "c"}}
    for wrong, message in (
        (["a", "b"], "has no name"),
        (["A=a"], "1 files of system A for 2 test sets"),
        (["A=a", "b", "A=c", "d"], "two systems"),
    ):
        with pytest.raises(InputError, match=message):
            system_files(wrong, sets)


def test_systems_have_a_line_for_each_pair(texts: list[str]) -> None:
    sets = read_test_sets(texts)
    assert read_systems({"A": {"other": texts[3]}}, sets) == {"A": {"other": ["f"]}}
    with pytest.raises(InputError, match=r"test\.fr: has 2 lines, but there are 1 references"):
        read_systems({"A": {"other": texts[1]}}, sets)


def test_files_have_plain_names() -> None:
    assert file_name("a/b c*: é") == "a-b-c---é"
    assert file_name("...") == "unnamed"
