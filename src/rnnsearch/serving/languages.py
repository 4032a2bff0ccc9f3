"""Languages: their English names, identification, and splitting into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

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
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


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
    """Splits a text into sentences; a line break always ends one.

    language: its code; if the splitter does not know the language, punctuation decides.
    `split(…).joined(sentences)` restores the text.
    """
    sentences: list[str] = []
    gaps = [""]
    for part in _parts(text, language):
        sentence = part.strip()
        if sentence:
            before, _, after = part.partition(sentence)
            gaps[-1] += before
            sentences.append(sentence)
            gaps.append(after)
        else:
            gaps[-1] += part
    return Paragraphs(sentences, gaps)


def _parts(text: str, language: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        yield from _segment(line, language) if line.strip() else [line]


def _segment(line: str, language: str) -> list[str]:
    from sentencex import segment

    # The splitter fails on white space of several bytes, so each becomes one plain space.
    plain = _WIDE_SPACE.sub(" ", line)
    try:
        parts: list[str] = segment(language or "en", plain)
    except BaseException as error:  # panics of the splitter's Rust code are not Exceptions
        if type(error).__name__ != "PanicException":
            raise
        return [line]
    if "".join(parts) != plain:  # one sentence is better than a lost word
        return [line]
    return [line[begin:end] for begin, end in pairwise([0, *accumulate(map(len, parts))])]
