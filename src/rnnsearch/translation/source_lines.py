"""Splits lines into sentences, and those that are too long for one search into parts;
joins their translations. Warns of unknown words and of text in the target language.

A model's subwords tell its two languages apart: an ordinary word needs few subwords of its own
language, and nearly twice as many of the other.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np

from rnnsearch.errors import InputWarning
from rnnsearch.records import Translation
from rnnsearch.text.codec import JOINER, Codec, EncodedSentence
from rnnsearch.text.language_codes import POINTED_ORDINALS, base
from rnnsearch.text.moses import FIRST_WORDS, prefixes
from rnnsearch.text.vocabulary import END, UNK
from rnnsearch.translation.dates import ALSO_WORDS, SHORT_DATES

MOST_WORDS = 5_000
"""Maximum number of words of a line: the alignment of a longer one would not fit in memory."""

LONGEST_WORD = 100
"""Maximum number of subwords that are read of a word with more than
`translation.max_source_length`."""

FEWEST_LETTERS, ENOUGH_WORDS = 20, 100
"""Letters of ordinary words: fewer are too little evidence; and words: later ones are not
examined."""
LIMIT = 1.1
"""Maximum ratio of source-language to target-language subwords in a source text. Text in the source
language has about 0.5 (99.9 % of single sentences are below 0.9), text in the target language about
1.8 (99 % are above 1.1)."""

_EXAMPLES = 5
_LONGEST = 30
_ENDS = frozenset(".!?…。！？؟।॥")
_CLOSING = frozenset("\"'”’»)]}」』")
_OPENING = " \u00a0\u202f\"'“‘«„¿¡([{—–-"
_MARKS = ".!?…؟।॥۔։።။។"
# Where a sentence may end, with the space after it; as in page/engine/sentences.js. A match begins
# at the first of several marks: otherwise the time for a row of full stops would grow with the
# square of its length.
BREAK = re.compile(
    rf"(?<![{_MARKS}])[{_MARKS}]+(?:[ \u00a0\u202f]?[»›]|[\"'”’)\]}}])*\s+|[。！？]+[」』”’）]*\s*"
)
_NEAR = 40  # characters before and after a full stop that decide
# Abbreviations that end a sentence before any capital except that of a day, a month or a time zone,
# and those that end one before its usual first words.
LAST = re.compile(r"(?:^|[\s(])(?:[ap]\.\s?m|etc|usw|ecc|enz|itd|itp|atd|osv)$", re.IGNORECASE)
AFTER_TIME = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Jan|Feb|March|Apr|May\b"
    r"|June|July|Aug|Sep|Oct|Nov|Dec|[A-Z]{2,4}(?![\w-])|Eastern|Central|Mountain|Pacific|[0-9]"
)
_UNIT = re.compile(r"\d\s[hmgl]$")  # 18 h.
NAME = re.compile(r".*[A-ZÀ-Þ].*\..*|.*\..*[A-ZÀ-Þ].*|Bros|Corp|Co|Jr")


def sentence_starts(line: str, language: str) -> list[int]:
    """Returns where the sentences of a line begin (0 is the first), much as Moses's
    split-sentences.perl.

    A sentence ends with its punctuation and closing quotation marks unless the next word begins
    with a lowercase letter. A full stop ends none after an initial, the number of a list or an
    abbreviation, except after p.m., etc. and the like, and after U.S., Corp. and the like before a
    usual first word of a sentence. page/engine/sentences.js has the same rules.
    """
    starts, language = [0], base(language)
    for found in BREAK.finditer(line):
        begin, end = found.span()
        after = line[end : end + _NEAR].lstrip(_OPENING)
        following = after[:1]
        if not following.isalnum() or following.islower():
            continue
        mark = found.group().rstrip("\"'”’)]}»› \u00a0\u202f")
        goes_on = following.isdigit() and (mark == "…" or mark.endswith(".."))
        if not goes_on and (
            mark != "." or _ends(line[max(0, begin - _NEAR) : begin], after, language)
        ):
            starts.append(end)
    return starts


def _ends(before: str, after: str, language: str) -> bool:
    """Tells whether a full stop between this text and a capital or digit ends a sentence."""
    *earlier, stem = re.split("[ \u00a0\u202f]", before)
    stem = stem.lstrip(_OPENING)
    if LAST.search(before):
        return not AFTER_TIME.match(after)
    date = stem.lower() in SHORT_DATES.get(language, ())
    if stem.lower() in ALSO_WORDS:  # Sat. 5 Jan., 3 sept. 1998
        date = stem[0].isupper() or (any(earlier) and earlier[-1].isdecimal())
    if prefixes(language).get(stem) or date:
        return not after[0].isdigit()
    if _UNIT.search(before):
        return True
    if stem.isdigit():
        return language not in POINTED_ORDINALS and any(earlier)
    if NAME.fullmatch(stem):
        return re.split(r"['’\s]", after)[0] in FIRST_WORDS.get(language, "").split()
    initial = len(stem) == 1 and stem.isalpha()
    abbreviated = stem in prefixes(language) or ("." in stem and any(map(str.isalpha, stem)))
    return not initial and not abbreviated


def sentences(line: str, language: str) -> list[str]:
    """Returns the sentences of a line; an empty line is its only sentence."""
    starts = sentence_starts(line, language)
    return [line[begin:end] for begin, end in pairwise([*starts, len(line)])]


def cut(
    sentence: EncodedSentence,
    encode: Callable[[Sequence[str]], EncodedSentence],
    limit: int,
    number: int,
) -> list[EncodedSentence]:
    """Splits a sentence of more than `limit` words or subwords into parts of at most `limit`. A
    shorter sentence is the only part.

    It is cut after the ends of sentences and their closing quotation marks, or at the limit if
    there are none. Of a longer word only the beginning is read, with an InputWarning.
    encode: encodes the words of a part. number: line number in messages.
    """
    if len(sentence.ids) - 1 <= limit:
        return [sentence]
    sizes = Counter(sentence.word_of)
    parts: list[list[str]] = [[]]
    used, ended = 0, False
    shortened: dict[str, str] = {}
    for place, word in enumerate(sentence.words):
        ends, size = set(word) <= _ENDS, sizes[place]
        if size > limit:
            size = min(limit, LONGEST_WORD)
            shortened[word] = word[: size - 1]
            text = f"line {number}: only the first {size - 1} of a word's {len(word):,} letters"
            text = f"{text} were read"
            warnings.warn(text, InputWarning, stacklevel=2)
        if parts[-1] and (used + size > limit or (ended and not ends and word not in _CLOSING)):
            parts.append([])
            used, ended = 0, False
        parts[-1].append(word)
        used += size
        ended = ends or (ended and word in _CLOSING)
    made = [encode([shortened.get(word, word) for word in part]) for part in parts]
    return [replace(one, words=part) for one, part in zip(made, parts, strict=True)]


def _every(parts: Sequence[Translation], name: str) -> list[Any]:
    return [value for part in parts for value in getattr(part, name)]


def joined(parts: Sequence[Translation], text: Callable[[Sequence[str]], str]) -> Translation:
    """Joins the translations of a line's parts into one, and their alternatives rank by rank. text:
    joins words into a line.

    score: the sum over the parts. log_probabilities: those of all parts in order, each with its end
    of sentence.
    """
    if len(parts) == 1:
        return parts[0]
    every = partial(_every, parts)
    tokens = every("tokens")
    source = [word for part in parts for word in part.source_tokens[:-1]] + [END]
    alignment = np.zeros((len(tokens), len(source)), dtype=np.float32)
    row = column = 0
    for part in parts:
        rows, columns = part.alignment.shape
        own = alignment[row : row + rows]
        own[:, column : column + columns - 1] = part.alignment[:, :-1]
        own[:, -1] = part.alignment[:, -1]  # all ends of sentence share one column
        row, column = row + rows, column + columns - 1
    ranks = zip(*(part.alternatives for part in parts), strict=False)
    return Translation(
        text=text(tokens),
        tokens=tokens,
        source_tokens=source,
        score=sum(part.score for part in parts),
        log_probabilities=every("log_probabilities"),
        alignment=alignment,
        finished=all(part.finished for part in parts),
        alternatives=[joined(rank, text) for rank in ranks],
        parts=len(parts),
        confidence=every("confidence"),
        doubtful_numbers=every("doubtful_numbers"),
        unknown_words=every("unknown_words"),
    )


def indented(result: Translation, line: str) -> Translation:
    """Returns the translation of a line, with the white space at its beginning."""
    indent = line[: len(line) - len(line.lstrip())]
    if not (indent and result.text):
        return result
    others = [indented(one, line) for one in result.alternatives]
    return replace(result, text=indent + result.text, alternatives=others)


def empty_translation() -> Translation:
    """Returns the translation of an empty line."""
    return Translation("", [], [END], 0.0, [], np.zeros((0, 1), dtype=np.float32))


def noted(
    results: Iterable[Translation],
    source: Codec,
    limit: int,
    note: Callable[[str], None],
    first: int = 1,
) -> Iterator[Translation]:
    """Yields the translations, and calls `note` with warnings of source lines that were cut, of
    numbers to check, and of unknown source words.

    The first warning of a cut line comes at once; the number of cut lines and the unknown words
    come after the last line. limit: `translation.max_source_length`. first: the number of the first
    line.
    """
    from rnnsearch.figure3 import printable  # only warnings need it

    cuts = words = unknown = 0
    examples: list[str] = []
    for number, result in enumerate(results, first):
        sentence = result.source_tokens[:-1]
        if result.parts > 1 and sum(source.word_ids(sentence)[1]) > limit:
            cuts += 1
            if cuts == 1:
                what = f"line {number} is longer than translation.max_source_length = {limit}"
                what = f"{what}: it is translated in {result.parts} parts"
                note(f"warning: {what} (write one sentence on each line)")
        if result.doubtful_numbers:
            numbers = ", ".join(map(printable, result.doubtful_numbers))
            what = f"line {number}: numbers may differ from the source: {numbers}"
            note(f"warning: {what} (check this line)")
        yield result
        words += len(sentence)
        missing = _unknown(sentence, source)
        unknown += len(missing)
        examples = list(dict.fromkeys(examples + missing))[: _EXAMPLES + 1]
    if cuts > 1:
        note(f"warning: {cuts:,} lines were translated in parts")
    if unknown:
        what = f"the run does not know {unknown:,} of {words:,} source words: {_shown(examples)}"
        advice = "they hold characters that did not occur in training"
        if source.subwords is None:
            advice = (
                "a run with subwords, data.subwords, knows all words that are spelt with known"
                " letters"
            )
        note(f"warning: {what} ({advice})")


def _shown(words: Sequence[str]) -> str:
    """Returns the first words, shortened, for a message."""
    from rnnsearch.figure3 import printable, shorten  # only warnings need them

    shown = [shorten(printable(word), _LONGEST) for word in words[:_EXAMPLES]]
    return ", ".join(shown + ["…"] * (len(words) > _EXAMPLES))


def _unknown(words: list[str], source: Codec) -> list[str]:
    """Returns the words that are unknown, or have a subword that is; not marks in front of the
    line. A word with spaces, such as a number, counts as its parts."""
    words = [part for word in words if not word.endswith(JOINER) for part in word.split(JOINER)]
    ids, sizes = source.word_ids(words)
    subwords = iter(ids)
    return [
        word for word, size in zip(words, sizes, strict=True) if UNK in list(islice(subwords, size))
    ]


def warn_of_unknown_words(words: Sequence[str], number: int) -> None:
    """Issues an InputWarning if the beginning of a line's translation has unknown words. number: of
    the line."""
    if words:
        what = f"line {number}: the model does not know these words of the beginning"
        remedy = "they stay as typed, but the model cannot read them: check script and spelling"
        warnings.warn(f"{what}: {_shown(words)} ({remedy})", InputWarning, stacklevel=3)


def warn_of_target_language(words: Iterable[str], source: Codec, target: Codec) -> None:
    """Issues an InputWarning if the words of a source text look like those of a text in the target
    language. Names, numbers and symbols are not examined."""
    ordinary = list(
        islice((word for word in words if word.isalpha() and word.islower()), ENOUGH_WORDS)
    )
    ids = [codec.word_ids(ordinary)[0] for codec in (source, target)]
    as_source, as_target = (len(own) + own.count(UNK) for own in ids)
    if sum(map(len, ordinary)) >= FEWEST_LETTERS and as_source > LIMIT * as_target:
        wanted, found = source.tokeniser.language, target.tokeniser.language
        named = f" ({found}), and this model translates from {wanted}" if wanted and found else ""
        text = f"the text seems to be in the model's target language{named}"
        warnings.warn(text, InputWarning, stacklevel=2)
