"""Greedy search that is watched: what listeners are told is what the translation becomes, and telling them
changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from rnnsearch.records import Translation
from rnnsearch.translation.translator import Translator

LINES = ["the old man sees a dog .", "", "the girls read the book .", "a cat sleeps ."]


@pytest.mark.parametrize("run", ["tiny_run", "tiny_subword_run"])
def test_what_listeners_are_told_grows_into_the_translation(run: str, request: pytest.FixtureRequest) -> None:
    translator = Translator.load(request.getfixturevalue(run))
    told: dict[int, list[Translation]] = {0: [], 1: [], 3: []}
    listeners = {number: seen.append for number, seen in told.items()}
    results = translator.translate_parts(
        [translator.source.encode(line) for line in LINES], beam=1, listeners=listeners
    )
    assert results == translator.translate(LINES, beam=1)
    assert told[1] == []
    for number in (0, 3):
        written = len(results[number].log_probabilities) - results[number].finished
        assert len(told[number]) == written > 0
        for size, so_far in enumerate(told[number], 1):
            assert so_far.log_probabilities == pytest.approx(
                results[number].log_probabilities[:size], abs=1e-5
            )
            assert so_far.source_tokens == results[number].source_tokens
            assert so_far.alignment.shape == (len(so_far.tokens), len(so_far.source_tokens))
            assert np.allclose(so_far.alignment.sum(axis=1), 1, atol=1e-5)
        assert told[number][-1].tokens == results[number].tokens
        assert np.allclose(told[number][-1].alignment, results[number].alignment, atol=1e-5)


@pytest.mark.parametrize(("run", "beam"), [("tiny_run", 4), ("tiny_backward_run", 1), ("tiny_run", 1)])
def test_a_listener_hears_of_its_own_line_but_not_of_a_beam_or_a_backward_decoder(
    run: str, beam: int, request: pytest.FixtureRequest
) -> None:
    translator = Translator.load(request.getfixturevalue(run))
    told: list[Translation] = []
    parts = [translator.source.encode(line) for line in [*LINES[2:], LINES[0], *LINES[2:]]]
    found = translator.translate_parts(parts, beam=beam, batch_size=2, listeners={2: told.append})
    if (run, beam) == ("tiny_run", 1):
        assert [so_far.source_tokens for so_far in told] == [found[2].source_tokens] * len(told)
        assert told[-1].tokens == found[2].tokens
    else:
        assert told == []
