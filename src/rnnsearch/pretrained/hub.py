"""Models from the Hugging Face Hub or one like it, by `huggingface_hub` (extra `hub`): `owner/name`
becomes a folder in the cache."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from rnnsearch.errors import InputError
from rnnsearch.pretrained.card import MODEL_FILES
from rnnsearch.run import Run
from rnnsearch.system.files import make_folder, whole_folder

TIMEOUT = 60
"""Seconds without a byte after which a download is given up."""
LARGEST_MODEL = 1 << 32
"""Bytes of a whole model; a download of more is given up."""
LARGEST_LIST = 1 << 22
"""Bytes of the hub's description of a model, with the names of its files."""
COMMIT = re.compile("[0-9a-f]{40,64}")
"""A commit's hash. It becomes a folder's name, so it is checked."""
ENDPOINT: str | None = None
CACHE: str | None = None
"""Address of the hub and folder of the cache; None: $HF_ENDPOINT and $HF_HOME decide."""


def is_hub_name(word: str | Path) -> bool:
    """Tells whether the word is `owner/name`, and no such path exists."""
    return (
        isinstance(word, str)
        and re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", word) is not None
        and not Path(word).exists()
    )


def fetched(name: str, revision: str | None = None) -> Path:
    """Returns the folder of a model of the hub; downloads it unless it is in the cache.

    Paths contain nothing from the hub's answers except a checked commit and names in `MODEL_FILES`;
    huggingface_hub's own downloads name files after headers. If the hub cannot be reached, the last
    known commit of the revision is used.

    Raises InputError without the extra, for an unknown name, for an invalid or larger answer, and
    if the hub cannot be reached and nothing is cached. Nothing that is refused stays in the cache.
    """
    try:
        from huggingface_hub import constants
    except ImportError:
        what = f"there is no folder {name!r}, and models of a hub need the package huggingface_hub"
        remedy = "pip install 'rnnsearch[hub]', or name a folder that is there"
        raise InputError(what, remedy) from None
    cache = Path(CACHE or constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    latest = cache / "refs" / quote(revision or "main", safe="")
    try:
        at = f"/revision/{quote(revision, safe='')}" if revision else ""
        url = f"{ENDPOINT or constants.ENDPOINT}/api/models/{name}{at}"
        about = json.loads(b"".join(_answer(url, LARGEST_LIST)))
        commit, files = str(about["sha"]), sorted(file["rfilename"] for file in about["siblings"])
    except Exception as error:  # of the library, its HTTP client, or the system
        commit = latest.read_text() if latest.is_file() else ""
        folder = cache / "snapshots" / commit
        if COMMIT.fullmatch(commit) and (folder / "config.toml").is_file():
            return folder
        raise _not_fetched(name, error) from None
    if not COMMIT.fullmatch(commit):
        raise InputError(
            f"model {name!r} cannot be fetched: its commit on the hub, {commit[:80]!r}, is invalid"
        )
    if "config.toml" not in files:
        what = f"{name!r} is no model of rnnsearch: it has no config.toml"
        raise InputError(what, "name a model whose library is rnnsearch")
    folder = cache / "snapshots" / commit
    wanted = [file for file in files if MODEL_FILES.fullmatch(file)]
    if not all((folder / file).is_file() for file in wanted):
        with whole_folder(folder, lambda _: True) as made:
            left = LARGEST_MODEL
            try:
                for file in wanted:
                    left -= _download(name, commit, made / file, left)
                Run.open(made).load_network()
            except Exception as error:
                raise _not_fetched(name, error) from None
    make_folder(latest.parent)
    latest.write_text(commit)
    return folder


def _download(name: str, commit: str, place: Path, at_most: int) -> int:
    """Downloads the hub's file of the same name to `place`, and returns the number of its bytes.
    Raises ValueError as `_answer` does."""
    from huggingface_hub import hf_hub_url

    url = hf_hub_url(name, place.name, revision=commit, endpoint=ENDPOINT)
    with place.open("wb") as file:
        file.writelines(_answer(url, at_most))
        return file.tell()


def _answer(url: str, at_most: int) -> Iterator[bytes]:
    """Yields the parts of the hub's answer. Raises ValueError for more bytes than `at_most`, and
    for a compressed answer, which could become any number of bytes."""
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    headers, size = build_hf_headers() | {"accept-encoding": "identity"}, 0
    with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
        hf_raise_for_status(response)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("the hub compressed its answer, which was not asked for")
        for part in response.iter_bytes():
            size += len(part)
            if size > at_most:
                raise ValueError(f"the hub sends more than {at_most:,} bytes")
            yield part


def _not_fetched(name: str, error: Exception) -> InputError:
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InputError(
        f"model {name!r} cannot be fetched: {said}", "check its name and the connection"
    )
