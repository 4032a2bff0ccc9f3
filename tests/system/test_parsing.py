"""TOML and JSON: every fault is an OSError or a ValueError with a plain line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rnnsearch.system import parsing
from rnnsearch.system.parsing import parse_json, parse_toml, read_json, read_toml

DEEP = 100_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * DEEP + "]" * DEEP, "nested too deeply"),
        ("a = " + "{a=" * DEEP, "nested too deeply"),
        ("a = " + "9" * 5000, "a number has too many digits"),
        ("a = ", "Invalid value"),
        ("\0\x01", "line 1, column 1"),
    ],
)
def test_bad_toml(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_toml(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [("[" * DEEP, "nested too deeply"), ("9" * 5000, "a number has too many digits"), ("{", "Expecting")],
)
def test_bad_json(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_json(text)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text('{"a": 1}')
    assert read_json(file) == {"a": 1}
    file.write_text("a = 1")
    assert read_toml(file) == {"a": 1}
    file.write_bytes(b"a = '\xff'")
    with pytest.raises(ValueError, match="utf-8"):
        read_toml(file)
    monkeypatch.setattr(parsing, "LARGEST", 5)
    with pytest.raises(ValueError, match="more than 5 bytes"):
        read_toml(file)


def test_nobody_waits_for_a_pipe_or_reads_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="it is a pipe or a device, not a regular file"):
            read_toml(path)
    with pytest.raises(IsADirectoryError):
        read_toml(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_toml(tmp_path / "nosuch")
