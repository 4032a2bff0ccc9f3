"""The likeliest next words after a beginning."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from rnnsearch.records import Choice
from rnnsearch.search.beam import Hypothesis
from rnnsearch.settings import SearchSettings
from rnnsearch.text.codec import Beginning, Codec, EncodedSentence
from rnnsearch.text.vocabulary import EOS, UNK

WordSearch = Callable[[EncodedSentence, SearchSettings, list[int]], list[Hypothesis]]
"""Searches one sentence; the last argument is `word_ends` of `search.prefix.with_beginnings`."""


def next_words(part: EncodedSentence, target: Codec, count: int, find: WordSearch) -> list[Choice]:
    """Returns the likeliest words, best first.

    p(word) is the product over its subwords and over what ends it: the start of another word, or the end of
    sentence. Several segmentations of a word are summed. The beam holds twice as many as are returned.
    """
    starts = target.vocabulary.ids_starting(target.word_start)
    forced = part.beginning.places[: len(part.beginning.word_of)]
    beginning = Beginning(places=[*forced, dict.fromkeys(starts, 1)])
    search = SearchSettings(beam=2 * count, nbest=2 * count, no_unk=True, max_length_ratio=100)
    words: defaultdict[str, float] = defaultdict(float)
    ends = [EOS, *starts] if target.word_start else [EOS, UNK, *starts]
    for one in find(replace(part, beginning=beginning), search, ends):
        word = "".join(target.decode(one.ids[len(forced) :]).words)
        if one.finished and word:
            words[word] += math.exp(sum(one.log_probabilities[len(forced) :]))
    found = [Choice(word, p) for word, p in words.items()]
    return sorted(found, key=lambda choice: -choice.probability)[:count]
