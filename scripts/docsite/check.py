"""Checks the finished pages: every link has a target, and no resource comes from another site.
Writes a content security policy into each page."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = dict.fromkeys(["script", "img", "iframe", "source", "video", "audio", "embed"], "src") | {
    "object": "data"
}
"""Element → attribute with the address of a resource that the browser fetches; for `link`, its rel
decides."""
LOADED_LINKS = {
    *[
        "stylesheet",
        "preload",
        "prefetch",
        "preconnect",
        "dns-prefetch",
        "icon",
        "modulepreload",
        "manifest",
    ]
}
OUTSIDE = re.compile(r"(?:https?:|ftp:)?//")
FETCHED = re.compile(r"""(?:url\(\s*["']?|@import\s+["']?)((?:https?:)?//[^"')]+)""")


class Page(HTMLParser):
    """The anchors and links of a page, and the addresses that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADS and LOADS[tag] in values:
            self.loads.append(values[LOADS[tag]])
        if tag == "link" and LOADED_LINKS & {*values.get("rel", "").split()}:
            self.loads.append(values.get("href", ""))


def faults(site: Path) -> list[str]:
    """Returns the faults of a built site, one line each."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }
    found = []
    for path, page in pages.items():
        if path.name != "404.html":  # its addresses are absolute
            found += [
                (path, f"loads {address}") for address in page.loads if OUTSIDE.match(address)
            ]
            reasons = {
                address: broken(address, path, pages) for address in [*page.links, *page.loads]
            }
            found += [
                (path, f"{address}: {reason}") for address, reason in reasons.items() if reason
            ]
    for path in [*site.resolve().rglob("*.css"), *pages]:
        found += [
            (path, f"loads {address}")
            for address in FETCHED.findall(path.read_text(encoding="utf-8"))
        ]
    return [f"{path.relative_to(site.resolve())}: {fault}" for path, fault in found]


def broken(address: str, path: Path, pages: dict[Path, Page]) -> str:
    """Returns the reason why an address is broken; "" if it is not."""
    parts = urlsplit(address)
    if parts.scheme or address.startswith("//"):
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "no such file"
    known = {"", "__top", *(pages[target].anchors if target in pages else [parts.fragment])}
    return "" if {parts.fragment, unquote(parts.fragment)} & known else "no such anchor"


POLICY = (
    "default-src 'self'; script-src 'self'{script}; style-src 'self' 'unsafe-inline';"
    " style-src-elem 'self'{style}; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:;"
    " font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none';"
    " object-src 'none'"
)
"""`default-src` lets Firefox fetch the next page early. `style-src` is read by browsers that do not
know the two below it. Images: the theme's icons are data, and a figure is a blob on its way to a
PNG file."""
INLINE = re.compile(
    r"<(script|style)(?![^>]*(?: src=|application/json))[^>]*>(.*?)</\1>", re.DOTALL
)
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
