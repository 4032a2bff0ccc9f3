"""Languages: their English names, identification, and splitting into sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rnnsearch.translation.source_lines import sentences

_NAMES = """
    ar Arabic, bg Bulgarian, bn Bengali, ca Catalan, cs Czech, da Danish, de German, el Greek, en English,
    eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish,
    gl Galician, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, id Indonesian, is Icelandic, it Italian,
    ja Japanese, ko Korean, lt Lithuanian, lv Latvian, mk Macedonian, ms Malay, mt Maltese,
    nb Norwegian Bokmål, nl Dutch, no Norwegian, pl Polish, pt Portuguese, ro Romanian, ru Russian,
    sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, th Thai, tr Turkish,
    uk Ukrainian, ur Urdu, vi Vietnamese, zh Chinese
"""
NAMES = dict(pair.strip().split(maxsplit=1) for pair in _NAMES.split(","))
LONGEST = 2_000
"""Characters of a text that are used to identify its language: more would not make it more certain."""


def language_name(code: str) -> str:
    """Returns the English name of a language; its code if the name is unknown."""
    return NAMES.get(code, code)


class Identifier:
    """A model that identifies the served languages; it is loaded at once."""

    def __init__(self, languages: Sequence[str]) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        self._known = {str(code) for code in self._model.labels}.intersection(languages)
        if self._known:
            self._model.set_languages(sorted(self._known))

    def rank(self, text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
        """Returns (language, probability) for the languages that the model knows, most probable first;
        nothing for an empty text."""
        some = self._known.intersection(languages)
        if not some or not text.strip():
            return []
        ranked = [(str(code), float(p)) for code, p in self._model.rank(text[:LONGEST]) if code in some]
        total = sum(probability for _, probability in ranked) or 1.0
        return [(code, probability / total) for code, probability in ranked]


class Paragraphs(NamedTuple):
    """A text as its sentences and the white space between them.

    gaps[k] is before sentences[k], and the last gap ends the text. A gap is white space, or empty.
    """

    sentences: list[str]
    gaps: list[str]

    def joined(self, translated: Sequence[str]) -> str:
        """Returns the text with the translations in place of the sentences."""
        inner = (gap + sentence for gap, sentence in zip(self.gaps, translated, strict=False))
        return "".join(inner) + self.gaps[-1]


def split(text: str, language: str) -> Paragraphs:
    """Splits a text into sentences; a line break always ends one. language: its code, or "".

    `split(…).joined(sentences)` restores the text.
    """
    found: list[str] = []
    gaps = [""]
    for part in _parts(text, language):
        sentence = part.strip()
        if sentence:
            before, _, after = part.partition(sentence)
            gaps[-1] += before
            found.append(sentence)
            gaps.append(after)
        else:
            gaps[-1] += part
    return Paragraphs(found, gaps)


def _parts(text: str, language: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        yield from sentences(line, language)
