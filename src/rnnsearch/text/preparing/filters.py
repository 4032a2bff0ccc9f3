"""Filters that drop training pairs, and their names in reports."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import ENTITY
from rnnsearch.text.tokens import UNSPACED, base

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_OFF = (0, False, "keep", "resolve")  # values of a setting with which its filter drops nothing

# A tab or a line end inside a field is a space, not damage.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")

# Walloon, Occitan, Nigerian Pidgin and other small relatives of large languages are left out. A short
# sentence of the large language is often identified as the small one with certainty ("C' est vrai." as
# Walloon), and text in these languages is hardly ever in a corpus by mistake.
_WIDELY_WRITTEN = (
    "ar bg bn ca cs da de el en es et fa fi fr ga he hi hr hu id is it ja ko lt lv mk ms mt nl no pl pt ro "
    "ru sk sl sq sr sv sw ta th tr uk ur vi zh"
)


class TokenisedPair(NamedTuple):
    """A pair that may become a training pair: its lines as they are tokenised, and their words."""

    source_line: str
    target_line: str
    source_words: Sequence[str]
    target_words: Sequence[str]


Filter = Callable[[TokenisedPair, DataSettings], bool]
"""(pair, settings) → whether it is dropped. A plain function, so that it can be sent to another process;
`reason` tells its name."""


def lengths(pair: TokenisedPair, settings: DataSettings) -> list[float]:
    """Returns the number of words of each side; of text without spaces, an estimate by its characters."""
    sides = (pair.source_words, settings.source_language), (pair.target_words, settings.target_language)
    return [
        sum(map(len, words)) / UNSPACED[base(language)]
        if settings.tokeniser == "moses" and base(language) in UNSPACED
        else len(words)
        for words, language in sides
    ]


def empty_side(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops a sentence without words: it has no translation to learn."""
    return not pair.source_words or not pair.target_words


def too_long(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs longer than `max_words` on either side: mostly lines that were never cut into sentences."""
    return max(lengths(pair, settings)) > settings.max_words


def length_ratio(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs with more than `max_ratio` times the words on one side: shifted or half-translated
    lines."""
    shorter, longer = sorted(lengths(pair, settings))
    return longer > settings.max_ratio * shorter


def identical_sides(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs with the same words on both sides: mostly text that was never translated, but numbers and
    names as well."""
    return list(pair.source_words) == list(pair.target_words)


def control_characters(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs with a control character or a Unicode line separator, tabs excepted: wrongly decoded
    text."""
    return any(not line.isprintable() and _CONTROL.search(line) is not None for line in pair[:2])


def html_entities(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs with an HTML entity such as `&amp;`: text that was taken from a page and not decoded."""
    return any("&" in line and ENTITY.search(line) is not None for line in pair[:2])


def wrong_language(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Drops pairs with a side in another language with at least the probability `language_certainty`."""
    languages = settings.source_language, settings.target_language
    return any(
        another_language(line, language, other) >= settings.language_certainty
        for line, language, other in zip(pair[:2], languages, reversed(languages), strict=True)
    )


FILTERS: dict[Filter, str] = {
    empty_side: "",
    too_long: "max_words",
    length_ratio: "max_ratio",
    identical_sides: "drop_identical",
    control_characters: "drop_control_characters",
    html_entities: "entities",
    wrong_language: "language_certainty",
}
"""Filter → the setting of `[data]` that governs it ("" = always on), in the order of application: cheap ones
first."""


def active_filters(settings: DataSettings) -> list[Filter]:
    """Returns the filters that these settings turn on. The first that returns True is the reason.

    Raises InputError if one of them needs a package that is not installed, or does not know a language of the
    settings."""
    active = [
        drops for drops, setting in FILTERS.items() if not setting or getattr(settings, setting) not in _OFF
    ]
    if wrong_language in active:
        _check_languages(settings.source_language, settings.target_language)
    return active


def reason(drops: Filter) -> str:
    """Returns the name of a filter in reports: its function's name with spaces for underscores."""
    return getattr(drops, "__name__", type(drops).__name__).replace("_", " ")


def governing_setting(drops: Filter) -> str:
    """Returns the setting to change, as in `data.max_ratio`; empty for a filter that is always on."""
    return f"data.{FILTERS[drops]}" if FILTERS.get(drops) else ""


def another_language(line: str, language: str, other: str) -> float:
    """Returns the probability of the most probable language of a line, if that is not `language`; else 0.

    other: the language of the line's translation, which is considered beside some fifty others. The
    probability grows with the line: four words seldom reach 0.9 even in the plainest case. Raises InputError
    if py3langid is not installed or does not know one of the two languages.
    """
    found, probability = _identifier(frozenset([language, other])).classify(line)
    return 0.0 if found == language else float(probability)


def _check_languages(*languages: str) -> None:
    known = _identifier(frozenset()).labels
    for language in languages:
        if language not in known:
            remedy = "set data.language_certainty=0, or use a code of two letters, such as pt for pt-br"
            raise InputError(f"the language identifier does not know {language!r}", remedy=remedy)


@functools.cache
def _identifier(languages: frozenset[str]) -> LanguageIdentifier:
    """Returns an identifier that considers these languages and the widely written ones; without any, all it
    knows."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        remedy = "pip install 'rnnsearch[language]', or set data.language_certainty=0"
        raise InputError("the language filter needs py3langid", remedy=remedy) from None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if languages:
        _check_languages(*languages)
        identifier.set_languages(languages.union(_WIDELY_WRITTEN.split()))
    return identifier
