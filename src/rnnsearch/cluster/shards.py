"""The shards of a corpus: one file each, or a file of each side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

from rnnsearch.cluster.storage import Place, StoredFile
from rnnsearch.errors import InputError
from rnnsearch.text.formats.opening import COMPRESSIONS

ShardFormat = Literal["lines", "jsonl", "parquet"]
FORMATS: tuple[ShardFormat, ...] = get_args(ShardFormat)

_SUFFIXES: dict[str, ShardFormat] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True)
class Shard:
    """name: below the corpus's folder; of two files, the source's. files: one, or of lines the source and the target.

    fingerprint: changes with the content (cluster/storage.py).
    """

    name: str
    files: tuple[Place, ...]
    format: ShardFormat
    fingerprint: str

    @property
    def place(self) -> str:
        """Its files, for messages."""
        return " | ".join(map(str, self.files))


def text_shards(corpus: str, format: ShardFormat | None) -> list[Shard]:
    """The shards whose lines are translated, sorted by name. corpus: a file, a folder, a pattern or a URL of these.

    format: of all files; None = as their names say. Raises InputError if there are none.
    """
    return [_shard(name, [file], format) for name, file in Place.at(corpus).files().items()]


def pair_shards(corpora: list[str], format: ShardFormat | None) -> list[Shard]:
    """The shards of pairs: of one corpus whose records hold both sides, or of two of lines whose N-th lines belong together.

    The shards of two have the same names, apart from their last suffix, which may be the language. Raises InputError for a shard without
    its other side, for one corpus that has shards of lines, and for two that have others.
    """
    found = [_as_told(Place.at(corpus).files(), format) for corpus in corpora]
    if len(found) == 1:
        for name, (file, kind) in found[0].items():
            if kind == "lines":
                raise InputError(f"the shard {name} has one text only", file=str(file.place), remedy="name the other side, too")
        return [_shard(name, [file], format) for name, (file, _) in found[0].items()]
    for side in found:
        for file, kind in side.values():
            if kind != "lines":
                raise InputError(f"is {kind}, which holds both sides", file=str(file.place), remedy="name one corpus, not two")
    sources, targets = (_by_stem(side, corpus) for side, corpus in zip(found, corpora, strict=True))
    for here, there, other in ((sources, targets, corpora[1]), (targets, sources, corpora[0])):
        for stem, (_, file) in here.items():
            if stem not in there:
                raise InputError(f"has no other side in {other}", file=str(file.place), remedy="shards of both sides need the same names")
    return [_shard(name, [file, targets[stem][1]], "lines") for stem, (name, file) in sources.items()]


def _shard(name: str, files: list[StoredFile], format: ShardFormat | None) -> Shard:
    places = tuple(file.place for file in files)
    return Shard(name, places, format or _format(name), " | ".join(file.fingerprint for file in files))


def _as_told(files: dict[str, StoredFile], format: ShardFormat | None) -> dict[str, tuple[StoredFile, ShardFormat]]:
    return {name: (file, format or _format(name)) for name, file in files.items()}


def _by_stem(files: dict[str, tuple[StoredFile, ShardFormat]], corpus: str) -> dict[str, tuple[str, StoredFile]]:
    stems: dict[str, tuple[str, StoredFile]] = {}
    for name, (file, _) in files.items():
        if stems.setdefault(_stem(name), (name, file))[0] != name:
            what = f"two shards are called {_stem(name)}"
            raise InputError(what, file=corpus, remedy="give each side a folder, or a pattern, of its own")
    return stems


def _format(name: str) -> ShardFormat:
    return _SUFFIXES.get(PurePosixPath(_uncompressed(name)).suffix.lower(), "lines")


def _stem(name: str) -> str:
    return str(PurePosixPath(_uncompressed(name)).with_suffix(""))


def _uncompressed(name: str) -> str:
    path = PurePosixPath(name)
    return str(path.with_suffix("")) if path.suffix in COMPRESSIONS else name
