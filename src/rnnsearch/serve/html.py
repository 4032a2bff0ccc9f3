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
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.records import Translation
from rnnsearch.serve.paragraphs import Translated, split_paragraphs
from rnnsearch.text.codec import JOINER
from rnnsearch.translation.terms import best_run
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
_CELLS, _ROWS = "td th", "tr tbody tfoot"
ENDED_BY = {
    name: frozenset(ends.split())
    for names, ends in {
        "li": "li",
        "dt dd": "dt dd",
        "option": "option optgroup",
        "tr": _ROWS,
        _CELLS: f"{_CELLS} {_ROWS}",
        "p": "address article aside blockquote div dl fieldset footer form h1 h2 h3 h4 h5 h6 header"
        " hr main nav ol p pre section table ul",
    }.items()
    for name in names.split()
}
"""Element that needs no end tag → elements that end it."""
DEEPEST = 100
"""Levels of elements inside of a sentence; tags of deeper ones are kept where they are in the
text."""
_ADDRESS = re.compile(r"(?:https?://|www\.|[@#])\S+|[^\s@]+@[^\s@]+\.\w+")
_LONG_NUMBER = re.compile(r"&#\d{4000,};?")
"""A character reference with more digits than Python converts."""
_NOTE = re.compile(r"\[[^\[\]]+\]|\(?(?:[a-z]|[ivx]{2,4}|[\d,*†‡§]{1,5})\)?|TM")
"""Marks of footnotes."""
_ENDS = re.compile(r"^$|[a-zß-öø-ÿ]{2}$|[.,;:!?\"'»”’)\]]$")
"""The beginning of a text or the end of a word, where such a mark may have letters."""
_UNENDED = re.compile(r"<[A-Za-z/!?]")
"""The beginning of a tag, which browsers do not show."""
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


