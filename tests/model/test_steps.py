"""Two drivers, one step: teacher forcing, word-by-word search and search with several hypotheses a sentence
say the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small import (
    ALIGNMENTS,
    CELLS,
    ENCODERS,
    TARGET_WORDS,
    WIRINGS,
    Sentences,
    sentences,
    small_network,
    teacher_forced,
)
from torch import Tensor

from rnnsearch.model.decoder import DecoderState
from rnnsearch.model.network import TranslationNetwork

Steps = tuple[Tensor, Tensor]
"""(log p (batch, target, K), weights (batch, target, source))."""


def stepwise(network: TranslationNetwork, batch: Sentences) -> Steps:
    """The given target words, one `network.step` a word."""
    source, state = network.encode(batch.source, batch.lengths)
    log_p, weights = [], []
    for i in range(batch.target.shape[1]):
        previous = batch.target[:, i - 1 : i] if i else None
        row, seen, state = network.step(previous, state, source)
        log_p.append(row)
        weights.append(seen.weights)
    return torch.cat(log_p, 1), torch.cat(weights, 1)


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("cell", CELLS)
@torch.no_grad()
def test_teacher_forcing_equals_steps(cell: str, encoder: str, wiring: str) -> None:
    for k, alignment in enumerate(ALIGNMENTS):
        readout = ("maxout", "tanh")[k % 2]
        network = small_network(
            cell=cell,
            encoder=encoder,
            alignment=alignment,
            wiring=wiring,
            readout=readout,
            factored_output=k > 2,
        )
        torch.testing.assert_close(
            stepwise(network, sentences()), teacher_forced(network, sentences()), rtol=0, atol=1e-12
        )


def prefixes_alone(
    network: TranslationNetwork, batch: Sentences, sentence: int, words: list[int]
) -> tuple[Tensor, Tensor]:
    """log p of the word after `words` and its weights, for one sentence without neighbours, padding or
    competitors."""
    length = int(batch.lengths[sentence])
    target = torch.tensor([[*words, 0]])
    one = Sentences(
        batch.source[sentence : sentence + 1, :length],
        torch.tensor([length]),
        target,
        torch.tensor([target.shape[1]]),
    )
    log_p, weights = stepwise(network, one)
    return log_p[0, -1], weights[0, -1]


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize("cell", ["gated", "lstm"])
@torch.no_grad()
def test_hypotheses_are_independent(cell: str, alignment: str, wiring: str) -> None:
    """Search as the beam does it: branch, reorder, drop a sentence, repeat a hypothesis. Each must be what it
    is alone."""
    network, batch = small_network(cell=cell, alignment=alignment, wiring=wiring), sentences()
    source, state = network.encode(batch.source, batch.lengths)
    log_p, seen, state = network.step(None, state, source)
    assert log_p.shape == (3, 1, TARGET_WORDS)
    kept, words = [0, 1, 2], [[[]], [[]], [[]]]  # type: list[int], list[list[list[int]]]
    plan: list[tuple[list[int] | None, list[list[int]], list[list[int]]]] = [
        # the sentences that stay, the hypotheses that each goes on with, their next words
        (None, [[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[1, 2, 3], [2, 1, 5], [4, 1, 1]]),
        ([0, 2], [[2, 0, 2], [1, 2, 0]], [[5, 4, 2], [1, 2, 3]]),
        (None, [[1, 0], [2, 2]], [[3, 3], [4, 2]]),
        ([1], [[1, 0, 1]], [[2, 5, 3]]),
    ]
    for rows, hypotheses, following in plan:
        stay = list(range(len(kept))) if rows is None else rows
        words = [
            [[*words[row][parent], word] for parent, word in zip(parents, next_words, strict=True)]
            for row, parents, next_words in zip(stay, hypotheses, following, strict=True)
        ]
        kept = [kept[row] for row in stay]
        chosen = None if rows is None else torch.tensor(rows)
        source = source if chosen is None else source.select(chosen)
        state = state.select(chosen, torch.tensor(hypotheses))
        log_p, seen, state = network.step(torch.tensor(following), state, source)
        for b, sentence in enumerate(kept):
            length = int(batch.lengths[sentence])
            for k, prefix in enumerate(words[b]):
                alone, weights = prefixes_alone(network, batch, sentence, prefix)
                torch.testing.assert_close(log_p[b, k], alone, rtol=0, atol=1e-12)
                torch.testing.assert_close(seen.weights[b, k, :length], weights, rtol=0, atol=1e-12)


def numbered(*shape: int) -> Tensor:
    """Tensor entries that name their place."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float64).view(shape)


@pytest.mark.parametrize(
    "memory",
    [None, numbered(3, 2), numbered(3, 2, 5), numbered(3, 2, 5, 4)],
    ids=["none", "2-D", "3-D", "4-D"],
)
@pytest.mark.parametrize("sentences_kept", [None, [0, 1, 2], [2, 0], [1]], ids=str)
def test_select(memory: Tensor | None, sentences_kept: list[int] | None) -> None:
    """The rows that go on, of every tensor of the state, a scorer's memory of any shape too."""
    state = DecoderState(numbered(3, 2, 4), numbered(3, 2, 6), numbered(3, 2, 5), memory)
    rows = [0, 1, 2] if sentences_kept is None else sentences_kept
    hypotheses = torch.tensor([[1, 1, 0], [0, 1, 0], [1, 0, 0]])[: len(rows)]
    chosen = state.select(None if sentences_kept is None else torch.tensor(sentences_kept), hypotheses)
    pairs: list[Any] = [
        (chosen.cell, state.cell),
        (chosen.context, state.context),
        (chosen.weights, state.weights),
    ]
    if memory is None:
        assert chosen.memory is None
    else:
        pairs.append((chosen.memory, memory))
    for found, whole in pairs:
        assert found.shape == (len(rows), 3, *whole.shape[2:])
        for b, row in enumerate(rows):
            for k in range(3):
                assert torch.equal(found[b, k], whole[row, hypotheses[b, k]])
