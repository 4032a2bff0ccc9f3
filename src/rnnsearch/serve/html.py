"""Translates the text of HTML and keeps its tags: an element surrounds the words that attended to
its words. What other kinds of pages share is in `Tagged`.

The text is cut at the tags of blocks. Inside of a block, the mass of the alignment decides where an
element goes: it takes the run of target words whose weights lie mostly on its source words. Only
the sentences in which an element lies are searched, so that the time grows with the tags times the
words of a sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape
from html.parser import HTMLParser
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.records import Translation
from rnnsearch.serve.paragraphs import Translated, split_paragraphs
from rnnsearch.text.codec import JOINER
from rnnsearch.translation.faithful import best_run
from rnnsearch.translation.translator import Translator

_NAMES = """
a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark q rp rt \
ruby s samp small span strike strong sub sup time tt u var wbr
code iframe kbd math noembed noframes noscript pre samp script style svg template textarea var xmp
area base br col embed hr img input link meta source track wbr
"""
INLINE, VERBATIM, VOID = (frozenset(names.split()) for names in _NAMES.strip().splitlines())
"""Elements inside of sentences (all others end a sentence), those whose text is not translated
(like those with translate="no" or the class notranslate), and those without an end."""
DEEPEST = 100
"""Levels of elements inside of a sentence; tags of deeper ones are kept where they are in the
text."""
_ADDRESS = re.compile(r"(?:https?://|www\.|[@#])\S+|[^\s@]+@[^\s@]+\.\w+")
_LONG_NUMBER = re.compile(r"&#\d{4000,};?")
"""A character reference with more digits than Python converts."""
_SPACES = str.maketrans("\t\r\n\f", "    ")
_PLAIN = str.maketrans(f"’`´{JOINER}\u00a0\u202f", "'''   ")
_NEVER = -1e9
"""Gain of a word that another element has."""


@dataclass(eq=False)
class _Element:
    """An element inside of a sentence, or a lone tag. start, end: of its text in that of its block.
    verbatim:
    whether its text is not translated. inner: its text, as written, and the elements in it. spaced:
    whether a lone tag is between two spaces, of which a translation keeps one."""

    opening: str = ""
    start: int = 0
    end: int = 0
    closing: str = ""
    tag: str = ""
    verbatim: bool = False
    inner: list[_Element | str] = field(default_factory=list)
    spaced: bool = False

    def written(self, text: bool = True) -> str:
        """Returns it as it was given; without `text`, its tags and those of the elements in it."""
        inner = [
            one.written(text) if isinstance(one, _Element) else one * text for one in self.inner
        ]
        return "".join([self.opening, *inner, self.closing, " " * (self.spaced and not text)])


@dataclass(eq=False)
class _Block(_Element):
    """The text between two tags of blocks, and the elements in it."""

    text: str = ""

    @property
    def forms(self) -> list[str]:
        """Returns the text as it is to be translated. A network may read a single capitalised word
        as a name, so it gets that in lowercase, too."""
        text = self.text.translate(_SPACES)
        word = text.strip()
        return [text, text.lower()] if word.isalpha() and word.istitle() else [text]


class Tagged:
    """A text with tags."""

    def __init__(self) -> None:
        self._parts: list[str | _Block] = []
        self._begin_block()

    @property
    def texts(self) -> list[str]:
        """Returns what is to be translated: the text of each block, and a single word in lowercase,
        too."""
        blocks = (part for part in self._parts if isinstance(part, _Block))
        return [form for block in blocks for form in block.forms]

    def write(self, text: str) -> str:
        """Returns plain text as it is written between tags."""
        return text

    def rendered(
        self, translated: Sequence[Translated], each_step: Callable[[], object] = lambda: None
    ) -> str:
        """Returns the text with the translations of `texts`. each_step: called before every
        element; what it raises ends the work."""
        left = iter(translated)
        made = []
        for part in self._parts:
            if isinstance(part, _Block):
                best = _best([next(left) for _ in part.forms])
                part = _Placing(part, best, self.write, each_step).written()
            made.append(part)
        return "".join(made)

    def _begin_block(self) -> None:
        self._block, self._text = _Block(), StringIO()
        self._open: list[_Element] = [self._block]  # with the elements in it that have no end yet

    def _end_block(self, tag: str) -> None:
        while len(self._open) > 1:
            self._give_up()
        block = self._block
        block.text = self._text.getvalue()
        read = any(map(str.isalnum, block.text))
        self._parts += [block if read else block.written(), tag]
        self._begin_block()

    def _add(self, data: str) -> None:
        """Adds text to the block."""
        inner = self._open[-1].inner
        if inner and isinstance(last := inner[-1], _Element) and data[:1].isspace():
            last.spaced |= last.start == self._text.tell() and self._since(last.start - 1).isspace()
        self._text.write(data)
        inner.append(self.write(data))

    def _since(self, start: int) -> str:
        """Returns the text of the block from this place on."""
        self._text.seek(max(0, start))
        return self._text.read()

    def _mark(self, tag: str) -> _Element:
        """Adds a tag or comment to the block; it has no end yet."""
        place = self._text.tell()
        element = _Element(tag, place, place)
        self._open[-1].inner.append(element)
        return element

    def _start(self, opening: str, tag: str, verbatim: bool = False) -> None:
        """Adds an element that ends at `_stop`."""
        element = self._mark(opening)
        if len(self._open) <= DEEPEST:
            element.tag, element.verbatim = tag, verbatim
            self._open.append(element)

    def _stop(self, closing: str, tag: str) -> None:
        """Ends the last element of this tag. A lone end is a mark; so is a footnote's number with
        its tags."""
        if all(each.tag != tag for each in self._open):
            self._mark(closing)
            return
        while self._open[-1].tag != tag:
            self._give_up()
        element = self._open.pop()
        element.closing, text = closing, self._since(element.start)
        if tag == "sup" and text and not any(map(str.isalpha, text)):
            element.opening, element.closing, element.inner = element.written(), "", []
            self._text.seek(element.start)
            self._text.truncate()
        element.end = self._text.tell()
        element.verbatim |= bool(_ADDRESS.fullmatch(text.strip()))

    def _give_up(self) -> None:
        """Makes a lone tag of the last open element, which has no end in its block."""
        element = self._open.pop()
        self._open[-1].inner += element.inner
        element.inner, element.verbatim = [], False


class Markup(Tagged, HTMLParser):
    """An HTML text."""

    def __init__(self, html: str) -> None:
        HTMLParser.__init__(self, convert_charrefs=True)
        Tagged.__init__(self)
        self._skipped: list[str] = []  # the tags from the outermost block that is not translated
        self._ended = ""
        # The parser takes n² steps for tags without an end.
        tags, end, rest = _LONG_NUMBER.sub("\ufffd", html).rpartition(">")
        self.feed(tags + end)
        self.close()
        self.handle_data(self.rawdata + (rest if self._is_raw else unescape(rest)))
        self._end_block("")

    def write(self, text: str) -> str:
        return escape(text, quote=False)

    @property
    def _is_raw(self) -> bool:
        """Tells whether the text is that of a script or style, which has no character
        references."""
        return bool(self._skipped) and self._skipped[-1] in self.CDATA_CONTENT_ELEMENTS

    def _mark(self, tag: str) -> _Element:
        if not self._skipped:
            return super()._mark(tag)
        self._parts.append(tag)
        return _Element()

    # What HTMLParser calls

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given, opening = dict(attrs), self.get_starttag_text() or ""
        verbatim = tag in VERBATIM or given.get("translate") == "no"
        verbatim |= "notranslate" in (given.get("class") or "").split()
        if self._skipped or tag not in INLINE:
            self._end_block(opening)
            self._skipped += [tag] * ((verbatim or bool(self._skipped)) and tag not in VOID)
        elif tag in VOID:
            self._mark(opening)
        else:
            self._start(opening, tag, verbatim)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        opening = self.get_starttag_text() or ""
        self._mark(opening) if tag in INLINE else self._end_block(opening)

    def parse_endtag(self, i: int) -> int:
        self._ended = ""
        if (end := super().parse_endtag(i)) > 0 and (tag := self._ended):
            closing = self.rawdata[i:end]
            if self._skipped:
                if tag in self._skipped:
                    del self._skipped[len(self._skipped) - 1 - self._skipped[::-1].index(tag) :]
                self._parts.append(closing)
            elif tag in INLINE:
                self._stop(closing, tag)
            else:
                self._end_block(closing)
        return end

    def handle_endtag(self, tag: str) -> None:
        self._ended = tag  # `parse_endtag` knows how it is written

    def handle_data(self, data: str) -> None:
        if self._skipped:
            self._parts.append(data if self._is_raw else self.write(data))
        else:
            self._add(data)

    def handle_comment(self, data: str) -> None:
        self._mark(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._end_block(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self._mark(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self._mark(f"<![{data}]]>")

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Reads `<![…`, as Python 3.14 and browsers do: a comment, unless it is a CDATA section."""
        cdata = self.rawdata.startswith("<![CDATA[", i)
        return (
            super().parse_marked_section(i, report)
            if cdata
            else self.parse_bogus_comment(i, report)
        )

    def parse_bogus_comment(self, i: int, report: bool = True) -> int:
        """Keeps as it is what browsers take for a comment: `<!x>`, `<![if !mso]>`, `</ >`."""
        end = self.rawdata.index(">", i) + 1
        self._mark(self.rawdata[i:end])
        return end


