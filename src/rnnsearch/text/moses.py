"""Moses's tokeniser, several times faster than sacremoses and word for word the same.

The rules stay in sacremoses. It is asked about one space-separated chunk at a time, and its answer is remembered, because most chunks of
a corpus were met before. What a chunk becomes depends on its surroundings in four ways only, and they are part of what is remembered:

- a comma or an apostrophe at its beginning: whether the line begins there;
- an apostrophe at its end: whether the line ends there;
- a full stop at its end: whether the next chunk begins with a lowercase letter, a digit, or neither, which is the same as no next chunk;
- an apostrophe at its end and one at the beginning of the next: a rule that used up the space between them for the one cannot see it
  before the other. Such lines are rare, and sacremoses is given the whole of them.
"""

from __future__ import annotations

import re
from itertools import chain

from sacremoses import MosesTokenizer

_REMEMBERED = 1 << 17  # chunks; some 25 MB
_LONGEST = 40  # characters of a chunk that may be met again
_BESIDE = "A"  # stands for the chunks on either side; a capital, so that a full stop before it ends a sentence


class FastMoses:
    """The tokeniser of one language; a language that Moses does not know is cut by its general rules, as in sacremoses."""

    def __init__(self, language: str) -> None:
        self._reference = _Reference(language)
        self._memory = _Memory(self._reference)
        self._following = _Following(self._reference)

    def words(self, line: str) -> list[str]:
        """The words of a line in which the space is the only kind of white space, as sacremoses gives them without escaping."""
        chunks = line.split()
        if not chunks:
            return []
        if "' " in line and " '" in line and "' '" in " ".join(chunks):
            return self._reference.words(line)
        if ". " in line:
            for i, following in enumerate(chunks[1:]):
                if chunks[i][-1] == ".":
                    chunks[i] += self._following[following[0]]
        if chunks[-1][-1] == "'":
            chunks[-1] += " "
        if chunks[0][0] in ",'":
            chunks[0] = " " + chunks[0]
        return list(chain.from_iterable(map(self._memory.__getitem__, chunks)))


class _Memory(dict[str, tuple[str, ...]]):
    """Chunk → its words. A key is a chunk with what of its surroundings matters.

    A space before the chunk: the line begins with it. A space after it: the line ends with it. A space and `a` or `0` after it: the next
    chunk begins with a lowercase letter or a digit. The memory is emptied when it is full; the frequent chunks are back at once.
    """

    def __init__(self, reference: _Reference) -> None:
        super().__init__()
        self._reference = reference

    def __missing__(self, key: str) -> tuple[str, ...]:
        words = self._reference.simple(key) or self._reference.surrounded(key)
        if len(key) <= _LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[key] = words
        return words


class _Following(dict[str, str]):
    """First character of a chunk → what a key says of it, if a full stop comes before. At most as many entries as there are characters."""

    def __init__(self, reference: _Reference) -> None:
        super().__init__()
        self._reference = reference

    def __missing__(self, character: str) -> str:
        small = self._reference.islower(character)
        self[character] = " a" if small else " 0" if character in "0123456789" else ""
        return self[character]


class _Reference(MosesTokenizer):  # type: ignore[misc]
    """sacremoses's tokeniser with its sets of letters made once, where the original makes one of 130,000 at every full stop."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._small, self._letters = frozenset(self.IsLower), frozenset(self.IsAlpha)
        self._prefixes = frozenset([*self.NONBREAKING_PREFIXES, *self.NUMERIC_ONLY_PREFIXES])
        self._apostrophe = " ".join(self.words("a'b"))[1:-1]  # with its spaces: where this language cuts between letters
        alnum, alpha = as_ranges(self.IsAlnum), as_ranges(self.IsAlpha)  # read in a hundredth of the time
        word, other = f"[{alnum}-]+", rf"[^{alnum}\s.'`,-]*"
        between = f"(?:(?<=[{alpha}])'(?=[{alpha}]){word})?"
        self._simple = re.compile(f"({other})({word}{between})([.,]?)({other})([.,]?)( .?)?")

    def islower(self, text: str) -> bool:
        return self._small.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self._letters.isdisjoint(text)

    def words(self, text: str) -> list[str]:
        words: list[str] = self.tokenize(text, escape=False)
        return words

    def surrounded(self, key: str) -> tuple[str, ...]:
        """The words of a chunk in the surroundings that its key tells."""
        chunk, begins = key.removeprefix(" "), key[0] == " "
        chunk, space, following = chunk.partition(" ")
        if not space:
            following = _BESIDE
        before, after = "" if begins else f"{_BESIDE} ", f" {following}" if following else ""
        return tuple(self.words(before + chunk + after)[bool(before) : -1 if after else None])

    def simple(self, key: str) -> tuple[str, ...]:
        """The words of a chunk of the form `word`, with signs before it and after it and one apostrophe inside; none for another form."""
        found = self._simple.fullmatch(key)
        if not found or "DOTMULTI" in key:  # sacremoses's own sign for several full stops
            return ()
        opening, word, mark, closing, last, following = found.groups()
        words = word.replace("'", self._apostrophe).split(" ")
        if (mark == "." and words[-1] in self._prefixes) or (mark and last and not closing):
            return ()
        if mark == "." and following == " a" and not closing:
            words[-1] += mark
        elif mark:
            words.append(mark)
        return (*opening, *words, *closing, last) if last else (*opening, *words, *closing)


def ranges(characters: str) -> list[int]:
    """The code points of a set as the first and the last of each run of neighbours."""
    ends: list[int] = []
    for code in sorted({ord(character) for character in characters}):
        if ends and code == ends[-1] + 1:
            ends[-1] = code
        else:
            ends += [code, code]
    return ends


def as_ranges(characters: str) -> str:
    """A set of letters and digits as the inside of a regular expression's character class: `a-z` and not all of them."""
    ends = ranges(characters)
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(ends[::2], ends[1::2], strict=True))
