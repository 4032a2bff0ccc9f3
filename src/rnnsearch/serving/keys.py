"""API keys: a file with one on each line, of which the service keeps only digests."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.system.parsing import read_text

SHORTEST = 16
"""Characters of a key."""


class Keys:
    """Knows which keys are valid. Without any, everybody may ask."""

    def __init__(self, keys: list[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    @property
    def needed(self) -> bool:
        return bool(self._digests)

    def allows(self, key: str | None) -> bool:
        """Takes the same time for every key, however much of it is right."""
        if not self.needed:
            return True
        given = _digest(key or "")
        fitting = [hmac.compare_digest(given, digest) for digest in self._digests]  # all of them, never only up to the first
        return any(fitting)

    @classmethod
    def read(cls, path: Path) -> Keys:
        """One key on each line; empty lines and those that begin with # are left out. Raises InputError."""
        try:
            lines = [line.strip() for line in read_text(path).splitlines()]
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=path) from None
        keys = [line for line in lines if line and not line.startswith("#")]
        if not keys:
            raise InputError("holds no key", file=path, remedy="write one key on each line")
        for number, line in enumerate(lines, 1):
            if line in keys and len(line) < SHORTEST:
                remedy = "for example: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
                raise InputError(f"a key has at least {SHORTEST} characters", file=path, line=number, remedy=remedy)
        return cls(keys)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def key_of(headers: list[tuple[bytes, bytes]]) -> str | None:
    """The key that a request's headers give, as `Authorization: Bearer KEY` or as `X-API-Key: KEY`."""
    found = {name.lower(): value.decode("latin-1") for name, value in headers}
    scheme, _, token = found.get(b"authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else found.get(b"x-api-key")
