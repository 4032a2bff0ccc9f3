"""The steps of a given translation agree with forced decoding, whatever the decoder."""

from __future__ import annotations

import numpy as np
import pytest

from rnnsearch import Translator
from rnnsearch.serve.terminal import steps
from rnnsearch.word_links import merge_subwords

SOURCE, TARGET = "The old man sees the house.", "Le vieil homme voit la maison."


@pytest.mark.parametrize(
    "kind", ["tiny_run", "tiny_subword_run", "tiny_backward_run", "tiny_unknown_run"]
)
def test_softmax_of_the_energies_is_alpha_and_probabilities_multiply_to_p(
    kind: str, request: pytest.FixtureRequest
) -> None:
    translator = Translator.load(request.getfixturevalue(kind))
    codecs = translator.source, translator.target
    source, target = codecs[0].encode(SOURCE), codecs[1].encode(TARGET)
    found = steps(translator.networks[0], codecs[1], source, target)
    forced = translator.align([(SOURCE, TARGET)])[0]
    assert [step.written for step in found] == [
        codecs[1].vocabulary.word(number) for number in target.ids
    ]
    for step in found:
        assert step.energies is not None
        exponentials = np.exp(step.energies - step.energies.max())
        np.testing.assert_allclose(
            exponentials / exponentials.sum(), step.weights, rtol=1e-4, atol=1e-6
        )
        ps = [p for _, p in step.likeliest]
        assert ps == sorted(ps, reverse=True)
        assert step.p <= ps[0] + 1e-6
    np.testing.assert_allclose(
        np.log([step.p for step in found]), forced.log_probabilities, rtol=1e-3, atol=1e-4
    )
    rows = np.stack([step.weights for step in found[:-1]])
    words = merge_subwords(rows, source.word_of, target.word_of[:-1], len(target.words))
    np.testing.assert_allclose(words, forced.alignment, atol=1e-4)


def test_a_word_that_read_no_context_has_no_energies(tiny_run) -> None:  # type: ignore[no-untyped-def]
    translator = Translator.load(tiny_run)
    network = translator.networks[0]
    network.decoder.wiring = "appendix"
    source, target = translator.source.encode(SOURCE), translator.target.encode(TARGET)
    first, second, *_ = steps(network, translator.target, source, target)
    assert first.energies is None
    assert not first.weights.any()
    assert second.energies is not None
    assert second.weights.argmax() == second.energies.argmax()
    assert "energies" not in vars(network.decoder.alignment)
