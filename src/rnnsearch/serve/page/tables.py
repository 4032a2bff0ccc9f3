"""Tables and patterns of Python that the engine in the browser uses, too, as `engine/tables.js`."""

from __future__ import annotations

import json
import re

from rnnsearch.text import moses, vocabulary
from rnnsearch.translation import (
    amounts,
    beginning,
    case,
    copied,
    faithful,
    measures,
    numbers,
    reading,
    source_lines,
    target_words,
    typed,
)

TYPED = (
    *("TYPED", "NOUNS", "LETTERS", "ACCENTS", "MOST_ACCENTS", "LONGEST", "VOWELS"),
    *("SHORT_ARTICLES", "SHORTEST_MISSPELT", "NEGATIONS", "BEFORE_NEGATION", "IDIOMS", "NUMBERS"),
    *("NO_VERBS", "POSITIVE", "SUBJECTS", "OBJECTS", "WHOLE", "SURE_VERBS"),
)
"""Tables of what people type."""
TABLES = {
    **{name: getattr(typed, name) for name in TYPED},
    "STAND_INS": copied.STAND_INS,
    "CURRENCIES": faithful.CURRENCIES,
    "LONGEST_ACRONYM": case.LONGEST_ACRONYM,
    "LONGEST_LABEL": case.LONGEST_LABEL,
    "NOUNS_IN_CAPITALS": case.NOUNS_IN_CAPITALS,
    "DOTTED": reading.DOTTED,
    "UNREAD": reading.UNREAD,
    "NAME_SUBWORDS": reading.NAME_SUBWORDS,
    "LEAST_GAINS": case.LEAST_GAINS,
    "EMPHASIS": moses.EMPHASIS,
    "STRAIGHT": reading.STRAIGHT,
    "NAMES": amounts.NAMES,
    "OWNERS": amounts.OWNERS,
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
    "MEASURE": (measures.MEASURE, WHOLE, "u"),
    "CLOCK": (numbers.CLOCK, WHOLE, "u"),
    "ROMAN": (numbers.ROMAN, WHOLE, "u"),
    "ORDINAL": (numbers.ORDINAL, WHOLE, "u"),
    "FRENCH_ORDINAL": (numbers.FRENCH_ORDINAL, WHOLE, "u"),
    "BREAK": (source_lines.BREAK, ANYWHERE, "gu"),
    "LAST": (source_lines.LAST, ANYWHERE, "iu"),
    "AFTER_TIME": (source_lines.AFTER_TIME, AT_START, "u"),
    "NAME": (source_lines.NAME, WHOLE, "u"),
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
    for name, pairs in {"BEGINNINGS": typed.BEGINNINGS, "PAIRS": typed.PAIRS}.items():
        forms = {
            language: ", ".join(
                f"[new RegExp({json.dumps(f'^(?:{in_javascript(form.pattern)})$')}, 'u'), "
                f"{json.dumps(text)}]"
                for form, text in table
            )
            for language, table in pairs.items()
        }
        values[name] = f"{{{', '.join(f'{key}: [{some}]' for key, some in forms.items())}}}"
    return "".join(f"export const {name} = {value};\n" for name, value in values.items())


def in_javascript(pattern: str) -> str:
    """Returns a regular expression of Python as JavaScript writes it, with Unicode's letters and
    digits."""

    def translated(found: re.Match[str]) -> str:
        text = re.sub(r"\\(.)", lambda one: inner.get(one[1], one[0]), found[0])
        return {r"\w": f"[{text}]", r"\W": rf"[^{inner['w']}]"}.get(found[0], text)

    inner = {"w": r"\p{L}\p{N}_", "d": r"\p{Nd}", '"': '"'}
    return re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", translated, pattern)
