"""Files and folders that are whole or absent, what a killed process leaves of them, and files that are read."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from folders import names
from refusals import refusal

from rnnsearch.errors import InputError
from rnnsearch.system import files
from rnnsearch.system.files import (
    only_one,
    parse_json,
    parse_toml,
    read_json,
    read_toml,
    reading,
    remove_partial_files,
    whole_folder,
    write_text,
    written_whole,
)


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
        with refusal("another command is writing it"):
            write_text(tmp_path / "file", "second")
    assert (names(tmp_path), (tmp_path / "file").read_text()) == (["file"], "first")


def test_pipes_and_devices_are_written_but_neither_replaced_nor_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for path in (tmp_path / "pipe", tmp_path / "link"):
        write_text(path, "text")
        with pytest.raises(OSError, match="it is a pipe or a device, not a regular file"):
            read_toml(path)
    assert os.read(end, 99) == b"text"
    os.close(end)
    assert names(tmp_path) == ["link", "pipe"]
    with pytest.raises(IsADirectoryError):
        read_toml(tmp_path)


def test_the_file_to_which_a_link_points_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, end in {"link": "folder/file", "itself": "itself", "folders": "folder"}.items():
        (tmp_path / name).symlink_to(end)
    for text in ("new", "newer"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "folder" / "file").read_text() == text
    for name in ("itself", "folders"):
        with refusal("is not a regular file"):
            write_text(tmp_path / name, "text")
    assert names(tmp_path) == ["folder", "folders", "itself", "link"]
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "folder") == ["file"]


def lock(folder: Path) -> None:
    with only_one(folder, "baking"):
        pass


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        (".file.partial", lambda folder: write_text(folder / "file", "text")),
        (".folder.partial", lambda folder: write(folder / "folder", "text")),
        (".lock", lock),
    ],
)
@pytest.mark.parametrize("link", [os.symlink, os.link, lambda _, path: os.mkfifo(path)])
def test_a_link_in_place_of_a_temporary_file_is_not_followed(
    tmp_path: Path, name: str, writes: Callable[[Path], None], link: Callable[..., None]
) -> None:
    (tmp_path / "victim").write_text("precious")
    link(tmp_path / "victim", tmp_path / name)
    with pytest.raises((OSError, InputError), match=name):
        writes(tmp_path)
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_partial_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".out.partial").mkdir()
    os.chown(tmp_path / ".out.partial", 65534, 65534)
    with refusal(r"\.out\.partial: belongs to another user"):
        write(tmp_path / "out", "text")


def test_the_root_folder_is_refused() -> None:
    with refusal(r"^/: is the root of the file system"):
        write(Path("/"), "text", replaceable=True)


HOLDING = """
import sys
from pathlib import Path
from rnnsearch.system.files import only_one
with only_one(Path(sys.argv[1]), "baking"):
    print("there", flush=True)
    sys.stdin.read()
