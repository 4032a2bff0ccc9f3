"""Runs whose decoder reads from the right, or from both ends, through everything that a user does with a
run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rnnsearch import InputError, Translation, Translator

LINES = ["The man sees the horse.", "", "She sleeps.", "The woman, who is old, does not often sing in Paris."]


@pytest.fixture(params=["backward", "bidirectional"])
def run(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(f"tiny_{request.param}_run")  # type: ignore[no-any-return]


def same(found: Translation, expected: Translation) -> None:
    assert (found.text, found.tokens, found.source_tokens) == (
        expected.text,
        expected.tokens,
        expected.source_tokens,
    )
    assert found.score == pytest.approx(expected.score, abs=1e-3)
    np.testing.assert_allclose(found.alignment, expected.alignment, atol=1e-4)


def test_the_score_of_a_bidirectional_run_is_the_mean_of_its_directions(tiny_bidirectional_run: Path) -> None:
    """Of the same encoder with either decoder alone: log p, and alignments."""
    translator = Translator.load(tiny_bidirectional_run)
    (network,) = translator.networks
    pairs = [("The man sleeps.", "L'homme dort."), ("She sings.", "Elle ne chante pas souvent.")]
    both = list(translator.force(pairs))
    halves: list[list[Translation]] = []
    for direction in network.directions:
        network.reading = "backward" if direction.backward else "forward"
        network.decoder, network.readout, network.output = direction[:3]
        halves.append(list(translator.force(pairs)))
    for whole, forward, backward in zip(both, *halves, strict=True):
        assert forward.score != pytest.approx(backward.score)
        assert whole.score == pytest.approx((forward.score + backward.score) / 2, abs=1e-4)
        np.testing.assert_allclose(whole.alignment, (forward.alignment + backward.alignment) / 2, atol=1e-5)


def test_an_ensemble_is_of_one_direction(run: Path, tiny_run: Path) -> None:
    with pytest.raises(
        InputError, match=r'has model.decoder = "b.*" and .*run has "forward" \(an ensemble needs one value'
    ):
        Translator.load(tiny_run, run)
    thrice, once = Translator.load(run, run, run), Translator.load(run)
    for found, expected in zip(thrice.translate(LINES), once.translate(LINES), strict=True):
        same(found, expected)
    pair = [("The man sleeps.", "L'homme dort.")]
    same(*thrice.force(pair), *once.force(pair))


def test_samples_are_of_one_decoder_and_in_order(run: Path) -> None:
    """Drawn from the only decoder, or from the left-to-right one: their log p is what forced decoding by it
    says."""
    translator = Translator.load(run)
    (drawn,) = translator.sample(["The man sees the horse."], samples=8, seed=3, max_length_ratio=3.0)
    (network,) = translator.networks
    network.reading = network.reading.replace("bidirectional", "forward")
    compared = 0
    for one in (drawn, *drawn.alternatives):
        (again,) = translator.force([("The man sees the horse.", one.text)])
        if one.finished and again.tokens == one.tokens:
            same(again, one)
            compared += 1
    assert compared
