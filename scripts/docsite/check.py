"""Reads a built site as a browser would: every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = dict.fromkeys(("script", "img", "iframe", "source", "video", "audio", "embed"), "src") | {
    "object": "data"
}
"""Elements for which a browser fetches something, with the attribute that names it; for `link` its rel
decides."""
LOADED_LINKS = {
    "stylesheet",
    "preload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "icon",
    "modulepreload",
    "manifest",
}
OUTSIDE = re.compile(r"""(?:url\(\s*["']?|@import\s+["']?)((?:https?:)?//[^"')]+)""")


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
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        if path.name == "404.html":  # its addresses are absolute
            continue
        name = path.relative_to(site.resolve())
        found += [f"{name}: loads {address}" for address in page.loads if is_outside(address)]
        for address in {*page.links, *page.loads}:
            reason = broken(address, path, pages)
            if reason:
                found.append(f"{name}: {address}: {reason}")
    for path in [*site.rglob("*.css"), *pages]:
        text = path.read_text(encoding="utf-8")
        found += [
            f"{path.relative_to(site.resolve() if path in pages else site)}: loads {address}"
            for address in OUTSIDE.findall(text)
        ]
    return found


def is_outside(address: str) -> bool:
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https", "ftp")


def broken(address: str, path: Path, pages: dict[Path, Page]) -> str:
    """Returns why an address leads nowhere; "" if it leads somewhere."""
    parts = urlsplit(address)
    if parts.scheme or address.startswith("//"):
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "no such file"
    if (
        parts.fragment
        and target in pages
        and unquote(parts.fragment) not in pages[target].anchors
        and parts.fragment != "__top"
    ):
        return "no such anchor"
    return ""
