"""TMX, translation memories in XML: a record is a unit, <tu>, with a segment in each of some languages, and
perhaps word links in Pharaoh format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from rnnsearch.errors import InputError
from rnnsearch.system.extras import package_version
from rnnsearch.text.formats.layout import NO_TEXT, Layout, LinePair
from rnnsearch.text.formats.lines import LONGEST_LINE, InputWarnings, plain_field
from rnnsearch.text.formats.opening import opened
from rnnsearch.word_links import Link, format_links, parse_gold_links

_CHUNK = 1 << 16  # bytes given to the parser at a time
_DEEPEST = 100  # elements inside one another; a translation memory has some ten
_AGAIN = "the file is damaged or incomplete: correct it or get it again"
# What they hold inside a segment is formatting, no text.
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut", "sub"})
_LINKS = 2
"""Place of the word links in a unit, behind the two sides."""
_PROPERTY = "x-word-links"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TMX_END = "</body>\n</tmx>\n"


def tmx_head(language: str) -> str:
    """Returns what stands before the units of a file. language: of the source."""
    version, source = quoteattr(package_version()), quoteattr(language)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header creationtool="rnnsearch" '
        f'creationtoolversion={version} segtype="sentence" o-tmf="rnnsearch" adminlang="en" '
        f'srclang={source} datatype="plaintext"/>\n<body>\n'
    )


def tmx_unit(lines: Sequence[str], languages: Sequence[str], links: Sequence[Link]) -> str:
    """Returns a pair with its links as a unit on one line. Characters that XML cannot hold become U+FFFD."""
    sides = "".join(
        f"<tuv xml:lang={quoteattr(language)}><seg>{escape(_NO_XML.sub(chr(0xFFFD), line))}</seg></tuv>"
        for line, language in zip(lines, languages, strict=True)
    )
    return f'<tu><prop type="{_PROPERTY}">{format_links(links)}</prop>{sides}</tu>'


def read_tmx(
    path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings
) -> Iterator[LinePair]:
    """Yields the segments of two languages in each unit, in whatever encoding the file declares; text inside
    formatting codes is left out.

    A language `en` is met by `en`, `EN-US` and so on; `en-GB` only by itself. A unit without the language has
    an empty side, and of two segments in one language the first counts; both are noted. External entities and
    files are never fetched. Raises InputError, with the line, for broken XML, for entities that the file
    declares itself (a few lines of them can stand for gigabytes), and at the end if no unit had one of the
    languages.
    """
    units = _Units(path, layout, source_warnings, target_warnings)
    for source, target, *_ in units.read():
        yield source, target
    units.check_languages()


def read_tmx_links(path: str | Path) -> Iterator[str]:
    """Yields the word links of each unit, a property of the type `x-word-links`, in Pharaoh format; a unit
    without them has none.

    Raises InputError as `read_tmx` does, except for languages, for what is no link, and at the end if no unit
    had links.
    """
    units = _Units(path, Layout(), InputWarnings(), InputWarnings())
    for _, _, links, line in units.read():
        parse_gold_links(links, path, line)
        yield links
    units.check_links()


class _Units:
    """Handlers of the parser's events. finished: sides, links and first line of the units that are
    complete."""

    def __init__(
        self, path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings
    ) -> None:
        self.finished: list[tuple[str, str, str, int]] = []
        self._path = path
        self._wanted = tuple(
            _code(code)
            for code in (layout.source or layout.source_language, layout.target or layout.target_language)
        )
        self._warnings = (source_warnings, target_warnings, InputWarnings())
        self._units = 0
        self._found = [0, 0, 0]  # units with a segment of each side, and with links
        self._languages: set[str] = set()
        self._fed = 0
        self._depth = 0
        self._unit: list[str | None] | None = None  # the sides of the unit that is being read
        self._line, self._unit_depth = 0, 0  # where it began
        self._side: int | None = None  # that of the variant, <tuv>, that is being read, or _LINKS
        self._segment: list[str] | None = None
        self._length = 0
        self._codes = 0  # depth of formatting codes inside the segment
        self._parser = self._make_parser()

    def read(self) -> Iterator[tuple[str, str, str, int]]:
        """Yields the sides, links and first line of each unit."""
        with opened(self._path) as stream:
            while chunk := stream.read(_CHUNK):
                self.parse(chunk)
                yield from self.finished
                self.finished.clear()
        self.parse(b"")
        yield from self.finished

    def parse(self, chunk: bytes) -> None:
        """Takes more bytes of the file; none = its end."""
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            what = f"is not valid XML: {expat.ErrorString(error.code)} (column {error.offset + 1})"
            raise InputError(what, file=self._path, line=error.lineno, remedy=_AGAIN) from None
        except (
            LookupError,
            ValueError,
        ) as error:  # of encodings that Python lacks, and those of several bytes
            raise InputError(
                f"its encoding cannot be read: {error}", file=self._path, remedy="convert it to UTF-8"
            ) from None
        self._fed += len(chunk)
        if self._fed - self._parser.CurrentByteIndex > LONGEST_LINE:
            raise self._fault(
                f"one piece of markup is longer than {LONGEST_LINE:,} bytes", "is this a translation memory?"
            )

    def check_languages(self) -> None:
        """Raises InputError if there were units, but none in one of the languages."""
        for code, found in zip(self._wanted, self._found, strict=False):
            if self._units and not found:
                what = (
                    f"none of the {self._units:,} units has the language '{code}'; there are: "
                    f"{', '.join(sorted(self._languages))}"
                )
                raise InputError(
                    what[:300], file=self._path, remedy="give the languages as the file writes them"
                )

    def check_links(self) -> None:
        """Raises InputError if there were units, but none with links."""
        if self._units and not self._found[_LINKS]:
            what = f'none of the {self._units:,} units has a <prop type="{_PROPERTY}">'
            raise InputError(what, file=self._path, remedy="give a file with word links")

    def _make_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._declared
        parser.SkippedEntityHandler = self._undeclared
        return parser

    def _fault(self, what: str, remedy: str) -> InputError:
        return InputError(what, file=self._path, line=self._parser.CurrentLineNumber, remedy=remedy)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "tmx":
            raise self._fault(f"is no TMX file: its first element is <{name[:40]}>", "is its name right?")
        if self._depth > _DEEPEST:
            raise self._fault(
                f"elements are nested more than {_DEEPEST} deep", "is this a translation memory?"
            )
        if self._segment is not None:
            self._codes += name in _CODES
        elif name == "tu":
            if self._unit is not None:
                raise self._fault("a unit <tu> begins inside another", _AGAIN)
            self._unit, self._line = [None] * 3, self._parser.CurrentLineNumber
            self._unit_depth = self._depth
        elif name == "tuv" and self._unit is not None:
            self._side = self._side_of(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg" and self._side is not None:
            self._segment, self._length, self._codes = [], 0, 0
        elif name == "prop" and self._is_of_unit() and attributes.get("type") == _PROPERTY:
            self._side, self._segment, self._length, self._codes = _LINKS, [], 0, 0

    def _is_of_unit(self) -> bool:
        """Returns whether the element that begins stands in a unit, and not in one of its variants."""
        return self._unit is not None and self._depth == self._unit_depth + 1

    def _side_of(self, language: str) -> int | None:
        code = _code(language)
        if len(self._languages) < 100:
            self._languages.add(code[:20])
        for side, wanted in enumerate(self._wanted):
            if code == wanted or code.partition("-")[0] == wanted:
                return side
        return None

    def _text(self, text: str) -> None:
        if self._segment is None or self._codes:
            return
        self._segment.append(text)
        self._length += len(text)
        if self._length > LONGEST_LINE:
            raise self._fault(
                f"the segment is longer than {LONGEST_LINE:,} characters", "is this a translation memory?"
            )

    def _declared(self, name: str, *_: object) -> None:
        raise self._fault(
            f"declares the entity '{name[:40]}'", "replace the entity by its text, and delete the declaration"
        )

    def _undeclared(self, name: str, parameter: bool) -> None:
        """Keeps an entity of a document type that is not fetched as it was written, as it would be in a file
        of lines."""
        if not parameter:
            self._text(f"&{name};")

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._segment is not None and name != ("prop" if self._side == _LINKS else "seg"):
            self._codes -= name in _CODES
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
        if self._unit[self._side] is None:
            self._unit[self._side] = text
        else:
            self._warnings[self._side].note("second segment in the language", self._line)

    def _end_unit(self, unit: list[str | None]) -> None:
        self._unit, self._side = None, None
        self._units += 1
        for side, text in enumerate(unit):
            if text is None:
                self._warnings[side].note(NO_TEXT, self._line)
            else:
                self._found[side] += 1
        source, target, links = (
            plain_field(text or "", self._line, warnings)
            for text, warnings in zip(unit, self._warnings, strict=True)
        )
        self.finished.append((source, target, links, self._line))


def _code(language: str) -> str:
    return language.strip().replace("_", "-").lower()
