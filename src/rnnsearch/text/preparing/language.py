"""Whether a line is in its language: py3langid, asked only about languages that a line can be told to be in."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Walloon, Occitan, Nigerian Pidgin and other small neighbours of great languages are left out: a short sentence of the great one is taken
# for theirs with certainty ("C' est vrai." for Walloon), and hardly any of their text lies in a corpus by mistake.
_WIDELY_WRITTEN = (
    "ar bg bn ca cs da de el en es et fa fi fr ga he hi hr hu id is it ja ko lt lv mk ms mt nl no pl pt ro ru sk sl sq sr sv sw ta th "
    "tr uk ur vi zh"
)


def check_languages(*languages: str) -> None:
    """Raises InputError if py3langid is not installed, or does not know one of these languages."""
    known = _identifier(frozenset()).labels
    for language in languages:
        if language not in known:
            remedy = "set data.language_certainty=0, or use a language code of two letters, such as pt for pt-br"
            raise InputError(f"the language identifier does not know {language!r}", remedy=remedy)


def another_language(line: str, language: str, other: str) -> float:
    """The probability of the most probable language of a line, if that is not `language`; else 0.

    other: the language of the line's translation, which is considered beside some fifty others. The probability grows with the line: four
    words seldom reach 0.9 even in the plainest case. Raises InputError as `check_languages` does.
    """
    found, probability = _identifier(frozenset([language, other])).classify(line)
    return 0.0 if found == language else float(probability)


@functools.cache
def _identifier(languages: frozenset[str]) -> LanguageIdentifier:
    """Considers these languages and the widely written ones; without any, all that it knows."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        remedy = "pip install 'rnnsearch[language]', or set data.language_certainty=0"
        raise InputError("the language filter needs py3langid", remedy=remedy) from None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if languages:
        check_languages(*languages)
        identifier.set_languages(languages.union(_WIDELY_WRITTEN.split()))
    return identifier
