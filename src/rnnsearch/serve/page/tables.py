"""Tables and patterns of Python that the engine in the browser uses, too, as `engine/tables.js`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from rnnsearch.text import language_codes, moses, repairs, vocabulary
from rnnsearch.translation import (
    amounts,
    beginning,
    case,
    copied,
    dates,
    faithful,
    measures,
    negation,
    number_forms,
    number_words,
    numbers,
    reading,
    source_lines,
    spelt,
    target_words,
    typed,
)

TABLES = {
    amounts: "NAMES OWNERS SIZES UNTIL",
    beginning: "LONGEST_UNFINISHED",
    case: "LEAST_GAINS LONGEST_ACRONYM LONGEST_LABEL NOUNS_IN_CAPITALS UNREAD",
    copied: "AFTER_ADDRESS STAND_INS",
    dates: "ALSO_WORDS BEFORE_DAY_ALONE SHORT_DATES UNTIL_DAY",
    faithful: "CURRENCIES MONEY_NAMES MONEY_SIGNS",
    language_codes: "POINTED_ORDINALS",
    measures: "PLURALS TRILLIONS UNITS UNIT_STAND_INS WRITTEN",
    moses: "CLOSED_BY EMPHASIS KIND SHORTENED",
    negation: "BEFORE_NEGATION COUNTED IDIOMS NEGATIONS NO_VERBS OBJECTS POSITIVE SUBJECTS"
    " SURE_VERBS VOWELS WHOLE_SUBJECTS",
    number_forms: "AFTER_HOUR HALVES MARKS THOUSAND",
    number_words: "AFTER_NUMBER BEFORE_DAY COUNTED_OF DECADES_OF_LIFE ENGLISH_MONTHS MONTHS"
    " PERIODS POSSESSIVES POSSESSORS WEEKDAYS",
    numbers: "AFTER_DAY BEFORE_HOUR COUNTED_BY HOUR_LINKS LONGEST_NUMBER MINUS MINUS_SIGNS NOONS"
    " TIMES_OF_DAY",
    reading: "DOTTED NAME_SUBWORDS STRAIGHT",
    source_lines: "LONGEST_WORD",
    spelt: "ENGLISH_NUMBERS MULTIPLIERS NUMBER_WORDS RANK_WORDS",
    target_words: "COPIED RARE",
    typed: "ABBREVIATIONS ACCENTS ANY_TWO FIRST_TWO LONGEST_MISSPELT LONGEST_READ MISSED_LETTERS"
    " MOST_ACCENTS NOUNS_TOO RARE_SUBWORDS SHORTEST_DOUBLED SHORTEST_MISSPELT SHORT_ARTICLES"
    " SINGLE_LETTERS",
    vocabulary: "HASHES SEEDS",
}
"""Module → its tables."""
ANYWHERE, AT_START, WHOLE = "{}", "^(?:{})", "^(?:{})$"
PATTERNS = {
    (ANYWHERE, "u"): {number_forms: "BILLIONS", faithful: "NEAR_MONEY", typed: "PARTICIPLE"},
    (ANYWHERE, "gu"): {
        source_lines: "BREAK",
        copied: "BELOW_ZERO CENTS DASHED METRES POINTED_TIME",
        dates: "BETWEEN_DAYS SHORT_DATE",
        spelt: "LINKED",
    },
    (ANYWHERE, "giu"): {dates: "ENGLISH_DATES FRENCH_DATES", repairs: "DETACHED"},
    (ANYWHERE, "iu"): {source_lines: "LAST", faithful: "PRICED PERCENTS", numbers: "IN_LETTERS"},
    (AT_START, "u"): {dates: "SENTENCE_END", faithful: "SIZED", source_lines: "AFTER_TIME"},
    (AT_START, "iu"): {numbers: "FIRST_SPELT"},
    (WHOLE, "iu"): {dates: "HALVED"},
    (WHOLE, "u"): {
        amounts: "NUMBER",
        measures: "COUNTED_NOUN MANY MEASURE MONEY",
        number_forms: "AMOUNT CAPITAL_ORDINAL CLOCK CURRENCY ORDINAL ROMAN TOO_LATE",
        numbers: "FRENCH_ORDINAL NUMERAL",
        source_lines: "NAME",
        spelt: "ADJECTIVE SPELT TIME",
        typed: "ELIDED",
    },
}
"""Where in a text regular expressions match, and their flags in JavaScript → module → their
names."""


def tables_module() -> str:
    """Returns the module of JavaScript."""
    values = {
        name: literal(value)
        for module, names in TABLES.items()
        for name, value in _named(module, names)
    }
    for how, modules in PATTERNS.items():
        for module, names in modules.items():
            for name, pattern in _named(module, names):
                values[name] = _regexp(getattr(pattern, "pattern", pattern), *how)
    return "".join(f"export const {name} = {value};\n" for name, value in values.items())


def _named(module: ModuleType, names: str) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(module, name)) for name in names.split())


def _regexp(pattern: str, place: str, flags: str) -> str:
    return f'new RegExp({_json(place.format(in_javascript(pattern)))}, "{flags}")'


def literal(value: Any) -> str:
    """Returns a value as JavaScript writes it. A dict has no keys but its own: `table[word]` of
    other words is undefined. Patterns inside match whole texts."""
    if isinstance(value, dict):
        rows = [f"{_json(key)}: {literal(each)}" for key, each in value.items()]
        return f"{{{', '.join(['__proto__: null', *rows])}}}"
    if isinstance(value, (set, frozenset)):
        return literal(sorted(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, re.Pattern):
        return _regexp(value.pattern, WHOLE, "u")
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def in_javascript(pattern: str) -> str:
    """Returns a regular expression of Python as JavaScript writes it, with Unicode's letters and
    digits."""

    def translated(found: re.Match[str]) -> str:
        text = re.sub(r"\\(.)", lambda one: inner.get(one[1], one[0]), found[0])
        return {r"\w": f"[{text}]", r"\W": rf"[^{inner['w']}]"}.get(found[0], text)

    inner = {"w": r"\p{L}\p{N}_", "d": r"\p{Nd}", '"': '"'}
    return re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", translated, pattern)