"""


@pytest.mark.processes
def test_only_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    words, pipe = [sys.executable, "-c", HOLDING, str(folder)], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "there\n"
        said = rf"folder: another process \({other.pid}\) is baking here \(wait for it or end it"
        with refusal(said), only_one(folder, "baking"):
            raise AssertionError
        other.kill()
    with only_one(folder, "baking"):  # the kernel has taken its lock
        (folder / "bread").touch()
    assert names(folder) == ["bread"]
    with pytest.raises(ValueError, match="stop"), only_one(tmp_path / "other" / "folder", "baking"):
        raise ValueError("stop")
    assert names(tmp_path) == ["new"]  # a lock leaves nothing behind


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


@pytest.mark.parametrize("before", [None, "old"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (ValueError("stop"), "stop"),
        (KeyboardInterrupt("stop"), "stop"),
        (InputError("stop"), "stop"),
        (OSError(errno.EIO, "fault"), "out: cannot be written: fault"),
    ],
)
def test_after_a_fault_everything_is_as_before(
    tmp_path: Path, fault: BaseException, said: str, before: str | None
) -> None:
    out = tmp_path / "out"
    if before:
        write(out, before)
    with pytest.raises(InputError if isinstance(fault, OSError) else type(fault), match=said):
        write(out, "new", replaceable=True, fault=fault)
    assert names(tmp_path) == (["out"] if before else [])
    assert not before or (out / "file").read_text() == before


def test_a_folder_appears_at_the_end_and_is_replaced_whole_if_it_may_be(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    write(
        out,
        "a",
        meanwhile=lambda: names(out.parent) == [".out.partial"] or pytest.fail("too early"),
    )
    (out / "more").touch()
    with refusal(r"out: exists and is not empty \(name another folder"):
        write(out, "b")
    write(out, "b", replaceable=True)
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("file", "b")]
    assert names(out.parent) == ["out"]


def test_only_hidden_partial_files_are_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "download.partial").touch()
    with refusal("exists and is not empty"):
        write(tmp_path / "out", "new")
    assert names(tmp_path / "out") == ["download.partial"]
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "out")
    with refusal("is a mount point"):
        write(tmp_path / "out", "new", replaceable=True)


def test_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    write(tmp_path / "[a]*", "before")
    for name in (".[a]*.partial", ".[a]*.old", ".a.partial", ".[a]*.v2.old"):
        (tmp_path / name / "folder").mkdir(parents=True)
        (tmp_path / name / "other").touch()
    write(tmp_path / "[a]*", "after", replaceable=True)
    assert names(tmp_path) == [".[a]*.v2.old", ".a.partial", "[a]*"]
    assert [(path.name, path.read_text()) for path in (tmp_path / "[a]*").iterdir()] == [
        ("file", "after")
    ]


def test_a_process_that_died_between_two_renames_loses_nothing(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / ".out.old")
    (tmp_path / ".out.partial" / "more").mkdir(parents=True)
    with refusal("exists and is not empty"):
        write(tmp_path / "out", "new")
    assert (tmp_path / "out" / "file").read_text() == "old"
    write(tmp_path / "out", "new", replaceable=True)
    assert names(tmp_path) == ["out"]


def test_two_do_not_write_one_folder(tmp_path: Path) -> None:
    with refusal("another command is writing it"):
        write(tmp_path / "out", "mine", meanwhile=lambda: write(tmp_path / "out", "theirs"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("appears", ["folder", "file"])
def test_what_appears_meanwhile_is_left_alone_and_what_is_finished_is_kept(
    tmp_path: Path, appears: str
) -> None:
    out, kept = tmp_path / "out", tmp_path / "out.finished"
    theirs = out if appears == "file" else out / "file"

    def appear() -> None:
        theirs.parent.mkdir(exist_ok=True)
        theirs.write_text("theirs")

    with refusal(r"out.finished \(keep one of the two\)"):
        write(out, "mine", meanwhile=appear)
    assert (theirs.read_text(), (kept / "file").read_text()) == ("theirs", "mine")
    assert names(tmp_path) == ["out", "out.finished"]


DEEP = 100_000


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_toml, "a = " + "[" * DEEP + "]" * DEEP, "nested too deeply"),
        (parse_toml, "a = " + "{a=" * DEEP, "nested too deeply"),
        (parse_toml, "a = " + "9" * 5000, "Exceeds the limit"),
        (parse_toml, "a = ", "Invalid value"),
        (parse_toml, "\0\x01", "line 1, column 1"),
        (parse_json, "[" * DEEP, "nested too deeply"),
        (parse_json, "9" * 5000, "Exceeds the limit"),
        (parse_json, "{", "Expecting"),
    ],
)
def test_what_cannot_be_parsed_is_one_line(
    parse: Callable[[str], object], text: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        parse(text)


def test_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text('{"a": 1}')
    assert read_json(file) == {"a": 1}
    file.write_text("a = 1")
    assert read_toml(file) == {"a": 1}
    file.write_bytes(b"a = '\xff'")
    with pytest.raises(ValueError, match="utf-8"):
        read_toml(file)
    monkeypatch.setattr(files, "LARGEST_FILE", 5)
    with pytest.raises(ValueError, match="more than 5 bytes"):
        read_toml(file)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied"),
            r"file: cannot be read: Permission denied \(check its permissions\)",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No such file"),
            r"file: is not a run: No such file \(remove it\)",
        ),
        (ValueError("line 1"), "file: is damaged: line 1"),
    ],
)
def test_a_file_that_may_not_be_read_is_not_called_damaged(error: Exception, said: str) -> None:
    with (
        refusal(f"^{said}$"),
        reading(Path("file"), "remove it", "is not a run", "is damaged"),
    ):
        raise error
