from __future__ import annotations

import errno
from pathlib import Path

import pytest

from rnnsearch.errors import InputError
from rnnsearch.text.folder import whole_folder


def write(out: Path, text: str, replaceable: bool = False, fault: BaseException | None = None) -> None:
    with whole_folder(out, lambda folder: replaceable) as folder:
        (folder / "file").write_text(text)
        if fault is not None:
            raise fault


def test_the_folder_appears_at_the_end_only(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    with whole_folder(out, lambda folder: False) as folder:
        (folder / "file").write_text("a")
        assert not out.exists()
    assert (out / "file").read_text() == "a"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, InputError])
@pytest.mark.parametrize("before", [None, "old"])
def test_after_a_fault_everything_is_as_before(tmp_path: Path, fault: type[BaseException], before: str | None) -> None:
    out = tmp_path / "out"
    if before:
        write(out, before)
    with pytest.raises(fault):
        write(out, "new", replaceable=True, fault=fault("stop"))
    assert [path.name for path in tmp_path.iterdir()] == (["out"] if before else [])
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
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(InputError):
            write(out, "a")


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.ENOSPC, "no space left on the disk .free some"), (errno.EDQUOT, "no space left"), (errno.EIO, "cannot be written")],
)
def test_a_fault_of_the_disk_is_one_clear_line(tmp_path: Path, number: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write(tmp_path / "out", "a", fault=OSError(number, "fault"))
    assert not list(tmp_path.iterdir())
