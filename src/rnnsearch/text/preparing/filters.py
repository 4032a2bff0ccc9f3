"""Which training pairs are dropped, and what a report calls the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rnnsearch.config import DataSettings
from rnnsearch.text.formats.entities import ENTITY
from rnnsearch.text.preparing.language import another_language, check_languages

_OFF = (0, False, "keep", "resolve")  # values of a setting with which its filter drops nothing

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")  # a tab or a line end inside a field is a space, not damage


class TokenisedPair(NamedTuple):
    """A pair that may become a training pair: its lines as the reader gave them, and their words."""

    source_line: str
    target_line: str
    source_words: Sequence[str]
    target_words: Sequence[str]


Filter = Callable[[TokenisedPair, DataSettings], bool]
"""(pair, settings) → whether it is dropped. A plain function, so that it can be sent to another process; `reason` tells its name."""


def empty_side(pair: TokenisedPair, settings: DataSettings) -> bool:
    """A sentence without words has no translation to learn."""
    return not pair.source_words or not pair.target_words


def too_long(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Longer than `max_words` on either side: mostly lines that were never cut into sentences."""
    return max(len(pair.source_words), len(pair.target_words)) > settings.max_words


def length_ratio(pair: TokenisedPair, settings: DataSettings) -> bool:
    """One side has more than `max_ratio` times the words of the other: shifted lines, or a side that was not translated whole."""
    shorter, longer = sorted((len(pair.source_words), len(pair.target_words)))
    return longer > settings.max_ratio * shorter


def identical_sides(pair: TokenisedPair, settings: DataSettings) -> bool:
    """Both sides have the same words: mostly text that was never translated, but numbers and names as well."""
    return list(pair.source_words) == list(pair.target_words)


def control_characters(pair: TokenisedPair, settings: DataSettings) -> bool:
    """A control character or a Unicode line separator on either side, tabs excepted: often text that was decoded wrongly."""
    return any(not line.isprintable() and _CONTROL.search(line) is not None for line in pair[:2])


def html_entities(pair: TokenisedPair, settings: DataSettings) -> bool:
    """An HTML entity such as `&amp;` on either side: text that was taken from a page and not decoded."""
    return any("&" in line and ENTITY.search(line) is not None for line in pair[:2])


def wrong_language(pair: TokenisedPair, settings: DataSettings) -> bool:
    """A side is in another language than its own with at least the probability `language_certainty`: mixed or untranslated text."""
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
"""Every filter with the setting of `[data]` that governs it ("" = always on), in the order in which they are asked: cheap ones first."""


def active_filters(settings: DataSettings) -> list[Filter]:
    """The filters that these settings turn on; the first that answers yes is the reason.

    Raises InputError if one of them needs what is not installed, or does not know a language of the settings.
    """
    active = [drops for drops, setting in FILTERS.items() if not setting or getattr(settings, setting) not in _OFF]
    if wrong_language in active:
        check_languages(settings.source_language, settings.target_language)
    return active


def reason(drops: Filter) -> str:
    """What a report calls a filter: its function's name with spaces for underscores."""
    return getattr(drops, "__name__", type(drops).__name__).replace("_", " ")


def governing_setting(drops: Filter) -> str:
    """The setting, as in `data.max_ratio`, that a reader of the report would change; empty for a filter that is always on."""
    return f"data.{FILTERS[drops]}" if FILTERS.get(drops) else ""
