"""Translates the text of HTML and keeps its tags. The text is cut at the tags of blocks, and the
elements inside of a block are placed in its translation. What other kinds of pages share is in
`Tagged`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape, unescape
from io import StringIO
from typing import Any

from rnnsearch.serve.paragraphs import Translated, split_paragraphs
from rnnsearch.serve.placing import Element, Placing
from rnnsearch.text.language_codes import base
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
_MARKUP = re.compile(
    r"(?P<whole><!doctype[^>]*>"
    r"|<(?P<raw>script|style)(?=[\s>])[^>]*(?<!/)>.*?(?:</(?P=raw)\s*>|\Z))"
    r"|<(?P<name>[a-z][^\s/>]*+)(?P<attributes>(?:=\s*(?:\"[^\"]*\"|'[^']*')|[^>])*+)>"
    r"|</(?P<ended>[a-z][^\s/>]*+)[^>]*>"
    r"|<!--.*?(?:--\s*>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[/!?][^>]*>|(?P<unended><[a-z/!?].*)",
    re.IGNORECASE | re.DOTALL,
)
"""What stands between texts. whole: a script, style or doctype; comments and the like have no
group. unended: the beginning of a tag, which browsers do not show. No part is read twice, so that
the time does not grow with the square of a text."""
_VALUE = re.compile(r"""(?<=[\s/"'])([^\s=/"']+)\s*=\s*("[^"]*"|'[^']*'|[^\s"']\S*)""")
_DOCUMENT = re.compile(r"<html\s[^<>]{0,1000}>", re.IGNORECASE)
_DECLARED = re.compile(
    r"(?<=[\s:])(lang\s*=\s*[\"']?)([a-z]{2,3}(?:[-_]\w{2,8})*)(?![\w-])", re.IGNORECASE
)
_SPACES = str.maketrans("\t\r\n\f", "    ")


class Tagged:
    """A text with tags."""

    def __init__(self) -> None:
        self._parts: list[str | Element] = []
        self._begin_block()

    @property
    def texts(self) -> list[str]:
        """Returns what is to be translated: the text of each block."""
        return [one.text.translate(_SPACES) for one in self._parts if isinstance(one, Element)]

    def write(self, text: str) -> str:
        """Returns plain text as it is written between tags."""
        return text

    def rendered(
        self, translated: Sequence[Translated], each_step: Callable[[], object] = lambda: None
    ) -> str:
        """Returns the text with the translations of `texts`. each_step: called before every
        element; what it raises ends the work."""
        left = iter(translated)
        made = [
            Placing(part, next(left), self.write, each_step).written()
            if isinstance(part, Element)
            else part
            for part in self._parts
        ]
        return "".join(made)

    def _begin_block(self) -> None:
        self._text = StringIO()
        self._open = [Element()]  # the block, with the elements in it that have no end yet

    def _end_block(self, tag: str) -> None:
        while len(self._open) > 1:
            self._give_up()
        block = self._open[0]
        block.text = self._text.getvalue()
        if any(map(str.isalnum, block.text)):
            while (
                len(block.inner) == 1
                and isinstance(around := block.inner[0], Element)
                and not around.verbatim
            ):
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


class Markup(Tagged):
    """An HTML text. It is cut into tags and texts as browsers do it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self._skipped: list[str] = []  # the tags from the outermost block that is not translated
        self._around = Counter[str]()  # blocks around it
        html, place = _LONG_NUMBER.sub("\ufffd", html), 0
        for found in _MARKUP.finditer(html):
            self._add(html[place : found.start()])
            place = found.end()
            if found["name"]:
                self._begin(found[0], found["name"].lower(), found["attributes"])
            elif found["ended"]:
                self._end(found[0], found["ended"].lower())
            elif found["whole"] or found["unended"]:
                self._end_block(found[0])
            else:
                (self._parts.append if self._skipped else self._mark)(found[0])
        self._add(html[place:])
        self._end_block("")

    def write(self, text: str) -> str:
        return escape(text, quote=False)

    def _add(self, data: str) -> None:
        if self._skipped:
            self._parts.append(data)
        else:
            super()._add(unescape(data))

    def _begin(self, opening: str, tag: str, attributes: str) -> None:
        given = {
            name.lower(): unescape(text.strip("\"'")) for name, text in _VALUE.findall(attributes)
        }
        verbatim = tag in VERBATIM or given.get("translate", "").lower() == "no"
        verbatim |= "notranslate" in given.get("class", "").split()
        lone = tag in VOID or _VALUE.sub("", attributes).endswith("/")
        while self._skipped and tag in ENDED_BY.get(self._skipped[-1], ()):
            self._skipped.pop()  # it needs no end tag where this element begins
        if self._skipped or tag not in INLINE:
            self._end_block(opening)
            if verbatim or self._skipped:
                self._skipped += [tag] * (not lone)
            else:
                self._around[tag] += not lone
        elif lone:
            self._mark(opening)
        else:
            self._start(opening, tag, verbatim)

    def _end(self, closing: str, tag: str) -> None:
        if tag in self._skipped:
            while self._skipped.pop() != tag:
                pass
            self._parts.append(closing)
        elif self._skipped and not (self._around[tag] and self._skipped[0] in ENDED_BY):
            self._parts.append(closing)
        elif tag in INLINE:
            self._stop(closing, tag)
        else:
            self._skipped.clear()  # this ends a block around them
            self._around -= Counter([tag])
            self._end_block(closing)


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
    """Returns the HTML with its text translated; its <html lang="en"> names the language of the
    translation."""
    page = translate_page(translator, Markup(text), settings)
    source, target = (
        base(side.tokeniser.language) for side in (translator.source, translator.target)
    )

    def named(found: re.Match[str]) -> str:
        same = base(found[2].lower().replace("_", "-")) == source
        return found[1] + (target if same else found[2])

    return _DOCUMENT.sub(lambda found: _DECLARED.sub(named, found[0]), page)
