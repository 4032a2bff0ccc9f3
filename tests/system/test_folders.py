from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rnnsearch.errors import InputError
from rnnsearch.system import folders
from rnnsearch.system.folders import whole_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(
    out: Path,
    text: str,
    replaceable: bool = False,
    fault: BaseException | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    with whole_folder(out, lambda folder: replaceable) as folder:
        (folder / "file").write_text(text)
        meanwhile()
        assert (folder / "file").read_text() == text
        if fault is not None:
            raise fault


def test_the_folder_appears_at_the_end_only(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    with whole_folder(out, lambda folder: False) as folder:
        (folder / "file").write_text("a")
        assert not out.exists()
    assert (out / "file").read_text() == "a"
    assert names(out.parent) == ["out"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, InputError])
@pytest.mark.parametrize("before", [None, "old"])
def test_after_a_fault_everything_is_as_before(
    tmp_path: Path, fault: type[BaseException], before: str | None
) -> None:
    out = tmp_path / "out"
    if before:
        write(out, before)
    with pytest.raises(fault):
        write(out, "new", replaceable=True, fault=fault("stop"))
    assert names(tmp_path) == (["out"] if before else [])
    assert not before or (out / "file").read_text() == before


def test_an_empty_folder_is_taken_and_a_full_one_is_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    write(out, "a")
    with pytest.raises(InputError, match=r"out: exists and is not empty \(name another folder"):
        write(out, "b")
    assert (out / "file").read_text() == "a"


def test_a_replaceable_folder_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "a")
    (out / "more").touch()
    write(out, "b", replaceable=True)
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("file", "b")]
    assert names(tmp_path) == ["out"]


def test_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    write(tmp_path / "out", "before")
    for name in (".out.1a.partial", ".out.1b.old", ".output.1c.partial", ".out.notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / ".out.1d.partial").mkdir()
    os.utime(tmp_path / ".out.1d.partial", (2**32, 2**32))  # its clock was ahead
    write(tmp_path / "out", "after", replaceable=True)
    assert names(tmp_path) == [".out.notes", ".output.1c.partial", "out"]
    assert (tmp_path / "out" / "file").read_text() == "after"


@pytest.mark.parametrize("there", [False, True])
def test_what_is_left_of_a_folder_with_a_longer_name_is_not_touched(tmp_path: Path, there: bool) -> None:
    for name in (".out.v2.1a2b3c4d.old", ".out.v2.1a2b3c4d.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("the only whole one")
    if there:
        write(tmp_path / "out", "before")
    write(tmp_path / "out", "after", replaceable=True)
    assert names(tmp_path) == [
        ".out.v2.1a2b3c4d.old",
        ".out.v2.1a2b3c4d.partial",
        "out",
    ]
    assert (tmp_path / ".out.v2.1a2b3c4d.old" / "file").read_text() == "the only whole one"


def test_all_that_is_in_it_is_on_the_disk_before_it_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(folders, "fsync", lambda path: flushed.append(path.name))
    with whole_folder(tmp_path / "out", lambda _: False) as folder:
        (folder / "models" / "one").mkdir(parents=True)
        (folder / "models" / "one" / "weights").touch()
    assert {"models", "one", "weights"} <= set(flushed)


def test_a_process_that_died_between_two_renames_loses_nothing(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / ".out.1a.old")
    (tmp_path / ".out.1a.partial" / "more").mkdir(parents=True)
    with pytest.raises(InputError, match="exists and is not empty"):
        write(tmp_path / "out", "new")
    assert (tmp_path / "out" / "file").read_text() == "old"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("before", "replaceable"),
    [("nothing", False), ("nothing", True), ("empty", False), ("empty", True), ("old", True)],
)
def test_what_appears_meanwhile_is_left_alone_and_what_is_finished_is_kept(
    tmp_path: Path, before: str, replaceable: bool
) -> None:
    """Of two that make the same folder at once the first to end has it, with or without leave to replace what
    was there before."""
    out = tmp_path / "out"
    if before == "empty":
        out.mkdir()
    elif before == "old":
        write(out, "old")
    with pytest.raises(
        InputError, match=r"out: appeared, or was replaced.*whole in .*finished .keep one"
    ) as refused:
        write(out, "mine", replaceable, meanwhile=lambda: write(out, "theirs", replaceable=True))
    kept = next(path for path in tmp_path.iterdir() if path != out)
    assert str(kept) in str(refused.value)
    assert not kept.name.startswith(".")
    assert (kept / "file").read_text() == "mine"
    assert (out / "file").read_text() == "theirs"
    write(out, "again", replaceable=True)  # nor does the next one remove it
    assert sorted(tmp_path.iterdir()) == [out, kept]


def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="appeared"):
        write(
            tmp_path / "out",
            "mine",
            replaceable=True,
            meanwhile=lambda: (tmp_path / "out").write_text("theirs"),
        )
    assert (tmp_path / "out").read_text() == "theirs"
    assert [path.read_text() for path in tmp_path.glob("out.*/file")] == ["mine"]


def test_what_was_there_may_be_gone_at_the_end(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    write(
        tmp_path / "out",
        "new",
        replaceable=True,
        meanwhile=lambda: (tmp_path / "out").rename(tmp_path / "elsewhere"),
    )
    assert (tmp_path / "out" / "file").read_text() == "new"
    assert (tmp_path / "elsewhere" / "file").read_text() == "old"


def test_names_with_signs_of_patterns_are_names(tmp_path: Path) -> None:
    (tmp_path / ".a.1a.partial").mkdir()
    (tmp_path / ".[a]*.1a.partial" / "more").mkdir(parents=True)
    write(tmp_path / "[a]*", "x")
    assert names(tmp_path) == [".a.1a.partial", "[a]*"]


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(InputError, match="is a file, not a folder"):
            write(out, "a")


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space left on the disk .free some"),
        (errno.EDQUOT, "no space left"),
        (errno.EIO, "cannot be written"),
    ],
)
def test_a_fault_of_the_disk_is_one_clear_line(tmp_path: Path, number: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write(tmp_path / "out", "a", fault=OSError(number, "fault"))
    assert not list(tmp_path.iterdir())
