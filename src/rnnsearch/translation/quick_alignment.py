"""Fast alignment of given pairs: one pass over the target words, without log p.

The posterior of a word determines the context of the next state at once. Exact forced decoding
(translation/forced.py) makes three passes instead, each with the posteriors of the previous pass: there, row
i is final after i passes; here, after one.
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
    """Returns α, or the alignment posterior, of the words of each target. In a posterior, the rows of the end
    of sentence and of padding are 0.

    The longest target comes first: a pair leaves the batch when it ends. Its later rows may be 0.

    caches: the cache of each network. Ensembles and bidirectional decoders give the mean, as in
    `forced_decoding`. The two directions of a bidirectional decoder start at opposite ends, so neither can
    wait for the other's posterior: they make as many passes as exact forced decoding does.
    """
    longest_first = batch.target_lengths.argsort(descending=True, stable=True)
    batch = Batch(**{name: part[longest_first] for name, part in batch.parts().items()})
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
    return torch.empty_like(known).index_copy_(0, longest_first, known)


def _walk(
    walkers: Sequence[_Walker],
    lengths: Int64[Tensor, " batch"],
    wanted: Bool[Tensor, "batch target"] | None,
    known: Rows | None,
    *,
    feeds: bool,
) -> Float[Tensor, "batch target source"]:
    """Steps the decoders of several networks over the target words.

    lengths: target lengths, the longest first. wanted: mask of the words whose posterior is returned; None
    returns α. known: alignments that determine the contexts. feeds: whether each new row determines its
    state's context.
    """
    sizes = lengths.tolist()
    found: Tensor | None = None
    for i in range(sizes[0]):
        left = sum(size > i for size in sizes)
        left = min(len(sizes), left + -left % MULTIPLE)
        row = mean_alignment(
            [
                walker.read(
                    i,
                    left,
                    None if wanted is None else wanted[:left, i],
                    None if known is None else known[:left, i : i + 1],
                )
                for walker in walkers
            ]
        )
        if feeds:
            for walker in walkers:
                walker.feed(row)
        if found is None:
            found = row.new_zeros(len(sizes), sizes[0], row.shape[2])
        found[:left, i] = row.squeeze(1)
    assert found is not None
    return found


class _Walker:
    """One decoder, stepped over the target words."""

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
        """The state that gave the last row, without its context (`released`)."""
        self.source = source
        with cache():
            words, self.word_of = target[:, :-1].unique(return_inverse=True)
            embedded = network.target_embedding(words.unsqueeze(0)).squeeze(0)
            self.embedded, self.projected = embedded, self.decoder.cell.project(embedded)
            self.posterior = BoundedPosterior(direction, source, target) if explains else None

    def read(
        self,
        i: int,
        left: int,
        wanted: Bool[Tensor, " left"] | None,
        known: Float[Tensor, "left 1 source"] | None,
    ) -> Float[Tensor, "left 1 source"]:
        """Returns row i of the first `left` pairs, with which later rows continue: α_i, or the posterior of
        the wanted words."""
        if left < len(self.state.cell):
            self.source, self.state = self.source.first(left), self.state.first(left)
        numbers = self.word_of[:left, i - 1 : i]  # of y_{i−1}
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

    def feed(self, row: Float[Tensor, "left 1 source"]) -> None:
        """Replaces the context of α by that of this alignment."""
        with self.cache():
            if (
                type(self.decoder.alignment).attended is Alignment.attended
            ):  # the state holds no earlier weights, so only the context changes
                given = row.any(-1, keepdim=True)
                context = torch.where(given, self.source.context(row), self.state.context)
                self.state = replace(self.state, context=context)
            else:
                self.state = self.decoder.attend(self.before, self.source, row)
