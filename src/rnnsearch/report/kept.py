"""Translations kept in plain files as they are made, so that a report that was broken off, or is made again, does not search twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.records import Translation
from rnnsearch.system.files import write_text

SMALLEST_WEIGHT = 5e-4
"""Smaller α are not kept: a row of a long sentence has a few that count and dozens that do not."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A translation and its share of the time of its batch, in seconds: a batch's time is divided in proportion to source words."""

    translation: Translation
    seconds: float


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What a file holds: its first line, and the translations by number."""

    header: dict[str, Any]
    found: dict[int, Kept]


def translate_missing(
    path: Path,
    header: dict[str, Any],
    lengths: dict[int, int],
    work: Callable[[list[int]], Sequence[Translation]],
    batch_size: int,
    done: Callable[[int], None] = lambda count: None,
) -> KeptFile:
    """Calls `work` on batches of the numbers that the file lacks, and adds what comes back; returns all by number.

    lengths: source words of every number wanted; batches are of similar length, the longest first, so that time can be told by length
    and a lack of memory shows at once. header: the file's first line when it is begun; another "key" in it is an error. done: told how
    many there are, after each batch.
    """
    kept = _read(path, header)
    found = kept.found
    # Batches are the same whatever is there already: sentences meet the same company, and come out the same to the last bit.
    order = sorted(lengths, key=lambda number: (-lengths[number], number))
    batches = [order[begin : begin + batch_size] for begin in range(0, len(order), batch_size)]
    missing = [batch for batch in batches if any(number not in found for number in batch)]
    done(len(found.keys() & lengths.keys()))
    if missing:
        work(missing[-1][-1:])  # the first call prepares the network's matrices: that is no time of translating
    for batch in missing:
        start = time.perf_counter()
        translations = work(batch)
        seconds = time.perf_counter() - start
        words = sum(max(lengths[number], 1) for number in batch)
        shares = [Kept(each, seconds * max(lengths[number], 1) / words) for number, each in zip(batch, translations, strict=True)]
        lines = [json.dumps(as_fields(number, kept), ensure_ascii=False) for number, kept in zip(batch, shares, strict=True)]
        _append(path, lines)
        found.update(from_fields(json.loads(line)) for line in lines)  # as a later call will read them, to the last digit
        done(len(found.keys() & lengths.keys()))
    return KeptFile(kept.header, {number: found[number] for number in sorted(lengths)})


def kept_statistics(path: Path, compute: Callable[[list[list[float]] | None], SufficientStatistics]) -> SufficientStatistics:
    """What `compute` finds, kept in the file, whose name says of which texts; given what is kept, `compute` need not look again."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    found = compute(known)
    if known is None:
        write_text(path, json.dumps(found.values.tolist()))
    return found


def as_fields(number: int, kept: Kept) -> dict[str, Any]:
    """A line of the file. alignment: for each target word the (source position, α in millionths) that are not nearly 0."""
    translation = kept.translation
    return {
        "number": number,
        "text": translation.text,
        "tokens": translation.tokens,
        "source_tokens": translation.source_tokens,
        "score": translation.score,
        "log_probabilities": [round(value, 5) for value in translation.log_probabilities],
        "finished": translation.finished,
        "seconds": round(kept.seconds, 6),
        "alignment": [
            [[j, round(1e6 * float(weight))] for j, weight in enumerate(row) if weight >= SMALLEST_WEIGHT] for row in translation.alignment
        ],
    }


def from_fields(fields: dict[str, Any]) -> tuple[int, Kept]:
    """What `as_fields` made, with weights of six digits whose rows sum to 1 again."""
    translation = Translation(
        text=fields["text"],
        tokens=fields["tokens"],
        source_tokens=fields["source_tokens"],
        score=fields["score"],
        log_probabilities=fields["log_probabilities"],
        alignment=_matrix(fields["alignment"], len(fields["source_tokens"])),
        finished=fields["finished"],
    )
    return fields["number"], Kept(translation, fields["seconds"])


def _matrix(rows: list[list[tuple[int, int]]], width: int) -> NDArray[np.float32]:
    matrix = np.zeros((len(rows), width), dtype=np.float64)
    for i, row in enumerate(rows):
        for j, millionths in row:
            matrix[i, j] = millionths
    matrix /= np.maximum(matrix.sum(axis=1, keepdims=True), 1.0)
    return matrix.astype(np.float32)


def _read(path: Path, header: dict[str, Any]) -> KeptFile:
    """The translations of a file that may have been broken off anywhere: what stands after its last whole line is cut off."""
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        path.write_text(json.dumps(header, ensure_ascii=False) + "\n", encoding="utf-8")
        return KeptFile(header, {})
    if whole != content:
        with path.open("rb+") as file:
            file.truncate(len(whole))
    first, *lines = whole.split(b"\n")
    try:
        begun = json.loads(first)
        if begun["key"] != header["key"]:
            raise InputError("was made by another run, search or test set", file=path, remedy="remove it")
        return KeptFile(begun, dict(from_fields(json.loads(line)) for line in lines if line))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"is damaged: {error}", file=path, remedy="remove it; its sentences are then translated again") from None


def _append(path: Path, lines: Sequence[str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
