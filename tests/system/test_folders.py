from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from rnnsearch.errors import InputError
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
    for name in (".out.partial", ".out.old", ".output.partial", ".out.v2.old", ".out.notes"):
        (tmp_path / name / "folder").mkdir(parents=True)
        (tmp_path / name / "other").touch()
    write(tmp_path / "out", "after", replaceable=True)
    assert names(tmp_path) == [".out.notes", ".out.v2.old", ".output.partial", "out"]
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [("file", "after")]


def test_a_process_that_died_between_two_renames_loses_nothing(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / ".out.old")
    (tmp_path / ".out.partial" / "more").mkdir(parents=True)
    with pytest.raises(InputError, match="exists and is not empty"):
        write(tmp_path / "out", "new")
    assert (tmp_path / "out" / "file").read_text() == "old"
    write(tmp_path / "out", "new", replaceable=True)
    assert names(tmp_path) == ["out"]


def theirs(out: Path) -> None:
    """Puts another folder there, as `mv` does."""
    other = out.with_name("other")
    other.mkdir()
    (other / "file").write_text("theirs")
    if out.exists():
        out.rename(out.with_name("moved"))
    other.rename(out)


def test_two_do_not_write_one_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another command is writing it"):
        write(tmp_path / "out", "mine", meanwhile=lambda: write(tmp_path / "out", "theirs"))
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("before", "replaceable"),
    [("nothing", False), ("nothing", True), ("empty", False), ("empty", True), ("old", True)],
)
def test_what_appears_meanwhile_is_left_alone_and_what_is_finished_is_kept(
    tmp_path: Path, before: str, replaceable: bool
) -> None:
    out = tmp_path / "out"
    if before == "empty":
        out.mkdir()
    elif before == "old":
        write(out, "old")
    with pytest.raises(
        InputError, match=r"out: appeared or was replaced.* folder .*finished was not renamed .keep one"
    ) as refused:
        write(out, "mine", replaceable, meanwhile=lambda: theirs(out))
    kept = tmp_path / "out.finished"
    assert str(kept) in str(refused.value)
    assert (kept / "file").read_text() == "mine"
    assert (out / "file").read_text() == "theirs"
    write(out, "again", replaceable=True)  # nor does the next one remove it
    assert set(names(tmp_path)) - {"moved"} == {"out", "out.finished"}


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
    (tmp_path / ".a.partial").mkdir()
    (tmp_path / ".[a]*.partial" / "more").mkdir(parents=True)
    write(tmp_path / "[a]*", "x")
    assert names(tmp_path) == [".a.partial", "[a]*"]


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
