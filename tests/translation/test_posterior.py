"""The alignment of a word once it is known: against Bayes' rule step by step, and where it must agree with
α."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from posterior_by_hand import BATCH, LENGTHS, SOURCE, TARGET, TARGET_LENGTHS, by_hand, network

from rnnsearch.model.decoder import WIRINGS
from rnnsearch.translation import forced
from rnnsearch.translation.forced import forced_decoding


@pytest.mark.parametrize(
    "changes",
    [
        *({"wiring": wiring} for wiring in WIRINGS),
        {"cell": "lstm"},
        {"readout": "tanh", "factored_output": True},
        {"alignment": "recurrent"},
    ],
    ids=str,
)
def test_bayes_rule_step_by_step(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forced, "ROUNDS", 1)
    one = network(**changes)
    _, found = forced_decoding([one], BATCH, posterior=True)
    for row in range(2):
        size, length = int(TARGET_LENGTHS[row]), int(LENGTHS[row])
        torch.testing.assert_close(found[row, :size, :length], by_hand(one, row))
        assert not found[row, :, length:].any()


@pytest.mark.parametrize("changes", [{}, {"cell": "lstm"}, {"alignment": "general"}], ids=str)
def test_rounds_lead_to_states_that_know_where_each_word_came_from(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as many rounds as there are words, each word's posterior makes the context that the next state is
    made of."""
    one = network(**changes)
    sizes, lengths = TARGET_LENGTHS.tolist(), LENGTHS.tolist()
    expected = [by_hand(one, row, filtered=True) for row in range(2)]
    for rounds in range(1, 6):  # the longer sentence has five words
        monkeypatch.setattr(forced, "ROUNDS", rounds)
        log_p, found = forced_decoding([one], BATCH, posterior=True)
        for row in range(2):
            done = min(rounds, sizes[row])
            torch.testing.assert_close(found[row, :done, : lengths[row]], expected[row][:done])
            if rounds == 1 and row == 0:
                assert (
                    found[row, 1 : sizes[row], : lengths[row]] - expected[row][1:]
                ).abs().max() > 1e-6
        assert torch.equal(log_p, forced_decoding([one], BATCH)[0])


@pytest.mark.parametrize("wiring", ["eq4", "appendix"])
def test_a_state_that_is_made_of_its_own_context_is_not_asked_again(
    wiring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = network(wiring=wiring)
    _, found = forced_decoding([one], BATCH, posterior=True)
    monkeypatch.setattr(forced, "ROUNDS", 1)
    assert torch.equal(found, forced_decoding([one], BATCH, posterior=True)[1])


def test_of_both_directions_and_several_networks_it_is_the_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And this mean makes the contexts of the next round, in all of them."""
    both, other = network(decoder="bidirectional"), network(2, decoder="bidirectional")
    mean = None
    for rounds in (1, 2, 3):
        halves = []
        for one in (both, other):
            annotations = one.encode(SOURCE, LENGTHS)[0].annotations
            every = one.teacher_forced(
                SOURCE, LENGTHS, TARGET, known=mean, target_lengths=TARGET_LENGTHS
            )
            halves += [
                forced.alignment_posterior(direction, given, annotations, TARGET)
                for direction, given in zip(one.directions, every, strict=True)
            ]
        mean = torch.stack(halves).mean(0)
        monkeypatch.setattr(forced, "ROUNDS", rounds)
        _, found = forced_decoding([both, other], BATCH, posterior=True)
        torch.testing.assert_close(found, mean)
        assert all(
            not torch.allclose(one, another) for one, another in itertools.combinations(halves, 2)
        )


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = forced_decoding([network()], BATCH, posterior=True)
    monkeypatch.setattr(forced, "LOGITS_AT_ONCE", 12)
    torch.testing.assert_close(forced_decoding([network()], BATCH, posterior=True)[1], whole)
