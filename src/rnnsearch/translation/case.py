"""The case in which the words of a sentence are read, and that of the first word of a translation.

Networks learn from text whose sentences begin with capitals, and take words in capitals for names.
page/engine/case.js has the same rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rnnsearch.text.codec import JOINER, Codec
from rnnsearch.text.language_codes import base
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.target_words import has_text

LONGEST_LABEL = 3
"""Most words of a label."""
LONGEST_ACRONYM = 4
"""Letters of a single word in capitals that may be an acronym."""
NOUNS_IN_CAPITALS = ("de", "lb")
"""Languages whose nouns all have capitals, as only titles do elsewhere."""
UNREAD = 1000
"""Counts as the number of subwords of a word that the network cannot read."""
LEAST_GAINS = {"label": 0.15, "title": -1.5, "sentence": 1.0}
"""By how much the log probability of the translation has to be larger if the source is read in the
other case. A title's words, as they are written, may be copied, which is likely."""


def is_english_i(word: str, language: str) -> bool:
    """Tells whether a word is the English I, a capital everywhere."""
    return word == "I" and base(language) == "en"


def first_word(words: Sequence[str]) -> int | None:
    """Returns the place of the first word that begins with a letter or digit: of no tag, and of no
    number in front of a sentence."""
    begun = ((place, word) for place, word in enumerate(words) if word[:1].isalnum())
    return next((place for place, word in begun if not word.endswith(JOINER)), None)


def begun(text: str) -> str:
    """Returns a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def begins_small(words: Sequence[str]) -> bool:
    """Tells whether the first word has letters alone, apostrophes and hyphens apart, and no
    capital."""
    first = first_word(words)
    word = words[first] if first is not None else ""
    return word[:1].islower() and word == word.lower() and re.sub("['-]", "", word).isalpha()


def with_capital(words: Sequence[str]) -> list[str]:
    """Returns the words, the first of those with letters or digits with a capital."""
    first = first_word(words)
    return [begun(word) if place == first else word for place, word in enumerate(words)]


def in_capitals(words: Sequence[str]) -> bool:
    """Tells whether a sentence has capitals alone, and is no acronym."""
    long = [word for word in words if len(word) > 1 and word.isalpha()]
    several = len(long) > 1 or any(len(word) > LONGEST_ACRONYM for word in long)
    return several and all(word.isupper() for word in long)


def in_title_case(words: Sequence[str]) -> bool:
    """Tells whether a sentence longer than a label has a capital in two thirds of its words, and in
    each of several words of four letters or more: *How To Change Your Password*."""
    text = list(filter(has_text, words))
    long = [word for word in words if len(word) > 3 and word.isalpha()]
    capitals = all(word[0].isupper() for word in long) and not in_capitals(words)
    most = 3 * sum(word[0].isupper() for word in text) >= 2 * len(text)
    return capitals and most and len(long) > 1 and len(text) > LONGEST_LABEL


def is_label(words: Sequence[str]) -> bool:
    """Tells whether a sentence is a few words of letters, each in lowercase or with a capital, or
    all in capitals."""
    text = list(filter(has_text, words))
    if not 0 < len(text) <= LONGEST_LABEL or not all(map(str.isalpha, text)):
        return False
    return in_capitals(words) or all(word in (word.lower(), word.capitalize()) for word in text)


def least_gain(words: Sequence[str]) -> float:
    """Returns the one of LEAST_GAINS that holds for these words."""
    title = "title" if in_title_case(words) else "sentence"
    return LEAST_GAINS["label" if is_label(words) else title]


def with_small_letter(words: Sequence[str], target: Codec, kept: Collection[str]) -> list[str]:
    """Returns the words of a translation, the first of which begins with a small letter, unless it
    has a capital everywhere: a noun of German, English "I", what is unknown or has more subwords in
    lowercase, and the words `kept`."""
    first, language = first_word(words), target.tokeniser.language
    word = words[first] if first is not None else ""
    lower = word[:1].lower() + word[1:]
    if word in kept or base(language) in NOUNS_IN_CAPITALS or is_english_i(word, language):
        return list(words)
    ids, sizes = target.word_ids([word, lower])
    known = target.known is None or lower in target.known
    if sizes[1] > sizes[0] or UNK in ids[sizes[0] :] or not known:
        return list(words)
    return [lower if place == first else word for place, word in enumerate(words)]