class _Sentence(NamedTuple):
    """A sentence of a block. begins, ends: of its source words in the text of the block. mass:
    (target words, source words + 1), the share of a target word's weights on the source words
    before each one. first: the place of its first target word."""

    begins: list[int]
    ends: list[int]
    mass: NDArray[np.float64]
    first: int

    @classmethod
    def read(cls, sentence: str, place: int, result: Translation, first: int) -> _Sentence:
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


class _Placing:
    """The translation of a block, word by word, and the places of its elements in it."""

    def __init__(
        self,
        block: _Block,
        translated: Translated,
        write: Callable[[str], str],
        each_step: Callable[[], object],
    ) -> None:
        paragraph, results = translated
        self.block, self.each_step = block, each_step
        self.sentences: list[_Sentence] = []
        self.starts: list[int] = []  # of the sentences, in the text of the block
        self.words: list[str] = []
        self.gaps = [""]  # before and after the words
        read = 0
        for gap, sentence, result in zip(
            paragraph.gaps, paragraph.sentences, results, strict=False
        ):
            read += len(gap)
            self.starts.append(read)
            self.sentences.append(_Sentence.read(sentence, read, result, len(self.words)))
            read, end = read + len(sentence), 0
            self.gaps[-1] += write(gap)
            for begin, stop in _spans(result.text, result.tokens):
                self.gaps[-1] += write(result.text[end:begin])
                self.words.append(write(result.text[begin:stop]))
                self.gaps.append("")
                end = stop
            self.gaps[-1] += write(result.text[end:])
        self.gaps[-1] += write(paragraph.gaps[-1])
        self.before, self.after = ([list[str]() for _ in self.gaps] for _ in range(2))
        """Tags before and after each word."""

    def written(self) -> str:
        """Returns the translation with its tags."""
        self._place(self.block, 0, len(self.words))
        rows = zip(self.gaps, self.before, [*self.words, ""], self.after, strict=True)
        return "".join(
            part for gap, before, word, after in rows for part in (gap, *before, word, *after)
        )

    def _place(self, outer: _Element, first: int, last: int) -> None:
        """Places the elements in another one among the words from first to last."""
        taken, placed = np.zeros(last - first, dtype=bool), []
        for number, element in enumerate(one for one in outer.inner if isinstance(one, _Element)):
            self.each_step()
            begin, stop = self._run(element, taken, first)
            taken[begin - first : stop - first] = True
            placed.append((begin, stop > begin, number, stop, element))
        for begin, has_words, _, stop, element in sorted(placed, key=lambda one: one[:3]):
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

    def _run(self, element: _Element, taken: NDArray[np.bool_], first: int) -> tuple[int, int]:
        """Returns the run of words for an element, of those from `first` that are not taken; an
        empty one if no word attends to its words."""
        near = self._near(element)
        begin = min(max(first, near[0].first), first + len(taken))
        stop = max(begin, min(near[-1].first + len(near[-1].mass), first + len(taken)))
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

    def _near(self, element: _Element) -> list[_Sentence]:
        """Returns the sentences in which an element lies."""
        low = max(0, bisect_right(self.starts, element.start) - 1)
        return self.sentences[low : max(low + 1, bisect_left(self.starts, element.end))]

    def _is_part(self, element: _Element) -> bool:
        """Tells whether an element begins or ends inside of a word."""
        near = self._near(element)
        return any(one.is_inside(place) for one in near for place in (element.start, element.end))

    def _clings(self, element: _Element) -> bool:
        """Tells whether a lone tag stands directly behind a word."""
        before, after = (
            self.block.text[max(0, place) : place + 1]
            for place in (element.start - 1, element.start)
        )
        ends = element.start == element.end and not after.isalnum()
        return ends and bool(before) and not before.isspace()


