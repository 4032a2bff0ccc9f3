"""Moses's tokeniser as sacremoses has it. Importing it takes half a second: its regular expressions list
130,000 letters each."""

from __future__ import annotations

from sacremoses import MosesTokenizer

from rnnsearch.text.moses import SimpleChunks


class MosesReference(MosesTokenizer):  # type: ignore[misc]
    """sacremoses's tokeniser with its sets of letters made once, where the original makes one of 130,000 at
    every full stop."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._small, self._letters = frozenset(self.IsLower), frozenset(self.IsAlpha)
        prefixes = frozenset([*self.NONBREAKING_PREFIXES, *self.NUMERIC_ONLY_PREFIXES])
        alnum = as_ranges(self.IsAlnum)  # read in a hundredth of the time
        self.simple = SimpleChunks(
            alnum, as_ranges(self.IsAlpha), rf"[^{alnum}\s.'`,-]", " ".join(self.words("a'b"))[1:-1], prefixes
        )

    def islower(self, text: str) -> bool:
        return self._small.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self._letters.isdisjoint(text)

    def words(self, text: str) -> list[str]:
        words: list[str] = self.tokenize(text, escape=False)
        return words


def ranges(characters: str) -> list[int]:
    """Returns the code points of a set as the first and the last of each run of neighbours."""
    ends: list[int] = []
    for code in sorted({ord(character) for character in characters}):
        if ends and code == ends[-1] + 1:
            ends[-1] = code
        else:
            ends += [code, code]
    return ends


def as_ranges(characters: str) -> str:
    """Returns a set of letters and digits as the inside of a regular expression's character class: `a-z` and
    not all of them."""
    ends = ranges(characters)
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(ends[::2], ends[1::2], strict=True))
