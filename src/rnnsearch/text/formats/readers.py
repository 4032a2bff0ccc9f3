"""Readers of parallel texts: two files of lines, TSV, JSON lines and TMX. Each yields pairs of
lines; the N-th pair is always the N-th record."""

from __future__ import annotations

import codecs
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rnnsearch.errors import InputError, escaped
from rnnsearch.system.files import parse_json
from rnnsearch.text.formats.lines import (
    LONGEST_LINE,
    NO_LINES,
    UNREPORTED,
    InputWarnings,
    SideWarnings,
    plain_field,
    plain_line,
    raw_lines,
    read_pairs,
)
from rnnsearch.text.formats.opening import STDIN, opened, text_suffix, texts_in_zip
from rnnsearch.text.language_codes import LANGUAGES, base

Format = Literal["", "lines", "tsv", "tmx", "jsonl"]
LinePair = tuple[str, str]

EMPTY_LINE = "empty line"
NO_TEXT = "no text on this side"
QUOTED = "quotation marks around whole cells, which stay (is it quoted as CSV is?)"


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a file, and the places of the two sides in it.

    format: empty = by the file's name. Standard input has none, so that it is a file of lines
    unless the format is given. source, target: a column's number (1-based) or name in TSV, a key in
    JSON lines (`translation.en` for one inside another), a language code in TMX. Both empty = the
    first of `names` that the file has, else the only two columns; in TMX the languages. A TSV file
    with names has them in its first line, which is then no pair. source_language, target_language:
    codes, for the usual names of columns and keys, and for TMX. Raises InputError for an unknown
    format, and for places that cannot be.
    """

    format: Format = ""
    source: str = ""
    target: str = ""
    source_language: str = "en"
    target_language: str = "fr"

    def __post_init__(self) -> None:
        if self.format not in ("", "lines", *BILINGUAL):
            remedy = f"name one of: lines, {', '.join(BILINGUAL)}"
            raise InputError(f"there is no format '{self.format}'", remedy=remedy)
        if bool(self.source) != bool(self.target) or (self.source and self.source == self.target):
            what = "source and target each need a column, key or language of their own"
            raise InputError(what, remedy="give both, or neither")
        if any(name and not name.strip("0") for name in (self.source, self.target)):
            raise InputError("columns are counted from 1", remedy="give another column")

    def names(self) -> list[tuple[str, str]]:
        """Returns the possible names of columns and keys: the given ones, or else the usual
        ones."""
        if self.source or self.target:
            return [(self.source, self.target)]
        languages = (self.source_language, self.target_language)
        nested = (f"translation.{languages[0]}", f"translation.{languages[1]}")
        return [("source", "target"), ("src", "tgt"), languages, nested]

    def wanted(self) -> str:
        """Returns the possible names as words of a message."""
        return " or ".join(" and ".join(dict.fromkeys(map(repr, pair))) for pair in self.names())


_QUOTED_CELL = re.compile('"(?:[^"]|"")*"')
# One word of ASCII characters with a digit or a sign of addresses.
_IDENTIFIER = re.compile(r"(?=.*[0-9/@:#_])[!-~]+")
_SENTENCE = re.compile(r"[,;!?…]|\.$")
_FEW = 20  # pairs of a table from which a column is judged

Record = dict[str, Any]
_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = object()
_OPTIONS = (
    ", by --columns SOURCE TARGET, or by --set data.source_language=… and data.target_language=…"
)


def read_tsv(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields two columns between TABs. Nothing is quoted: a quotation mark is a character of the
    text, and those around both cells, or around others that are doubled, are noted. An empty line
    is a pair of empty sides.

    Raises InputError, with the line, for a line that lacks a column, and if the columns of the text
    cannot be told, besides what `read_lines` raises.
    """
    columns: tuple[int, int] | None = None
    first: list[LinePair] = []
    others = False
    for number, line in enumerate(raw_lines(path, warnings[0]), 1):
        cells = line.split("\t")
        if line in ("", "\r"):
            warnings[0].note(EMPTY_LINE, number)
            yield "", ""
            continue
        if columns is None:
            try:
                columns, named = _columns(cells, layout)
            except InputError as fault:
                raise InputError(str(fault), file=path, line=number) from None
            if named:
                warnings[0].note("line of column names", number)
                continue
        if len(cells) <= max(columns):
            what = f"has no column {max(columns) + 1}, but only {len(cells)}"
            remedy = (
                "write TABs between the columns; correct or delete the line, or give other columns"
            )
            if cells[-1].startswith('"') and cells[-1].count('"') % 2:
                remedy = "write each pair on one line, without quotation marks around line breaks"
            raise InputError(what, file=path, line=number, remedy=remedy)
        pair = [cells[column].removesuffix("\r") for column in columns]
        quoted = list(filter(_QUOTED_CELL.fullmatch, pair))
        if len(quoted) == 2 or any('""' in cell[1:-1] for cell in quoted):
            warnings[0].note(QUOTED, number)
        source = plain_line(cells[columns[0]], number, warnings[0])
        target = plain_line(cells[columns[1]], number, warnings[1])
        if len(first) < _FEW and not layout.source:
            first.append((source, target))
            others = others or len(cells) > 2
            if len(first) == _FEW:
                _check_text(first, columns, others, path)
        yield source, target
    if others and len(first) < _FEW:
        _check_text(first, columns or (0, 1), others, path)


