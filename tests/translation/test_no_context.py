"""The first word of the decoder variant `appendix` reads no context: it has no alignment and no link,
wherever links are made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from rnnsearch.model.network import TranslationNetwork
from rnnsearch.run import Run
from rnnsearch.settings import ModelSettings, SearchSettings, Settings
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.aligner import Aligner
from rnnsearch.translation.translator import Translator

PAIRS = [("The man sees the horse.", "L'homme voit le cheval."), ("She sleeps.", "Elle dort.")]


@pytest.fixture(scope="module")
def run(tiny_run: Path) -> Run:
    return Run.open(tiny_run)


def network(run: Run, *, wiring: str = "appendix") -> TranslationNetwork:
    torch.manual_seed(3)
    sizes = {f"{layer}_size": 8 for layer in ("embedding", "hidden", "alignment", "maxout")}
    settings = ModelSettings.model_validate(sizes | {"initialisation": "glorot", "wiring": wiring})
    return TranslationNetwork(
        settings, len(run.source.vocabulary), len(run.target.vocabulary)
    ).eval()


def translator(run: Run, *networks: TranslationNetwork, **search: object) -> Translator:
    search_settings = SearchSettings.model_validate(search)
    return Translator(networks, run.source, run.target, Settings(search=search_settings))


@pytest.mark.parametrize("posterior", [False, True])
def test_forced_words_have_no_link(run: Run, posterior: bool) -> None:
    made = translator(run, network(run))
    for result in made.force(PAIRS, posterior=posterior):
        np.testing.assert_allclose(
            result.alignment.sum(axis=1), [0.0] + [1.0] * (len(result.tokens) - 1), atol=1e-5
        )
        assert 0 not in {target for _, target in result.links()}
    for threshold in (None, 0.0):
        for found in Aligner(made, posterior=posterior).align(PAIRS, threshold=threshold):
            assert 0 not in {target for _, target in found.links}
            assert len(found.links) >= len(found.result.tokens) - 2, (
                "the other words have lost their links too"
            )


def test_nor_has_the_first_word_that_is_written(run: Run) -> None:
    made = translator(run, network(run), min_length_ratio=1.0, beam=2, nbest=2)
    for result in made.translate([source for source, _ in PAIRS]):
        for one in (result, *result.alternatives):
            assert not one.alignment[0].any()
            assert one.alignment[1:].any(axis=1).all()
            assert 0 not in {target for _, target in one.links()}


def test_no_word_is_put_for_an_unknown_one_that_read_nothing(run: Run) -> None:
    made = network(run)
    with torch.no_grad():
        made.output.bias[UNK] = 50.0
    (result,) = translator(run, made, max_length_ratio=1.0, beam=1).translate(
        [PAIRS[0][0]], replace_unk=True
    )
    assert result.tokens[0] == "<unk>"
    assert len(result.tokens) > 2
    assert set(result.tokens[1:]) <= set(result.source_tokens[:-1])


def test_an_ensemble_has_the_alignment_of_those_that_read(run: Run) -> None:
    appendix, released = network(run), network(run, wiring="released")
    for together, alone, other in zip(
        translator(run, appendix, released).force(PAIRS),
        translator(run, released).force(PAIRS),
        translator(run, appendix).force(PAIRS),
        strict=True,
    ):
        np.testing.assert_allclose(together.alignment[0], alone.alignment[0], atol=1e-6)
        np.testing.assert_allclose(
            together.alignment[1:], (alone.alignment + other.alignment)[1:] / 2, atol=1e-6
        )
    searched = translator(run, appendix, released, min_length_ratio=1.0, beam=1).translate(
        [source for source, _ in PAIRS]
    )
    for result in searched:
        np.testing.assert_allclose(result.alignment.sum(axis=1), 1.0, atol=1e-5)
