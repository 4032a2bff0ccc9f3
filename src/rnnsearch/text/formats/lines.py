"""Lines of files, and lines and pairs that a Python caller gives instead.

Only a line feed ends a line, so that the N-th line stays the N-th whatever characters it contains.
Arguments that are not text raise InputError.
"""

from __future__ import annotations

import re
import warnings as python_warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rnnsearch.arguments import given_lines, given_pairs, in_step
from rnnsearch.errors import InputError, InputWarning, escaped
from rnnsearch.text.formats.opening import STDIN, FilePath, is_on_disk, opened, text_suffix
from rnnsearch.text.moses import ENTITY, SURROGATES

LineOrPair = TypeVar("LineOrPair")

Lines = FilePath | Iterable[str]
"""A file of lines, or the lines themselves."""

LONGEST_LINE = 1 << 24
"""Maximum bytes of a line. With a longer line, the file is binary, or its lines do not end in line
feeds."""

NO_LINES = {
    suffix: remedy
    for remedy, suffixes in {
        "write the text between <seg> and </seg>, one segment per line": ".sgm .sgml",
        "save it as TMX, as translation tools do": ".xlf .xliff",
        "write one sentence per line, without numbers and times": (
            ".srt .vtt .sbv .ass .ssa .lrc .sub"
        ),
        "write its texts alone, one sentence per line": """
            .po .pot .json .jsonl .ndjson .properties .strings .resx .ftl .ini .toml .yaml .yml
            .tex .xml .svg .tmx .tbx .sdlxliff .csv .ipynb .plist .stringsdict .ics .vcf .js""",
        "save it as text, one sentence per line": (
            ".doc .docm .docx .eml .epub .odp .ods .odt .pdf .ppt .pptx .rtf .xls .xlsx"
        ),
        "add --format html to `translate`, or save it as text, one sentence per line": (
            ".htm .html .xhtml"
        ),
        "unpack it, and name the texts in it": ".tar .tgz .tbz .tbz2 .txz .7z .rar",
        "give one column, for example with `cut -f 1`": ".tsv",
    }.items()
    for suffix in suffixes.split()
}
"""Suffix of a file whose lines are not sentences → what to do with it."""

_BOM = "\ufeff"
_BYTE_ORDER_MARKS = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
_NOT_UTF8 = (
    "convert the file from its encoding, for example with `iconv -f latin1 -t utf-8` (often cp1251"
    " for Russian, shift_jis for Japanese, gb18030 for Chinese), or correct the line; the name of a"
    " compressed file must end in .gz, .bz2, .xz or .zst"
)
_SAMPLE = 1 << 14  # bytes from which the encoding is found
_LINE_BREAK = re.compile("\r\n|\r|\n")
EMPTY_LINE, NO_TEXT = "empty line", "no text on this side"
MOJIBAKE, ENTITIES = "mojibake (UTF-8 that was read as Latin-1)", "HTML entity"
LOST = "U+FFFD in place of a lost character"
RETURNS = "carriage return that may end a line"
FAULTS = {
    MOJIBAKE: "repair the text, for example with the Python package ftfy",
    ENTITIES: "replace them by characters; `translate --format html` reads them",
    LOST: "get the text again, in UTF-8",
    RETURNS: "if it does, convert the file, for example with `tr '\\r' '\\n'`",
}
"""Fault of a text for which a command that reads it warns → remedy."""
_LATER_BYTES = (  # of a character in UTF-8, as Latin-1 or Windows-1252 read them
    "\x80-\xbf€‚ƒ„†‡ˆ‰Š‹ŒŽ•˜™š›œžŸ"
)
_MISREAD = re.compile(
    f"[ÂÃ][{_LATER_BYTES}]|[ÃÄÅ][{_LATER_BYTES}’“”‘–—…](?=[^\\W\\d_])"
    f"|[âã][{_LATER_BYTES}][{_LATER_BYTES}’“”‘–—…]|(?:[ÐÑÎÏ][{_LATER_BYTES}]){{2}}"
)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(slots=True)
class InputWarnings:
    """Warnings of a reader about a file: for each kind, the number of lines and the first such line
    (1-based).

    A record of several lines counts at its first line.
    """

    lines: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)

    def note(self, kind: str, line: int) -> None:
        self.lines[kind] = self.lines.get(kind, 0) + 1
        self.first.setdefault(kind, line)


