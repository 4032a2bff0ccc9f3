"""The likeliest next words after a beginning."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from rnnsearch.records import Choice
from rnnsearch.search.beam import Hypothesis
from rnnsearch.settings import SearchSettings
from rnnsearch.text.codec import JOINER, Beginning, Codec, EncodedSentence
from rnnsearch.text.vocabulary import EOS, UNK
from rnnsearch.translation.copied import STAND_INS, kind_of


def next_words(
    part: EncodedSentence,
    target: Codec,
    count: int,
    settings: SearchSettings,
    search: Callable[..., list[list[Hypothesis]]],
    faithful: bool,
) -> list[Choice]:
    """Returns the likeliest words, best first.

    p(word) is the product over its subwords and over what ends it: the start of another word, or
    the end of sentence. Several segmentations of a word are summed. The beam holds twice as many as
    are returned.

    search: `Translator._searched`. faithful: whether the network has read stand-ins for what is
    copied.
    """
    starts = target.vocabulary.ids_starting(target.word_start)
    forced = part.beginning.places[: len(part.beginning.word_of)]
    beginning = Beginning(places=[*forced, dict.fromkeys(starts, 1)])
    how = {
        "beam": 2 * count,
        "nbest": 2 * count,
        "no_unk": True,
        "normalise": "none",
        "coverage_beta": 0.0,
        "min_length_ratio": 0.0,
        "max_length_ratio": 100.0,
    }
    words: defaultdict[str, float] = defaultdict(float)
    ends = [EOS, *starts] if target.word_start else [EOS, UNK, *starts]
    begun = replace(part, beginning=beginning)
    for one in search([begun], settings.model_copy(update=how), word_ends=ends)[0]:
        word = "".join(target.decode(one.ids[len(forced) :])[0])
        if one.finished and word:
            words[word] += math.exp(sum(one.log_probabilities[len(forced) :]))
    # stand-ins for what is copied
    copied = {
        one: word.replace(JOINER, " ")
        for word in reversed(part.words)
        if word not in part.beginning.words
        for one in STAND_INS.get(kind_of(word) or "", ())
    }
    found = [Choice(copied.get(word, word) if faithful else word, p) for word, p in words.items()]
    return sorted(found, key=lambda choice: -choice.probability)[:count]
