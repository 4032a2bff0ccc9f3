"""Runs whose decoder reads from the right, or from both ends, through everything that a user does with a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch import InputError, Translation, Translator

LINES = ["The man sees the horse.", "", "She sleeps.", "The woman, who is old, does not often sing in Paris."]


@pytest.fixture(params=["backward", "bidirectional"])
def run(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(f"tiny_{request.param}_run")  # type: ignore[no-any-return]


def same(found: Translation, expected: Translation) -> None:
    assert (found.text, found.tokens, found.source_tokens) == (expected.text, expected.tokens, expected.source_tokens)
    assert found.score == pytest.approx(expected.score, abs=1e-3)
    np.testing.assert_allclose(found.alignment, expected.alignment, atol=1e-4)


def test_what_search_says_is_what_forced_decoding_says(run: Path) -> None:
    """Words, their log p and their alignment stand in the order of the sentence, whichever end was written first."""
    translator = Translator.load(run)
    lines = [line for line in LINES if line]
    results = translator.translate(lines, beam=4, nbest=3, min_length_ratio=0.6)
    pairs = [(line, one) for line, best in zip(lines, results, strict=True) for one in (best, *best.alternatives)]
    assert len({one.text for _, one in pairs}) > 3
    compared = 0
    for line, one in pairs:
        (again,) = translator.force([(line, one.text)])
        if one.finished and one.tokens and again.tokens == one.tokens:
            same(again, one)
            np.testing.assert_allclose(again.log_probabilities, one.log_probabilities, atol=1e-3)
            compared += 1
    assert compared >= 3


def test_results_come_in_the_order_of_the_lines(run: Path) -> None:
    translator = Translator.load(run)
    together = translator.translate(LINES, min_length_ratio=0.5, batch_size=2)
    for line, result in zip(LINES, together, strict=True):
        same(result, translator.translate([line], min_length_ratio=0.5)[0])
    assert together[1].text == ""


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
    with pytest.raises(InputError, match=r'has model.decoder = "b.*" and .*run has "forward" \(an ensemble needs one value'):
        Translator.load(tiny_run, run)
    thrice, once = Translator.load(run, run, run), Translator.load(run)
    for found, expected in zip(thrice.translate(LINES), once.translate(LINES), strict=True):
        same(found, expected)
    pair = [("The man sleeps.", "L'homme dort.")]
    same(*thrice.force(pair), *once.force(pair))


def test_samples_are_of_one_decoder_and_in_order(run: Path) -> None:
    """Drawn from the only decoder, or from the left-to-right one: their log p is what forced decoding by it says."""
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


def test_commands(run: Path, tiny_corpus: Path, tmp_path: Path, command: Any) -> None:
    source, target = tmp_path / "some.en", tmp_path / "some.fr"
    for side, file in (("en", source), ("fr", target)):
        lines = (tiny_corpus / f"test.{side}").read_text(encoding="utf-8").split("\n")[:3]
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    translated = command("translate", run, source, "--json")
    assert (translated.code, len(translated.lines)) == (0, 3)
    nbest = command("translate", run, source, "--beam", "4", "--nbest", "4")
    assert nbest.code == 0
    (tmp_path / "nbest").write_text(nbest.out, encoding="utf-8")
    scored = command("score", run, source, target)
    assert (scored.code, len(scored.lines)) == (0, 3)
    assert all(float(line) < 0 for line in scored.lines)
    aligned = command("align", run, source, target, "--json")
    for line, score in zip(aligned.lines, scored.lines, strict=True):
        pair = json.loads(line)
        assert pair["score"] == pytest.approx(float(score), abs=1e-4)
        np.testing.assert_allclose(np.sum(pair["alignment"], axis=1), 1, atol=1e-4)
    assert command("align", run, source, target).code == 0


def test_a_backward_run_reranks_the_list_of_another(tiny_run: Path, tiny_backward_run: Path, tmp_path: Path, command: Any) -> None:
    source = tmp_path / "some.en"
    source.write_text("The man sleeps.\nShe sings.\n", encoding="utf-8")
    nbest = command("translate", tiny_run, source, "--beam", "6", "--nbest", "6")
    (tmp_path / "nbest").write_text(nbest.out, encoding="utf-8")
    found = command("score", tiny_backward_run, source, tmp_path / "nbest")
    assert found.code == 0
    rows = [line.split(" ||| ") for line in found.lines]
    assert sorted((row[0], row[1]) for row in rows) == sorted(tuple(line.split(" ||| ")[:2]) for line in nbest.lines)
    translator = Translator.load(tiny_backward_run)
    lines = ["The man sleeps.", "She sings."]
    for number, text, *_, score in rows:
        (forced,) = translator.force([(lines[int(number)], text)])
        assert float(score) == pytest.approx(forced.score, abs=1e-3)
    for number in ("0", "1"):
        scores = [float(row[-1]) for row in rows if row[0] == number]
        assert scores == sorted(scores, reverse=True)
