"""The forms in which the words of a source line are read: those that the network knows best.

A word in capitals is read in lowercase if it then has far fewer subwords, names in text without
capitals are read with theirs; what is copied letter by letter, as its stand-in; amounts and
measures in words. page/engine/reading.js has the same rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rnnsearch.text.codec import JOINER, Codec, EncodedSentence
from rnnsearch.text.language_codes import base
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.amounts import read_amounts
from rnnsearch.translation.case import (
    NOUNS_IN_CAPITALS,
    UNREAD,
    begins_small,
    begun,
    first_word,
    in_capitals,
    in_title_case,
    is_english_i,
    is_label,
    with_capital,
)
from rnnsearch.translation.copied import STAND_INS, enclosed, kind_of
from rnnsearch.translation.measures import read_measures
from rnnsearch.translation.number_forms import read_figure
from rnnsearch.translation.typed import as_written

STRAIGHT = dict.fromkeys("“”„‟", '"') | {"‘": "'"}
"""Typographic quotation mark → what a network reads instead if it cannot read it."""
NAME_SUBWORDS = 4
"""Number of subwords from which on a word of a title is taken for a name."""
DOTTED = ("tr", "az")
"""Languages of which no word is read in another case: I is not the capital of i."""


def encode_faithfully(
    codec: Codec, words: Sequence[str], target: str = "", typed: Sequence[str] = ()
) -> EncodedSentence:
    """Encodes the words of a source line in the forms that the network reads best. `words` of the
    result are still those of the line. target: the language of the translation; none if the words
    are those of a translation. typed: the words as they were typed, if `words` are in another
    case."""
    languages = base(codec.tokeniser.language), base(target)
    instead = as_written(codec, typed or words) if target else {}
    instead |= read_measures(words, languages)
    instead |= read_amounts(words, languages, lambda sign: _is_unread(codec, sign))
    instead |= dict.fromkeys(enclosed(words), "")
    forms = words if not target or is_label(words) else _with_capitals(codec, words)
    first, capitals = first_word(words), in_capitals(words)
    if first is not None and first in instead and forms[first][:1].isupper():
        instead[first] = begun(instead[first])
    read = [
        codec.words(instead[place])
        if place in instead
        else in_best_form(codec, word, place == first, capitals)
        for place, word in enumerate(forms)
    ]
    encoded = codec.encode_words([part for parts in read for part in parts])
    place_of = [place for place, parts in enumerate(read) for _ in parts] + [len(words)]
    return EncodedSentence(list(words), encoded.ids, [place_of[part] for part in encoded.word_of])


def _with_capitals(codec: Codec, words: Sequence[str]) -> Sequence[str]:
    """Returns the words with a capital where a sentence begins with a small letter, and, if it has
    no capitals, in words that then have far fewer subwords (*france*, *usa*)."""
    first = first_word(words)
    if first is None or not _changes(codec):
        return words
    large, small = with_capital(words), begins_small(words) and not kind_of(words[first])
    forms = large if small and not _is_unread(codec, large[first]) else words
    if any(word != word.lower() for word in words):
        return forms
    return [
        _least(codec, [word, "-".join(map(str.capitalize, word.split("-"))), word.upper()])
        if word.replace("-", "").isalpha() and kind_of(word) is None
        else word
        for word in forms
    ]


def in_other_case(codec: Codec, part: EncodedSentence, target: str) -> EncodedSentence | None:
    """Returns a label or a title as it is read in lowercase, for a network may take words with
    capitals for names; a label in lowercase, with capitals; a sentence in lowercase, with capitals
    in all words that may be names; None for what is read in one way. target: the language of the
    translation."""
    words, label = part.words, is_label(part.words)
    if not _changes(codec) or part.beginning.places:
        return None
    nouns = base(codec.tokeniser.language) in NOUNS_IN_CAPITALS
    if label and begins_small(words):
        other = _with_capitals(codec, words)
    elif label or (in_title_case(words) and not nouns):
        other = _without_capitals(codec, words, label)
    elif any(word != word.lower() for word in words):
        return None
    else:
        other = _with_names(codec, words)
    read = encode_faithfully(codec, other, target, words)
    longer = len(read.ids) > len(part.ids) + len(words)  # of a word that was cut
    alike = list(read.ids) == list(part.ids)
    return None if alike or longer else replace(part, ids=read.ids, word_of=read.word_of)


def _changes(codec: Codec) -> bool:
    """Tells whether words are read in another case at all."""
    return not codec.tokeniser.lowercase and base(codec.tokeniser.language) not in DOTTED


def _with_names(codec: Codec, words: Sequence[str]) -> list[str]:
    """Returns a sentence without capitals with those of words of several subwords, which may be
    names."""
    found = []
    for word in _with_capitals(codec, words):
        capital, lower = _sizes(codec, [word.capitalize(), word])
        name = word.isalpha() and word == word.lower() and kind_of(word) is None and lower > 1
        found.append(word.capitalize() if name and capital <= min(lower, UNREAD - 1) else word)
    return found


def _without_capitals(codec: Codec, words: Sequence[str], label: bool) -> list[str]:
    """Returns the words in lowercase but for names, those that then have more subwords; in a title,
    also but for its first word, acronyms, and those that have many subwords anyway."""
    begin, found = first_word(words), []
    for place, word in enumerate(words):
        capital, lower = _sizes(codec, [word, word.lower()])
        name = word != word.capitalize() or lower == capital >= NAME_SUBWORDS
        name = name or is_english_i(word, codec.tokeniser.language)
        stays = not label and (place == begin or name)
        found.append(word if stays or lower > capital or kind_of(word) else word.lower())
    return found


def _sizes(codec: Codec, forms: Sequence[str]) -> list[int]:
    """Returns the number of subwords of each form of a word."""
    each = [codec.word_ids([form])[0] for form in forms]
    return [UNREAD if UNK in ids else len(ids) for ids in each]


def _is_unread(codec: Codec, word: str) -> bool:
    return UNK in codec.word_ids([word])[0]


def in_best_form(codec: Codec, word: str, first: bool, capitals: bool = False) -> list[str]:
    """Returns the words to read instead of this one: a stand-in; capitals in lowercase, if it has
    far fewer subwords, or, if all of the sentence has `capitals`, not more."""
    if (kind := kind_of(word)) is not None:
        figure = read_figure(word.replace(JOINER, " "), base(codec.tokeniser.language))
        return STAND_INS[kind] if kind in STAND_INS else codec.words(figure)
    if word in STRAIGHT and _is_unread(codec, word):
        return [STRAIGHT[word]]
    stays = not word.isupper() or is_english_i(word, codec.tokeniser.language)
    if stays or not (capitals or len(word) > 1):
        return [word]
    forms = [word.lower(), word.capitalize()]
    forms = [word, *(reversed(forms) if first else forms)]
    if not capitals:
        return [_least(codec, forms)]  # it may be an acronym
    own, *sizes = _sizes(codec, forms)
    return [forms[1 + sizes.index(min(sizes))] if min(sizes) <= own else word]


def _least(codec: Codec, forms: Sequence[str]) -> str:
    """Returns the form of a word with the fewest subwords if they are far fewer; else the first."""
    sizes = _sizes(codec, forms)
    return forms[sizes.index(min(sizes)) if 2 * min(sizes) <= sizes[0] else 0]