SideWarnings = tuple[InputWarnings, InputWarnings]
"""The warnings about the source and about the target."""

IGNORED = InputWarnings()
UNREPORTED: SideWarnings = (IGNORED, IGNORED)
"""They collect warnings that are not reported."""


def read_lines(path: FilePath, warnings: InputWarnings = IGNORED) -> Iterator[str]:
    """Yields the lines of a UTF-8 text, one by one, from a file that `opened` can open.

    A byte order mark at the start and a carriage return at the end of a line are dropped; other
    control characters and Unicode's own line ends become spaces. What was found is noted in
    `warnings`. A last line without line feed counts; an empty line is a line. Raises InputError,
    with the line if known, for a file that cannot be read, is damaged, is not UTF-8, or whose name
    says that its lines are not sentences.
    """
    if remedy := NO_LINES.get(suffix := text_suffix(path)):
        raise InputError(
            f"cannot be read: the lines of {suffix} are not sentences", remedy, file=path
        )
    return (
        plain_line(line, number, warnings)
        for number, line in enumerate(raw_lines(path, warnings), 1)
    )


def raw_lines(path: FilePath, warnings: InputWarnings = IGNORED) -> Iterator[str]:
    """Yields the lines with their control characters, for formats whose columns or quotes must be
    found first.

    Otherwise as `read_lines`.
    """
    with opened(path) as stream:
        if encoding := _wide_encoding(
            stream.peek(_SAMPLE)[:_SAMPLE] if hasattr(stream, "peek") else b""
        ):
            remedy = f"convert it with `iconv -f {encoding} -t utf-8`"
            raise InputError(f"the file is {encoding[:6].upper()}", remedy, file=path, line=1)
        for number, raw in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), 1):
            if len(raw) > LONGEST_LINE:
                what = f"the line is longer than {LONGEST_LINE:,} bytes"
                raise InputError(what, "is this a text file?", file=path, line=number)
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                what = f"byte {error.start + 1} of the line is not UTF-8"
                raise InputError(what, _NOT_UTF8, file=path, line=number) from None
            if number == 1 and line[:-1].count("\r") > 2 and not line.endswith("\n"):
                remedy = f"convert it with `tr '\\r' '\\n' < {path}`"
                raise InputError("the line ends are CR alone", remedy, file=path, line=1)
            if number == 1 and line.startswith(_BOM):
                line = line.removeprefix(_BOM)
                warnings.note("byte order mark", number)
                if not line:  # the file is empty except for the mark
                    return
            yield line.removesuffix("\n")


