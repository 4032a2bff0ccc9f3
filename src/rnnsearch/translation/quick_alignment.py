"""The alignment of given pairs as fast as it can be had: one walk along the target words, without log p.

The posterior of a word makes the context of the next state at once, where exact forced decoding
(translation/forced.py) walks three times and lets each walk read the posterior of the one before: row i of
that is final after i walks, and here after one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from rnnsearch.model.alignment import Alignment
from rnnsearch.model.decoder import DecoderState, Source
from rnnsearch.model.layers import Cache
from rnnsearch.model.network import Direction, TranslationNetwork, reordered, right_to_left
from rnnsearch.text.store.batches import Batch
from rnnsearch.translation.bounded_posterior import MULTIPLE, BoundedPosterior
from rnnsearch.translation.forced import ROUNDS
from rnnsearch.translation.joint import mean_alignment

Rows = Float[Tensor, "batch target source"]


@torch.no_grad()
def quick_alignment(
    networks: Sequence[TranslationNetwork],
    caches: Sequence[Cache],
    batch: Batch,
    *,
    posterior: bool = False,
) -> Float[Tensor, "batch target source"]:
    """Returns α, or the alignment posterior, of the words of each target; the rows of its end and of padding
    are 0 in a posterior.

    A pair that has come to its end leaves the others: its later rows may be 0.

    caches: each network's. Several networks are an ensemble; it and a bidirectional decoder have the mean, as
    in `forced_decoding`. The decoders of a bidirectional one read from opposite ends, so that neither can
    wait for the other's posterior: they walk as often as exact forced decoding does.
    """
    starts = []
    for network, own in zip(networks, caches, strict=True):
        with own():
            starts.append(network.begin(batch.source, batch.source_lengths))
    fed_back = posterior and all(network.decoder.wiring == "released" for network in networks)
    numbers = range(len(networks[0].directions))
    known: Tensor | None = None
    for _ in range(ROUNDS if fed_back and len(numbers) > 1 else 1):
        found = []
        for number in numbers:
            directions = [network.directions[number] for network in networks]
            order = (
                right_to_left(batch.target_lengths, batch.target.shape[1]) if directions[0].backward else None
            )
            target = batch.target if order is None else batch.target.gather(1, order)
            turned = known if known is None or order is None else reordered(known, order)
            walkers = [
                _Walker(network, direction, own, *start[number], target, posterior)
                for network, direction, own, start in zip(networks, directions, caches, starts, strict=True)
            ]
            wanted = (
                torch.arange(target.shape[1], device=target.device) < batch.target_lengths.unsqueeze(1) - 1
            )
            rows = _walk(
                walkers,
                batch.target_lengths,
                wanted if posterior else None,
                turned,
                feeds=fed_back and len(numbers) == 1,
            )
            found.append(rows if order is None else reordered(rows, order))
        known = mean_alignment(found)
    assert known is not None
    return known


def _walk(
    walkers: Sequence[_Walker],
    lengths: Int64[Tensor, " batch"],
    wanted: Bool[Tensor, "batch target"] | None,
    known: Rows | None,
    *,
    feeds: bool,
) -> Float[Tensor, "batch target source"]:
    """Walks several networks' decoders along the target words.

    lengths: of the targets. wanted: the words whose posterior is asked for; None: α. known: the contexts'
    alignments. feeds: each row makes its state's context.
    """
    sizes = lengths.tolist()
    rows = torch.arange(len(sizes), device=lengths.device)  # the pairs that the walkers still have
    found: Tensor | None = None
    for i in range(max(sizes)):
        left = sum(size > i for size in sizes)
        if left + -left % MULTIPLE < len(rows):
            chosen = lengths[rows].argsort(descending=True, stable=True)[: left + -left % MULTIPLE]
            rows = rows[chosen]
            for walker in walkers:
                walker.select(chosen)
        row = mean_alignment(
            [
                walker.read(
                    i,
                    None if wanted is None else wanted[rows, i],
                    None if known is None else known[rows, i : i + 1],
                )
                for walker in walkers
            ]
        )
        if feeds:
            for walker in walkers:
                walker.feed(row)
        if found is None:
            found = row.new_zeros(len(sizes), max(sizes), row.shape[2])
        found[rows, i] = row.squeeze(1)
    assert found is not None
    return found


class _Walker:
    """One decoder on its way along the target words."""

    def __init__(
        self,
        network: TranslationNetwork,
        direction: Direction,
        cache: Cache,
        source: Source,
        state: DecoderState,
        target: Int64[Tensor, "batch target"],
        explains: bool,
    ) -> None:
        self.decoder, self.cache, self.target, self.state = direction.decoder, cache, target, state
        self.before = state
        """The state that asked for the last row, without its context (`released`)."""
        self.source = source
        self.rows = torch.arange(len(target), device=target.device)
        """The pairs that are left."""
        with cache():
            words, self.word_of = target[:, :-1].unique(return_inverse=True)
            embedded = network.target_embedding(words.unsqueeze(0)).squeeze(0)
            self.embedded, self.projected = embedded, self.decoder.cell.project(embedded)
            self.posterior = BoundedPosterior(direction, source.annotations, target) if explains else None

    def select(self, chosen: Int64[Tensor, " kept"]) -> None:
        """Goes on with some of the pairs that are left."""
        self.rows, self.source = self.rows[chosen], self.source.select(chosen)
        self.state = self.state.select(chosen, torch.zeros_like(chosen).unsqueeze(1))
        if self.posterior is not None:
            self.posterior = self.posterior.select(chosen)

    def read(
        self,
        i: int,
        wanted: Bool[Tensor, " batch"] | None,
        known: Float[Tensor, "batch 1 source"] | None,
    ) -> Tensor:
        """Returns row i of the pairs that are left: α_i, or the posterior of the words that are wanted;
        (batch, 1, source)."""
        numbers = self.word_of[self.rows, i - 1 : i]  # of y_{i−1}
        word = self.projected[numbers] if i else None
        with self.cache():
            if self.decoder.wiring == "released":  # its step, in two: `feed` may give it another context
                self.before = (
                    self.state if word is None else self.decoder.advance(word, self.state, self.source)
                )
                seen = self.state = self.decoder.attend(self.before, self.source, known)
            else:
                seen, self.state = self.decoder.step(word, self.state, self.source, known)
            if wanted is None or self.posterior is None:
                return seen.weights
            hidden = self.decoder.cell.hidden(seen.cell)
            previous = (
                self.embedded[numbers] if i else hidden.new_zeros(len(hidden), 1, self.embedded.shape[1])
            )
            return self.posterior.row(i, hidden, previous, seen.weights, wanted)

    def feed(self, row: Float[Tensor, "batch 1 source"]) -> None:
        """Makes the context of this alignment in place of α's."""
        with self.cache():
            if (
                type(self.decoder.alignment).attended is Alignment.attended
            ):  # it remembers no weights: only the context is another
                given = row.any(-1, keepdim=True)
                context = torch.where(given, self.source.context(row), self.state.context)
                self.state = replace(self.state, context=context)
            else:
                self.state = self.decoder.attend(self.before, self.source, row)
