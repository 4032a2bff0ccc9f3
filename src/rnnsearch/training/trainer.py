"""One update of the network from one or several batches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.model.dropout import Dropout
from rnnsearch.model.network import TeacherForced, TranslationNetwork, source_mask
from rnnsearch.model.readout import OutputLayer
from rnnsearch.system.kernel_dispatch import kernels_used
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.alignment_loss import alignment_loss, alignment_weight, needs_links, rows_to_force
from rnnsearch.training.loss import negative_log_likelihood, over_words
from rnnsearch.training.optimiser import (
    WeightAverage,
    choose_gradients,
    clip,
    gradient_norm,
    learning_rate,
    make_optimiser,
    sparse_parameters,
)
from rnnsearch.training.processes import Processes


@dataclass(frozen=True, slots=True)
class Update:
    """The outcome of an update, over the pairs of all processes.

    nll: −log p(y | x) in nats, summed over the pairs; the mean if there are two directions; over V' with a
    sampled softmax. gradient_norm: before clipping. applied: False if the gradient was not finite.
    alignment_loss: unweighted, summed over the linked rows of every direction. linked_rows: number of target
    positions with word links.
    """

    nll: float
    pairs: int
    target_tokens: int
    gradient_norm: float
    learning_rate: float
    applied: bool
    alignment_loss: float = 0.0
    linked_rows: int = 0


class BatchLoss(nn.Module):
    """The loss of a batch and its statistics, as one module that DDP can wrap."""

    def __init__(self, network: TranslationNetwork, settings: TrainingSettings) -> None:
        super().__init__()
        self.network, self.settings = network, settings
        self.dropout = Dropout(
            settings.dropout_embedding, settings.dropout_recurrent, settings.dropout_readout
        )

    def forward(
        self, batch: Batch, replaced: Float[Tensor, "batch target source"] | None, weight: float
    ) -> tuple[Float[Tensor, ""], Float64[Tensor, 4]]:
        """Returns (the loss to differentiate, summed over words and directions; [NLL, target words, alignment
        loss, linked rows]).

        replaced: the rows that replace α in the contexts. weight: λ of the alignment loss.
        """
        nll, alignment, rows = torch.zeros(3, dtype=torch.float64, device=batch.source.device).unbind()
        decoded_by_direction = self.network.teacher_forced(
            batch.source, batch.source_lengths, batch.target, self.dropout, replaced, batch.target_lengths
        )
        losses = []
        for direction, decoded in zip(self.network.directions, decoded_by_direction, strict=True):
            loss, plain = self._nll(direction.output, decoded, batch)
            if self.settings.alignment_loss != "none":
                known = known_alignment_of(batch) * decoded.attended.unsqueeze(-1)
                term, linked = alignment_loss(decoded.weights, known, self.settings.alignment_loss)
                loss = loss + weight * term
                alignment, rows = alignment + term.detach(), rows + linked
            losses.append(loss)
            nll = nll + plain.detach().double() / len(decoded_by_direction)
        tokens = batch.target_lengths.sum().to(nll)
        return torch.stack(losses).sum(), torch.stack((nll, tokens, alignment, rows))

    def _nll(
        self, output: OutputLayer, decoded: TeacherForced, batch: Batch
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Returns (the loss to differentiate, the plain NLL) of one direction, over all the batch's words."""
        real = source_mask(batch.target_lengths, batch.target.shape[1])
        smoothing, dtype = self.settings.label_smoothing, self.network.product_dtype
        weight: Tensor = output.weight
        bias: Tensor = output.bias
        targets = batch.target
        if batch.words is not None:
            weight, bias, targets = over_words(output, batch.words, targets)
        if real.device.type == "cpu":  # leave out padding, which would cost products
            return negative_log_likelihood(
                decoded.features[real], weight, bias, targets[real], smoothing, dtype
            )
        # On a GPU, padding stays: to count the real positions, the host would have to wait.
        rows = decoded.features.flatten(0, 1)
        return negative_log_likelihood(
            rows, weight, bias, targets.flatten(), smoothing, dtype, real.flatten()
        )


