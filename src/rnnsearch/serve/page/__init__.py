"""The page that translates: one source for the static export and for the service. `page_files` has
all of it but `config.json`.

`config.json` says which models there are and what runs them:
{"engine": "local" or "http", "models": [{"name", "source", "target", …}], …}; with "local" each
model also has "folder" and "bytes". "examples": {name: [texts]} are offered for each model.
"first": {"model", "text", "result"}, if there, is a translation to begin with: no model is loaded
before the visitor asks.
"""

from __future__ import annotations

from pathlib import Path

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Ending → media type."""


def page_files() -> dict[str, bytes]:
    """Returns the page's files: name relative to its folder → content."""
    from rnnsearch.serve.page.tables import tables_module

    own = Path(__file__).parent
    return {"engine/tables.js": tables_module().encode()} | {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for folder in (own, own.parents[1] / "browser")
        for path in sorted(folder.rglob("*"))
        if path.suffix in KINDS
    }
