"""Languages: their names, the identification of a text's language, and its sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

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


class Detected(NamedTuple):
    """The probable language of a text, and its probability."""

    language: str
    probability: float

    def to_dict(self) -> dict[str, Any]:
        return {"language": self.language, "confidence": round(100 * self.probability, 1)}


@cache
def _langid() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


class Identifier:
    """A model that identifies languages; it is loaded at once."""

    def __init__(self) -> None:
        self._model = _langid()
        self.rank("a")

    def rank(self, text: str) -> list[Detected]:
        """Returns all languages with their probabilities, most probable first; nothing for an empty text."""
        ranked = self._model.rank(text[:LONGEST]) if text.strip() else []
        return [Detected(str(code), float(probability)) for code, probability in ranked]

    def served(self, text: str, sources: Sequence[str], target: str) -> Detected:
        """Returns the language of a text to be translated: one of the sources or the target, unless another
        one is more probable than all others together."""
        ranked = self.rank(text)
        known = [one for one in ranked if one.language in (*sources, target)]
        best = [one for one in ranked[:1] if one.probability > 0.5] or known
        return best[0] if best else Detected([*sources, target][0], 0.0)


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