class Tagged:
    """A text with tags."""

    def __init__(self) -> None:
        self._parts: list[str | _Block] = []
        self._begin_block()

    @property
    def texts(self) -> list[str]:
        """Returns what is to be translated: the text of each block."""
        blocks = (part for part in self._parts if isinstance(part, _Block))
        return [block.text.translate(_SPACES) for block in blocks]

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
                part = _Placing(part, next(left), self.write, each_step).written()
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
        if any(map(str.isalnum, block.text)):
            while len(block.inner) == 1 and isinstance(around := block.inner[0], _Element):
                if around.verbatim:
                    break
                self._parts.append(around.opening)
                block.inner, tag = around.inner, around.closing + tag
            self._parts += [block, tag]
        else:
            self._parts += [block.written(), tag]
        self._begin_block()

    def _add(self, data: str) -> None:
        """Adds text to the block."""
        inner = self._open[-1].inner
        if inner and isinstance(last := inner[-1], _Element) and data[:1].isspace():
            last.spaced |= last.start == self._text.tell() and self._since(last.start - 1).isspace()
        if data:
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
        """Ends the last element of this tag. A lone end is a mark; so is that of a footnote with
        its tags."""
        if all(each.tag != tag for each in self._open):
            self._mark(closing)
            return
        while self._open[-1].tag != tag:
            self._give_up()
        element = self._open.pop()
        element.closing, text = closing, self._since(element.start)
        if self._is_note(tag, text, self._since(element.start - 2)[: -len(text)]):
            element.opening, element.closing, element.inner = element.written(), "", []
            self._text.seek(element.start)
            self._text.truncate()
        element.end = self._text.tell()
        element.verbatim |= bool(_ADDRESS.fullmatch(text.strip()))

    def _is_note(self, tag: str, text: str, before: str) -> bool:
        """Tells whether this is the mark of a footnote, behind the two characters `before`."""
        letters = any(map(str.isalpha, text))
        if not text or tag not in ("a", "sup") or (tag == "a" and letters):
            return False
        behind = bool(_ENDS.search(before))
        return behind and bool(_NOTE.fullmatch(text)) if letters or tag == "a" else True

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
        self._around = Counter[str]()  # blocks around it
        self._ended = ""
        # The parser takes n² steps for tags without an end.
        tags, end, self._rest = _LONG_NUMBER.sub("\ufffd", html).rpartition(">")
        self.feed(tags + end)
        self.close()
        rest, unended = self._rest, ""
        if not self._is_raw and (found := _UNENDED.search(rest)):
            rest, unended = rest[: found.start()], rest[found.start() :]
        self.handle_data(self.rawdata + (rest if self._is_raw else unescape(rest)))
        self._end_block(unended)

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
        self._end_skipped(tag)
        verbatim = tag in VERBATIM or (given.get("translate") or "").lower() == "no"
        verbatim |= "notranslate" in (given.get("class") or "").split()
        if self._skipped or tag not in INLINE:
            self._end_block(opening)
            if verbatim or self._skipped:
                self._skipped += [tag] * (tag not in VOID)
            else:
                self._around[tag] += tag not in VOID
        elif tag in VOID:
            self._mark(opening)
        else:
            self._start(opening, tag, verbatim)

    def _end_skipped(self, tag: str) -> None:
        """Ends the blocks that need no end tag where this element begins."""
        while self._skipped and tag in ENDED_BY.get(self._skipped[-1], ()):
            self._skipped.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._end_skipped(tag)
        opening = self.get_starttag_text() or ""
        self._mark(opening) if tag in INLINE else self._end_block(opening)

    def parse_endtag(self, i: int) -> int:
        self._ended = ""
        if (end := super().parse_endtag(i)) > 0 and (tag := self._ended):
            closing = self.rawdata[i:end]
            if self._skipped:
                if tag in self._skipped:
                    del self._skipped[len(self._skipped) - 1 - self._skipped[::-1].index(tag) :]
                elif self._around[tag] and self._skipped[0] in ENDED_BY:
                    self._skipped.clear()  # it ends a block around them
                    self._around[tag] -= 1
                self._parts.append(closing)
            elif tag in INLINE:
                self._stop(closing, tag)
            else:
                self._around[tag] -= self._around[tag] > 0
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

    def parse_comment(self, i: int, report: bool = True) -> int:
        """Reads a comment. One without an end has all that follows, as in browsers."""
        if (end := super().parse_comment(i, report)) < 0:
            self._mark(self.rawdata[i:] + self._rest)
            end, self._rest = len(self.rawdata), ""
        return end

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
        self.block, self.write, self.each_step = block, write, each_step
        self.lone = [
            one for one in block.inner if isinstance(one, _Element) and one.start == one.end
        ]
        self.placed: set[_Element] = set()  # those between sentences
        self.inside: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        """Number of a word → places and tags in it."""
        self.sentences: list[_Sentence] = []
        self.starts: list[int] = []  # of the sentences, in the text of the block
        self.words: list[str] = []
        read = len(paragraph.gaps[0])
        self.gaps = [self._gap(0, read)]  # before and after the words
        for sentence, result, gap in zip(
            paragraph.sentences, results, paragraph.gaps[1:], strict=False
        ):
            self.starts.append(read)
            self.sentences.append(_Sentence.read(sentence, read, result, len(self.words)))
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

    def _place(self, outer: _Element, first: int, last: int) -> None:
        """Places the elements in another one among the words from first to last."""
        taken, placed = np.zeros(last - first, dtype=bool), []
        elements = (one for one in outer.inner if isinstance(one, _Element))
        for number, element in enumerate(one for one in elements if one not in self.placed):
            self.each_step()
            if self._is_part(element) and self._place_inside(element, taken, first):
                continue
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

    def _place_inside(self, element: _Element, taken: NDArray[np.bool_], first: int) -> bool:
        """Places an element inside of a word that has the same characters around it in the
        translation, as CO<sub>2</sub>; tells whether it did."""
        sentence, *more = self._near(element)
        nested = any(isinstance(one, _Element) for one in element.inner)
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
        """Tells whether a lone tag stands directly behind a word, or a raised end of one."""
        if element.tag in ("sub", "sup") and element.start and self._is_part(element):
            return True
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
