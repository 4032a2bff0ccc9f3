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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.text.codec import JOINER
from rnnsearch.translation.faithful import best_run
from rnnsearch.translation.source_lines import Paragraphs, joined, split
from rnnsearch.translation.translator import Translator

_NAMES = """
a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark q rp rt ruby \
s samp small span strike strong sub sup time tt u var wbr
code kbd math noscript pre samp script style svg template textarea var
area base br col embed hr img input link meta source track wbr
"""
INLINE, VERBATIM, VOID = (frozenset(names.split()) for names in _NAMES.strip().splitlines())
"""Elements inside of sentences (all others end a sentence), those whose text is not translated (like those
with translate="no" or the class notranslate), and those without an end."""
DEEPEST = 100
"""Levels of elements inside of a sentence; tags of deeper ones are kept where they are in the text."""
_ADDRESS = re.compile(r"(?:https?://|www\.|[@#])\S+|[^\s@]+@[^\s@]+\.\w+")
_SPACES = str.maketrans("\t\r\n\f", "    ")
_PLAIN = str.maketrans(f"’`´{JOINER}\u00a0\u202f", "'''   ")
_NEVER = -1e9
"""Gain of a word that another element has."""


@dataclass(eq=False)
class _Element:
    """An element inside of a sentence, or a lone tag. start, end: of its text in that of its block. verbatim:
    whether its text is not translated. inner: its text, as HTML, and the elements in it. spaced: whether a
    lone tag is between two spaces, of which a translation keeps one."""

    opening: str = ""
    start: int = 0
    end: int = 0
    closing: str = ""
    tag: str = ""
    verbatim: bool = False
    inner: list[_Element | str] = field(default_factory=list)
    spaced: bool = False

    def html(self, text: bool = True) -> str:
        """Returns its HTML, as it was given; without `text`, its tags and those of the elements in it."""
        inner = [one.html(text) if isinstance(one, _Element) else one * text for one in self.inner]
        return "".join([self.opening, *inner, self.closing, " " * (self.spaced and not text)])


@dataclass(eq=False)
class _Block(_Element):
    """The text between two tags of blocks, and the elements in it."""

    text: str = ""


