"""The file of outputs: JSON lines, a header and then a line for each sentence, in the order of the input.

It is appended block by block. If writing is interrupted, complete blocks stay, and the same call continues
after them. Blocks always begin at the same sentences, so batches and outputs are bit-identical, except the
times.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.system.batching import READ_AHEAD, batched_by_length, batches
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import lock
from rnnsearch.system.parsing import parse_json

FORMAT = 1
"""A part of every key: outputs in another format are made again."""
SMALLEST_WEIGHT = 5e-4
"""Smaller weights are not written, except the largest of each row. In a long sentence, only a few weights
matter."""
PLAIN = ("text", "tokens", "source_tokens", "score", "finished", "parts")
"""Fields of a translation that are written as they are."""
REMEDY = "remove it; its sentences are then translated again"

Item = TypeVar("Item")
Header = dict[str, Any]
Done = Callable[[int, Sequence["OutputLine"]], None]
"""Called with the number of items done and the outputs of the last batch."""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """The output of a run for one sentence.

    number: the sentence's number in the input, from 0. seconds: its share of its batch's time, in proportion
    to source words.
    posterior: (target, source) float32, the alignment posterior of a reference (translation/forced.py).
    answer: the line that `translate --out` writes for it.
    """

    number: int
    translation: Translation
    seconds: float = 0.0
    posterior: NDArray[np.float32] | None = None
    answer: str | None = None


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
    if output.answer is not None:
        fields["answer"] = output.answer
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
    return OutputLine(fields["number"], translation, fields["seconds"], posterior, fields.get("answer"))


def completed(
    path: Path,
    header: Header,
    items: Iterable[Item],
    batch_size: int,
    length: Callable[[Item], int],
    work: Callable[[Sequence[Item]], Sequence[OutputLine]],
    fits: Callable[[Item, OutputLine], bool],
    done: Done = lambda count, made: None,
    finish: Callable[[], None] = lambda: None,
) -> Iterator[OutputLine]:
    """Yields the outputs of all items in order. Outputs that the file does not have are made and appended,
    READ_AHEAD batches at a time.

    header: the first line of a new file; its "key" identifies everything that the outputs depend on.
    work: makes the outputs of a batch of items of similar length. fits: whether an output in the file belongs
    to this item; from the first block where one does not, all outputs are made again.
    done: called after each batch. finish: called when all outputs are in the file, while its lock is still
    held.
    Raises InputError for a file with another key, for a damaged file, and while another command writes it.
    """
    block = READ_AHEAD * batch_size
    count = before = 0  # outputs so far; outputs of complete blocks

    def timed(batch: Sequence[Item]) -> list[OutputLine]:
        nonlocal count
        begun = time.perf_counter()
        made = work(batch)
        seconds = time.perf_counter() - begun
        words = [max(1, len(output.translation.source_tokens) - 1) for output in made]
        count += len(batch)
        done(count, made)
        shares = zip(made, words, strict=True)
        return [replace(output, seconds=seconds * own / sum(words)) for output, own in shares]

    with _opened(path, header) as file:
        for chunk in batches(items, block):
            begin, lines = file.tell(), list(islice(file, block))
            whole = len(lines) == len(chunk) and lines[-1].endswith(b"\n")
            found = [_output(*line, path) for line in enumerate(lines, before + 2)] if whole else []
            if not found or not all(map(fits, chunk, found)):
                written = list(map(as_line, batched_by_length(chunk, length, batch_size, timed)))
                _write(file, path, begin, written)
                found = list(map(from_line, written))
            count = before = before + len(chunk)
            yield from found
        end = file.tell()
        if file.read(1):  # the rest of an earlier, longer input
            file.truncate(end)
        finish()


def read_outputs(path: Path) -> Iterator[OutputLine]:
    """Yields the outputs that a file holds. Raises InputError, with the line, where it is damaged."""
    with path.open("rb") as file:
        yield from (_output(number, line, path) for number, line in enumerate(file, 1) if number > 1)


def read_header(path: Path) -> Header:
    """Returns the first line of a file; empty if there is no file or no whole line in it. Raises InputError
    if it is damaged."""
    try:
        with path.open("rb") as file:
            line = file.readline()
        header: Header = parse_json(line) if line.endswith(b"\n") else {"key": None}
        return header if header["key"] else {}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"is damaged: {error}", file=path, line=1, remedy=REMEDY) from None


def discard(path: Path) -> None:
    """Removes a file of outputs. Raises InputError while another command writes it."""
    with path.open("rb+") as file:
        _lock(file, path)
        path.unlink()


def count_outputs(path: Path) -> int:
    """Returns the number of whole lines below the header; 0 if there is no file."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return max(0, sum(line.endswith(b"\n") for line in file) - 1)


@contextmanager
def _opened(path: Path, header: Header) -> Iterator[BinaryIO]:
    """Opens the file below its header, for this process alone."""
    with open(path, "rb+", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666)) as file:
        _lock(file, path)
        before = read_header(path)
        if before and before["key"] != header["key"]:
            raise InputError("was made by another run, search or text", file=path, remedy=REMEDY)
        if not before:
            whole = {"format": FORMAT, **header, "rnnsearch": package_version()}
            _write(file, path, 0, [json.dumps(whole, ensure_ascii=False)])
        file.seek(0)
        file.readline()
        yield file


def _lock(file: BinaryIO, path: Path) -> None:
    """Locks a file for as long as it is open. Refuses a file that was removed meanwhile: another command had
    it."""
    if not lock(file.fileno()) or not os.fstat(file.fileno()).st_nlink:
        raise InputError("another command is writing it", file=path, remedy="wait for it, or end it")


def _write(file: BinaryIO, path: Path, begin: int, lines: Sequence[str]) -> None:
    """Replaces everything after `begin` by these lines, and waits until they are on the disk."""
    try:
        file.seek(begin)
        file.truncate()
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", file=path, remedy="the same command continues it"
        ) from None


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
