"""English names of languages, and which of the served ones a text is in."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from rnnsearch.errors import InputError

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "ms": "Malay", "mt": "Maltese", "nb": "Norwegian Bokmål", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian",
    "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
LONGEST = 2_000
"""Characters that are looked at: more do not make the answer surer."""


def language_name(code: str) -> str:
    return NAMES.get(code, code)


def detect(text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """(language, probability) of the given languages that the identifier knows, the most probable first; empty if it knows none."""
    known = tuple(sorted({code for code in languages if code in _labels()}))
    if not known or not text.strip():
        return []
    ranked = _identifier(known).rank(text[:LONGEST])
    return [(str(code), float(probability)) for code, probability in ranked]


def check_identifier() -> None:
    """Raises InputError if the language identifier is not installed."""
    _labels()


@functools.cache
def _labels() -> frozenset[str]:
    return frozenset(map(str, _new().labels))


@functools.lru_cache(maxsize=4)
def _identifier(languages: tuple[str, ...]) -> Any:
    identifier = _new()
    identifier.set_languages(list(languages))
    return identifier


def _new() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise InputError("the service needs py3langid", remedy="pip install 'rnnsearch[serve]'") from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
