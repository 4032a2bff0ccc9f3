"""The scores of a pool of pairs: a file of eight bytes per pair, and the threshold that selects the best
pairs, in bounded memory."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.system.files import written_whole
from rnnsearch.system.parsing import check_regular, parse_json
from rnnsearch.text.formats.records import Layout

RECORD = np.dtype([("score", "<f4"), ("words", "<u4")])
"""One pair: its score, the lower the better, infinite for a pair that is never kept; and the words of its
target side."""

Records = NDArray[Any]  # of RECORD, one per pair

Unit = Literal["words", "pairs"]

_FORMAT = "rnnsearch scores 1"
_CHUNK = 1 << 18  # pairs looked at at once
_ABSENT = 0xFF800000  # the key of the score infinity


@dataclass(frozen=True, slots=True)
class ScoresHeader:
    """The names of the files that were scored, and how it was done.

    in_domain, pool: the names of the files. layout: how they were read. words: of the source and of the
    target. vocabularies: the words that the models know, likewise. pairs, checksum: of the pool's text, the
    latter CRC-32.
    """

    pool: list[str]
    in_domain: list[str]
    layout: Layout
    tokeniser: str
    order: int
    seed: int
    in_domain_pairs: int
    in_domain_words: list[int]
    sample_pairs: int
    sample_words: list[int]
    vocabularies: list[int]
    pairs: int = 0
    checksum: int = 0


class Scores(NamedTuple):
    """An opened file of scores; the records stay on the disk until they are asked for."""

    about: ScoresHeader
    records: Records


@contextmanager
def written_scores(path: Path, about: ScoresHeader) -> Iterator[Callable[[Records, int], None]]:
    """Writes a file of scores, whole or not at all. The value takes the next records and the checksum of the
    pool's text up to there."""
    size = len(_header(about, 10**15, 2**32))
    size += -size % RECORD.itemsize
    pairs = checksum = 0
    with written_whole(path) as temporary, temporary.open("wb") as file:

        def write(records: Records, checksum_so_far: int) -> None:
            nonlocal pairs, checksum
            file.write(records.tobytes())
            pairs, checksum = pairs + len(records), checksum_so_far

        file.write(bytes(size))  # the header's place: it counts the pairs, so it is written last
        yield write
        file.seek(0)
        file.write(_header(about, pairs, checksum)[:-1].ljust(size - 1) + b"\n")


def open_scores(path: Path) -> Scores:
    """Opens what `written_scores` wrote. Raises InputError if it is something else, or cut short."""
    remedy = "give a file that `rnnsearch select --scores` wrote"
    try:
        check_regular(path)
        with path.open("rb") as file:
            header = file.readline(1 << 24)
            length = path.stat().st_size - len(header)
        content = parse_json(header)
        if content.pop("format") != _FORMAT:
            raise ValueError
        about = ScoresHeader(**content | {"layout": Layout(**content["layout"])})
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            file=path,
            remedy="give a file that `rnnsearch select --scores` wrote",
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError("is not a file of scores", file=path, remedy=remedy) from None
    if length != about.pairs * RECORD.itemsize or not about.pairs:
        raise InputError(
            "the file of scores is damaged or incomplete", file=path, remedy="copy it again, or score again"
        ) from None
    return Scores(about, np.memmap(path, RECORD, mode="r", offset=len(header)))


class SelectionThreshold(NamedTuple):
    """The best pairs: those with a lower score than `score`, and the first `ties` of those with this very
    score."""

    score: float
    ties: int


def best(records: Records, limit: int, unit: Unit) -> SelectionThreshold:
    """Returns the threshold that selects the best pairs up to `limit` words or pairs in all; of equally good
    pairs the earlier one comes first.

    The score where the limit falls is bisected: 32 passes over the file, of which next to nothing is held.
    """

    def total(key: int) -> int:
        """Returns the size of all pairs with this key, or a lower one."""
        return sum(int(_sizes(chunk, unit)[_keys(chunk) <= key].sum()) for chunk in _chunks(records))

    key = bisect_right(range(_ABSENT), limit, key=total)
    if key == _ABSENT:
        return SelectionThreshold(np.inf, 0)
    left, ties = limit - (total(key - 1) if key else 0), 0
    for chunk in _chunks(records):
        sizes = np.cumsum(_sizes(chunk, unit)[_keys(chunk) == key])
        fitting = int(np.searchsorted(sizes, left, side="right"))
        ties += fitting
        if fitting < len(sizes):
            break
        left -= int(sizes[-1]) if len(sizes) else 0
    return SelectionThreshold(_score(np.uint32(key)), ties)


def selected(records: Records, threshold: SelectionThreshold) -> Iterator[bool]:
    """Yields for each pair, in the pool's order, True if it is selected."""
    ties = threshold.ties
    for chunk in _chunks(records):
        tied = chunk["score"] == threshold.score
        chosen = (chunk["score"] < threshold.score) | (tied & (np.cumsum(tied) <= ties))
        ties = max(ties - int(tied.sum()), 0)
        yield from (chosen & np.isfinite(chunk["score"])).tolist()


def total_words(records: Records) -> int:
    """Counts the target words of the whole pool."""
    return sum(int(chunk["words"].sum(dtype=np.int64)) for chunk in _chunks(records))


def _header(about: ScoresHeader, pairs: int, checksum: int) -> bytes:
    return (
        json.dumps({"format": _FORMAT} | asdict(about) | {"pairs": pairs, "checksum": checksum}).encode()
        + b"\n"
    )


def _chunks(records: Records) -> Iterator[Records]:
    for start in range(0, len(records), _CHUNK):
        yield np.asarray(records[start : start + _CHUNK])


def _sizes(chunk: Records, unit: Unit) -> NDArray[np.int64]:
    return chunk["words"].astype(np.int64) if unit == "words" else np.ones(len(chunk), np.int64)


def _keys(chunk: Records) -> NDArray[np.uint32]:
    """Returns integers in the order of the scores: the bits of the floats, inverted for negative ones."""
    # + 0: there is a negative zero, equal to the other.
    bits = (chunk["score"] + np.float32(0)).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def _score(key: np.uint32) -> float:
    """Returns the score that has this key."""
    bits = key & np.uint32(0x7FFFFFFF) if key >> 31 else ~key
    return float(bits.view(np.float32))
