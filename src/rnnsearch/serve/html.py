"""Translates the text of HTML and keeps its tags. The text is cut at the tags of blocks, and the
elements inside of a block are placed in its translation. What other kinds of pages share is in
`Tagged`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape, unescape
from html.parser import HTMLParser
from io import StringIO
from typing import Any

from rnnsearch.serve.paragraphs import Translated, split_paragraphs
from rnnsearch.serve.placing import Element, Placing, TextBlock
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


class Tagged:
    """A text with tags."""

    def __init__(self) -> None:
        self._parts: list[str | TextBlock] = []
        self._begin_block()

    @property
    def texts(self) -> list[str]:
        """Returns what is to be translated: the text of each block."""
        blocks = (part for part in self._parts if isinstance(part, TextBlock))
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
            if isinstance(part, TextBlock):
                part = Placing(part, next(left), self.write, each_step).written()
            made.append(part)
        return "".join(made)

    def _begin_block(self) -> None:
        self._block, self._text = TextBlock(), StringIO()
        self._open: list[Element] = [self._block]  # with the elements in it that have no end yet

    def _end_block(self, tag: str) -> None:
        while len(self._open) > 1:
            self._give_up()
        block = self._block
        block.text = self._text.getvalue()
        if any(map(str.isalnum, block.text)):
            while len(block.inner) == 1 and isinstance(around := block.inner[0], Element):
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
        if inner and isinstance(last := inner[-1], Element) and data[:1].isspace():
            last.spaced |= last.start == self._text.tell() and self._since(last.start - 1).isspace()
        if data:
            self._text.write(data)
            inner.append(self.write(data))

    def _since(self, start: int) -> str:
        """Returns the text of the block from this place on."""
        self._text.seek(max(0, start))
        return self._text.read()

    def _mark(self, tag: str) -> Element:
        """Adds a tag or comment to the block; it has no end yet."""
        place = self._text.tell()
        element = Element(tag, place, place)
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

    def _mark(self, tag: str) -> Element:
        if not self._skipped:
            return super()._mark(tag)
        self._parts.append(tag)
        return Element()

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
