"""Tables and patterns of Python that the engine in the browser uses, too, as `engine/tables.js`."""

from __future__ import annotations

import json
import re

from rnnsearch.text import moses
from rnnsearch.translation import faithful, numbers, source_lines, target_words

TABLES = {
    "STAND_INS": faithful.STAND_INS,
    "CURRENCIES": faithful.CURRENCIES,
    "MARKS": numbers.MARKS,
    "HALVES": numbers.HALVES,
    "TIMES_OF_DAY": sorted(numbers.TIMES_OF_DAY),
    "AFTER_HOUR": numbers.AFTER_HOUR,
    "LONGEST_NUMBER": numbers.LONGEST_NUMBER,
    "RARE": target_words.RARE,
    "ORDINALS": source_lines.ORDINALS,
    "LONGEST_WORD": source_lines.LONGEST_WORD,
    "KIND": moses.KIND,
    "CLOSED_BY": moses.CLOSED_BY,
    "SHORTENED": sorted(moses.SHORTENED),
}
PATTERNS = {
    "CLOCK": numbers.CLOCK,
    "ROMAN": numbers.ROMAN,
    "ORDINAL": numbers.ORDINAL,
    "BREAK": source_lines.BREAK,
    "LAST": source_lines.LAST,
    "AFTER_TIME": source_lines.AFTER_TIME,
    "NAME": source_lines.NAME,
}


def tables_module() -> str:
    """Returns the module of JavaScript. A pattern is the text of a regular expression."""
    patterns = {name: in_javascript(one.pattern) for name, one in PATTERNS.items()}
    return "".join(
        f"export const {name} = {json.dumps(value, ensure_ascii=False)};\n"
        for name, value in {**TABLES, **patterns}.items()
    )


def in_javascript(pattern: str) -> str:
    """Returns a regular expression of Python as JavaScript writes it, with Unicode's letters and
    digits."""

    def translated(found: re.Match[str]) -> str:
        text = re.sub(r"\\(.)", lambda one: inner.get(one[1], one[0]), found[0])
        return f"[{text}]" if found[0] == r"\w" else text

    inner = {"w": r"\p{L}\p{N}_", "d": r"\p{Nd}", '"': '"'}
    return re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", translated, pattern)
