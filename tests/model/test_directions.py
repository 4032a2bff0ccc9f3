"""Decoders from either end of the target: what a backward one computes, what two of them share, and what
stays as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from small import WIRINGS, Sentences, movement, sentences, small_network
from small import linked_batch as batch_of
from torch import Tensor

from rnnsearch.model.network import TeacherForced, TranslationNetwork, right_to_left

TURNED = torch.tensor([[5, 2, 0, 1, 4], [0, 3, 3, 2, 5], [3, 1, 1, 4, 0]])
"""The targets of `sentences`, each one's words written from the last to the first; the end of sentence and
the padding as they were."""


def decode(
    network: TranslationNetwork, batch: Sentences, known: Tensor | None = None
) -> list[TeacherForced]:
    return network.teacher_forced(
        batch.source, batch.lengths, batch.target, known=known, target_lengths=batch.target_lengths
    )


def one_way(network: TranslationNetwork, reading: str, **changed: Any) -> TranslationNetwork:
    """A network of one direction with the parameters of that half of a bidirectional one."""
    alone = small_network(decoder=reading, **changed)
    tensors = network.state_dict()
    alone.load_state_dict(
        {
            name: tensors[
                f"backward_{name}"
                if reading == "backward" and f"backward_{name}" in tensors
                else name
            ]
            for name in alone.state_dict()
        }
    )
    return alone


def test_words_are_turned_and_the_end_and_padding_stay() -> None:
    order = right_to_left(torch.tensor([4, 1, 5, 2]), 6)
    assert order.tolist() == [
        [2, 1, 0, 3, 4, 5],
        [0, 1, 2, 3, 4, 5],
        [3, 2, 1, 0, 4, 5],
        [0, 1, 2, 3, 4, 5],
    ]
    batch = sentences()
    assert torch.equal(batch.target.gather(1, right_to_left(batch.target_lengths, 5)), TURNED)


@pytest.mark.parametrize("wiring", WIRINGS)
@torch.no_grad()
def test_a_backward_decoder_is_a_forward_one_on_turned_targets(wiring: str) -> None:
    """The same parameters give the same numbers, and row i is that of y_i: the row of the last word is the
    first to be computed."""
    batch = sentences()
    backward, forward = (
        small_network(decoder=reading, wiring=wiring) for reading in ("backward", "forward")
    )
    assert backward.state_dict().keys() == forward.state_dict().keys()
    (found,), (expected,) = decode(backward, batch), decode(forward, batch._replace(target=TURNED))
    for b, places in enumerate([[1, 0, 2], [0], [3, 2, 1, 0, 4]]):
        for i, place in enumerate(places):
            assert torch.equal(found.features[b, i], expected.features[b, place])
            assert torch.equal(found.weights[b, i], expected.weights[b, place])
    for b, row_without_context in enumerate([1, 0, 3]):
        expected_rows = [
            wiring != "appendix" or i != row_without_context
            for i in range(int(batch.target_lengths[b]))
        ]
        assert found.attended[b, : len(expected_rows)].tolist() == expected_rows


@pytest.mark.parametrize(
    "changed",
    [{}, {"wiring": "appendix", "tie_output": True}, {"cell": "lstm", "alignment": "window"}],
    ids=str,
)
@torch.no_grad()
def test_two_directions_are_two_networks_over_one_encoder(changed: dict[str, Any]) -> None:
    network = small_network(decoder="bidirectional", **changed)
    both = decode(network, sentences())
    assert [direction.backward for direction in network.directions] == [False, True]
    for given, reading in zip(both, ("forward", "backward"), strict=True):
        (alone,) = decode(one_way(network, reading, **changed), sentences())
        for found, expected in zip(given, alone, strict=True):
            assert torch.equal(found, expected)
    assert not torch.allclose(both[0].weights[0, :3], both[1].weights[0, :3])


LINKS = [[(0, 0), (2, 0)], [], [(4, 0), (0, 1), (1, 1), (0, 3)]]
TURNED_LINKS = [[(0, 1), (2, 1)], [], [(4, 3), (0, 2), (1, 2), (0, 0)]]


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("known_alignments.loss=cross-entropy", "known_alignments.weight=0.3"),
        ("known_alignments.loss=squared", "known_alignments.forcing=known"),
    ],
    ids=str,
)
@pytest.mark.parametrize("wiring", WIRINGS)
def test_what_is_shared_learns_from_both(wiring: str, overrides: tuple[str, ...]) -> None:
    """Losses are summed: each decoder moves as it would alone, encoder and embeddings by the sum; with a
    known alignment too."""
    network = small_network(decoder="bidirectional", wiring=wiring)
    batch = batch_of(LINKS if overrides else None)
    alone = {
        reading: movement(one_way(network, reading, wiring=wiring), batch, overrides=overrides)
        for reading in ("forward", "backward")
    }
    for name, moved in movement(network, batch, overrides=overrides).items():
        part, _, rest = name.partition(".")
        if part in ("source_embedding", "target_embedding", "encoder"):
            expected = alone["forward"][name] + alone["backward"][name]
        elif part.startswith("backward_"):
            expected = alone["backward"][f"{part.removeprefix('backward_')}.{rest}"]
        else:
            expected = alone["forward"][name]
        torch.testing.assert_close(
            moved, expected, rtol=1e-9, atol=1e-11, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("forcing", ["none", "known"])
def test_links_follow_their_words(wiring: str, forcing: str) -> None:
    """A backward decoder learns from the links of a corpus as a forward one does from the links of the turned
    corpus."""
    links = "known_alignments.loss=cross-entropy", f"known_alignments.forcing={forcing}"
    turned = replace(batch_of(TURNED_LINKS), target=TURNED)
    backward = movement(
        small_network(decoder="backward", wiring=wiring), batch_of(LINKS), overrides=links
    )
    forward = movement(small_network(decoder="forward", wiring=wiring), turned, overrides=links)
    torch.testing.assert_close(backward, forward, rtol=1e-9, atol=1e-11)
