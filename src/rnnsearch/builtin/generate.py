"""The built-in corpus: English–French pairs with exact word links, made by rules from a seed.

It shows on a small scale what attention has to learn: adjectives that change sides of the noun over several words
("European Economic Area" → "zone économique européenne"), elision that looks at the next word ("the man" → "l'homme"), negation in
two parts ("does not" → "ne … pas"), agreement in gender and number, pronouns that move before the verb, and sentences from 3 to
over 50 words. One source has exactly one translation, so a model can learn all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.builtin.chance import Chance
from rnnsearch.builtin.grammar import Grammar
from rnnsearch.errors import InputError
from rnnsearch.word_links import Link, format_links

SHORTEST = 3
"""Words, with the full stop: "Marie sleeps."."""

LENGTHS = ((0.04, 3, 4), (0.60, 5, 12), (0.26, 13, 20), (0.07, 21, 35), (0.03, 36, 60))
"""Share of the sentences, and the English words they aim at: most are short, a thin tail is long."""


@dataclass(frozen=True, slots=True)
class GeneratedPair:
    """A sentence pair in the words of Moses's tokeniser. links: (source, target) positions, sorted."""

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


def generate(pairs: int, *, seed: int = 1, min_words: int = SHORTEST, max_words: int = 60) -> list[GeneratedPair]:
    """So many pairs, both sides of `min_words` to `max_words` words with punctuation; short sentences may repeat, as in real text.

    The same seed gives the same pairs on every machine and version of Python. Raises InputError for lengths that do not exist.
    """
    if max_words < max(min_words, SHORTEST):
        raise InputError(f"the built-in corpus has no sentences of {min_words} to {max_words} words", remedy=f"the shortest has {SHORTEST}")
    stream = _stream(seed, min_words, max_words)
    return [next(stream) for _ in range(pairs)]


def split(train: int, held_out: int, seed: int = 1) -> tuple[list[GeneratedPair], list[GeneratedPair], list[GeneratedPair]]:
    """Training, development and test pairs; `held_out` is the size of each of the latter two.

    No source and no target sentence of development or test occurs anywhere else; a training sentence may occur twice.
    """
    stream = _stream(seed, SHORTEST, LENGTHS[-1][2])
    seen: set[tuple[str, ...]] = set()  # English and French sentences never look the same, so one set serves both sides
    held: list[GeneratedPair] = []
    while len(held) < 2 * held_out:
        example = next(stream)
        if example.source not in seen and example.target not in seen:
            held.append(example)
            seen |= {example.source, example.target}
    unseen = (example for example in stream if example.source not in seen and example.target not in seen)
    return [next(unseen) for _ in range(train)], held[:held_out], held[held_out:]


def write(folder: str | Path, train: int, held_out: int, seed: int = 1) -> None:
    """Writes `split` as plain text: train.en, train.fr, train.links (Pharaoh `i-j`), and the same for dev and test."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, examples in zip(("train", "dev", "test"), split(train, held_out, seed), strict=True):
        write_examples(folder, name, examples)


def write_examples(folder: Path, name: str, examples: Sequence[GeneratedPair]) -> None:
    """Writes pairs as plain text: NAME.en, NAME.fr, NAME.links (Pharaoh `i-j`, between the tokeniser's words)."""
    _write_lines(folder / f"{name}.en", [example.source_text for example in examples])
    _write_lines(folder / f"{name}.fr", [example.target_text for example in examples])
    _write_lines(folder / f"{name}.links", [format_links(example.links) for example in examples])


def _stream(seed: int, min_words: int, max_words: int) -> Iterator[GeneratedPair]:
    chance = Chance(seed)
    bands = [(share, max(low, min_words), min(high, max_words)) for share, low, high in LENGTHS]
    bands = [band for band in bands if band[1] <= band[2]] or [(1.0, min_words, max_words)]
    while True:
        phrase = Grammar(chance).sentence(_length(bands, chance))
        if all(min_words <= len(side) <= max_words for side in (phrase.source, phrase.target)):
            yield GeneratedPair(phrase.source, phrase.target, tuple(sorted(phrase.links)))


def _length(bands: Sequence[tuple[float, int, int]], chance: Chance) -> int:
    drawn = chance.fraction() * sum(share for share, _, _ in bands)
    *others, last = bands
    for share, low, high in others:
        drawn -= share
        if drawn < 0:
            return chance.between(low, high)
    return chance.between(*last[1:])


def _text(words: Sequence[str]) -> str:
    return " ".join(words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
