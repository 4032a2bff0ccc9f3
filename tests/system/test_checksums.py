"""Checksums of texts, bytes and files."""

from __future__ import annotations

from pathlib import Path

from rnnsearch.system.checksums import checksum


def test_checksums_tell_parts_apart(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"ab")
    assert checksum("ab", "c") != checksum("a", "bc") != checksum("abc")
    assert checksum("ab") == checksum(b"ab") == checksum(tmp_path / "f")
