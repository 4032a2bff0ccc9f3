"""Tables and patterns of Python that the engine in the browser uses, too, as `engine/tables.js`."""

from __future__ import annotations

import json
import re

from rnnsearch.text import moses, repairs, vocabulary
from rnnsearch.translation import (
    amounts,
    beginning,
    case,
    copied,
    faithful,
    measures,
    negation,
    numbers,
    reading,
    source_lines,
    spelt,
    target_words,
    typed,
)

BY_NAME = {
    typed: (
        *("ABBREVIATIONS", "NOUNS_TOO", "SINGLE_LETTERS", "ACCENTS", "MOST_ACCENTS"),
        *("LONGEST_READ", "SHORT_ARTICLES", "SHORTEST_MISSPELT"),
    ),
    spelt: ("ENGLISH_NUMBERS", "NUMBER_WORDS", "RANK_WORDS", "MULTIPLIERS"),
    negation: (
        *("VOWELS", "NEGATIONS", "BEFORE_NEGATION", "IDIOMS", "COUNTED", "NO_VERBS", "POSITIVE"),
        *("SUBJECTS", "OBJECTS", "WHOLE_SUBJECTS", "SURE_VERBS"),
    ),
}
"""Module → its tables that have the same names in the engine."""
TABLES = {
    **{name: getattr(module, name) for module, names in BY_NAME.items() for name in names},
    "STAND_INS": copied.STAND_INS,
    "CURRENCIES": faithful.CURRENCIES,
    "LONGEST_ACRONYM": case.LONGEST_ACRONYM,
    "LONGEST_LABEL": case.LONGEST_LABEL,
    "NOUNS_IN_CAPITALS": case.NOUNS_IN_CAPITALS,
    "DOTTED": reading.DOTTED,
    "UNREAD": case.UNREAD,
    "NAME_SUBWORDS": reading.NAME_SUBWORDS,
    "LEAST_GAINS": case.LEAST_GAINS,
    "EMPHASIS": moses.EMPHASIS,
    "STRAIGHT": reading.STRAIGHT,
    "NAMES": amounts.NAMES,
    "OWNERS": amounts.OWNERS,
    "UNTIL": amounts.UNTIL,
    "SIZES": amounts.SIZES,
    "TRILLIONS": measures.TRILLIONS,
    "UNITS": measures.UNITS,
    "UNIT_STAND_INS": measures.UNIT_STAND_INS,
    "WRITTEN": measures.WRITTEN,
    "MARKS": numbers.MARKS,
    "HALVES": numbers.HALVES,
    "TIMES_OF_DAY": sorted(numbers.TIMES_OF_DAY),
    "AFTER_HOUR": numbers.AFTER_HOUR,
    "LONGEST_NUMBER": numbers.LONGEST_NUMBER,
    "THOUSAND": numbers.THOUSAND,
    "COPIED": target_words.COPIED,
    "HASHES": vocabulary.HASHES,
    "SEEDS": vocabulary.SEEDS,
    "AFTER_ADDRESS": copied.AFTER_ADDRESS,
    "LONGEST_UNFINISHED": beginning.LONGEST_UNFINISHED,
    "RARE": target_words.RARE,
    "ORDINALS": source_lines.ORDINALS,
    "LONGEST_WORD": source_lines.LONGEST_WORD,
    "KIND": moses.KIND,
    "CLOSED_BY": moses.CLOSED_BY,
    "SHORTENED": sorted(moses.SHORTENED),
}
ANYWHERE, AT_START, WHOLE = "{}", "^(?:{})", "^(?:{})$"
PATTERNS = {
    "BILLIONS": (numbers.BILLIONS, ANYWHERE, "u"),
    "NUMBER": (amounts.NUMBER, WHOLE, "u"),
    "MANY": (measures.MANY, WHOLE, "u"),
    "MONEY": (measures.MONEY, WHOLE, "u"),
    "NEAR_MONEY": (faithful.NEAR_MONEY, ANYWHERE, "u"),
    "SIZED": (faithful.SIZED, AT_START, "u"),
    "MEASURE": (measures.MEASURE, WHOLE, "u"),
    "CLOCK": (numbers.CLOCK, WHOLE, "u"),
    "ROMAN": (numbers.ROMAN, WHOLE, "u"),
    "NUMERAL": (numbers.NUMERAL, WHOLE, "u"),
    "ORDINAL": (numbers.ORDINAL, WHOLE, "u"),
    "FRENCH_ORDINAL": (numbers.FRENCH_ORDINAL, WHOLE, "u"),
    "BREAK": (source_lines.BREAK, ANYWHERE, "gu"),
    "LAST": (source_lines.LAST, ANYWHERE, "iu"),
    "AFTER_TIME": (source_lines.AFTER_TIME, AT_START, "u"),
    "NAME": (source_lines.NAME, WHOLE, "u"),
    "CENTS": (copied.CENTS, ANYWHERE, "gu"),
    "DASHED": (copied.DASHED, ANYWHERE, "gu"),
    "DETACHED": (repairs.DETACHED, ANYWHERE, "giu"),
    "ADJECTIVE": (spelt.ADJECTIVE, WHOLE, "u"),
    "LINKED": (spelt.LINKED, ANYWHERE, "gu"),
    "TIME": (spelt.TIME, WHOLE, "u"),
    "SPELT": (re.compile(spelt.SPELT), WHOLE, "u"),
    "ELIDED": (typed.ELIDED, WHOLE, "u"),
    "PARTICIPLE": (typed.PARTICIPLE, ANYWHERE, "u"),
}
"""Name → regular expression, where in a text it matches, and its flags in JavaScript."""


def tables_module() -> str:
    """Returns the module of JavaScript."""
    values = {name: json.dumps(value, ensure_ascii=False) for name, value in TABLES.items()}
    for name, (pattern, place, flags) in PATTERNS.items():
        text = json.dumps(place.format(in_javascript(pattern.pattern)), ensure_ascii=False)
        values[name] = f'new RegExp({text}, "{flags}")'
    values |= {"FIRST_TWO": two_words(typed.FIRST_TWO), "ANY_TWO": two_words(typed.ANY_TWO)}
    return "".join(f"export const {name} = {value};\n" for name, value in values.items())


def two_words(table: typed.TwoWords) -> str:
    """Returns JavaScript of the table: language → [regular expression, what it is read as]."""
    forms = {
        language: [
            f"[new RegExp({json.dumps(WHOLE.format(in_javascript(form.pattern)))}, 'u'), "
            f"{json.dumps(text)}]"
            for form, text in pairs
        ]
        for language, pairs in table.items()
    }
    lists = [f"{language}: [{', '.join(pairs)}]" for language, pairs in forms.items()]
    return f"{{{', '.join(lists)}}}"


def in_javascript(pattern: str) -> str:
    """Returns a regular expression of Python as JavaScript writes it, with Unicode's letters and
    digits."""

    def translated(found: re.Match[str]) -> str:
        text = re.sub(r"\\(.)", lambda one: inner.get(one[1], one[0]), found[0])
        return {r"\w": f"[{text}]", r"\W": rf"[^{inner['w']}]"}.get(found[0], text)

    inner = {"w": r"\p{L}\p{N}_", "d": r"\p{Nd}", '"': '"'}
    return re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", translated, pattern)
