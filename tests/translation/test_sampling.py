"""Ancestral sampling on a small history-dependent table: frequencies against exact probabilities, and the
bookkeeping of every draw."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from mock_model import Ids, Model
from numpy.typing import NDArray

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.records import Hypothesis
from rnnsearch.translation.beam import EOS, UNK, Sampling, beam_search, sample

DRAWS = 4000


class Table(Model):
    """The mock step, sampled from."""

    def sample(
        self, samples: int, temperature: float = 1.0, seed: int = 1, **settings: object
    ) -> list[list[Hypothesis]]:
        generator = torch.Generator().manual_seed(seed)
        chosen = SearchSettings.model_validate(settings)
        return sample(self.step, *self.start(), chosen, Sampling(samples, temperature, generator))


def exact(
    table: Table,
    sentence: int,
    *,
    longest: int,
    shortest: int = 0,
    no_unk: bool = False,
    temperature: float = 1.0,
) -> dict[Ids, float]:
    """Every outcome's probability by enumeration; one without EOS at its end was cut off."""

    def p(ids: Ids) -> NDArray[np.float64]:
        chances = np.exp(table.row(sentence, ids)[0].astype(np.float64)) ** (1 / temperature)
        if no_unk:
            chances[UNK] = 0
        if len(ids) < shortest:
            chances[EOS] = 0
        total: float = chances.sum()
        return np.divide(chances, total)

    outcomes = {}
    for length in range(longest + 1):
        for ids in itertools.product(range(1, table.size), repeat=length):
            prefix = math.prod(p(ids[:i])[word] for i, word in enumerate(ids))
            outcomes[(*ids, EOS)] = prefix * p(ids)[EOS]
            if length == longest:
                outcomes[ids] = prefix * (1 - p(ids)[EOS])
    assert sum(outcomes.values()) == pytest.approx(1)
    return outcomes


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, {}),
        ({"no_unk": True}, {"no_unk": True}),
        ({"min_length_ratio": 0.5}, {"shortest": 1}),
        ({"temperature": 0.5}, {"temperature": 0.5}),
        ({"temperature": 2.0, "no_unk": True}, {"temperature": 2.0, "no_unk": True}),
    ],
)
def test_frequencies_are_the_probabilities(settings: dict[str, Any], limits: dict[str, Any]) -> None:
    table = Table([3, 2], size=3)
    for sentence, drawn in enumerate(table.sample(DRAWS, max_length_ratio=1.0, **settings)):
        words = table.lengths[sentence] - 1
        shortest = {"shortest": words // 2} if "shortest" in limits else {}
        outcomes = exact(table, sentence, longest=words, **{**limits, **shortest})
        counts = Counter(hypothesis.ids for hypothesis in drawn)
        assert set(counts) <= {ids for ids, p in outcomes.items() if p > 0}
        for ids, p in outcomes.items():
            assert abs(counts[ids] / DRAWS - p) <= 4 * math.sqrt(p * (1 - p) / DRAWS), ids


def test_every_draw_carries_its_own_history() -> None:
    table = Table([5, 1, 3], size=6)
    for sentence, drawn in enumerate(table.sample(30, temperature=3.0, no_unk=True, max_length_ratio=1.5)):
        assert len(drawn) == 30
        for hypothesis in drawn:
            rows = [table.row(sentence, hypothesis.ids[:i]) for i in range(len(hypothesis.ids))]
            expected = tuple(
                float(log_p[word]) for (log_p, _), word in zip(rows, hypothesis.ids, strict=True)
            )
            assert hypothesis.log_probabilities == expected  # the model's own, whatever the temperature
            assert hypothesis.score == pytest.approx(sum(expected), rel=1e-5)
            assert np.array_equal(hypothesis.weights, [alpha for _, alpha in rows])
            assert hypothesis.finished == (EOS in hypothesis.ids)
            assert UNK not in hypothesis.ids


def test_samples_keep_the_order_in_which_they_were_drawn_and_the_generator_decides() -> None:
    table = Table([4], size=3)
    [drawn] = table.sample(DRAWS, max_length_ratio=1.0)
    sizes = np.array([len(hypothesis.ids) for hypothesis in drawn], dtype=np.float64)
    first, second = np.split(sizes, 2)
    assert abs(first.mean() - second.mean()) <= 4 * sizes.std() * math.sqrt(2 / (DRAWS / 2))
    assert table.sample(20, seed=3) == table.sample(20, seed=3)
    assert table.sample(20, seed=3) != table.sample(20, seed=4)


@pytest.mark.parametrize("temperature", [1e-3, 1e-45, 1e-300])
def test_at_a_temperature_near_zero_the_most_probable_word_is_drawn(temperature: float) -> None:
    table = Table([5, 2, 4], size=7)
    greedy = beam_search(table.step, *table.start(), SearchSettings(beam=1))
    assert [[one.ids for one in drawn] for drawn in table.sample(3, temperature)] == [
        [best.ids] * 3 for [best] in greedy
    ]


def test_where_no_word_is_possible_the_sample_is_cut_off() -> None:
    for drawn in Table([3, 1], impossible=1.0).sample(2):
        assert [(hypothesis.ids, hypothesis.score, hypothesis.finished) for hypothesis in drawn] == [
            ((), 0.0, False)
        ] * 2


@pytest.mark.parametrize(
    ("temperature", "samples"), [(0.0, 1), (-1.0, 1), (math.nan, 1), (math.inf, 1), (1.0, 0)]
)
def test_impossible_requests_are_refused(temperature: float, samples: int) -> None:
    with pytest.raises(InputError):
        Table([2], size=3).sample(samples, temperature)
