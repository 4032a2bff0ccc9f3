"""TMX, translation memories in XML: a record is a unit, <tu>, with a segment in each of some languages, and
perhaps word links in Pharaoh format."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from rnnsearch.errors import InputError
from rnnsearch.installed import package_version
from rnnsearch.text.formats.lines import IGNORED, LONGEST_LINE, SideWarnings, plain_field
from rnnsearch.text.formats.opening import opened
from rnnsearch.text.formats.records import NO_TEXT, Layout, LinePair
from rnnsearch.word_links import Link, format_links, parse_gold_links

_CHUNK = 1 << 16  # bytes given to the parser at a time
_LONGEST_REFERENCE = 12  # bytes of &#x12345678;
_DEEPEST = 100  # elements inside one another; a translation memory has some ten
_MEMORY = "is this a translation memory?"
_AGAIN = "the file is damaged or incomplete: correct it or get it again"
# Elements inside a segment that contain formatting and no text.
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut", "sub"})
_LINKS = 2
"""Place of the word links in a unit, behind the two sides."""
_PROPERTY = "x-word-links"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CODE = "\0"
"""Stands for a formatting code in a segment until its end: XML cannot hold this character."""
_WORDS = r"[^\W\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # written with spaces
_GLUED = re.compile(rf"(?:(?<={_WORDS})|(?<=[.!?:;,)…])){_CODE}+(?={_WORDS})")
_PLACEHOLDER = re.compile(
    r"\$?\{\{?[\w.]+\}?\}|%(?:\d|(?:\d+\$)?[a-zA-Z@])(?![\w%$])|%\([\w.]+\)[a-zA-Z]|__[A-Z][A-Z0-9_]*__"
)
# Bytes and references of control characters, which XML cannot hold and exporters write nevertheless.
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#(?:x[0-9a-fA-F]{1,8}|[0-9]{1,8});")
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
TMX_END = "</body>\n</tmx>\n"


def tmx_head(language: str) -> str:
    """Returns the head of a file, before its units. language: source language."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header creationtool="rnnsearch" '
        f'creationtoolversion="{escape(package_version())}" segtype="sentence" o-tmf="rnnsearch" '
        f'adminlang="en" srclang="{escape(language)}" datatype="plaintext"/>\n<body>\n'
    )


def tmx_unit(lines: Sequence[str], languages: Sequence[str], links: Sequence[Link]) -> str:
    """Returns a pair with its links as a unit on one line. Characters that XML cannot hold become U+FFFD."""
    sides = "".join(
        f'<tuv xml:lang="{escape(language)}">'
        f"<seg>{escape(_NO_XML.sub(chr(0xFFFD), line), quote=False)}</seg></tuv>"
        for line, language in zip(lines, languages, strict=True)
    )
    return f'<tu><prop type="{_PROPERTY}">{format_links(links)}</prop>{sides}</tu>'


