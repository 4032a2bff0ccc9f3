"""What of the package's metadata depends on where the repository lies: its addresses, and the links
of its description.

The address is $RNNSEARCH_URL, as the release workflow sets it, or the remote `origin` of a
checkout. Without either, the package names
none, and links of the description that would lead nowhere become plain words.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")
IMAGE = re.compile(r"""<img src="(?!https?://)([^"]+)"[^>]*>\n*""")


class Addresses(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        base = address(Path(self.root))
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(text, base)}
        metadata["urls"] = addresses(base)


def address(root: Path) -> str:
    """Where the repository lies on the web, without a slash at its end; empty if nobody says."""
    named = os.environ.get("RNNSEARCH_URL", "")
    if not named and (root / ".git").exists():
        asked = subprocess.run(
            ["git", "-C", str(root), "remote", "get-url", "origin"],
            capture_output=True,
            text=True,
            check=False,
        )
        named = re.sub(r"^git@([^:]+):", r"https://\1/", asked.stdout.strip())
    named = re.sub(r"^(https://)[^/]*@", r"\1", named)  # no password gets into a package
    return named.removesuffix("/").removesuffix(".git") if named.startswith("https://") else ""


def addresses(base: str) -> dict[str, str]:
    if not base:
        return {}
    site = os.environ.get("RNNSEARCH_DOCS", f"{base}/tree/main/docs")
    changes = f"{base}/blob/main/CHANGELOG.md"
    return {
        "Homepage": base,
        "Documentation": site,
        "Source": base,
        "Issues": f"{base}/issues",
        "Changelog": changes,
    }


def description(text: str, base: str) -> str:
    """README for a reader who has no repository: links and pictures with their whole address, or
    none."""
    if not base:
        return LINK.sub(r"\1", IMAGE.sub("", text))
    text = LINK.sub(lambda match: f"[{match[1]}]({base}/blob/main/{match[2]})", text)
    return IMAGE.sub(lambda match: match[0].replace(match[1], f"{base}/raw/main/{match[1]}"), text)
