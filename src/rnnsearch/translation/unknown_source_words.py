"""A warning for whoever translates text that the run's vocabulary does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rnnsearch.drawing.characters import printable, shorten
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import UNK

_EXAMPLES = 5
_LONGEST = 30


def unknown_words_noted(results: Iterable[Translation], source: Codec, note: Callable[[str], None]) -> Iterator[Translation]:
    """Passes translations on. After the last one `note` gets one line if there were source words that the run does not know."""
    words, unknown = 0, 0
    examples: list[str] = []
    for result in results:
        yield result
        sentence = result.source_tokens[:-1]
        words += len(sentence)
        for word in _unknown(sentence, source):
            unknown += 1
            if word not in examples and len(examples) <= _EXAMPLES:
                examples.append(word)
    if unknown:
        shown = [shorten(printable(word), _LONGEST) for word in examples[:_EXAMPLES]] + ["…"] * (len(examples) > _EXAMPLES)
        note(f"warning: the run does not know {unknown:,} of {words:,} source words: {', '.join(shown)} ({_advice(source)})")


def _unknown(words: list[str], source: Codec) -> Iterator[str]:
    """With subwords, the words with a part that is unknown."""
    ids, sizes = source.word_ids(words)
    if UNK not in ids:
        return
    end = 0
    for word, size in zip(words, sizes, strict=True):
        end += size
        if UNK in ids[end - size : end]:
            yield word


def _advice(source: Codec) -> str:
    if source.subwords is None:
        return "a run with subwords, data.subwords, knows all words that are spelt with known letters"
    return "they hold characters that did not occur in training"
