"""SHA-256, of files and of whatever a result follows from."""

from __future__ import annotations

import hashlib
from pathlib import Path


def file_checksum(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum(*parts: str | bytes | memoryview | Path) -> str:
    """SHA-256 of texts, bytes and the content of files, in hexadecimal; a length before each part keeps them apart."""
    total = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(len(content).to_bytes(8, "little"))
        total.update(content)
    return total.hexdigest()