class Trainer:
    """A network with its optimiser.

    total_updates: where the learning rate's schedule ends; 0 if it does not. processes: the processes that
    share each batch; all must have the same network and optimiser state.
    """

    def __init__(
        self,
        network: TranslationNetwork,
        settings: TrainingSettings,
        total_updates: int,
        processes: Processes | None = None,
    ) -> None:
        self.network, self.settings, self.total_updates = network, settings, total_updates
        self.processes = processes or Processes()
        self.parameters = list(network.parameters())
        choose_gradients(network, settings)
        self.optimiser = make_optimiser(self.parameters, settings)
        self.average = WeightAverage(network, settings.average_decay) if settings.average_decay else None
        self.loss = self.processes.wrap(BatchLoss(network, settings), sparse_parameters(network))

    def update(self, batches: Sequence[Batch], number: int, pairs: int | None = None) -> Update:
        """Does update `number` (1, 2, …): the loss is summed over the words of a sentence, its gradient
        averaged over the sentences.

        The losses of two directions are summed: each decoder learns as it would alone, and the encoder from
        both. So are their alignment losses. Batches need known alignments if `needs_links` returns True. A
        gradient that is not finite changes nothing. The host waits for a GPU once, for the statistics and the
        gradient's norm.
        batches: this process's share. pairs: number of pairs of all processes; by default that of the
        batches.
        """
        pairs = pairs or sum(len(batch.source) for batch in batches)
        self.processes.seed_dropout(self.settings.seed, number)
        sums = self.add_gradients(batches, pairs, number)
        norm = gradient_norm(self.parameters).to(sums).view(1)
        every = self.processes.gather(numbers_here(torch.cat((sums, norm))))
        nll, tokens, alignment, rows = (sum(column) for column in list(zip(*every, strict=True))[:4])
        norm_of_first = every[0][4]  # processes with other numbers of threads may round it differently
        rate = learning_rate(self.settings, number, self.total_updates)
        applied = math.isfinite(norm_of_first) and math.isfinite(nll)
        if applied:
            self.step(norm_of_first, rate, number)
        self.optimiser.zero_grad(set_to_none=True)
        return Update(nll, pairs, int(tokens), norm_of_first, rate, applied, alignment, int(rows))

    def step(self, norm: float, rate: float, number: int) -> None:
        """Updates the parameters by their gradients, of the given norm, and then the averages."""
        clip(self.parameters, norm, self.settings.clip_norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        if self.average is not None:
            self.average.update(self.network, number)

    def add_gradients(self, batches: Sequence[Batch], pairs: int, number: int) -> Float64[Tensor, 4]:
        """Accumulates the gradients of the loss of update `number`, divided by `pairs`.

        Returns the summed statistics of `BatchLoss` over these batches, on the network's device.
        """
        sums = torch.zeros(4, dtype=torch.float64, device=self.parameters[0].device)
        weight = alignment_weight(self.settings, number)
        for place, batch in enumerate(batches):
            last = place == len(batches) - 1
            alone = nullcontext() if last else self.processes.without_exchange(self.loss)
            with alone, kernels_used(self.settings.kernels):
                loss, plain = self.loss(batch, self._replaced(batch, number, place), weight)
                # DDP averages over the processes instead of summing.
                (loss / pairs * self.processes.world).backward()
            sums = sums + plain
        return sums

    def _replaced(self, batch: Batch, number: int, place: int) -> Float[Tensor, "batch target source"] | None:
        """Returns the rows that replace α in the contexts of a batch; they may be random.

        A sentence's random number depends on its place in the update, and not on its process.
        """
        if not needs_links(self.settings):
            return None
        known, rank, world = known_alignment_of(batch), self.processes.rank, self.processes.world
        random = np.random.default_rng([self.settings.seed, number, place])
        drawn = random.random(rank + world * len(known))[rank::world][: len(known)]
        return rows_to_force(known, self.settings, torch.from_numpy(drawn))

    @contextmanager
    def for_use(self) -> Iterator[TranslationNetwork]:
        """Yields the network as it is saved and used: with averaged weights and float32 products."""
        dtype, self.network.product_dtype = self.network.product_dtype, torch.float32
        trained = (
            {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
            if self.average
            else None
        )
        if self.average is not None:
            self.network.load_state_dict(self.average.weights)
        try:
            yield self.network
        finally:
            self.network.product_dtype = dtype
            if trained is not None:
                self.network.load_state_dict(trained)


def known_alignment_of(batch: Batch) -> Float[Tensor, "batch target source"]:
    """Returns the known alignment of a batch. Raises ValueError if it has none."""
    if batch.known_alignment is None:
        raise ValueError("these settings need batches with a known alignment")
    return batch.known_alignment


def numbers_here(tensor: Float[Tensor, " numbers"]) -> list[float]:
    """Returns a tensor's numbers on the host; waits for the GPU that computes them."""
    return tensor.tolist()
