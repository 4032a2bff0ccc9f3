"""A line that is too long for one search: cut where its sentences end, and its translation put together
again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.vocabulary import SPECIALS

MOST_WORDS = 5_000
"""A longer line is refused: the alignment of its words would fill the memory."""

_ENDS = frozenset(".!?…。！？؟।॥")
_CLOSING = frozenset("\"'”’»)]}」』")


def cut(
    sentence: EncodedSentence,
    codec: Codec,
    limit: int,
    number: int,
    encode: Callable[[Sequence[str]], EncodedSentence] | None = None,
) -> list[EncodedSentence]:
    """Returns the sentence itself, or, if it has more than `limit` words or subwords, its parts, each at most
    so long.

    It is cut after the words that end a sentence and the quotation marks behind them; where none comes in
    time, at the limit.
    encode: makes a part of words, instead of the codec. number: of the line, for the InputError that a line
    of more than MOST_WORDS words raises.
    """
    if len(sentence.ids) - 1 <= limit:
        return [sentence]
    _, sizes = codec.word_ids(sentence.words)
    words = [
        part
        for word, size in zip(sentence.words, sizes, strict=True)
        for part in (_cut_word(word, limit) if size > limit else [word])
    ]
    if len(words) > MOST_WORDS:
        what = f"line {number} has {len(words):,} words, and {MOST_WORDS:,} are the most"
        raise InputError(what, remedy="write one sentence on each line")
    _, sizes = codec.word_ids(words)
    parts: list[list[str]] = [[]]
    used, ended = 0, False
    for word, size in zip(words, sizes, strict=True):
        ends = set(word) <= _ENDS
        if parts[-1] and (used + size > limit or (ended and not ends and word not in _CLOSING)):
            parts.append([])
            used, ended = 0, False
        parts[-1].append(word)
        used += size
        ended = ends or (ended and word in _CLOSING)
    return [(encode or codec.encode_words)(part) for part in parts]


def joined(parts: Sequence[Translation], text: Callable[[Sequence[str]], str]) -> Translation:
    """Joins the translations of a line's parts into one, and their alternatives rank by rank. text: makes a
    line of words.

    score: the sum of theirs. log_probabilities: of all parts in order, each with its end of sentence.
    """
    if len(parts) == 1:
        return parts[0]
    others = min(len(part.alternatives) for part in parts)
    alternatives = [_joined([part.alternatives[rank] for part in parts], text, []) for rank in range(others)]
    return _joined(parts, text, alternatives)


def nothing() -> Translation:
    """Returns the translation of an empty line."""
    return Translation("", [], [SPECIALS[0]], 0.0, [], np.zeros((0, 1), dtype=np.float32))


def _cut_word(word: str, limit: int) -> list[str]:
    """Cuts a word of more subwords than may be read at once. A subword has at least one letter, the first
    perhaps none."""
    size = max(1, limit - 1)
    return [word[start : start + size] for start in range(0, len(word), size)]


def _joined(
    parts: Sequence[Translation], text: Callable[[Sequence[str]], str], alternatives: list[Translation]
) -> Translation:
    tokens = [word for part in parts for word in part.tokens]
    source = [word for part in parts for word in part.source_tokens[:-1]] + [parts[-1].source_tokens[-1]]
    alignment = np.zeros((len(tokens), len(source)), dtype=np.float32)
    row = column = 0
    for part in parts:
        rows, columns = part.alignment.shape
        alignment[row : row + rows, column : column + columns - 1] = part.alignment[:, :-1]
        alignment[row : row + rows, -1] = part.alignment[:, -1]  # the ends of the parts are one end
        row, column = row + rows, column + columns - 1
    return Translation(
        text=text(tokens),
        tokens=tokens,
        source_tokens=source,
        score=sum(part.score for part in parts),
        log_probabilities=[value for part in parts for value in part.log_probabilities],
        alignment=alignment,
        finished=all(part.finished for part in parts),
        alternatives=alternatives,
        parts=len(parts),
        confidence=[value for part in parts for value in part.confidence],
    )
