"""What a trained run says about a test set: its translations, and the references in forced decoding. Goes on where it was ended."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.system.files import write_text
from rnnsearch.translation.translator import READ_AHEAD, Translator
from rnnsearch.word_links import Link, format_links

Say = Callable[[str], None]
FORCED_TOGETHER = 64
"""Pairs of one batch."""


class Forced(NamedTuple):
    """A reference in forced decoding. words: with the end of sentence. links: between the tokeniser's words, source-target.

    posterior: the links that the words have once they are known (translation/posterior.py), where they were asked for.
    """

    log_probability: float
    words: int
    links: list[Link]
    posterior: list[Link] | None = None


def translate(translator: Translator, lines: Sequence[str], out: Path, key: dict[str, Any], facts: dict[str, Any], say: Say) -> None:
    """Writes the translations of `lines` to `out`, unless they are there already under the same key.

    Beside it goes a note (.json): key, facts, and the seconds that it took. key: all that the result follows from.
    """

    def work(block: Sequence[str]) -> Iterator[str]:
        return (result.text for result in translator.stream(block))

    _by_blocks(work, lines, out, key, READ_AHEAD * translator.search.batch_size, facts, say)


def write_translations(lines: Sequence[str], seconds: float, out: Path, key: dict[str, Any], facts: dict[str, Any]) -> None:
    """Writes translations that somebody else made, as `translate` would."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, "".join(f"{line}\n" for line in lines))
    _write_note(out, key, len(lines), seconds, facts)


def force(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    out: Path,
    key: dict[str, Any],
    facts: dict[str, Any],
    say: Say,
    *,
    posterior: bool = False,
) -> None:
    """Writes log p, number of ids and links of every reference to `out`, and the posterior ones if asked, unless they are there
    already under the same key."""

    def work(block: Sequence[tuple[str, str]]) -> Iterator[str]:
        known = translator.force(block, FORCED_TOGETHER, posterior=True) if posterior else repeat(None)
        for result, informed in zip(translator.force(block, FORCED_TOGETHER), known, strict=False):
            line = f"{result.score!r}\t{len(result.log_probabilities)}\t{format_links(result.links())}"
            yield line if informed is None else f"{line}\t{format_links(informed.links())}"

    _by_blocks(work, pairs, out, key, READ_AHEAD * FORCED_TOGETHER, facts, say)


def read_forced(path: Path) -> list[Forced]:
    """What `force` wrote."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        try:
            score, words, links, *posterior = line.split("\t")
            found.append(Forced(float(score), int(words), _links(links), *map(_links, posterior)))
        except (ValueError, TypeError):  # TypeError: more columns than there are
            raise InputError("is damaged", file=path, line=number, remedy="remove it and run the same command again") from None
    return found


def _links(text: str) -> list[Link]:
    pairs = [item.split("-") for item in text.split()]
    return [(int(j), int(i)) for j, i in pairs]


def read_note(out: Path) -> dict[str, Any]:
    """How the file came about; empty if it is not there or not whole."""
    try:
        note: dict[str, Any] = json.loads(_note(out).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if out.exists() else {}


def _note(out: Path) -> Path:
    return out.with_suffix(".json")


def _by_blocks(
    work: Callable[[Sequence[Any]], Iterator[str]],
    items: Sequence[Any],
    out: Path,
    key: dict[str, Any],
    block: int,
    facts: dict[str, Any],
    say: Say,
) -> None:
    """Appends line after line to a hidden file that becomes `out` at the end. Blocks begin at the same items whenever it was ended,
    so that sentences meet the same company in their batches and come out the same to the last bit."""
    if read_note(out).get("key") == key:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]}.partial")
    done = _whole_blocks(partial, block)
    seconds = 0.0
    with partial.open("a", encoding="utf-8", newline="\n") as file:
        for begin in range(done, len(items), block):
            started = time.perf_counter()
            lines = "".join(f"{line}\n" for line in work(items[begin : begin + block]))
            seconds += time.perf_counter() - started
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
            say(f"{out.parent.name}: {out.stem}, {min(begin + block, len(items)):,} of {len(items):,}")
    partial.replace(out)
    _write_note(out, key, len(items), None if done else seconds, facts)  # of what an earlier call did the time is not known


def _write_note(out: Path, key: dict[str, Any], lines: int, seconds: float | None, facts: dict[str, Any]) -> None:
    note = {"key": key, "lines": lines, "seconds": None if seconds is None else round(seconds, 3)} | facts
    write_text(_note(out), json.dumps(note, indent=2) + "\n")


def _whole_blocks(partial: Path, block: int) -> int:
    """Cuts what was begun back to whole blocks; the number of lines that stay."""
    if not partial.exists():
        return 0
    lines = partial.read_bytes().split(b"\n")[:-1]
    done = len(lines) - len(lines) % block
    with partial.open("wb") as file:
        file.writelines(line + b"\n" for line in lines[:done])
    return done
