"""The shards of a corpus: one file each, or a file of each side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal, get_args

from rnnsearch.cluster.storage import Place
from rnnsearch.errors import InputError
from rnnsearch.text.formats.opening import COMPRESSIONS

ShardFormat = Literal["lines", "jsonl", "parquet"]
FORMATS: tuple[ShardFormat, ...] = get_args(ShardFormat)

_SUFFIXES: dict[str, ShardFormat] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True)
class Shard:
    """A file of a corpus, or a file of each side. name: below the corpus's folder; of two files, the
    source's. files: one, or of lines the source and the target. fingerprint: changes with the content."""

    name: str
    files: tuple[Place, ...]
    format: ShardFormat
    fingerprint: str

    @property
    def place(self) -> str:
        """Names its files, for messages."""
        return " | ".join(map(str, self.files))


def text_shards(corpus: str, format: ShardFormat | None) -> list[Shard]:
    """Returns the shards whose lines are translated, sorted by name.

    corpus: a file, a folder, a pattern or a URL of these. format: of all files; None = as their names say.
    Raises InputError if there are none.
    """
    found = Place.at(corpus).files()
    return [
        Shard(name, (file.place,), format or _format(name), file.fingerprint) for name, file in found.items()
    ]


def pair_shards(corpora: list[str], format: ShardFormat | None) -> list[Shard]:
    """Returns the shards of pairs: of one corpus whose records hold both sides, or of two corpora of lines
    whose N-th lines belong together.

    The shards of two corpora have the same names, apart from their last suffix, which may be the language.
    Raises InputError for a shard without its other side, for one corpus of lines, and for two corpora of
    records.
    """
    found = [text_shards(corpus, format) for corpus in corpora]
    for shard in (shard for side in found for shard in side):
        what = ""
        if len(found) == 1 and shard.format == "lines":
            what, remedy = f"the shard {shard.name} has one text only", "name the other side, too"
        elif len(found) > 1 and shard.format != "lines":
            what, remedy = f"is {shard.format}, which holds both sides", "name one corpus, not two"
        if what:
            raise InputError(what, file=shard.place, remedy=remedy)
    if len(found) == 1:
        return found[0]
    sources, targets = map(_by_stem, found, corpora)
    for here, there, other in ((sources, targets, corpora[1]), (targets, sources, corpora[0])):
        for stem, shard in here.items():
            if stem not in there:
                remedy = "shards of both sides need the same names"
                raise InputError(f"has no other side in {other}", file=shard.place, remedy=remedy)
    return [
        replace(
            shard,
            files=(*shard.files, *targets[stem].files),
            fingerprint=f"{shard.fingerprint} | {targets[stem].fingerprint}",
        )
        for stem, shard in sources.items()
    ]


def _by_stem(shards: list[Shard], corpus: str) -> dict[str, Shard]:
    stems: dict[str, Shard] = {}
    for shard in shards:
        if stems.setdefault(_stem(shard.name), shard) is not shard:
            what = f"two shards are called {_stem(shard.name)}"
            raise InputError(what, file=corpus, remedy="give each side a folder, or a pattern, of its own")
    return stems


def _format(name: str) -> ShardFormat:
    return _SUFFIXES.get(PurePosixPath(_uncompressed(name)).suffix.lower(), "lines")


def _stem(name: str) -> str:
    return str(PurePosixPath(_uncompressed(name)).with_suffix(""))


def _uncompressed(name: str) -> str:
    path = PurePosixPath(name)
    return str(path.with_suffix("")) if path.suffix in COMPRESSIONS else name
