"""The alignment of given pairs as fast as it can be had: one walk along the target words, without log p.

The posterior of a word makes the context of the next state at once, where exact forced decoding (translation/forced.py) walks three times
and lets each walk read the posterior of the one before: row i of that is final after i walks, and here after one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from rnnsearch.model.alignment import Alignment
from rnnsearch.model.decoder import DecoderState, Source, SourceReader
from rnnsearch.model.linear import LinearCache, sequence
from rnnsearch.model.network import Direction, TranslationNetwork, reordered, right_to_left
from rnnsearch.text.store.batches import Batch
from rnnsearch.translation.bounded_posterior import BoundedPosterior
from rnnsearch.translation.ensemble import mean_alignment
from rnnsearch.translation.forced import ROUNDS

Rows = Float[Tensor, "batch target source"]


@torch.no_grad()
def quick_alignment(
    networks: Sequence[TranslationNetwork], weights: Sequence[LinearCache], batch: Batch, *, posterior: bool = False
) -> Float[Tensor, "batch target source"]:
    """α, or the alignment posterior, of the words of each target; the rows of its end and of padding are 0 in a posterior.

    weights: each network's. Several networks are an ensemble; it and a bidirectional decoder have the mean, as in `forced_decoding`. The
    decoders of a bidirectional one read from opposite ends, so that neither can wait for the other's posterior: they walk as often as
    exact forced decoding does.
    """
    starts = []
    for network, own in zip(networks, weights, strict=True):
        with sequence(own):
            starts.append(network.begin(batch.source, batch.source_lengths))
    fed_back = posterior and all(network.decoder.wiring == "released" for network in networks)
    numbers = range(len(networks[0].directions))
    known: Tensor | None = None
    for _ in range(ROUNDS if fed_back and len(numbers) > 1 else 1):
        found = []
        for number in numbers:
            directions = [network.directions[number] for network in networks]
            order = right_to_left(batch.target_lengths, batch.target.shape[1]) if directions[0].backward else None
            target = batch.target if order is None else batch.target.gather(1, order)
            turned = known if known is None or order is None else reordered(known, order)
            walkers = [
                _Walker(network, direction, own, *start[number], target, posterior)
                for network, direction, own, start in zip(networks, directions, weights, starts, strict=True)
            ]
            wanted = torch.arange(target.shape[1], device=target.device) < batch.target_lengths.unsqueeze(1) - 1
            rows = _walk(walkers, target.shape[1], wanted if posterior else None, turned, feeds=fed_back and len(numbers) == 1)
            found.append(rows if order is None else reordered(rows, order))
        known = mean_alignment(found)
    assert known is not None
    return known


def _walk(
    walkers: Sequence[_Walker], words: int, wanted: Bool[Tensor, "batch target"] | None, known: Rows | None, *, feeds: bool
) -> Float[Tensor, "batch target source"]:
    """The mean of several networks' decoders along the target words.

    wanted: the words whose posterior is asked for; None: α. known: the contexts' alignments. feeds: each row makes its state's context.
    """
    rows = []
    for i in range(words):
        row = mean_alignment([walker.read(i, wanted, None if known is None else known[:, i : i + 1]) for walker in walkers])
        if feeds:
            for walker in walkers:
                walker.feed(row)
        rows.append(row)
    return torch.cat(rows, 1)


class _Walker:
    """One decoder on its way along the target words."""

    def __init__(
        self,
        network: TranslationNetwork,
        direction: Direction,
        weights: LinearCache,
        source: Source,
        state: DecoderState,
        target: Int64[Tensor, "batch target"],
        explains: bool,
    ) -> None:
        self.decoder, self.weights, self.target, self.state = direction.decoder, weights, target, state
        self.before = state
        """The state that asked for the last row, without its context (`released`)."""
        self.reader = SourceReader(source)
        with sequence(weights):
            embedded = network.target_embedding(target[:, :-1])
            self.projected = self.decoder.cell.project(embedded).split(1, 1)
            self.previous = torch.cat((embedded.new_zeros(len(target), 1, embedded.shape[2]), embedded), 1)
            self.posterior = BoundedPosterior(direction, source.annotations, target) if explains else None

    def read(self, i: int, wanted: Bool[Tensor, "batch target"] | None, known: Float[Tensor, "batch 1 source"] | None) -> Tensor:
        """Row i: α_i, or the posterior of the words that are wanted; (batch, 1, source)."""
        word = self.projected[i - 1] if i else None
        with sequence(self.weights):
            if self.decoder.wiring == "released":  # its step, in two: `feed` may give it another context
                self.before = self.state if word is None else self.decoder.advance(word, self.state, self.reader)
                seen = self.state = self.decoder.attend(self.before, self.reader, known)
            else:
                seen, self.state = self.decoder.step(word, self.state, self.reader, known)
            if wanted is None or self.posterior is None:
                return seen.weights
            hidden = self.decoder.cell.hidden(seen.cell)
            return self.posterior.row(i, hidden, self.previous[:, i : i + 1], seen.weights, wanted[:, i])

    def feed(self, row: Float[Tensor, "batch 1 source"]) -> None:
        """Makes the context of this alignment in place of α's."""
        with sequence(self.weights):
            if type(self.decoder.alignment).attended is Alignment.attended:  # it remembers no weights: only the context is another
                given = row.any(-1, keepdim=True)
                context = torch.where(given, self.reader.context(row), self.state.context)
                self.state = replace(self.state, context=context)
            else:
                self.state = self.decoder.attend(self.before, self.reader, row)
