"""Search with a given beginning, on a mock step: against enumeration of everything that the beginning allows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mock_model import Ids, Model

from rnnsearch.search.beam import EOS, UNK, Hypothesis, beam_search
from rnnsearch.search.prefix import Places, with_beginnings
from rnnsearch.settings import SearchSettings

EVERYTHING = {"beam": 200, "nbest": 200, "max_length_ratio": 1.0}
"""Settings of a search that finds every translation of the models below."""


def searched(
    model: Model, beginnings: list[Places], ends: Ids = (), **settings: object
) -> list[list[Hypothesis]]:
    search = with_beginnings(beam_search, beginnings, ends)
    return search(model.step, *model.start(), SearchSettings.model_validate(settings))


def log_p(model: Model, sentence: int, ids: Ids) -> list[float]:
    return [float(model.row(sentence, ids[:place])[0][number]) for place, number in enumerate(ids)]


def agrees(ids: Ids, beginning: Places) -> bool:
    """Whether the ids lead past the last place."""
    place = 0
    for number in ids:
        if place < len(beginning):
            if number not in beginning[place]:
                return False
            place += beginning[place][number]
    return place >= len(beginning)


BEGINNINGS: dict[str, Places] = {
    "none": (),
    "forced": ({2: 1}, {3: 1}),
    "UNK": ({UNK: 1},),
    "letters": ({2: 1, 3: 2}, {2: 1}),
    "letters after a word": ({3: 1}, {2: 1, 1: 3, 3: 2}, {3: 2}, {2: 1, 3: 1}),
    "complete": ({2: 1}, {EOS: 1}),
}


@pytest.mark.parametrize("no_unk", [False, True])
@pytest.mark.parametrize("normalise", ["none", "length"])
def test_finds_the_n_best_of_all_that_begin_so(normalise: str, no_unk: bool) -> None:
    """The batch has a sentence for each kind of beginning."""
    model = Model([4] * len(BEGINNINGS), size=4, seed=5)
    found = searched(
        model, list(BEGINNINGS.values()), **EVERYTHING, normalise=normalise, no_unk=no_unk
    )
    every = [(*ids, EOS) for n in range(4) for ids in itertools.product(range(1, 4), repeat=n)]
    for sentence, (hypotheses, beginning) in enumerate(
        zip(found, BEGINNINGS.values(), strict=True)
    ):
        forced = sum(len(place) == 1 for place in beginning)
        allowed = [
            ids for ids in every if agrees(ids, beginning) and not (no_unk and UNK in ids[forced:])
        ]
        scores = {
            ids: sum(log_p(model, sentence, ids)) / (len(ids) if normalise == "length" else 1)
            for ids in allowed
        }
        assert [one.ids for one in hypotheses] == sorted(allowed, key=lambda ids: -scores[ids])
        for one in hypotheses:
            assert one.score == pytest.approx(scores[one.ids], rel=1e-6)
            assert list(one.log_probabilities) == log_p(model, sentence, one.ids)


@pytest.mark.parametrize("seed", range(3))
def test_the_next_word_ends_where_another_begins(seed: int) -> None:
    """2 and 3 begin words, and 4 goes on with one."""
    model = Model([5], size=5, seed=seed)
    starts, begun = (2, 3), (2, 4, 3)
    beginning = [*({number: 1} for number in begun), dict.fromkeys(starts, 1)]
    [found] = searched(model, [beginning], (EOS, *starts), no_unk=True, **EVERYTHING)
    for one in found:
        word = one.ids[len(begun) : -1]
        assert word[0] in starts
        assert set(word[1:]) <= {4}
        end = np.logaddexp.reduce(model.row(0, (*begun, *word))[0][[EOS, *starts]])
        expected = sum(log_p(model, 0, (*begun, *word))[len(begun) :]) + end
        assert sum(one.log_probabilities[len(begun) :]) == pytest.approx(expected, abs=1e-5)
    assert [one.ids[len(begun)] for one in found if len(one.ids) == len(begun) + 2]
    total = sum(math.exp(sum(one.log_probabilities[len(begun) :])) for one in found)
    first = np.exp(model.row(0, begun)[0][[*starts]]).sum()
    assert total <= first + 1e-6
