"""The file of a run's outputs: JSON lines, a header and then a line for each sentence, in the order of the
input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.system.files import parse_json

FORMAT = 2
"""A part of every key: outputs in another format are made again."""
SMALLEST_WEIGHT = 5e-4
"""Smaller weights are not written, except the largest of each row. In a long sentence, only a few weights
matter."""
PLAIN = ("text", "tokens", "source_tokens", "score", "finished", "parts")
"""Fields of a translation that are written as they are."""
REMEDY = "remove it; its sentences are then translated again"

Header = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OutputLine:
    """The output of a run for one sentence.

    number: the sentence's number in the input, from 0. seconds: its share of its batch's time, in proportion
    to source words.
    posterior: (target, source) float32, the alignment posterior of a reference (translation/forced.py).
    """

    number: int
    translation: Translation
    seconds: float = 0.0
    posterior: NDArray[np.float32] | None = None


def as_line(output: OutputLine) -> str:
    """Returns one line of JSON, without its line feed. alignment, posterior: a list of (source position,
    weight in millionths) for each target word."""
    translation = output.translation
    fields: dict[str, Any] = {"number": output.number, **{name: getattr(translation, name) for name in PLAIN}}
    fields["log_probabilities"] = [round(value, 5) for value in translation.log_probabilities]
    if translation.confidence:
        fields["confidence"] = [round(value, 5) for value in translation.confidence]
    fields |= {"seconds": round(output.seconds, 6), "alignment": _sparse(translation.alignment)}
    if output.posterior is not None:
        fields["posterior"] = _sparse(output.posterior)
    return json.dumps(fields, ensure_ascii=False)


def from_line(line: str) -> OutputLine:
    """Reads what `as_line` wrote; weights have six digits, and their rows sum to 1 again. Raises the JSON
    parser's errors, or KeyError and TypeError, for a damaged line."""
    fields = parse_json(line)
    width = len(fields["source_tokens"])
    plain = {name: fields[name] for name in (*PLAIN, "log_probabilities")}
    translation = Translation(
        **plain, alignment=_dense(fields["alignment"], width), confidence=fields.get("confidence", [])
    )
    posterior = _dense(fields["posterior"], width) if "posterior" in fields else None
    return OutputLine(fields["number"], translation, fields["seconds"], posterior)


def read_outputs(path: Path) -> Iterator[OutputLine]:
    """Yields the outputs that a file holds. Raises InputError, with the line, where it is damaged."""
    with path.open("rb") as file:
        yield from (_output(number, line, path) for number, line in enumerate(file, 1) if number > 1)


def read_header(path: Path) -> Header:
    """Returns the first line of a file. Raises InputError if it is damaged."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        header: Header = parse_json(line)
        return header | {}
    except (ValueError, TypeError) as error:
        raise InputError(f"is damaged: {error}", file=path, line=1, remedy=REMEDY) from None


def _output(number: int, line: bytes, path: Path) -> OutputLine:
    try:
        return from_line(line.decode("utf-8", "surrogatepass"))
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        raise InputError(f"is damaged: {error}", file=path, line=number, remedy=REMEDY) from None


def _sparse(weights: NDArray[np.float32]) -> list[list[tuple[int, int]]]:
    large = (np.flatnonzero((row >= min(SMALLEST_WEIGHT, row.max())) & (row > 0)) for row in weights)
    return [
        [(int(place), round(1e6 * float(row[place]))) for place in places]
        for row, places in zip(weights, large, strict=True)
    ]


def _dense(rows: list[list[tuple[int, int]]], width: int) -> NDArray[np.float32]:
    matrix = np.zeros((len(rows), width), dtype=np.float64)
    for i, row in enumerate(rows):
        for j, millionths in row:
            matrix[i, j] = millionths
    matrix /= np.maximum(matrix.sum(axis=1, keepdims=True), 1.0)
    return matrix.astype(np.float32)
