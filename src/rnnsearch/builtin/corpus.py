"""The built-in corpus: English–French pairs with exact word links, which rules made from a seed.

It shows on a small scale what attention has to learn: adjectives that change sides of the noun
("European Economic Area" → "zone économique européenne"), elision that looks at the next word ("the
man" → "l'homme"), negation in two parts ("does not" → "ne … pas"), agreement in gender and number,
pronouns that move before the verb, and sentences of 3 to 60 words. One source has exactly one
translation, so a model can learn all of it.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from random import Random

from rnnsearch.arguments import require_number
from rnnsearch.errors import InputError
from rnnsearch.system.files import write_text
from rnnsearch.word_links import Link, format_links

CORPUS_PARTS = ("train", "dev", "test")
"""Names of the parts of a corpus, and of their files."""
USUAL, OTHERS = "usual.tsv.gz", "others.tsv.gz"
"""Files of pairs. USUAL: mostly short ones, in the order in which `split` reads them. OTHERS: as
many of each length, none of them in USUAL."""


@dataclass(frozen=True, slots=True)
class GeneratedPair:
    """A sentence pair in the words of Moses's tokeniser. links: (source, target) positions,
    sorted."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[Link, ...]

    @property
    def source_text(self) -> str:
        """Natural English text."""
        return _text(self.source)

    @property
    def target_text(self) -> str:
        """Natural French text: nothing after an apostrophe, a space before a question mark."""
        return _text(self.target).replace("' ", "'").replace("?", " ?")


def generate(
    pairs: int, *, seed: int = 1, min_words: int = 3, max_words: int = 60
) -> list[GeneratedPair]:
    """Returns `pairs` pairs, both sides of `min_words` to `max_words` words, punctuation included.

    Seed 1 gives the demo's pairs in their order: first those of its development and test sets, then
    those of training. A short pair may repeat, as in real text. Any other seed draws from pairs
    that seed 1 does not have, as many of each length. Raises InputError for more pairs than there
    are.
    """
    given = {"pairs": pairs, "seed": seed, "min_words": min_words, "max_words": max_words}
    for name, number in given.items():
        require_number(name, number, 0)
    available = [
        pair
        for pair in _read(USUAL if seed == 1 else OTHERS)
        if min_words <= len(pair.source) <= max_words and min_words <= len(pair.target) <= max_words
    ]
    if len(available) < pairs:
        of = "" if seed == 1 else " of another seed than 1"
        lengths = f"{min_words} to {max_words} words"
        what = f"the built-in corpus has {len(available):,} pairs of {lengths}{of}"
        raise InputError(what, "ask for fewer pairs, or for other lengths")
    if seed != 1:
        chance = Random(int(seed)).random  # the same in every version of Python
        available.sort(key=lambda _: chance())
    return available[:pairs]


def split(
    train: int, held_out: int
) -> tuple[list[GeneratedPair], list[GeneratedPair], list[GeneratedPair]]:
    """Returns training, development and test pairs; `held_out` is the size of each of the latter
    two.

    No source and no target sentence of development or test occurs anywhere else; a training
    sentence may occur twice. Raises InputError for more pairs than there are.
    """
    # No English sentence looks like a French one: one set serves both sides.
    seen: set[tuple[str, ...]] = set()
    held: list[GeneratedPair] = []
    for pair in _read(USUAL):
        if len(held) < 2 * held_out and seen.isdisjoint((pair.source, pair.target)):
            held.append(pair)
            seen |= {pair.source, pair.target}
    unseen = [pair for pair in _read(USUAL) if seen.isdisjoint((pair.source, pair.target))]
    if len(held) < 2 * held_out or len(unseen) < train:
        pairs = f"{train:,} training pairs and {held_out:,} of either test set"
        raise InputError(f"the built-in corpus has no {pairs}")
    return unseen[:train], held[:held_out], held[held_out:]


def write(folder: str | Path, train: int, held_out: int) -> None:
    """Writes `split` as plain text: train.en, train.fr, train.links (Pharaoh `i-j`), and the same
    for dev and test."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in zip(CORPUS_PARTS, split(train, held_out), strict=True):
        write_examples(folder, name, pairs)


def write_examples(folder: Path, name: str, pairs: Sequence[GeneratedPair]) -> None:
    """Writes pairs as plain text: NAME.en, NAME.fr, NAME.links (Pharaoh `i-j`, between the
    tokeniser's words)."""
    _write_lines(folder / f"{name}.en", [pair.source_text for pair in pairs])
    _write_lines(folder / f"{name}.fr", [pair.target_text for pair in pairs])
    _write_lines(folder / f"{name}.links", [format_links(pair.links) for pair in pairs])


@cache
def _read(name: str) -> list[GeneratedPair]:
    data = gzip.decompress((resources.files(__package__) / name).read_bytes()).decode()
    pairs = []
    for line in data.splitlines():
        source, target, links = (tuple(side.split()) for side in line.split("\t"))
        places = (map(int, link.split("-")) for link in links)
        pairs.append(GeneratedPair(source, target, tuple((j, i) for j, i in places)))
    return pairs


def _text(words: Sequence[str]) -> str:
    return " ".join(words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))