def _mass(sentences: Sequence[_Sentence], start: int, end: int) -> NDArray[np.float64]:
    """Returns the mass of the source words in this part of the block, for each word of these
    sentences."""
    return np.concatenate([one.on(start, end) for one in sentences])


def _best(forms: Sequence[Translated]) -> Translated:
    """Returns the first translation, or that of the lowercase form, capitalised, if a single word
    stayed as it is only in the first one."""
    (paragraph, results), *others = forms
    word = paragraph.sentences[0].lower()
    for lower, (result,) in others:
        if result.tokens and word in results[0].text.lower() and word not in result.text.lower():
            text, tokens = (line[:1].upper() + line[1:] for line in (result.text, result.tokens[0]))
            return lower, [replace(result, text=text, tokens=[tokens, *result.tokens[1:]])]
    return paragraph, results


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


def translate_page(translator: Translator, page: Tagged, settings: dict[str, Any]) -> str:
    """Returns the page with its text translated. settings: to change, as in `Translator.translate`,
    whose errors it raises."""
    paragraphs = [
        split_paragraphs(text, translator.source.tokeniser.language) for text in page.texts
    ]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph.sentences]
    results = iter(translator.translate(sentences, settings=settings))
    return page.rendered([(one, [next(results) for _ in one.sentences]) for one in paragraphs])


def translate_html(translator: Translator, text: str, settings: dict[str, Any]) -> str:
    """Returns the HTML with its text translated."""
    return translate_page(translator, Markup(text), settings)
