"""Models from a hub of Hugging Face's kind, by `huggingface_hub` (the extra `hub`): `owner/name` becomes a folder in its cache."""

from __future__ import annotations

import re
from pathlib import Path

from rnnsearch.errors import InputError

FILES = ["config.toml", "model.safetensors", "vocabulary.source.txt", "vocabulary.target.txt", "subwords.*.model", "README.md"]
"""All that is fetched: whatever else lies in the repository stays there."""
ENDPOINT: str | None = None
CACHE: str | None = None
"""Where the hub is and where files are kept; None: as $HF_ENDPOINT and $HF_HOME say."""


def is_hub_name(word: str | Path) -> bool:
    """Whether the word is `owner/name`, and no folder is called so."""
    return isinstance(word, str) and re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", word) is not None and not Path(word).exists()


def fetched(name: str, revision: str | None = None) -> Path:
    """The folder of a model of the hub, which is fetched unless it is in the cache already.

    Raises InputError without the extra, for a name that the hub does not know, and if it cannot be reached.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        what = f"there is no folder {name!r}, and models of a hub need the package huggingface_hub"
        raise InputError(what, remedy="pip install 'rnnsearch[hub]', or name a folder that is there") from None
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=FILES, endpoint=ENDPOINT, cache_dir=CACHE))
    except Exception as error:  # the library's own, its HTTP client's, and the system's
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"model {name!r} cannot be fetched: {said}", remedy="check its name and the connection") from None
    if not (folder / "config.toml").is_file():
        raise InputError(f"{name!r} is no model of rnnsearch: it has no config.toml", remedy="name one whose library is rnnsearch")
    return folder
