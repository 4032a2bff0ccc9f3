"""Reads TMX, translation memories: the segments of two languages in each unit."""

from __future__ import annotations

import codecs
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.text.formats.layout import OPTIONS, Layout, LinePair
from rnnsearch.text.formats.lines import LONGEST_LINE, InputWarnings, SideWarnings, plain_field
from rnnsearch.text.formats.opening import FilePath, opened
from rnnsearch.text.language_codes import base

_FEW_UNITS = 20
_OTHER_ENCODING = 19  # expat's XML_ERROR_INCORRECT_ENCODING
_XML_CHUNK = 1 << 14  # bytes given to the parser at a time
_LONGEST_REFERENCE = 12  # bytes of &#x12345678;
_AGAIN = "the file is damaged or incomplete: correct it or get it again"
# Elements inside a segment that contain formatting and no text.
_CODES = frozenset(("bpt", "ept", "it", "ph", "ut", "sub"))
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_DECLARED = re.compile(rb"""^(?:\xef\xbb\xbf)?<\?xml[^>]*\bencoding=["']([\w.-]+)""")
_CODE = "\0"
"""Stands for a formatting code in a segment until its end: XML cannot hold this character."""
# written with spaces
_WORDS = r"[^\W\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_GLUED = re.compile(rf"(?:(?<={_WORDS})|(?<=[.!?:;,)…])){_CODE}+(?={_WORDS})")
_PLACEHOLDER = re.compile(
    r"\$?\{\{?[\w.]+\}?\}|%(?:\d|(?:\d+\$)?[a-zA-Z@])(?![\w%$])|%\([\w.]+\)[a-zA-Z]"
    r"|__[A-Z][A-Z0-9_]*__"
)
# Bytes and references of control characters, which XML cannot hold and exporters write
# nevertheless.
_CONTROL_BYTES = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]"
    rb"|&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])"
    rb"|x0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]|[fF]{3}[eEfF]));"
)


# References of surrogates, two of which stand for a character outside the first 65,536.
_REFERENCE = (
    rb"&#(?:x0*[dD][89a-fA-F][0-9a-fA-F]{2}"
    rb"|0*5(?:5(?:29[6-9]|[3-9]\d\d)|6\d{3}|7(?:[0-2]\d\d|3(?:[0-3]\d|4[0-3]))));"
)
_REFERRED = re.compile(rb"(?:%b)+" % _REFERENCE)


