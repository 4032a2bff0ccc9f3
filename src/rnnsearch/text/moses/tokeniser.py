"""Moses's tokeniser, several times faster than sacremoses and word for word the same.

The rules stay in sacremoses. It is asked about one space-separated chunk at a time, and its answer is remembered, because most chunks of
a corpus were met before. Words in Latin letters with signs around them are cut without it: importing it takes half a second, a fifth
of what a command needs until its first translation. What a chunk becomes depends on its surroundings in four ways only, and they are
part of what is remembered:

- a comma or an apostrophe at its beginning: whether the line begins there;
- an apostrophe at its end: whether the line ends there;
- a full stop at its end: whether the next chunk begins with a lowercase letter, a digit, or neither, which is the same as no next chunk;
- an apostrophe at its end and one at the beginning of the next: a rule that used up the space between them for the one cannot see it
  before the other. Such lines are rare, and sacremoses is given the whole of them.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from rnnsearch.text.moses.simple_chunks import LATIN, SIGNS, SimpleChunks

if TYPE_CHECKING:
    from rnnsearch.text.moses.reference import MosesReference

_REMEMBERED = 1 << 17  # chunks; some 25 MB
_LONGEST = 40  # characters of a chunk that may be met again
_BESIDE = "A"  # stands for the chunks on either side; a capital, so that a full stop before it ends a sentence


class FastMoses:
    """The tokeniser of one language; a language that Moses does not know is cut by its general rules, as in sacremoses."""

    def __init__(self, language: str) -> None:
        rules = _Rules(language)
        self._rules = rules
        self._memory = _Memory(rules)
        self._following = _Following(rules)

    def words(self, line: str) -> list[str]:
        """The words of a line in which the space is the only kind of white space, as sacremoses gives them without escaping."""
        chunks = line.split()
        if not chunks:
            return []
        if "' " in line and " '" in line and "' '" in " ".join(chunks):
            return self._rules.reference.words(line)
        if ". " in line:
            for i, following in enumerate(chunks[1:]):
                if chunks[i][-1] == ".":
                    chunks[i] += self._following[following[0]]
        if chunks[-1][-1] == "'":
            chunks[-1] += " "
        if chunks[0][0] in ",'":
            chunks[0] = " " + chunks[0]
        return list(chain.from_iterable(map(self._memory.__getitem__, chunks)))


class _Rules:
    """Of one language: those of the commonest chunks, and sacremoses's own, which are made when they are first needed."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.latin = SimpleChunks.latin(language)

    @cached_property
    def reference(self) -> MosesReference:
        from rnnsearch.text.moses.reference import MosesReference

        return MosesReference(self.language)


class _Memory(dict[str, tuple[str, ...]]):
    """Chunk → its words. A key is a chunk with what of its surroundings matters.

    A space before the chunk: the line begins with it. A space after it: the line ends with it. A space and `a` or `0` after it: the next
    chunk begins with a lowercase letter or a digit. The memory is emptied when it is full; the frequent chunks are back at once.
    """

    def __init__(self, rules: _Rules) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, key: str) -> tuple[str, ...]:
        words = self._rules.latin.words(key) or self._by_reference(key)
        if len(key) <= _LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[key] = words
        return words

    def _by_reference(self, key: str) -> tuple[str, ...]:
        reference = self._rules.reference
        return reference.simple.words(key) or self._surrounded(key)

    def _surrounded(self, key: str) -> tuple[str, ...]:
        """The words of a chunk in the surroundings that its key tells."""
        chunk, begins = key.removeprefix(" "), key[0] == " "
        chunk, space, following = chunk.partition(" ")
        if not space:
            following = _BESIDE
        before, after = "" if begins else f"{_BESIDE} ", f" {following}" if following else ""
        return tuple(self._rules.reference.words(before + chunk + after)[bool(before) : -1 if after else None])


class _Following(dict[str, str]):
    """First character of a chunk → what a key says of it, if a full stop comes before. At most as many entries as there are characters."""

    def __init__(self, rules: _Rules) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, character: str) -> str:
        known = LATIN.match(character) or character in SIGNS
        small = character.islower() if known else self._rules.reference.islower(character)
        self[character] = " a" if small else " 0" if character in "0123456789" else ""
        return self[character]
