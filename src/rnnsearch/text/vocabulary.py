"""The shortlist of one language (Sec. 4.1): words to ids and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.system.parsing import read_text

EOS = 0
"""Id of the end of sentence, in both languages; it pads batches too, where only lengths tell it from the real one."""
UNK = 1
"""Id of every word outside the shortlist."""

SPECIALS = ("</s>", "<unk>")


class Vocabulary:
    """Words in the order of their ids; ids 0 and 1 are the end of sentence and the unknown word.

    words: without the two specials. One that is spelt like a special is left out: text never means them.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [*SPECIALS, *(word for word in words if word not in SPECIALS)]
        self._ids = {word: number for number, word in enumerate(self._words) if number > UNK}
        if len(self._ids) != len(self._words) - len(SPECIALS):
            raise ValueError("a word occurs twice in the vocabulary")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], size: int, minimum_count: int = 1) -> Vocabulary:
        """The `size` most frequent words that occur at least `minimum_count` times; the two specials are added.

        Equally frequent words are ordered by their spelling, so the order of the text does not matter.
        """
        frequent = [word for word, count in counts.items() if count >= minimum_count and word not in SPECIALS]
        return cls(sorted(frequent, key=lambda word: (-counts[word], word))[:size])

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Reads what `save` wrote. Raises InputError if the file cannot be read or is not a vocabulary."""
        try:
            lines = read_text(path).split("\n")
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None
        except ValueError:
            raise InputError("is not UTF-8, so it is not a vocabulary", file=path) from None
        if tuple(lines[:2]) != SPECIALS or lines[-1] != "":
            remedy = "a vocabulary begins with the lines </s> and <unk>, and ends with a line feed"
            raise InputError("is not a vocabulary", file=path, remedy=remedy)
        words = lines[2:-1]
        _check(words, path)
        return cls(words)

    def save(self, path: Path) -> None:
        """One word per line, in the order of the ids: the first line is id 0."""
        path.write_bytes("".join(f"{word}\n" for word in self._words).encode("utf-8"))

    def __len__(self) -> int:
        """K, the specials included."""
        return len(self._words)

    def __contains__(self, word: object) -> bool:
        """Whether the word has an id of its own; the specials are no words of the text."""
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._words == other._words

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} entries)"

    def ids(self, words: Iterable[str]) -> list[int]:
        """The id of every word, UNK for those outside; no end of sentence is added."""
        get = self._ids.get
        return [get(word, UNK) for word in words]

    def word(self, number: int) -> str:
        """The word of an id. Raises IndexError for an id that does not exist."""
        if number < 0:
            raise IndexError(number)
        return self._words[number]


def _check(words: list[str], path: Path) -> None:
    first: dict[str, int] = {word: number for number, word in enumerate(SPECIALS, 1)}
    for number, word in enumerate(words, len(SPECIALS) + 1):
        if not word:
            raise InputError("the line is empty", file=path, line=number, remedy="write one word per line")
        if word in first:
            raise InputError(f"the word {word!r} is already in line {first[word]}", file=path, line=number, remedy="remove one of them")
        first[word] = number