def _columns(cells: list[str], layout: Layout) -> tuple[tuple[int, int], bool]:
    """Returns the columns of both sides, counted from 0, and whether these cells are names of
    columns."""
    header = [cell.strip().casefold() for cell in cells]
    languages = _language_names(layout.source_language), _language_names(layout.target_language)
    roles = {"source", "src"}, {"target", "tgt", "trg"}
    source_names, target_names = either = list(map(set.union, languages, roles))
    if layout.source.isdecimal() and layout.target.isdecimal():
        columns = int(layout.source) - 1, int(layout.target) - 1
        there = [header[column] if column < len(header) else "" for column in columns]
        orders = there, there[::-1]  # columns 2 and 1 of a file from the source to the target
        return columns, any(
            _is_name(one, source_names) and _is_name(other, target_names) for one, other in orders
        )
    for source, target in layout.names():
        if source.casefold() in header and target.casefold() in header:
            return (header.index(source.casefold()), header.index(target.casefold())), True
    if not layout.source:
        # Languages alone first: a third column `source` may say where a text comes from.
        for sides in (languages, roles, either):
            found = [[i for i, cell in enumerate(header) if _is_name(cell, side)] for side in sides]
            if [len(places) for places in found] == [1, 1] and found[0] != found[1]:
                return (found[0][0], found[1][0]), True
        if len(cells) < 3 and len(set(map(_is_number, header))) == 1:
            return (0, 1), False
    what = f"does not name columns {layout.wanted()}; it has: {', '.join(cells)}"
    remedy = "give the names or numbers of two columns of text by --columns SOURCE TARGET"
    raise InputError(what[:300], remedy=remedy)


