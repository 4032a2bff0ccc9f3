"""Greedy search as it is watched: what is written of each sentence of a batch, after every word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from rnnsearch.records import Hypothesis, Translation
from rnnsearch.text.codec import EncodedSentence
from rnnsearch.translation.beam import Beam

Listener = Callable[[Translation], None]
"""Is told of a translation that grows."""


def word_by_word(listeners: Mapping[int, Callable[[Hypothesis], None]]) -> Callable[[Beam], None]:
    """What beam search may be watched by, with a beam of 1. listeners: of some sentences of the batch, by their numbers in it.

    Each is told after every word of its sentence but the end of sentence: ids, log p and α so far, as an unfinished hypothesis whose
    score is log p and whose weights have a column for each position of the batch, padding included.
    """
    words: dict[int, list[tuple[int, float]]] = {number: [] for number in listeners}
    rows: dict[int, list[np.ndarray]] = {number: [] for number in listeners}

    def watch(beam: Beam) -> None:
        for place, number in enumerate(beam.sentences.tolist()):
            if number in listeners:
                words[number].append((int(beam.ids[place, 0]), float(beam.log_probabilities[place, 0])))
                rows[number].append(beam.weights[place, 0])
                ids, log_probabilities = zip(*words[number], strict=True)
                so_far = Hypothesis(ids, float(beam.scores[place, 0]), log_probabilities, np.stack(rows[number]), finished=False)
                listeners[number](so_far)

    return watch


class Heard:
    """Which sentences have a listener. They are known by the object that they are, from their line until the end of the search."""

    def __init__(self, listeners: Mapping[int, Listener]) -> None:
        self._listeners = listeners
        self._sentences: dict[int, tuple[EncodedSentence, Listener]] = {}

    def begin(self, number: int, sentence: EncodedSentence) -> None:
        if number in self._listeners:
            self._sentences[id(sentence)] = sentence, self._listeners[number]

    def among(self, some: Sequence[EncodedSentence]) -> Iterator[tuple[int, EncodedSentence, Listener]]:
        """Of these sentences those with a listener: (place, sentence, listener)."""
        for place, sentence in enumerate(some):
            if id(sentence) in self._sentences:
                yield place, *self._sentences[id(sentence)]
