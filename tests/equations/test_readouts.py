"""The deep output against A.2.2 in plain loops: hidden layer, and log p with the full, factored and tied
output layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from plain.parameters import Parameters, deep_output
from small import assert_by_hand, drawn, small_network, small_settings

OUTPUTS = {
    "full": {},
    "factored": {"factored_output": True},
    "tied": {"tie_output": True},
    "tied and factored": {"tie_output": True, "factored_output": True},
}


@pytest.mark.parametrize("with_word", [True, False], ids=["word", "no word"])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("readout", ["maxout", "tanh"])
def test_log_probabilities(readout: str, output: str, with_word: bool) -> None:
    changed: dict[str, Any] = {"readout": readout, **OUTPUTS[output]}
    network, settings = small_network(**changed), small_settings(**changed)
    by_hand = deep_output(Parameters(network.state_dict()), settings)

    hidden = drawn(2, 3, settings.hidden_size)
    words = drawn(2, 3, settings.embedding_size) if with_word else None
    context = drawn(2, 3, 6)
    t = network.readout(hidden, words, context)
    log_p = torch.log_softmax(network.output.logits(network.output.features(t)), -1)
    for b in range(2):
        for i in range(3):
            read = (
                hidden[b, i].tolist(),
                None if words is None else words[b, i].tolist(),
                context[b, i].tolist(),
            )
            assert_by_hand(t[b, i], by_hand.layer(*read))
            assert_by_hand(log_p[b, i], by_hand.log_probabilities(*read))
