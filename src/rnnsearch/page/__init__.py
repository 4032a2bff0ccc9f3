"""The page that translates: one source for the static export and for the service. `page_files` has all of it
but `config.json`.

`config.json` says which models there are and what runs them:
{"engine": "local" or "http", "models": [{"name", "source", "target", …}], …}; with "local" each model
also has "folder" and "bytes". "examples": {name: [texts]} are offered for each model. "first":
{"model", "text", "result"}, if there, is a translation to begin with: no model is loaded before the visitor
asks.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Ending → media type."""


def page_files() -> dict[str, bytes]:
    """Returns the page's files: name relative to its folder → content."""
    return dict(_files(resources.files("rnnsearch.page"), ""))


def _files(folder: Traversable, before: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir() and not entry.name.startswith("_"):
            found += _files(entry, f"{before}{entry.name}/")
        elif any(entry.name.endswith(ending) for ending in KINDS):
            found.append((before + entry.name, entry.read_bytes()))
    return found
