"""Pairs of a corpus that are held out for development and for the test, and the files of the three
parts."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from rnnsearch.builtin.corpus import CORPUS_PARTS
from rnnsearch.errors import InputError
from rnnsearch.text.codec import SIDES
from rnnsearch.text.formats.layout import LinePair
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.tokens import normalise

FEWEST_PAIRS, HELD_OUT = 500, 500
"""Minimum number of usable pairs; maximum number of pairs held out for development, and the same
for the test."""
STRETCHES = 20
"""Number of stretches of neighbouring pairs in each of the two."""
HELD_OUT_LENGTHS = range(10, 250)
"""Allowed numbers of characters of a held-out sentence."""
COMPARED = 20_000
"""Number of different source lines among which repeated ones are left out."""


def choose_held_out(texts: Sequence[ParallelText]) -> dict[int, str]:
    """Returns the pairs to hold out: number → dev or test. They are in stretches of neighbours,
    because neighbours resemble each other, and one in the training text would make the other easy.
    In a small corpus they have different source lines.

    Raises InputError if the text is not parallel, too small, or the same on both sides.
    """
    usable, total, same, seen = array("q"), 0, 0, set[int]()
    for number, (left, right) in enumerate(pairs_of(texts)):
        total, same = number + 1, same + (left == right)
        if (
            len(left) in HELD_OUT_LENGTHS
            and len(right) in HELD_OUT_LENGTHS
            and left != right
            and hash(left) not in seen
        ):
            usable.append(number)
            if len(seen) < COMPARED:
                seen.add(hash(left))
    if total and same > total / 2:
        what = f"{same:,} of {total:,} lines are the same in both files"
        raise InputError(what, "give a text and its translation")
    if len(usable) < FEWEST_PAIRS:
        what = f"{len(usable):,} different sentence pairs, of {total:,}, are too few to learn from"
        raise InputError(what, f"give at least {FEWEST_PAIRS:,}, better tens of thousands")
    each = min(HELD_OUT, len(usable) // 20)
    length = max(1, each // STRETCHES)
    starts = range(0, len(usable) - length + 1, length)
    drawn = [
        usable[start : start + length]
        for start in random.Random(1).sample(starts, 2 * (each // length))
    ]
    dev, test = chain.from_iterable(drawn[::2]), chain.from_iterable(drawn[1::2])
    return dict.fromkeys(dev, "dev") | dict.fromkeys(test, "test")


def pairs_of(texts: Sequence[ParallelText]) -> Iterator[LinePair]:
    """Yields the pairs of all texts."""
    return chain.from_iterable(text.pairs() for text in texts)


def write_corpus(
    texts: Sequence[ParallelText],
    folder: Path,
    sides: Sequence[str] = SIDES,
    most: int | None = None,
) -> str:
    """Writes train, dev and test into a folder; returns a message with their sizes. No line of dev
    or test is in train, and no line of dev in test, on either side, as `prepare` reads them. sides:
    endings of the files. most: maximum number of pairs of train, spread over the text. Raises
    InputError as `choose_held_out` does."""
    held_out = choose_held_out(texts)
    held: dict[str, set[str]] = {"dev": set(), "test": set()}
    for number, pair in enumerate(pairs_of(texts)):
        if number in held_out:
            held[held_out[number]].update(map(_as_read, pair))
    pairs: Iterable[tuple[str, LinePair]] = _parts(texts, held_out, held)
    if most:
        learned = sum(part == "train" for part, _ in pairs)
        pairs = _spread_train(_parts(texts, held_out, held), most, learned)
    counts = write_pairs(pairs, folder, sides)
    held_out_pairs = counts["dev"] + counts["test"]
    return f"{counts['train']:,} pairs to learn from, {held_out_pairs:,} held out in stretches"


def _spread_train(
    pairs: Iterable[tuple[str, LinePair]], most: int, learned: int
) -> Iterator[tuple[str, LinePair]]:
    """Yields the pairs, but only `most` of the `learned` ones of train, spread over them."""
    place = 0
    for part, pair in pairs:
        place += part == "train"
        if part != "train" or place * most // learned > (place - 1) * most // learned:
            yield part, pair


def write_pairs(
    pairs: Iterable[tuple[str, LinePair]],
    folder: Path,
    sides: Sequence[str],
    parts: Sequence[str] = CORPUS_PARTS,
) -> Counter[str]:
    """Writes pairs, each with the name of its part, into the files PART.SIDE of a folder, and
    returns the sizes of the parts. Pairs of other parts are counted only."""
    counts = Counter[str]()
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        files = {
            part: [
                stack.enter_context((folder / f"{part}.{side}").open("w", encoding="utf-8"))
                for side in sides
            ]
            for part in parts
        }
        for part, pair in pairs:
            counts[part] += 1
            for file, line in zip(files.get(part, []), pair, strict=False):
                file.write(f"{line}\n")
    return counts


def _parts(
    texts: Sequence[ParallelText], held_out: Mapping[int, str], held: Mapping[str, Set[str]]
) -> Iterator[tuple[str, LinePair]]:
    """Yields each pair with its part, "" if one of its lines is in a part that is held out: of
    test in dev, of train in either. held: part → its lines."""
    others = {"dev": [], "test": [held["dev"]], "train": [*held.values()]}
    for number, pair in enumerate(pairs_of(texts)):
        part, lines = held_out.get(number, "train"), set(map(_as_read, pair))
        yield part if all(map(lines.isdisjoint, others[part])) else "", pair


def _as_read(line: str) -> str:
    return " ".join(normalise(line).split())
