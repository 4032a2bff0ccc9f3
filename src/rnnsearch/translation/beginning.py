"""The given beginning of a translation, which the search completes: typed text in, places of the
search and text out. page/engine/beginning.js has the same rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from types import NoneType

from rnnsearch.arguments import given_items, given_lines, in_step, require
from rnnsearch.errors import InputError
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Translation, after_letters
from rnnsearch.text.codec import Beginning, Codec, EncodedSentence
from rnnsearch.text.subwords import WORD_START
from rnnsearch.text.vocabulary import EOS, UNK
from rnnsearch.translation.source_lines import sentences

ENDED = {EOS: 1}
"""The last place of the beginning of a sentence that is complete: only its end may follow."""
LONGEST_UNFINISHED = 100
"""Letters of an unfinished word. A longer one counts as complete."""


WordFunctions = tuple[
    Callable[[str], list[str]], Callable[[Sequence[str]], EncodedSentence], Callable[[str], object]
]


def word_functions(codec: Codec, faithful: bool, target: str = "") -> WordFunctions:
    """Returns functions that split a line of one side into words, encode them, and tell whether a
    word is copied letter by letter. target: the language into which a source line is translated; ""
    for the beginning of a translation."""
    if not faithful:
        return codec.words, codec.encode_words, lambda word: None
    from rnnsearch.translation.copied import faithful_words, kind_of
    from rnnsearch.translation.reading import encode_faithfully

    encode = partial(encode_faithfully, codec, target=target)
    return partial(faithful_words, codec, typed=not target), encode, kind_of


def check_order(network: TranslationNetwork) -> None:
    """Raises InputError if a network does not write from left to right."""
    if (order := network.reading_order) != "forward":
        what = f'model.decoder = "{order}" does not write from left to right'
        what = f"{what}, so no beginning can be kept"
        raise InputError(what, 'use a model with model.decoder = "forward"')


def with_typed(
    lines: Iterable[str], prefix: Iterable[str | None] | None
) -> Iterator[tuple[str, str]]:
    """Yields each line with its beginning. Raises InputError if one is no text, or there are more
    lines or more beginnings."""
    if prefix is None:
        return zip(given_lines(lines), repeat(""))
    given = [prefix] if isinstance(prefix, str) else prefix
    begun = (_typed(one, number) for number, one in enumerate(given_items(given, "prefix"), 1))
    remedy = "give one beginning for each line, empty where there is none"
    return in_step(given_lines(lines), begun, ("the text", "prefix"), remedy)


def _typed(text: str | None, number: int) -> str:
    from rnnsearch.text.formats.lines import plain_given  # only if there are some

    require(f"prefix {number}", text, str, NoneType)
    return plain_given((text or "").rstrip("\r\n"), number)


def by_sentence(typed: str, count: int, language: str) -> list[str]:
    """Cuts a beginning into those of `count` sentences, the last of which has the rest. All before
    the last that is begun are complete."""
    space = typed.endswith(" ")
    found = sentences(typed + "A" * space, language)  # is a further sentence begun?
    found[-1] = found[-1].removesuffix("A" * space)
    found[count - 1 :] = ["".join(found[count - 1 :])] if len(found) >= count else []
    return [f"{text}\n" for text in found[:-1]] + found[-1:] + [""] * (count - len(found))


def encode_beginning(typed: str, codec: Codec, faithful: bool = False) -> Beginning:
    """Encodes the beginning of a sentence's translation. Its last word is unfinished if no space
    follows it: any ids are allowed that have its letters. An unfinished word that no ids have
    counts as complete. A line break ends the translation. faithful: as in the settings."""
    words_of, encode, is_copied = word_functions(codec, faithful)
    words = words_of(typed)
    unfinished = words and not (typed[-1].isspace() or is_copied(words[-1]))
    places = _places_of_letters(codec, words[-1]) if unfinished else []
    kept = len(words)
    if places:
        words.pop()
    elif typed.endswith("\n"):
        places = [ENDED]
    elif words and codec.word_start:
        places = [dict.fromkeys([EOS, *codec.vocabulary.ids_starting(codec.word_start)], 1)]
    encoded = encode(words)
    word_of, ids = encoded.word_of[:-1], encoded.ids[:-1]
    unknown = dict.fromkeys(words[k] for k, one in zip(word_of, ids, strict=True) if one == UNK)
    return Beginning(words, word_of, kept, [*({one: 1} for one in ids), *places], [*unknown])


def _places_of_letters(codec: Codec, word: str) -> list[Mapping[int, int]]:
    """Returns a place for each letter of an unfinished word, in all segmentations; none if no ids
    have its letters."""
    letters = codec.word_start + word.replace(WORD_START, "_")
    places: list[Mapping[int, int]] = []
    for start in reversed(range(len(letters) if len(word) <= LONGEST_UNFINISHED else 0)):
        rest = letters[start:]
        allowed = dict.fromkeys(codec.vocabulary.ids_starting(rest), len(rest))
        parts = codec.vocabulary.ids(rest[:size] for size in range(1, len(rest)) if codec.subwords)
        allowed |= {
            number: size
            for size, number in enumerate(parts, 1)
            if number != UNK and places[size - 1]
        }
        places.insert(0, allowed)
    return places if places and places[0] else []


def as_typed(typed: str, text: str, codec: Codec) -> str:
    """Returns a translation's text with its beginning as it was typed, but for white space at its
    end."""
    return respaced(typed, text, codec.text(codec.tokeniser.words(typed)))


def respaced(typed: str, text: str, written: str = "") -> str:
    """Returns a text that begins with the letters that were typed, with the white space between
    them that was typed. written: how the text has them, if other than typed."""
    if not typed.strip():
        return text
    return typed.rstrip() + text[after_letters(text, len("".join((written or typed).split()))) :]


def retyped(result: Translation, typed: str, codec: Codec) -> Translation:
    """Returns a translation, and its alternatives, with the beginning as it was typed."""
    others = [retyped(one, typed, codec) for one in result.alternatives]
    return replace(result, text=as_typed(typed, result.text, codec), alternatives=others)
