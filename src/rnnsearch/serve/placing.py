"""Places the elements of a text in its translation: an element surrounds the words that attended to
its words.

The mass of the alignment decides where an element goes: it takes the run of target words whose
weights lie mostly on its source words. Only the sentences in which an element lies are searched, so
that the time grows with the tags times the words of a sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.records import Translation
from rnnsearch.serve.paragraphs import Translated
from rnnsearch.text.codec import JOINER
from rnnsearch.translation.terms import best_run

_PLAIN = str.maketrans(f"’`´{JOINER}\u00a0\u202f", "'''   ")
_BEHIND = re.compile(r"(?<=\S)(?![^\W_])")
"""A place directly behind a character, and not in front of a letter or digit."""
_NEVER = -1e9
"""Gain of a word that another element has."""


@dataclass(eq=False)
class Element:
    """An element inside of a sentence, a lone tag, or a block: all between two tags of blocks.

    start, end: of its text in that of its block. text: of a block. verbatim: whether its text is
    not translated. inner: its text, as written, and the elements in it. spaced: whether a lone tag
    is between two spaces, of which a translation keeps one.
    """

    opening: str = ""
    start: int = 0
    end: int = 0
    closing: str = ""
    tag: str = ""
    verbatim: bool = False
    inner: list[Element | str] = field(default_factory=list)
    spaced: bool = False
    text: str = ""

    def written(self, text: bool = True) -> str:
        """Returns it as it was given; without `text`, its tags and those of the elements in it."""
        inner = [
            one.written(text) if isinstance(one, Element) else one * text for one in self.inner
        ]
        return "".join([self.opening, *inner, self.closing, " " * (self.spaced and not text)])


class PlacedSentence(NamedTuple):
    """A sentence of a block. begins, ends: of its source words in the text of the block. mass:
    (target words, source words + 1), the share of a target word's weights on the source words
    before each one. first: the place of its first target word."""

    begins: list[int]
    ends: list[int]
    mass: NDArray[np.float64]
    first: int

    @classmethod
    def read(cls, sentence: str, place: int, result: Translation, first: int) -> PlacedSentence:
        """Makes one from a sentence at this place in the block, and its translation."""
        spans = _spans(sentence, result.source_tokens[:-1])
        begins, ends = ([place + span[side] for span in spans] for side in (0, 1))
        weights = result.alignment[:, :-1]
        mass = np.zeros((len(weights), weights.shape[1] + 1))
        weights.cumsum(axis=1, dtype=np.float64, out=mass[:, 1:])
        return cls(begins, ends, mass / np.maximum(mass[:, -1:], 1e-9), first)

    def is_inside(self, place: int) -> bool:
        """Tells whether a place in the block is inside of a source word."""
        word = bisect_right(self.ends, place)
        return word < len(self.begins) and self.begins[word] < place

    def on(self, start: int, end: int) -> NDArray[np.float64]:
        """Returns the mass of the source words in this part of the block, for each target word."""
        first = bisect_right(self.ends, start)
        last = max(first, bisect_left(self.begins, end)) if end > start else first
        on: NDArray[np.float64] = self.mass[:, last] - self.mass[:, first]
        return on


class Placing:
    """The translation of a block, word by word, and the places of its elements in it."""

    def __init__(
        self,
        block: Element,
        translated: Translated,
        write: Callable[[str], str],
        each_step: Callable[[], object],
    ) -> None:
        paragraph, results = translated
        self.block, self.write, self.each_step = block, write, each_step
        self.lone = [
            one for one in block.inner if isinstance(one, Element) and one.start == one.end
        ]
        self.placed: set[Element] = set()  # those between sentences
        self.inside: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        """Number of a word → places and tags in it."""
        self.sentences: list[PlacedSentence] = []
        self.starts: list[int] = []  # of the sentences, in the text of the block
        self.words: list[str] = []
        read = len(paragraph.gaps[0])
        self.gaps = [self._gap(0, read)]  # before and after the words
        for sentence, result, gap in zip(
            paragraph.sentences, results, paragraph.gaps[1:], strict=False
        ):
            self.starts.append(read)
            self.sentences.append(PlacedSentence.read(sentence, read, result, len(self.words)))
            read, end = read + len(sentence), 0
            for begin, stop in _spans(result.text, result.tokens):
                self.gaps[-1] += write(result.text[end:begin])
                self.words.append(write(result.text[begin:stop]))
                self.gaps.append("")
                end = stop
            self.gaps[-1] += write(result.text[end:]) + self._gap(read, read + len(gap))
            read += len(gap)
        self.before, self.after = ([list[str]() for _ in self.gaps] for _ in range(2))
        """Tags before and after each word."""

    def _gap(self, start: int, end: int) -> str:
        """Returns the text between sentences as it is in the block, with the lone tags in it."""
        first = bisect_left(self.lone, start, key=lambda one: one.start)
        made = ""
        for element in self.lone[first : bisect_right(self.lone, end, key=lambda one: one.start)]:
            made += self.write(self.block.text[start : element.start]) + element.written()
            start = element.start
            self.placed.add(element)
        return made + self.write(self.block.text[start:end])

    def written(self) -> str:
        """Returns the translation with its tags."""
        self._place(self.block, 0, len(self.words))
        for at, tags in self.inside.items():
            for place, tag in reversed(tags):
                self.words[at] = self.words[at][:place] + tag + self.words[at][place:]
        rows = zip(self.gaps, self.before, [*self.words, ""], self.after, strict=True)
        return "".join(
            part for gap, before, word, after in rows for part in (gap, *before, word, *after)
        )

    def _place(self, outer: Element, first: int, last: int) -> None:
        """Places the elements in another one among the words from first to last."""
        taken, placed = np.zeros(last - first, dtype=bool), []
        for element in outer.inner:
            if not isinstance(element, Element) or element in self.placed:
                continue
            self.each_step()
            if self._is_part(element) and self._place_inside(element, taken, first):
                continue
            begin, stop = self._run(element, taken, first)
            taken[begin - first : stop - first] = True
            placed.append((begin, stop > begin, stop, element))
        for begin, has_words, stop, element in sorted(placed, key=lambda one: one[:2]):
            verbatim = element.verbatim and not self._is_part(element)
            if has_words and verbatim:
                self.words[begin:stop] = [element.written(), *[""] * (stop - begin - 1)]
                self.gaps[begin + 1 : stop] = [""] * (stop - begin - 1)
            elif has_words:
                self.before[begin].append(element.opening)
                self._place(element, begin, stop)
                self.after[stop - 1].append(element.closing)
            else:
                tags = element.written(text=verbatim)
                behind = begin == last or tags.startswith("</") or self._clings(element)
                if begin > first and behind:
                    self.after[begin - 1].append(tags)
                else:
                    self.before[begin].append(tags)

    def _place_inside(self, element: Element, taken: NDArray[np.bool_], first: int) -> bool:
        """Places an element inside of a word that has the same characters around it in the
        translation, as CO<sub>2</sub>; tells whether it did."""
        sentence, *more = self._near(element)
        nested = any(isinstance(one, Element) for one in element.inner)
        if more or nested or not len(sentence.mass):
            return False
        place = bisect_right(sentence.ends, element.start)
        begin, end = sentence.begins[place], sentence.ends[place]
        at = sentence.first + int(sentence.on(begin, end).argmax())
        if not first <= at < first + len(taken) or (taken[at - first] and at not in self.inside):
            return False
        outside = self.block.text[begin : element.start], self.block.text[element.end : end]
        word, (head, tail) = self.words[at], map(self.write, outside)
        stop = len(word) - len(tail)
        before = max((place for place, _ in self.inside.get(at, [])), default=0)
        found = before <= len(head) < stop and word.startswith(head) and word.endswith(tail)
        if not found or element.end > end:
            return False
        self.inside[at] += [(len(head), element.opening), (stop, element.closing)]
        taken[at - first] = True
        return True

    def _run(self, element: Element, taken: NDArray[np.bool_], first: int) -> tuple[int, int]:
        """Returns the run of words for an element, of those from `first` that are not taken; an
        empty one if no word attends to its words."""
        near = self._near(element)
        ends = near[0].first, near[-1].first + len(near[-1].mass)
        begin, stop = np.clip(ends, first, first + len(taken)).tolist()
        words = slice(begin - near[0].first, stop - near[0].first)
        if self._clings(element):
            word = _mass(near, element.start - 1, element.start)[words]
            if word.any():
                return (begin + int(word.argmax()) + 1,) * 2
        gains = _mass(near, element.start, element.end)[words] - 0.5
        gains[taken[begin - first : stop - first]] = _NEVER
        most = gains.max(initial=_NEVER)
        if most > 0 and (run := best_run(gains.tolist())):
            return begin + run[0], begin + run[1]
        if most > (-0.25 if element.verbatim else -0.5):
            return begin + int(gains.argmax()), begin + int(gains.argmax()) + 1
        before = _mass(near, 0, element.start)[words] - 0.5
        return (begin + int(np.argmax([0.0, *before.cumsum()])),) * 2

    def _near(self, element: Element) -> list[PlacedSentence]:
        """Returns the sentences in which an element lies."""
        low = max(0, bisect_right(self.starts, element.start) - 1)
        return self.sentences[low : max(low + 1, bisect_left(self.starts, element.end))]

    def _is_part(self, element: Element) -> bool:
        """Tells whether an element begins or ends inside of a word."""
        near = self._near(element)
        return any(one.is_inside(place) for one in near for place in (element.start, element.end))

    def _clings(self, element: Element) -> bool:
        """Tells whether a lone tag stands directly behind a word, or a raised end of one."""
        if element.tag in ("sub", "sup") and element.start and self._is_part(element):
            return True
        return element.start == element.end and bool(_BEHIND.match(self.block.text, element.start))


def _mass(sentences: Sequence[PlacedSentence], start: int, end: int) -> NDArray[np.float64]:
    """Returns the mass of the source words in this part of the block, for each word of these
    sentences."""
    return np.concatenate([one.on(start, end) for one in sentences])


def _spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Returns begin and end of each word in the text; an empty span for a word that is written
    otherwise there."""
    text, end, missing, spans = text.translate(_PLAIN), 0, 8, []
    for word in (word.rstrip(JOINER).translate(_PLAIN) for word in words):
        end += len(text[end : end + 200]) - len(text[end : end + 200].lstrip())
        begin = text.find(word, end, end + missing + len(word))
        if begin < 0:
            begin, missing, word = end, missing + len(word) + 1, ""
        else:
            missing = 8
        end = begin + len(word)
        spans.append((begin, end))
    return spans
