"""Warnings for whoever translates text that does not fit a model: lines that are too long, unknown words, and
a text in the target language.

The subwords that travel with a model tell its languages apart: ordinary words need few subwords of their own
language, and nearly twice as many of another one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

from rnnsearch.drawing.characters import printable, shorten
from rnnsearch.errors import InputWarning
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import UNK

FEWEST_LETTERS, ENOUGH_LETTERS = 20, 400
"""Of ordinary words: fewer say nothing, and more are not looked at."""
LIMIT = 1.1
"""Subwords of the source language for each of the target language. Text in the source language has about 0.5
(99.9 % of single sentences are below 0.9), text in the target language about 1.8 (99 % are above 1.1)."""

_EXAMPLES = 5
_LONGEST = 30


def noted(
    results: Iterable[Translation], source: Codec, limit: int, note: Callable[[str], None]
) -> Iterator[Translation]:
    """Passes translations on, and tells `note` of source lines that were cut and of unknown source words.

    The first line that was cut is named at once; all of them, and the words, after the last line. limit:
    `search.max_source_length`.
    """
    cuts, words, unknown = 0, 0, 0
    examples: list[str] = []
    for number, result in enumerate(results, 1):
        cuts += result.parts > 1
        if cuts == 1 and result.parts > 1:
            what = f"line {number} is longer than search.max_source_length = {limit}: it is translated in"
            note(f"warning: {what} {result.parts} parts (write one sentence on each line)")
        yield result
        sentence = result.source_tokens[:-1]
        words += len(sentence)
        for word in _unknown(sentence, source):
            unknown += 1
            if word not in examples and len(examples) <= _EXAMPLES:
                examples.append(word)
    if cuts > 1:
        note(f"warning: {cuts:,} lines were translated in parts")
    if unknown:
        shown = [shorten(printable(word), _LONGEST) for word in examples[:_EXAMPLES]]
        shown += ["…"] * (len(examples) > _EXAMPLES)
        what = f"the run does not know {unknown:,} of {words:,} source words: {', '.join(shown)}"
        advice = "they hold characters that did not occur in training"
        if source.subwords is None:
            advice = "a run with subwords, data.subwords, knows all words that are spelt with known letters"
        note(f"warning: {what} ({advice})")


def _unknown(words: list[str], source: Codec) -> Iterator[str]:
    """Yields the words that are unknown, or have a subword that is."""
    ids, sizes = source.word_ids(words)
    if UNK not in ids:
        return
    end = 0
    for word, size in zip(words, sizes, strict=True):
        end += size
        if UNK in ids[end - size : end]:
            yield word


class WrongLanguage:
    """Looks at the words of one text, and warns once."""

    def __init__(self, source: Codec, target: Codec) -> None:
        self.source, self.target = source, target
        self.letters, self.counts = 0, [0, 0]

    def look(self, words: Sequence[str]) -> None:
        """Counts further words; names, numbers and signs are no evidence."""
        if self.letters >= ENOUGH_LETTERS:
            return
        ordinary = [word for word in words if word.isalpha() and word.islower()]
        self.letters += sum(map(len, ordinary))
        for side, codec in enumerate((self.source, self.target)):
            ids, _ = codec.word_ids(ordinary)
            self.counts[side] += len(ids) + ids.count(UNK)
        if self.letters >= ENOUGH_LETTERS:
            self.finish()

    def finish(self) -> None:
        """Issues an InputWarning if the text looks like one in the target language."""
        as_source, as_target = self.counts
        if self.letters >= FEWEST_LETTERS and as_source > LIMIT * as_target:
            wanted, found = self.source.tokeniser.language, self.target.tokeniser.language
            named = f" ({found}), and this model translates from {wanted}" if wanted and found else ""
            text = f"the text seems to be in the model's target language{named}"
            warnings.warn(text, InputWarning, stacklevel=2)
        self.counts = [0, 0]
