"""Translates the text of HTML and keeps its tags: an element surrounds the words that attended to its words.

The text is cut at the tags of blocks. Inside of a block, the mass of the alignment decides where an element
goes: it takes the run of target words whose weights lie mostly on its source words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.translation.languages import Paragraphs, split
from rnnsearch.translation.translator import Translator

_INLINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark q rp rt ruby "
    "s samp small span strike strong sub sup time tt u var wbr"
)
_VERBATIM = "code kbd math noscript samp script style svg template textarea var"
_VOIDS = "area base br col embed hr img input link meta source track wbr"
INLINE = frozenset(_INLINE.split())
"""Elements inside of sentences. All others end a sentence."""
VERBATIM = frozenset(_VERBATIM.split())
"""Elements whose text is not translated, like those with translate="no" or the class notranslate."""
DEEPEST = 100
"""Levels of elements inside of a sentence; tags of deeper ones are kept where they are in the text."""
_VOID = frozenset(_VOIDS.split())
_ADDRESS = re.compile(r"(?:https?://|www\.|[@#])\S+|\S+@\S+\.\w+")
_SPACES = " \t\r\n\f"
_SPACE = re.compile(f"[{_SPACES}]+")
_APOSTROPHES = str.maketrans("’`´", "'''")
_NEVER = -1e9
"""Score of a word that another element has."""


@dataclass(eq=False)
class _Element:
    """An element inside of a sentence, or a lone tag. start, end: of its text in that of its block. verbatim:
    whether its text is not translated."""

    opening: str
    start: int
    end: int = -1
    closing: str = ""
    tag: str = ""
    verbatim: bool = False
    inner: list[_Element] = field(default_factory=list)


@dataclass(eq=False)
class _Block:
    """The text between two tags of blocks, and the elements in it."""

    text: str = ""
    inner: list[_Element] = field(default_factory=list)

    @property
    def read(self) -> bool:
        """Tells whether there is anything to translate."""
        return any(character.isalnum() for character in self.text)

    def plain(self) -> str:
        """Returns the block as it was."""
        return self.source(0, len(self.text), self.inner)

    def source(self, start: int, end: int, inner: Sequence[_Element]) -> str:
        """Returns a part of the block as it was."""
        made = ""
        for each in inner:
            made += escape(self.text[start : each.start], quote=False) + self.whole(each)
            start = each.end
        return made + escape(self.text[start:end], quote=False)

    def whole(self, element: _Element) -> str:
        """Returns an element as it was."""
        return element.opening + self.source(element.start, element.end, element.inner) + element.closing


class Markup(HTMLParser):
    """An HTML text. texts: what is to be translated, a text for each block. Raises InputError for malformed
    declarations."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str | _Block] = []
        self._block, self._open = _Block(), list[_Element]()
        self._verbatim: list[str] = []  # the tags from the outermost block that is not translated
        self._preformatted = 0
        self._tail = ""  # the white space at the end of the block so far
        try:
            tags, end, rest = html.rpartition(">")  # the parser takes n² steps for tags without an end
            self.feed(tags + end)
            self.close()
            self.handle_data(unescape(rest))
        except AssertionError as error:
            raise InputError(f"the HTML cannot be read: {error}") from None
        self._end_block()
        self._parts = [
            part.plain() if isinstance(part, _Block) and not part.read else part for part in self._parts
        ]
        self.texts = [part.text for part in self._parts if isinstance(part, _Block)]

    def rendered(self, translated: Sequence[tuple[Paragraphs, Sequence[Translation]]]) -> str:
        """Returns the HTML with the translations of `texts`, each as its sentences and their translations."""
        left = iter(translated)
        return "".join(
            part if isinstance(part, str) else _Placing(part, *next(left)).html() for part in self._parts
        )

    # What HTMLParser calls

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given, opening = dict(attrs), self.get_starttag_text() or ""
        verbatim = tag in VERBATIM or given.get("translate") == "no"
        verbatim |= "notranslate" in (given.get("class") or "").split()
        if tag == "pre":
            self._preformatted += 1
        if self._verbatim or (verbatim and tag not in INLINE):
            self._end_block()
            self._verbatim += [tag] * (tag not in _VOID)
            self._parts.append(opening)
        elif tag not in INLINE:
            self._end_block()
            self._parts.append(opening)
        elif tag in _VOID or len(self._open) >= DEEPEST:
            self._lone(opening)
        else:
            self._open.append(_Element(opening, len(self._block.text), tag=tag, verbatim=verbatim))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._lone(self.get_starttag_text() or "", ends=tag not in INLINE)

    def handle_endtag(self, tag: str) -> None:
        closing = f"</{tag}>"
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        if self._verbatim:
            if tag in self._verbatim:
                del self._verbatim[len(self._verbatim) - 1 - self._verbatim[::-1].index(tag) :]
            self._parts.append(closing)
        elif tag not in INLINE:
            self._end_block()
            self._parts.append(closing)
        elif tag in (each.tag for each in self._open):
            while self._open[-1].tag != tag:
                self._give_up()
            element = self._open.pop()
            element.closing, element.end = closing, len(self._block.text)
            text = self._block.text[element.start : element.end].strip()
            element.verbatim |= bool(_ADDRESS.fullmatch(text))
            self._inner().append(element)
        else:
            self._lone(closing)

    def handle_data(self, data: str) -> None:
        if self.cdata_elem or self._verbatim:
            self._parts.append(data if self.cdata_elem else escape(data, quote=False))
            return
        if not (self._block.text or self._block.inner or self._open):  # as in the source, before a block
            rest = data.lstrip(_SPACES)
            self._parts.append(data[: len(data) - len(rest)])
            data = rest
        if not self._preformatted:
            self._tail = data[len(data.rstrip(_SPACES)) :]
            data = _SPACE.sub(" ", data)
            if data[:1] == " " and self._block.text.endswith(" "):
                data = data[1:]
                if self._inner() and self._inner()[-1].start == len(self._block.text):
                    self._inner()[-1].closing += " "  # an image between two spaces
        self._block.text += data

    def handle_comment(self, data: str) -> None:
        self._lone(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._lone(f"<!{decl}>", ends=True)

    def handle_pi(self, data: str) -> None:
        self._lone(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self._lone(f"<![{data}]]>")

    # Blocks and their elements

    def _inner(self) -> list[_Element]:
        return self._open[-1].inner if self._open else self._block.inner

    def _lone(self, tag: str, ends: bool = False) -> None:
        """Keeps a tag or comment between two words, or between two blocks."""
        if self._verbatim or ends:
            self._end_block()
            self._parts.append(tag)
        else:
            place = len(self._block.text)
            self._inner().append(_Element(tag, place, place))

    def _give_up(self) -> None:
        """Makes a lone tag of the last open element, which has no end in its block."""
        element = self._open.pop()
        element.end, inner, element.inner = element.start, element.inner, []
        self._inner().extend([element, *inner])

    def _end_block(self) -> None:
        while self._open:
            self._give_up()
        block, self._block = self._block, _Block()
        if self._tail and block.text.endswith(" "):
            block.text = block.text[:-1]
            self._parts += [block if block.read else block.plain(), self._tail]
        else:
            self._parts.append(block if block.read else block.plain())
        self._tail = ""


class _Sentence(NamedTuple):
    """A sentence of a block. words: (source words, 2) begin and end in the block's text. sums: (target words,
    source words + 1) weights, summed over the words before. place: of its first target word in the block."""

    words: NDArray[np.int64]
    sums: NDArray[np.float64]
    place: int


class _Placing:
    """The translation of a block, and the places of its elements in it."""

    def __init__(self, block: _Block, paragraph: Paragraphs, results: Sequence[Translation]) -> None:
        self.block, self.text = block, paragraph.joined([result.text for result in results])
        self.words: list[tuple[int, int]] = []  # of the target, in its text
        self._sentences: list[_Sentence] = []
        source_end = target_end = 0
        for gap, sentence, result in zip(paragraph.gaps, paragraph.sentences, results, strict=False):
            source_end, target_end = source_end + len(gap), target_end + len(gap)
            words = np.array(_spans(sentence, result.source_tokens[:-1], source_end)).reshape(-1, 2)
            weights = result.alignment[:, :-1].astype(np.float64)
            weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
            sums = np.concatenate([np.zeros((len(weights), 1)), weights.cumsum(axis=1)], axis=1)
            self._sentences.append(_Sentence(words, sums, len(self.words)))
            self.words += _spans(result.text, result.tokens, target_end)
            source_end, target_end = source_end + len(sentence), target_end + len(result.text)

    def html(self) -> str:
        """Returns the translation with its tags."""
        return self._html(0, len(self.text), 0, len(self.words), self.block.inner)

    def _html(self, start: int, end: int, first: int, last: int, inner: Sequence[_Element]) -> str:
        """Returns the text from start to end, the words from first to last, with these elements."""
        free = np.zeros(len(self.words))
        free[:first] = free[last:] = _NEVER
        placed = []
        for number, element in enumerate(inner):
            mass = self._mass(element.start, element.end) if element.end > element.start else free
            scores = (mass - 0.5 + free)[first:last]
            begin, stop = _best_run(scores)
            if stop == begin or scores[begin:stop].max() <= (-0.25 if element.verbatim else -0.5):
                before = self._mass(0, element.start)[first:last] - 0.5
                begin = stop = int(np.argmax(np.concatenate([[0.0], before.cumsum()])))
            begin, stop = begin + first, stop + first
            free[begin:stop] = _NEVER
            placed.append((begin, stop > begin, number, stop, element))
        made = ""
        for begin, _, _, stop, element in sorted(placed, key=lambda one: one[:3]):
            ends = element.opening.startswith("</")
            place = (
                self.words[begin][0]
                if begin < last and not ends
                else self.words[begin - 1][1]
                if begin
                else start
            )
            place = max(start, min(place, end))
            made += escape(self.text[start:place], quote=False)
            start = place
            if element.verbatim:
                made += self.block.whole(element)
                start = max(start, self.words[stop - 1][1]) if stop > begin else start
            elif stop == begin:
                made += _tags(element)
            else:
                start, stopped = place, max(place, self.words[stop - 1][1])
                made += (
                    element.opening + self._html(start, stopped, begin, stop, element.inner) + element.closing
                )
                start = stopped
        return made + escape(self.text[start:end], quote=False)

    def _mass(self, start: int, end: int) -> NDArray[np.float64]:
        """Returns the weight of the source words in this part of the block, for each target word."""
        mass = np.zeros(len(self.words))
        for words, sums, place in self._sentences:
            if not len(words) or words[0, 0] >= end or words[-1, 1] <= start:
                continue
            first = np.searchsorted(words[:, 1], start, "right")
            last = max(first, np.searchsorted(words[:, 0], end))
            mass[place : place + len(sums)] = sums[:, last] - sums[:, first]
        return mass


def _tags(element: _Element) -> str:
    return element.opening + "".join(map(_tags, element.inner)) + element.closing


def _best_run(scores: NDArray[np.float64]) -> tuple[int, int]:
    """Returns begin and end of the run with the largest sum."""
    if not len(scores):
        return 0, 0
    sums = np.concatenate([[0.0], scores.cumsum()])
    end = int(np.argmax(sums[1:] - np.minimum.accumulate(sums[:-1]))) + 1
    return int(np.argmin(sums[:end])), end


def _spans(text: str, words: Sequence[str], offset: int) -> list[tuple[int, int]]:
    """Returns begin and end of each word in the text, plus the offset; an empty span for a word that is
    written otherwise there."""
    text, end, missing, spans = text.translate(_APOSTROPHES), 0, 8, []
    for word in (word.translate(_APOSTROPHES) for word in words):
        begin = text.find(word, end, end + missing + len(word))
        if begin < 0:
            missing += len(word) + 1
            spans.append((offset + end, offset + end))
        else:
            end, missing = begin + len(word), 8
            spans.append((offset + begin, offset + end))
    return spans


def translate_html(translator: Translator, html: str, **search: Any) -> str:
    """Returns the HTML with its text translated. search: settings to change. Raises InputError as
    `Translator.translate` does, and for malformed declarations."""
    markup, language = Markup(html), translator.source.tokeniser.language
    paragraphs = [split(text, language) for text in markup.texts]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph.sentences]
    results = iter(translator.translate(sentences, **search))
    return markup.rendered([(one, [next(results) for _ in one.sentences]) for one in paragraphs])