def _wide_encoding(sample: bytes) -> str:
    """Returns the name of UTF-16 or UTF-32 if the beginning of a file is in one of them, by its
    byte order mark, or because it is printable text with many spaces or ASCII characters in that
    encoding alone."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return encoding[:6]
    found, most = "", 0
    for encoding in _BYTE_ORDER_MARKS.values() if b"\0" in sample else ():
        text = sample.decode(encoding, "replace")
        strange = sum(one == "\ufffd" or not (one.isprintable() or one in "\t\r\n") for one in text)
        spaces, plain = text.count(" ") + text.count("\n"), sum(map(str.isascii, text))
        wide = sample.count(0) * 5 >= len(sample) * 2 or (
            len(text) >= 20 and spaces * 200 >= len(text)
        )
        if wide and "\0" not in text and strange * 50 <= len(text) and plain > most:
            found, most = encoding, plain
    return found


def warned_lines(path: FilePath) -> Iterator[str]:
    """Does as `read_lines`, and issues an InputWarning for each of FAULTS that the text has, at its
    end."""
    found = InputWarnings()
    return _warned(read_lines(path, found), [(path, found)])


def warned_pairs(source: FilePath, target: FilePath) -> Iterator[tuple[str, str]]:
    """Does as `read_pairs`, with the warnings of `warned_lines`."""
    found = InputWarnings(), InputWarnings()
    return _warned(
        read_pairs(source, target, found), list(zip((source, target), found, strict=True))
    )


def _warned(
    items: Iterator[LineOrPair], texts: list[tuple[FilePath, InputWarnings]]
) -> Iterator[LineOrPair]:
    yield from items
    for path, found in texts:
        for kind, remedy in FAULTS.items():
            if count := found.lines.get(kind):
                lines = f"{count:,} line{'s' * (count != 1)}, first line {found.first[kind]:,}"
                what = f"{escaped(path)}: {kind}: {lines} ({remedy})"
                python_warnings.warn(what, InputWarning, stacklevel=2)


def read_pairs(
    source: Lines, target: Lines, warnings: SideWarnings = UNREPORTED
) -> Iterator[tuple[str, str]]:
    """Yields the lines of two sides, each a file or lines, in step. Raises InputError as
    `read_lines` does, for lines that are not text, and, at the end, if one side has more lines."""
    names = name_of(source), name_of(target)
    if names == (STDIN, STDIN):
        raise InputError(
            "both sides cannot come from standard input", "name a file for one of them"
        )
    return in_step(_lines_of(source, warnings[0]), _lines_of(target, warnings[1]), names)


def check_pairs(source: FilePath, target: FilePath) -> None:
    """Raises InputError if two files have different numbers of lines. It is called before long
    work; pipes are not counted.

    Other faults of a line are found when it is read, so that results of earlier lines are not lost.
    """
    counts = count_lines(source), count_lines(target)
    if None not in counts and counts[0] != counts[1]:
        for _ in read_pairs(source, target):
            pass


def count_lines(path: FilePath) -> int | None:
    """Counts lines without decoding them. Returns None if the file can be read only once, or not to
    its end."""
    lines, last = 0, b"\n"
    if not is_on_disk(path):
        return None
    with suppress(InputError), opened(path) as stream:
        while chunk := stream.read(1 << 20):
            lines, last = lines + chunk.count(b"\n"), chunk[-1:]
        return lines + (last != b"\n")
    return None


def plain_field(text: str | None, number: int, warnings: InputWarnings = IGNORED) -> str:
    """Does as `plain_line` for a text that is not a line: its line breaks become spaces as well.
    None is noted, and becomes an empty text."""
    if text is None:
        warnings.note(NO_TEXT, number)
        return ""
    if "\n" in text or "\r" in text:
        warnings.note("line break inside the text", number)
        text = _LINE_BREAK.sub(" ", text)
    return plain_line(text, number, warnings)


def plain_line(line: str, number: int, warnings: InputWarnings) -> str:
    """Returns the line with its carriage return dropped and its control characters turned into
    spaces."""
    kept = line.removesuffix("\r")
    if kept != line:
        warnings.note("carriage return at the end", number)
    if "&" in kept and ENTITY.search(kept):
        warnings.note(ENTITIES, number)
    if not kept.isascii() and _MISREAD.search(kept):
        warnings.note(MOJIBAKE, number)
    if "\ufffd" in kept:
        warnings.note(LOST, number)
    if kept.isprintable():
        return kept
    controls = _CONTROL.findall(kept)
    if not {*controls} <= {"\t", "\r"}:
        warnings.note("control character", number)
    if "\t" in controls:
        warnings.note("tab", number)
    for _ in range(controls.count("\r")):
        warnings.note(RETURNS, number)
    return _CONTROL.sub(" ", kept)


def plain_pairs(
    pairs: Iterable[tuple[str, str]], warnings: SideWarnings = UNREPORTED
) -> Iterator[tuple[str, str]]:
    """Yields given pairs of lines as `read_pairs` does those of files."""
    for number, (source, target) in enumerate(given_pairs(pairs), 1):
        yield plain_given(source, number, warnings[0]), plain_given(target, number, warnings[1])


def name_of(lines: object) -> str:
    """Returns the name of one side of a corpus in reports and messages."""
    return escaped(lines) if isinstance(lines, (str, Path)) else "lines in memory"


def _lines_of(lines: Lines, warnings: InputWarnings) -> Iterator[str]:
    if isinstance(lines, (str, Path)):
        return read_lines(lines, warnings)
    return (
        plain_given(line, number, warnings) for number, line in enumerate(given_lines(lines), 1)
    )


def plain_given(line: str, number: int, warnings: InputWarnings = IGNORED) -> str:
    """Does as `plain_field` for a line of a Python caller, which may end in a line feed."""
    return plain_field(line.removesuffix("\n").translate(SURROGATES), number, warnings)
