"""One update of the network from one or several batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from operator import add
from typing import Annotated, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64
from pydantic import Field
from torch import Tensor, nn

from rnnsearch.batch import Batch
from rnnsearch.model.network import TeacherForced, TranslationNetwork, source_mask
from rnnsearch.model.readout import OutputLayer
from rnnsearch.settings import DropoutSettings, KnownAlignmentSettings, OptimiserSettings
from rnnsearch.training.loss import (
    Alignments,
    NegativeLogLikelihood,
    Scalar,
    alignment_loss,
    alignment_weight,
    negative_log_likelihood,
    rows_to_force,
    smoothed,
)
from rnnsearch.training.optimiser import (
    WeightAverage,
    choose_gradients,
    clip,
    gradient_norm,
    learning_rate,
    make_optimiser,
    sparse_parameters,
)
from rnnsearch.training.ranks import Ranks

SavedCount = Annotated[int, Field(ge=0, lt=2**63)]
"""A number that a checkpoint keeps; its range is checked when a checkpoint is loaded."""


@dataclass(frozen=True)
class LossSums:
    """Sums of the losses of one or several updates, over the pairs of all ranks.

    nll: −log p(y | x) in nats; the mean if there are two directions.
    target_tokens: with the ends of sentences.
    alignment_loss: unweighted, summed over the linked rows of every direction. linked_rows: number
    of these.
    """

    nll: float = 0.0
    pairs: SavedCount = 0
    target_tokens: SavedCount = 0
    alignment_loss: float = 0.0
    linked_rows: SavedCount = 0

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, kw_only=True)
class Update(LossSums):
    """The outcome of one update. gradient_norm: before clipping. applied: False if the gradient was
    not finite."""

    gradient_norm: float
    learning_rate: float
    applied: bool


class Faster(NamedTuple):
    """Equals of the network and of the NLL that compute faster. network: asked for every batch,
    since it may keep what it makes of the weights."""

    network: Callable[[TranslationNetwork], TranslationNetwork] = lambda network: network
    nll: NegativeLogLikelihood = negative_log_likelihood


class BatchLoss(nn.Module):
    """The loss of a batch and its statistics, as one module that DDP can wrap.

    dropout: also label smoothing. faster: equals that compute faster.
    """

    def __init__(
        self,
        network: TranslationNetwork,
        dropout: DropoutSettings | None = None,
        known_alignments: KnownAlignmentSettings | None = None,
        faster: Faster | None = None,
    ) -> None:
        super().__init__()
        self.network, self.faster = network, faster or Faster()
        self.dropout = dropout or DropoutSettings()
        self.known_alignments = known_alignments or KnownAlignmentSettings()

    def forward(
        self, batch: Batch, replaced: Alignments | None, weight: float | Scalar
    ) -> tuple[Scalar, Float64[Tensor, 4]]:
        """Returns (the loss to differentiate, summed over words and directions; [NLL, target words,
        alignment loss, linked rows]).

        replaced: the rows that replace α in the contexts. weight: λ of the alignment loss.
        """
        nll, alignment, rows = torch.zeros(
            3, dtype=torch.float64, device=batch.source.device
        ).unbind()
        network = self.faster.network(self.network)
        decoded_by_direction = network.teacher_forced(
            batch.source,
            batch.source_lengths,
            batch.target,
            self.dropout,
            replaced,
            batch.target_lengths,
        )
        losses = []
        for direction, decoded in zip(network.directions, decoded_by_direction, strict=True):
            loss, plain = self._nll(direction.output, decoded, batch)
            if self.known_alignments.loss != "none":
                assert batch.known_alignment is not None
                known = batch.known_alignment * decoded.attended.unsqueeze(-1)
                known = smoothed(known, batch.source_lengths, self.known_alignments.smoothing)
                term, linked = alignment_loss(decoded.weights, known, self.known_alignments.loss)
                loss = loss + weight * term
                alignment, rows = alignment + term.detach(), rows + linked
            losses.append(loss)
            nll = nll + plain.detach().double() / len(decoded_by_direction)
        tokens = batch.target_lengths.sum().to(nll)
        return torch.stack(losses).sum(), torch.stack((nll, tokens, alignment, rows))

    def _nll(
        self, output: OutputLayer, decoded: TeacherForced, batch: Batch
    ) -> tuple[Scalar, Scalar]:
        """Returns (the loss to differentiate, the plain NLL) of one direction."""
        real = source_mask(batch.target_lengths, batch.target.shape[1])
        # On a CPU padding is left out, which would cost products. On a GPU it stays: to count the
        # real positions, the host would have to wait.
        on_cpu, rows = real.is_cpu, (decoded.features, batch.target)
        features, targets = (each[real] if on_cpu else each.flatten(0, 1) for each in rows)
        mask = None if on_cpu else real.flatten()
        return self.faster.nll(output, features, targets, self.dropout.label_smoothing, mask)


class Trainer:
    """A network with its loss and its optimiser.

    Parameters without `requires_grad` keep their weights.
    total_updates: where the learning rate's schedule ends; 0 if it does not. seed: of dropout, and
    of the sentences whose contexts are computed from known alignments. ranks: the ranks that share
    each batch; all must have the same network and optimiser state.
    """

    def __init__(
        self,
        loss: BatchLoss,
        settings: OptimiserSettings,
        total_updates: int = 0,
        seed: int = 1,
        ranks: Ranks | None = None,
    ) -> None:
        self.network = network = loss.network
        self.settings, self.known_alignments = settings, loss.known_alignments
        self.total_updates, self.seed, self.ranks = total_updates, seed, ranks or Ranks()
        self.parameters = [one for one in network.parameters() if one.requires_grad]
        choose_gradients(network, settings)
        self.optimiser = make_optimiser(self.parameters, settings)
        self.average = (
            WeightAverage(network, settings.average_decay) if settings.average_decay else None
        )
        self.loss = self.ranks.wrap(loss, sparse_parameters(network))

    def update(self, batches: Sequence[Batch], number: int, pairs: int | None = None) -> Update:
        """Does update `number` (1, 2, …): the loss is summed over the words of a sentence, its
        gradient averaged over the sentences.

        The losses of two directions are summed: each decoder learns as it would alone, and the
        encoder from both. So are their alignment losses. Batches need known alignments if
        `needs_links` returns True. A gradient that is not finite changes nothing. The host waits
        for a GPU once, for the statistics and the gradient's norm.
        batches: this rank's share. pairs: number of pairs of all ranks; by default that of the
        batches.
        """
        pairs = pairs or sum(len(batch.source) for batch in batches)
        self.ranks.seed_dropout(self.seed, number)
        sums = self.add_gradients(batches, pairs, number)
        own_norm = gradient_norm(self.parameters).to(sums).view(1)
        every = self.ranks.gather(numbers_here(torch.cat((sums, own_norm))))
        nll, tokens, alignment, rows, _ = map(sum, zip(*every, strict=True))
        # of rank 0: ranks with other numbers of threads may round it differently
        norm = every[0][4]
        rate = learning_rate(self.settings, number, self.total_updates)
        applied = math.isfinite(norm) and math.isfinite(nll)
        if applied:
            self.step(norm, rate, number)
        self.optimiser.zero_grad(set_to_none=True)
        losses = nll, pairs, int(tokens), alignment, int(rows)
        return Update(*losses, gradient_norm=norm, learning_rate=rate, applied=applied)

    @property
    def has_finite_weights(self) -> bool:
        """Tells whether the L2 norm of all weights is a finite number in float32."""
        return bool(nn.utils.get_total_norm(self.parameters).isfinite())

    def step(self, norm: float, rate: float, number: int) -> None:
        """Updates the parameters by their gradients, of the given norm, and then the averages."""
        clip(self.parameters, norm, self.settings.clip_norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        if self.average is not None:
            self.average.update(self.network, number)

    def add_gradients(
        self, batches: Sequence[Batch], pairs: int, number: int
    ) -> Float64[Tensor, 4]:
        """Accumulates the gradients of the loss of update `number`, divided by `pairs`.

        Returns the summed statistics of `BatchLoss` over these batches, on the network's device.
        """
        sums = torch.zeros(4, dtype=torch.float64, device=self.parameters[0].device)
        weight = alignment_weight(self.known_alignments, number)
        for place, batch in enumerate(batches):
            # DDP exchanges gradients in the last backward pass only.
            last = place == len(batches) - 1
            self.loss.require_backward_grad_sync = last  # type: ignore[assignment]
            loss, plain = self.loss(batch, self._replaced(batch, number, place), weight)
            # DDP averages over the ranks instead of summing.
            (loss / pairs * self.ranks.world).backward()
            sums = sums + plain
        return sums

    def _replaced(self, batch: Batch, number: int, place: int) -> Alignments | None:
        """Returns the rows that replace α in the contexts of a batch; they may be random.

        A sentence's random number depends on its place in the update, and not on its rank.
        """
        known, rank, world = batch.known_alignment, self.ranks.rank, self.ranks.world
        if known is None:
            return None
        random = np.random.default_rng([self.seed, number, place])
        drawn = random.random(rank + world * len(known))[rank::world][: len(known)]
        return rows_to_force(known, self.known_alignments, torch.from_numpy(drawn))

    @contextmanager
    def for_use(self) -> Iterator[TranslationNetwork]:
        """Yields the network as it is saved and used, with averaged weights."""
        network, average = self.network, self.average
        if average:
            trained = {name: tensor.clone() for name, tensor in network.state_dict().items()}
            network.load_state_dict(average.weights)
        network.eval()  # parts of users may have PyTorch's own dropout
        try:
            yield network
        finally:
            network.train()
            if average:
                network.load_state_dict(trained)


def numbers_here(tensor: Float[Tensor, " numbers"]) -> list[float]:
    """Returns a tensor's numbers on the host; waits for the GPU that computes them."""
    return tensor.tolist()