def read_tmx(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields the segments of two languages in each unit, in whatever encoding the file declares.

    Of formatting codes, placeholders such as `{0}` and `%s` stay, and a space stays between words that only a
    code separates. Control characters, which XML does not allow, become spaces. All are noted.

    A language `en` matches `en`, `EN-US` and so on; `en-GB` matches only itself. A unit without the language
    has an empty side, and of two segments in one language the first counts; both are noted. External entities
    and files are never fetched. Raises InputError, with the line, for broken XML, for entities that the file
    declares itself (a few lines of them can stand for gigabytes), and at the end if no unit had one of the
    languages.
    """
    units = _Units(path, layout, warnings)
    for source, target, *_ in units.read():
        yield source, target
    for code, found in zip(units.wanted, units.found, strict=False):
        if units.count and not found:
            languages = ", ".join(sorted(units.languages))
            what = f"none of the {units.count:,} units has the language '{code}'; there are: {languages}"
            raise InputError(what[:300], file=path, remedy="give the languages as the file writes them")


def read_tmx_links(path: str | Path) -> Iterator[str]:
    """Yields the word links of each unit, a property of the type `x-word-links`, in Pharaoh format; a unit
    without them has none.

    Raises InputError as `read_tmx` does, except for languages, and for an invalid link, and at the end if no
    unit had links.
    """
    units = _Units(path, Layout(), (IGNORED, IGNORED))
    for _, _, links, line in units.read():
        parse_gold_links(links, path, line)
        yield links
    if units.count and not units.found[_LINKS]:
        what = f'none of the {units.count:,} units has a <prop type="{_PROPERTY}">'
        raise InputError(what, file=path, remedy="give a file with word links")


class _Units:
    """Handlers of the parser's events. count: number of units. found: numbers of units with a source segment,
    a target segment and links. languages: all languages seen."""

    def __init__(self, path: str | Path, layout: Layout, warnings: SideWarnings) -> None:
        codes = layout.source or layout.source_language, layout.target or layout.target_language
        self.wanted = [_code(code) for code in codes]
        self.count, self.found = 0, [0, 0, 0]
        self.languages: set[str] = set()
        self._path, self._warnings = path, (*warnings, IGNORED)
        self._finished: list[tuple[str, str, str, int]] = []
        self._fed = 0  # bytes
        self._open: list[str] = []  # open elements, outermost first
        self._unit: list[str | None] | None = None  # the sides of the unit that is being read
        self._line = 0  # the line where it begins
        self._side: int | None = None  # that of the variant, <tuv>, that is being read, or _LINKS
        self._segment: list[str] | None = None
        self._length = 0
        self._codes = 0  # depth of formatting codes inside the segment
        self._code: list[str] = []  # text of the code that is being read
        self._create_parser()

    def _create_parser(self, encoding: str | None = None) -> None:
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._declared
        self._parser.SkippedEntityHandler = self._undeclared

    def read(self) -> Iterator[tuple[str, str, str, int]]:
        """Yields the sides, links and first line of each unit."""
        with opened(self._path) as stream:
            for chunk in filter(None, self._chunks(stream)):
                self._parse(chunk)
                yield from self._finished
                self._finished.clear()
        self._parse(b"")
        yield from self._finished

    def _chunks(self, stream: BinaryIO) -> Iterator[bytes]:
        """Yields the bytes of the file, UTF-16 as UTF-8, and U+0080, a control character that XML allows, for
        those that it does not."""
        rest, chunk = b"", stream.read(_CHUNK)
        decoder = None
        if encoding := _WIDE.get(chunk[:2]):
            decoder = codecs.getincrementaldecoder(encoding)()
            self._create_parser("utf-8")
        while chunk:
            try:
                rest += decoder.decode(chunk).encode() if decoder else chunk
            except UnicodeDecodeError as error:
                raise self._fault(f"is not valid XML: {error.reason}", _AGAIN) from None
            start = max(rest.rfind(b"&", -_LONGEST_REFERENCE), 0)
            end = start if start and b";" not in rest[start:] else len(rest)
            yield _CONTROLS.sub(_allowed, rest[:end])
            rest, chunk = rest[end:], stream.read(_CHUNK)
        if decoder and decoder.getstate()[0]:
            raise self._fault("ends inside a character", _AGAIN)
        yield _CONTROLS.sub(_allowed, rest)

    def _parse(self, chunk: bytes) -> None:
        """Parses the next bytes of the file; no bytes = its end."""
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            what = f"is not valid XML: {expat.ErrorString(error.code)} (column {error.offset + 1})"
            raise InputError(what, file=self._path, line=error.lineno, remedy=_AGAIN) from None
        except (LookupError, ValueError) as error:  # encodings that Python does not know, or of several bytes
            what = f"its encoding cannot be read: {error}"
            raise InputError(what, file=self._path, remedy="convert it to UTF-8") from None
        self._fed += len(chunk)
        if self._fed - self._parser.CurrentByteIndex > LONGEST_LINE:
            raise self._fault(f"one piece of markup is longer than {LONGEST_LINE:,} bytes", _MEMORY)

    def _fault(self, what: str, remedy: str) -> InputError:
        return InputError(what, file=self._path, line=self._parser.CurrentLineNumber, remedy=remedy)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1] if self._open else None
        self._open.append(name)
        if parent is None and name != "tmx":
            raise self._fault(f"is no TMX file: its first element is <{name[:40]}>", "is its name right?")
        if len(self._open) > _DEEPEST:
            raise self._fault(f"elements are nested more than {_DEEPEST} deep", _MEMORY)
        if self._segment is not None:
            if name in _CODES:
                self._codes += 1
                self._segment.append(_CODE)
        elif name == "tu":
            if self._unit is not None:
                raise self._fault("a unit <tu> begins inside another", _AGAIN)
            self._unit, self._line = [None] * 3, self._parser.CurrentLineNumber
        elif name == "tuv" and self._unit is not None:
            self._side = self._side_of(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg" and self._side is not None:
            self._segment, self._length, self._codes = [], 0, 0
        elif name == "prop" and parent == "tu" and attributes.get("type") == _PROPERTY:
            self._side, self._segment, self._length, self._codes = _LINKS, [], 0, 0

    def _side_of(self, language: str) -> int | None:
        code = _code(language)
        if len(self.languages) < 100:
            self.languages.add(code[:20])
        met = (side for side, wanted in enumerate(self.wanted) if wanted in (code, code.partition("-")[0]))
        return next(met, None)

    def _text(self, text: str) -> None:
        if self._segment is None:
            return
        (self._code if self._codes else self._segment).append(text)
        self._length += len(text)
        if self._length > LONGEST_LINE:
            raise self._fault(f"the segment is longer than {LONGEST_LINE:,} characters", _MEMORY)

    def _declared(self, name: str, *_: object) -> None:
        remedy = "replace the entity by its text, and delete the declaration"
        raise self._fault(f"declares the entity '{name[:40]}'", remedy)

    def _undeclared(self, name: str, parameter: bool) -> None:
        """Keeps an entity as it is written if its document type is not fetched."""
        if not parameter:
            self._text(f"&{name};")

    def _end(self, name: str) -> None:
        self._open.pop()
        if self._segment is not None and name != ("prop" if self._side == _LINKS else "seg"):
            if name in _CODES:
                self._codes -= 1
                self._segment += _PLACEHOLDER.findall("".join(self._code))
                self._code.clear()
        elif self._segment is not None:
            self._end_segment("".join(self._segment))
            if name == "prop":
                self._side = None
        elif name == "tuv":
            self._side = None
        elif name == "tu" and self._unit is not None:
            self._end_unit(self._unit)

    def _end_segment(self, text: str) -> None:
        assert self._unit is not None
        assert self._side is not None
        self._segment = None
        if _CODE in text:
            self._warnings[self._side].note("formatting code", self._line)
            text = _GLUED.sub(" ", text).replace(_CODE, "")
        if self._unit[self._side] is None:
            self._unit[self._side] = text
        else:
            self._warnings[self._side].note("second segment in the language", self._line)

    def _end_unit(self, unit: list[str | None]) -> None:
        self._unit, self._side = None, None
        self.count += 1
        for side, text in enumerate(unit):
            self.found[side] += text is not None
            if text is None:
                self._warnings[side].note(NO_TEXT, self._line)
        sides = zip(unit, self._warnings, strict=True)
        source, target, links = (plain_field(text or "", self._line, warnings) for text, warnings in sides)
        self._finished.append((source, target, links, self._line))


def _allowed(found: re.Match[bytes]) -> bytes:
    """Returns a reference that XML allows as it is, and U+0080 for anything else."""
    control = found[0]
    if control[:1] == b"&":
        number = int(control[3:-1], 16) if control[2:3] == b"x" else int(control[2:-1])
        if number < 0x110000 and not _NO_XML.match(chr(number)):
            return control
    return b"&#128;"


def _code(language: str) -> str:
    return language.strip().replace("_", "-").lower()
