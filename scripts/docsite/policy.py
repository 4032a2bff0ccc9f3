"""Gives each page of the site a content security policy: only its own files, and the inline scripts and
styles that the build wrote."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

POLICY = (
    "default-src 'self'; script-src 'self'{script}; style-src 'self' 'unsafe-inline'; style-src-elem "
    "'self'{style}; "
    "style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'"
)
"""`default-src` lets Firefox fetch the next page early. `style-src` is read by browsers that do not know the
two below it. Images: the theme's icons are data, and a figure is a blob on its way to a PNG file."""
INLINE = re.compile(r"<(script|style)(?![^>]*(?: src=|application/json))[^>]*>(.*?)</\1>", re.DOTALL)
FIRST = '<meta charset="utf-8">'


def write_policies(site: Path) -> None:
    """Writes the policy into every page of a built site that has none of its own."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if "Content-Security-Policy" not in text:
            page.write_text(text.replace(FIRST, FIRST + element(text), 1), encoding="utf-8")


def element(text: str) -> str:
    """Returns the `meta` element of a page, with the hash of each inline script and style."""
    hashes: dict[str, dict[str, None]] = {"script": {}, "style": {}}
    for kind, content in INLINE.findall(text):
        hashes[kind][f" 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"] = None
    policy = POLICY.format(**{kind: "".join(found) for kind, found in hashes.items()})
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
