"""Search from both ends: what is pooled, how it is ranked, and that an exhaustive search finds the best of
all translations."""

from __future__ import annotations

import copy
import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from rnnsearch.batch import Batch, pad
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.beam import Hypothesis, beam_search, final_score
from rnnsearch.search.step import search
from rnnsearch.search.two_directions import search_both
from rnnsearch.settings import ModelSettings, SearchSettings
from rnnsearch.translation.forced import forced_decoding

WORDS = 5
"""Target words, the end of sentence and UNK among them."""
SOURCE, LENGTHS = torch.tensor([[3, 0, 5], [2, 4, 0], [1, 0, 0]]), torch.tensor([2, 3, 2])


def network(decoder: str = "bidirectional", seed: int = 1, **changed: Any) -> TranslationNetwork:
    sizes = {
        "embedding_size": 5,
        "hidden_size": 4,
        "encoder_size": 3,
        "alignment_size": 6,
        "maxout_size": 3,
    }
    made = TranslationNetwork(
        ModelSettings.model_validate(sizes | {"decoder": decoder} | changed), 7, WORDS
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():  # large enough that the two directions disagree
            parameter.copy_(1.5 * torch.randn(parameter.shape, generator=generator))
    return made


def found_by(
    networks: list[TranslationNetwork], settings: SearchSettings, rows: list[int] | None = None
) -> list[list[Hypothesis]]:
    chosen = slice(None) if rows is None else rows
    source, lengths = SOURCE[chosen], LENGTHS[chosen]
    source = source[:, : int(lengths.max())]
    if len(networks[0].directions) == 1:
        return search(networks, source, lengths, settings)
    forced = partial(forced_decoding, networks)
    return search_both(networks, source, lengths, settings, beam_search, forced)


def one_way(
    both: TranslationNetwork, settings: SearchSettings, rows: list[int] | None = None
) -> list[Any]:
    """Returns what each direction finds alone."""
    found = []
    for number in (0, 1):
        half = copy.deepcopy(both)
        half.decoder, half.readout, half.output, backward = half.directions[number]
        half.reading_order = "backward" if backward else "forward"
        found.append(found_by([half], settings, rows))
    return found


def forced(
    networks: list[TranslationNetwork], sentence: int, given: list[tuple[int, ...]]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(log p of each word, α) of translations of one source sentence."""
    length = int(LENGTHS[sentence])
    batch = Batch(
        SOURCE[[sentence] * len(given), :length], LENGTHS[[sentence] * len(given)], *pad(given)
    )
    log_p, weights = forced_decoding(networks, batch)
    return [
        (log_p[n, : len(ids)].numpy(), weights[n, : len(ids)].numpy())
        for n, ids in enumerate(given)
    ]


def every_translation(longest: int) -> list[tuple[int, ...]]:
    return [
        (*words, 0)
        for size in range(longest + 1)
        for words in itertools.product(range(1, WORDS), repeat=size)
    ]


@pytest.mark.parametrize(
    "changes", [{}, {"normalise": "length"}, {"normalise": "gnmt", "coverage_beta": 0.3}], ids=str
)
@pytest.mark.parametrize("members", [1, 2])
def test_a_wide_beam_finds_the_best_of_all(members: int, changes: dict[str, Any]) -> None:
    """All translations of at most three words, 85 of them, scored by forced decoding in both directions and
    ranked."""
    networks = [network(seed=seed) for seed in range(members)]
    settings = SearchSettings.model_validate(
        {"beam": 400, "nbest": 10, "max_length_ratio": 3.0} | changes
    )
    (found,) = found_by(networks, settings, [0])  # a source of one word and its end
    every = every_translation(3)
    scores = [
        final_score(float(log_p.sum()), weights, settings)
        for log_p, weights in forced(networks, 0, every)
    ]
    ranked = sorted(zip(scores, every, strict=True), reverse=True)
    assert [one.ids for one in found] == [ids for _, ids in ranked[:10]]
    assert [one.score for one in found] == pytest.approx(
        [score for score, _ in ranked[:10]], abs=1e-4
    )


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_what_both_beams_end_with_is_pooled_and_ranked_by_both(beam: int) -> None:
    """Words and alignment are the means of both, in the order of the translation."""
    both = network(seed=3)
    settings = SearchSettings(beam=beam, nbest=beam, max_length_ratio=2.0)
    alone, seen_once = one_way(both, settings), 0
    for number, found in enumerate(found_by([both], settings)):
        pools = [{one.ids for one in every[number] if one.finished} for every in alone]
        pool = sorted(pools[0] | pools[1])
        scored = dict(zip(pool, forced([both], number, pool), strict=True))
        seen_once += len(pools[0] ^ pools[1])
        best = sorted(scored, key=lambda ids: -float(scored[ids][0].sum()))[:beam]
        assert [one.ids for one in found] == best
        for one in found:
            log_p, weights = scored[one.ids]
            assert one.score == pytest.approx(float(log_p.sum()), abs=1e-4)
            np.testing.assert_allclose(one.log_probabilities, log_p, atol=1e-4)
            np.testing.assert_allclose(one.weights, weights, atol=1e-4)
            assert one.weights.dtype == np.float32
    assert seen_once, (
        "the beams agree in everything: nothing was scored by a direction that had not found it"
    )


def test_backward_search_is_forward_search_turned() -> None:
    """The same parameters: what a backward decoder finds are a forward one's translations read from the end,
    with the same scores."""
    settings = SearchSettings(beam=4, nbest=3, max_length_ratio=2.0)
    for turned, plain in zip(
        found_by([network("backward")], settings),
        found_by([network("forward")], settings),
        strict=True,
    ):
        for found, expected in zip(turned, plain, strict=True):
            words = len(expected.ids) - expected.finished
            order = [*reversed(range(words)), *range(words, len(expected.ids))]
            assert found.ids == tuple(expected.ids[i] for i in order)
            assert (found.score, found.finished) == (expected.score, expected.finished)
            assert found.log_probabilities == tuple(expected.log_probabilities[i] for i in order)
            np.testing.assert_array_equal(found.weights, expected.weights[order])


def test_where_nothing_is_finished_the_left_to_right_words_stay() -> None:
    settings = SearchSettings(
        beam=2, nbest=2, min_length_ratio=3.0, max_length_ratio=1.0
    )  # it must not end before it is cut
    both = network(seed=3)
    found = found_by([both], settings)
    assert found == one_way(both, settings)[0]
    assert not any(one.finished for every in found for one in every)
