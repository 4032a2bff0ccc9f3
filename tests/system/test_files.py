"""Files that are whole or absent, what a killed process leaves of them, and checksums."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rnnsearch.errors import InputError
from rnnsearch.system.files import (
    checksum,
    lock,
    only_one,
    prepare_output,
    remove_partial_files,
    write_text,
    written_whole,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def interrupted(path: Path) -> None:
    with written_whole(path) as temporary:
        temporary.write_text("new")
        raise KeyboardInterrupt


def test_a_fault_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "file")
    assert (names(tmp_path), (tmp_path / "file").read_text()) == (["file"], "old")


def test_what_a_killed_process_left_is_overwritten(tmp_path: Path) -> None:
    for name in (".file", ".other", "file"):
        (tmp_path / f"{name}.partial").write_text("half of something longer")
    write_text(tmp_path / "file", "whole")
    assert names(tmp_path) == [".other.partial", "file", "file.partial"]
    assert (tmp_path / "file").read_text() == "whole"
    remove_partial_files(tmp_path)
    assert names(tmp_path) == ["file", "file.partial"]


def test_two_do_not_write_one_file(tmp_path: Path) -> None:
    with written_whole(tmp_path / "file") as temporary:
        temporary.write_text("first")
        with pytest.raises(InputError, match="another command is writing it"):
            write_text(tmp_path / "file", "second")
    assert (names(tmp_path), (tmp_path / "file").read_text()) == (["file"], "first")


def test_pipes_and_devices_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match="it is not a regular file"):
            write_text(tmp_path / name, "text")
    assert names(tmp_path) == ["link", "pipe"]


HOLDING = """
import sys, time
from pathlib import Path
from rnnsearch.system.files import only_one
with only_one(Path(sys.argv[1]), "baking"):
    print("there", flush=True)
    time.sleep(60)
"""


def test_only_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(folder)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "there\n"
        said = rf"folder: another process \({other.pid}\) is baking here \(wait for it or end it"
        with pytest.raises(InputError, match=said), only_one(folder, "baking"):
            raise AssertionError
        other.kill()
    with only_one(folder, "baking"):  # the kernel has taken its lock
        (folder / "bread").touch()
    assert names(folder) == ["bread"]


def test_a_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="stop"), only_one(tmp_path / "new" / "folder", "baking"):
        raise ValueError("stop")
    assert names(tmp_path) == []


def test_a_file_is_locked_once(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as one, (tmp_path / "file").open("w") as other:
        assert lock(one.fileno())
        assert not lock(other.fileno())


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"x: .*file is a file, not a folder .name another place"):
        prepare_output(tmp_path / "file" / "sub" / "x", overwrite=False)


def test_checksums_tell_parts_apart(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"ab")
    assert checksum("ab", "c") != checksum("a", "bc") != checksum("abc")
    assert checksum("ab") == checksum(b"ab") == checksum(tmp_path / "f")