def read_tmx(path: FilePath, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields the segments of two languages in each unit, in whatever encoding the file declares.
    Warnings have the number of the unit instead of a line.

    Of formatting codes, placeholders such as `{0}` and `%s` stay, and a space stays between words
    that only a code separates. Control characters, which XML does not allow, become spaces. All are
    noted.

    A language `en` matches `en`, `EN-US` and so on; `en-GB` matches only itself. A unit without the
    language has an empty side, and of two segments in one language the first counts; both are
    noted. External entities and files are never fetched. Raises InputError, with the line, for
    broken XML, and at the end if no unit had one of the languages.
    """
    wanted = [
        _language_code(layout.source or layout.source_language),
        _language_code(layout.target or layout.target_language),
    ]
    languages: set[str] = set()
    number = 0
    for number, unit in enumerate(_units(path), 1):
        variants = [
            (_variant_language(variant), variant.find("{*}seg"))
            for variant in unit.iterfind("{*}tuv")
        ]
        languages |= {language for language, _ in variants}
        segments = [
            [each for language, each in variants if each is not None and _matches(language, code)]
            for code in wanted
        ]
        source, target = map(_segment_text, segments, repeat(number), warnings)
        yield source, target
    for code in wanted if number else ():
        if not any(_matches(language, code) for language in languages):
            there = ", ".join(sorted(languages))
            what = f"none of the {number:,} units has the language '{code}'; there are: {there}"
            remedy = f"give the languages as the file writes them{OPTIONS}"
            raise InputError(what[:300], remedy, file=path)


def _variant_language(variant: ET.Element) -> str:
    return _language_code(variant.get(_LANGUAGE) or variant.get("lang") or "")


def _segment_text(segments: Sequence[ET.Element], number: int, warnings: InputWarnings) -> str:
    """Returns the text of the first segment."""
    if not segments:
        return plain_field(None, number, warnings)
    if len(segments) > 1:
        warnings.note("second segment in the language", number)
    for code in [element for element in segments[0].iter() if _tag(element) in _CODES]:
        placeholders = _PLACEHOLDER.findall("".join(code.itertext()))
        code[:] = ()
        code.text = "".join([_CODE, *placeholders])
    text = "".join(segments[0].itertext())
    if _CODE in text:
        warnings.note("formatting code", number)
        text = _GLUED.sub(" ", text).replace(_CODE, "")
    return plain_field(text, number, warnings)


def _units(path: FilePath) -> Iterator[ET.Element]:
    """Yields the units. Each is removed from the tree afterwards, because a whole memory may be too
    large."""
    parser: Any = ET.XMLPullParser(("start", "end"))
    inside: list[ET.Element] = []  # open elements, outermost first
    size, chunk, declared = 0, b"", "UTF-8"  # size: bytes since the end of the last unit
    try:
        for chunk in _chunks(path):
            if not inside and (found := _DECLARED.search(chunk)):
                declared = found[1].decode()
            if chunk:
                parser.feed(chunk)
            else:
                parser.close()
            for event, element in parser.read_events():
                if event == "start":
                    if not inside and _tag(element) != "tmx":
                        what = f"is no TMX file: its first element is <{_tag(element)[:40]}>"
                        raise InputError(what, "is its name right?", file=path)
                    inside.append(element)
                elif _tag(inside.pop()) == "tu":
                    if any(_tag(outer) == "tu" for outer in inside):
                        raise InputError("a unit <tu> stands inside another", _AGAIN, file=path)
                    size = 0
                    yield element
                    inside[-1].remove(element)
            size += len(chunk)
            if size > LONGEST_LINE:
                what = f"a unit, or what is between two, is longer than {LONGEST_LINE:,} bytes"
                raise InputError(what, "is this a translation memory?", file=path)
    except ET.ParseError as error:
        message, _, _ = str(error).partition(": line")
        what, remedy = f"is not valid XML: {message} (column {error.position[1] + 1})", _AGAIN
        if error.code == _OTHER_ENCODING or _is_declared_wrongly(declared, chunk):
            what = f"it declares the encoding {declared}, or none, and its bytes are in another one"
            remedy = (
                f"correct encoding= in its first line, or convert it, as with iconv -t {declared}"
            )
        raise InputError(what, remedy, file=path, line=error.position[0]) from None
    # encodings that Python does not know, or of several bytes
    except (LookupError, ValueError) as error:
        what = f"its encoding cannot be read: {error}"
        raise InputError(what, "convert it to UTF-8", file=path) from None


def _is_declared_wrongly(declared: str, chunk: bytes) -> bool:
    """Tells whether a part of a file, which may begin and end inside a character, is in another
    encoding than the file declares."""
    if b"\0" in chunk:
        return False
    try:
        codecs.getincrementaldecoder(declared)().decode(chunk.lstrip(bytes(range(0x80, 0xC0))))
    except UnicodeError:
        return True
    return declared.upper().startswith(("UTF-16", "UTF-32", "UCS"))


def _chunks(path: FilePath) -> Iterator[bytes]:
    """Yields the bytes of the file, and at its end none. U+0080, a control character that XML
    allows, stands for those that it does not, except in UTF-16."""
    with opened(path) as stream:
        chunk = stream.read(_XML_CHUNK)
        wide = b"\0" in chunk[:4]
        while chunk:
            while b"&" in chunk[-_LONGEST_REFERENCE:] and (more := stream.read(_LONGEST_REFERENCE)):
                chunk += more
            if not wide:
                chunk = _REFERRED.sub(_in_one, _CONTROL_BYTES.sub(b"&#128;", chunk))
            yield chunk
            chunk = stream.read(_XML_CHUNK)
    yield b""


def _in_one(found: re.Match[bytes]) -> bytes:
    """Returns the references of the characters that surrogates stand for; U+FFFD for one alone."""
    numbers = re.findall(r"(x?)(\w+);", found.group().decode())
    text = "".join(chr(int(digits, 16 if hexadecimal else 10)) for hexadecimal, digits in numbers)
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.encode("ascii", "xmlcharrefreplace")


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _language_code(language: str) -> str:
    return language.strip().replace("_", "-").lower()


def _matches(language: str, wanted: str) -> bool:
    return wanted in (language, language.partition("-")[0])


def unit_languages(path: FilePath) -> list[str]:
    """Returns the codes of the languages of the first units, in their order, repeated."""
    units = islice(_units(path), _FEW_UNITS)
    return [base(_variant_language(one)) for unit in units for one in unit.iterfind("{*}tuv")]