def _check_text(
    pairs: Sequence[LinePair], columns: tuple[int, int], others: bool, path: str | Path
) -> None:
    """Raises InputError if a column of these first pairs is constant, or holds numbers or
    identifiers below a line that may be its name. others: whether the file has other columns; then
    neither may hold labels, which are a few different cells."""
    for column, cells in zip(columns, zip(*pairs, strict=True), strict=True):
        repeated = len(cells) > 2 and len(set(cells)) <= max(1, others * len(cells) // 3)
        if repeated or (all(_is_number(cell.strip()) for cell in cells[1:]) and len(cells) == _FEW):
            what = "the same words again and again" if repeated else "numbers or identifiers"
            remedy = "give the numbers of two columns of text"
            raise InputError(f"column {column + 1} holds {what}", file=path, remedy=remedy)


def _is_number(cell: str) -> bool:
    """Tells whether a cell has no letter, or is an identifier or an address."""
    return not any(map(str.isalpha, cell)) or _IDENTIFIER.fullmatch(cell) is not None


def _language_names(code: str) -> set[str]:
    name, three = LANGUAGES.get(base(code), (code, code))
    return {code.casefold(), base(code), three, name.casefold()}


def _is_name(cell: str, words: set[str]) -> bool:
    """Tells whether a cell is a name with one of the words, as French, fr-CA, fra_Latn and text_fr
    are for French. What has the punctuation of a sentence is none."""
    parts = re.findall(r"[^\W_]+", cell)
    return (
        0 < len(parts) <= 3
        and not _SENTENCE.search(cell)
        and not any(map(str.isdigit, cell))
        and not words.isdisjoint([*parts, cell])
    )


def read_json_lines(
    path: str | Path, layout: Layout, warnings: SideWarnings = UNREPORTED
) -> Iterator[LinePair]:
    """Yields the texts at two keys of each object. An empty line is a pair of empty sides; null is
    an empty side.

    Raises InputError as `read_lines` does, and, with the line, for one that is no JSON object,
    lacks a key or has no text there.
    """
    keys: tuple[str, str] | None = None
    for number, line in enumerate(raw_lines(path, warnings[0]), 1):
        if not line.strip(" \t\r"):
            warnings[0].note(EMPTY_LINE, number)
            yield "", ""
            continue
        try:
            record = _parse_record(line)
            keys = keys or _find_keys(record, layout)
            source, target = _text_at(record, keys[0]), _text_at(record, keys[1])
        except InputError as fault:
            raise InputError(str(fault), file=path, line=number) from None
        yield _plain_text(source, number, warnings[0]), _plain_text(target, number, warnings[1])


def _plain_text(text: str | None, number: int, warnings: InputWarnings) -> str:
    """Returns a text without control characters and line breaks; None is noted and becomes an empty
    text."""
    if text is None:
        warnings.note(NO_TEXT, number)
    return plain_field(text or "", number, warnings)


def _find_keys(record: Record, layout: Layout) -> tuple[str, str]:
    """Returns the first names of the layout that this record has."""
    for source, target in layout.names():
        if (
            _nested_value(record, source) is not _MISSING
            and _nested_value(record, target) is not _MISSING
        ):
            return source, target
    what = f"does not have the keys {layout.wanted()}; it has: {', '.join(record)}"
    raise InputError(what[:400], remedy=f"give the keys of the text{_OPTIONS}")


def _text_at(record: Record, key: str) -> str | None:
    """Returns the text at the key; None for null."""
    value = _nested_value(record, key)
    if value is _MISSING:
        what = f"does not have the key '{key}'"
    elif not isinstance(value, str | None):
        what = f"has no text at the key '{key}', but {json.dumps(value)[:40]}"
    elif value and _SURROGATE.search(value):
        what = f"has an incomplete character (a lone surrogate) at the key '{key}'"
    else:
        return value
    raise InputError(what, remedy="correct or delete it")


def _parse_record(line: str) -> Record:
    remedy = "each line must be one JSON object: correct or delete it"
    try:
        record = parse_json(line)
    except ValueError as error:
        raise InputError(f"is not valid JSON: {error}", remedy=remedy) from None
    if not isinstance(record, dict):
        raise InputError(f"is JSON, but not an object: {line[:40]}", remedy=remedy)
    return record


def _nested_value(record: Record, key: str) -> Any:
    """Returns the value at the key, or, if there is no such key, at the nested keys that its dots
    separate."""
    inner: Any = record
    for step in [key] if key in record else key.split("."):
        if inner is None:
            return None
        inner = inner.get(step, _MISSING) if isinstance(inner, dict) else _MISSING
    return inner


_XML_CHUNK = 1 << 14  # bytes given to the parser at a time
_LONGEST_REFERENCE = 12  # bytes of &#x12345678;
_AGAIN = "the file is damaged or incomplete: correct it or get it again"
# Elements inside a segment that contain formatting and no text.
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut", "sub"})
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


def read_tmx(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
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
        source, target = (
            [
                segment
                for language, segment in variants
                if segment is not None and _matches(language, code)
            ]
            for code in wanted
        )
        yield _segment_text(source, number, warnings[0]), _segment_text(target, number, warnings[1])
    for code in wanted if number else ():
        if not any(_matches(language, code) for language in languages):
            there = ", ".join(sorted(languages))
            what = f"none of the {number:,} units has the language '{code}'; there are: {there}"
            remedy = f"give the languages as the file writes them{_OPTIONS}"
            raise InputError(what[:300], file=path, remedy=remedy)


def languages_in(path: str | Path) -> list[str]:
    """Returns the codes of the two languages of the first units of a TMX file, or of the names of a
    TSV file's columns; nothing if there are not two, or for another file."""
    found: list[str] = []
    with suppress(InputError):
        if text_suffix(Path(path)) == ".tmx":
            for unit in islice(_units(path), _FEW):
                found += (base(_variant_language(one)) for one in unit.iterfind("{*}tuv"))
        elif text_suffix(Path(path)) == ".tsv":
            for cell in map(str.strip, next(raw_lines(path), "").casefold().split("\t")):
                names = (code for code in LANGUAGES if _is_name(cell, _language_names(code)))
                found += islice(names, 1)
    return codes if len(codes := list(dict.fromkeys(found))) == 2 else []


def _variant_language(variant: ET.Element) -> str:
    return _language_code(variant.get(_LANGUAGE) or variant.get("lang") or "")


def _segment_text(segments: Sequence[ET.Element], number: int, warnings: InputWarnings) -> str:
    """Returns the text of the first segment."""
    if not segments:
        return _plain_text(None, number, warnings)
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


def _units(path: str | Path) -> Iterator[ET.Element]:
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
                        raise InputError(what, file=path, remedy="is its name right?")
                    inside.append(element)
                elif _tag(inside.pop()) == "tu":
                    if any(_tag(outer) == "tu" for outer in inside):
                        raise InputError(
                            "a unit <tu> stands inside another", file=path, remedy=_AGAIN
                        )
                    size = 0
                    yield element
                    inside[-1].remove(element)
            size += len(chunk)
            if size > LONGEST_LINE:
                what = f"a unit, or what is between two, is longer than {LONGEST_LINE:,} bytes"
                raise InputError(what, file=path, remedy="is this a translation memory?")
    except ET.ParseError as error:
        message, _, _ = str(error).partition(": line")
        what, remedy = f"is not valid XML: {message} (column {error.position[1] + 1})", _AGAIN
        if _is_declared_wrongly(declared, chunk):
            what = f"it declares the encoding {declared}, or none, and its bytes are in another one"
            remedy = (
                f"correct encoding= in its first line, or convert it, as with iconv -t {declared}"
            )
        raise InputError(what, file=path, line=error.position[0], remedy=remedy) from None
    # encodings that Python does not know, or of several bytes
    except (LookupError, ValueError) as error:
        what = f"its encoding cannot be read: {error}"
        raise InputError(what, file=path, remedy="convert it to UTF-8") from None


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


def _chunks(path: str | Path) -> Iterator[bytes]:
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
    return "".join(f"&#{ord(one)};" for one in whole).encode()


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _language_code(language: str) -> str:
    return language.strip().replace("_", "-").lower()


def _matches(language: str, wanted: str) -> bool:
    return wanted in (language, language.partition("-")[0])


BILINGUAL: dict[Format, Callable[[str | Path, Layout, SideWarnings], Iterator[LinePair]]] = {
    "tsv": read_tsv,
    "tmx": read_tmx,
    "jsonl": read_json_lines,
}
"""Format of a bilingual file → its reader."""

_SUFFIXES: dict[str, Format] = {f".{name}": name for name in BILINGUAL}
_CONVERT = (
    "write it as TSV or JSON lines; the page on getting corpora has the three lines that do it"
)
_NOT_READ = NO_LINES | dict.fromkeys((".csv", ".parquet", ".arrow"), _CONVERT)
_NOT_READ[".json"] = (
    "write a JSON array as .jsonl, one object on each line; for such lines add --format jsonl"
)


class ParallelText(NamedTuple):
    """One parallel text. name: its name in reports and messages."""

    name: str
    reader: Callable[[SideWarnings], Iterator[LinePair]]

    def pairs(self, warnings: SideWarnings = UNREPORTED) -> Iterator[LinePair]:
        """Reads the pairs from the first on, and notes warnings about them. No side contains a
        control character or a line break.

        Raises InputError, with the file and the line or row, if something cannot be read.
        """
        return self.reader(warnings)


def parallel_texts(names: Sequence[str | Path], *, layout: Layout = Layout()) -> list[ParallelText]:
    """Returns the parallel texts that the arguments of a command name, in their order.

    A bilingual file (by its name or the layout) is one text. Any other name is a source file, and
    the next name is its target. Before anything is read, since the last text may be read hours
    later, raises InputError for a source without a target, files that do not exist, formats that
    are not read, and standard input named twice.
    """
    if not names:
        raise InputError(
            "no corpus is named", remedy="name a source and a target file, or a bilingual file"
        )
    files = [(str(name), _format(str(name), layout)) for name in names]
    if [name for name, _ in files].count(STDIN) > 1:
        raise InputError(
            "standard input can be read only once", remedy="name a file in place of one `-`"
        )
    texts = []
    while files:
        name, format = files.pop(0)
        if sides := _sides_in_zip(name, layout):
            reader = partial(read_pairs, *sides)
        elif format != "lines":
            reader = partial(BILINGUAL[format], name, layout)
        elif files and files[0][1] == "lines":
            target, _ = files.pop(0)
            name, reader = f"{name} | {target}", partial(read_pairs, name, target)
        else:
            remedy = (
                "give source and target files alternating, or a bilingual file"
                f" ({', '.join(_SUFFIXES)}, or any file with its format)"
            )
            after = f": the next file, {files[0][0]}, is a bilingual file" if files else ""
            raise InputError(f"has no target text{after}", file=name, remedy=remedy)
        texts.append(ParallelText(escaped(name), reader))
    return texts


def _format(name: str, layout: Layout) -> Format:
    """Returns the format of a file; "lines" if its name does not show a bilingual format. Raises
    InputError if it does not exist or is not read."""
    suffix = text_suffix(name)
    if name != STDIN and ".zip/" not in name.lower() and not Path(name).exists():
        raise InputError("no such file", file=name, remedy="check the path")
    if Path(name).is_dir():
        remedy = f"name the files in it; if they are a dataset or Parquet, {_CONVERT}"
        raise InputError("is a folder, not a text file", file=name, remedy=remedy)
    if suffix not in _SUFFIXES and len(inner := texts_in_zip(name)) == 1:
        suffix = text_suffix(inner[0])
    if not layout.format and suffix in _NOT_READ.keys() - _SUFFIXES.keys():
        raise InputError(f"{suffix} files are not read", file=name, remedy=_NOT_READ[suffix])
    return layout.format or _SUFFIXES.get(suffix, "lines")


def _sides_in_zip(name: str, layout: Layout) -> tuple[str, str] | None:
    """Returns the source and the target text in a .zip file, by the ends of their names, if it has
    both."""
    inner = [] if layout.format else texts_in_zip(name)
    languages = layout.source_language, layout.target_language
    found = [
        f"{name}/{text}" for end in languages for text in inner if text_suffix(text) == f".{end}"
    ]
    return (found[0], found[1]) if len(found) == 2 and found[0] != found[1] else None