class Markup(HTMLParser):
    """An HTML text. texts: what is to be translated, a text for each block. Raises InputError for malformed
    declarations."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str | _Block] = []
        self._block = _Block()
        self._open: list[_Element] = [self._block]  # with the elements in it that have no end yet
        self._skipped: list[str] = []  # the tags from the outermost block that is not translated
        try:
            tags, end, rest = html.rpartition(">")  # the parser takes n² steps for tags without an end
            self.feed(tags + end)
            self.close()
            self.handle_data(unescape(rest))
        except AssertionError as error:
            raise InputError(f"the HTML cannot be read: {error}") from None
        self._end_block("")
        self.texts = [part.text.translate(_SPACES) for part in self._parts if isinstance(part, _Block)]

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
        if self._skipped or tag not in INLINE:
            self._end_block(opening)
            self._skipped += [tag] * ((verbatim or bool(self._skipped)) and tag not in VOID)
        else:
            element = self._mark(opening)
            if tag not in VOID and len(self._open) <= DEEPEST:
                element.tag, element.verbatim = tag, verbatim
                self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        opening = self.get_starttag_text() or ""
        self._mark(opening) if tag in INLINE else self._end_block(opening)

    def handle_endtag(self, tag: str) -> None:
        closing = f"</{tag}>"
        if self._skipped:
            if tag in self._skipped:
                del self._skipped[len(self._skipped) - 1 - self._skipped[::-1].index(tag) :]
            self._parts.append(closing)
        elif tag not in INLINE:
            self._end_block(closing)
        elif any(each.tag == tag for each in self._open):
            while self._open[-1].tag != tag:
                self._give_up()
            element, text = self._open.pop(), self._block.text
            element.closing, element.end = closing, len(text)
            element.verbatim |= bool(_ADDRESS.fullmatch(text[element.start :].strip()))
        else:
            self._mark(closing)

    def handle_data(self, data: str) -> None:
        if self._skipped:
            raw = self._skipped[-1] in self.CDATA_CONTENT_ELEMENTS
            self._parts.append(data if raw else escape(data, quote=False))
            return
        text, inner = self._block.text, self._open[-1].inner
        last = inner[-1] if inner and data[:1].isspace() and text[-1:].isspace() else ""
        if isinstance(last, _Element) and last.start == len(text):
            last.spaced = True
        self._block.text += data
        inner.append(escape(data, quote=False))

    def handle_comment(self, data: str) -> None:
        self._mark(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._end_block(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self._mark(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self._mark(f"<![{data}]]>")

    # Blocks and their elements

    def _mark(self, tag: str) -> _Element:
        """Adds a tag or comment to the block; it has no end yet."""
        place = len(self._block.text)
        element = _Element(tag, place, place)
        if self._skipped:
            self._parts.append(tag)
        else:
            self._open[-1].inner.append(element)
        return element

    def _give_up(self) -> None:
        """Makes a lone tag of the last open element, which has no end in its block."""
        element = self._open.pop()
        self._open[-1].inner += element.inner
        element.inner, element.verbatim = [], False

    def _end_block(self, tag: str) -> None:
        while len(self._open) > 1:
            self._give_up()
        block, self._block = self._block, _Block()
        self._open = [self._block]
        read = any(character.isalnum() for character in block.text)
        self._parts += [block if read else block.html(), tag]


class _Placing:
    """The translation of a block, word by word, and the places of its elements in it."""

    def __init__(self, block: _Block, paragraph: Paragraphs, results: Sequence[Translation]) -> None:
        whole, text = joined(results, "".join), paragraph.joined([result.text for result in results])
        self.block, self.source = block, np.array(_spans(block.text, whole.source_tokens[:-1])).reshape(-1, 2)
        weights = whole.alignment[:, :-1]
        self.weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        spans = _spans(text, whole.tokens)
        ends, begins = [0, *(end for _, end in spans)], [*(begin for begin, _ in spans), len(text)]
        self.gaps = [escape(text[end:begin], quote=False) for end, begin in zip(ends, begins, strict=True)]
        self.words = [escape(text[begin:end], quote=False) for begin, end in spans]
        self.before, self.after = [""] * len(self.gaps), [""] * len(self.gaps)
        """Tags before and after each word."""

    def html(self) -> str:
        """Returns the translation with its tags."""
        self._place(self.block, 0, len(self.words))
        rows = zip(self.gaps, self.before, [*self.words, ""], self.after, strict=True)
        return "".join(part for row in rows for part in row)

    def _place(self, outer: _Element, first: int, last: int) -> None:
        """Places the elements in another one among the words from first to last."""
        taken, placed = np.zeros(last - first, dtype=bool), []
        for number, element in enumerate(one for one in outer.inner if isinstance(one, _Element)):
            gains = np.where(taken, _NEVER, self._mass(element.start, element.end)[first:last] - 0.5)
            run = best_run(gains.tolist())
            if run is None and gains.max(initial=_NEVER) > (-0.25 if element.verbatim else -0.5):
                run = int(gains.argmax()), int(gains.argmax()) + 1
            if run is None:
                before = self._mass(0, element.start)[first:last] - 0.5
                run = (int(np.argmax([0.0, *before.cumsum()])),) * 2
            taken[slice(*run)] = True
            placed.append((run[0] + first, run[1] > run[0], number, run[1] + first, element))
        for begin, has_words, _, stop, element in sorted(placed, key=lambda one: one[:3]):
            if has_words and element.verbatim:
                self.words[begin:stop] = [element.html(), *[""] * (stop - begin - 1)]
                self.gaps[begin + 1 : stop] = [""] * (stop - begin - 1)
            elif has_words:
                self.before[begin] += element.opening
                self._place(element, begin, stop)
                self.after[stop - 1] += element.closing
            else:
                tags = element.html(text=element.verbatim)
                if begin > first and (begin == last or tags.startswith("</")):
                    self.after[begin - 1] += tags
                else:
                    self.before[begin] += tags

    def _mass(self, start: int, end: int) -> NDArray[np.float32]:
        """Returns the weight of the source words in this part of the block, for each target word."""
        first = np.searchsorted(self.source[:, 1], start, "right")
        mass: NDArray[np.float32] = self.weights[:, first : np.searchsorted(self.source[:, 0], end)].sum(
            axis=1
        )
        return mass


def _spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Returns begin and end of each word in the text; an empty span for a word that is written otherwise
    there."""
    text, end, missing, spans = text.translate(_PLAIN), 0, 8, []
    for word in (word.translate(_PLAIN) for word in words):
        end += len(text[end : end + 200]) - len(text[end : end + 200].lstrip())
        begin = text.find(word, end, end + missing + len(word))
        if begin < 0:
            begin, missing, word = end, missing + len(word) + 1, ""
        else:
            missing = 8
        end = begin + len(word)
        spans.append((begin, end))
    return spans


def translate_html(translator: Translator, html: str, **search: Any) -> str:
    """Returns the HTML with its text translated. search: settings to change. Raises InputError as
    `Translator.translate` does, and for malformed declarations."""
    markup, language = Markup(html), translator.source.tokeniser.language
    paragraphs = [split(text, language) for text in markup.texts]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph.sentences]
    results = iter(translator.translate(sentences, **search))
    return markup.rendered([(one, [next(results) for _ in one.sentences]) for one in paragraphs])
