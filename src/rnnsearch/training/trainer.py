"""One update of the network from one or several batches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.model.dropout import Dropout
from rnnsearch.model.network import TeacherForced, TranslationNetwork, source_mask
from rnnsearch.model.readout import OutputLayer
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.alignment_loss import alignment_loss, alignment_weight, forced, needs_links
from rnnsearch.training.loss import negative_log_likelihood
from rnnsearch.training.optimiser import WeightAverage, choose_gradients, clip, gradient_norm, learning_rate, make_optimiser
from rnnsearch.training.sampled_softmax import over_words


@dataclass(frozen=True, slots=True)
class Update:
    """nll: −log p(y | x) in nats, summed over the pairs, the mean of the directions if there are two; with a sampled softmax that over V'.

    gradient_norm: before clipping.
    applied: False if it was not finite.
    alignment_loss: without its weight, summed over the linked_rows, the target positions with word links, in every direction.
    """

    nll: float
    pairs: int
    target_tokens: int
    gradient_norm: float
    learning_rate: float
    applied: bool
    alignment_loss: float = 0.0
    linked_rows: int = 0


class Sums(NamedTuple):
    """Over the pairs of some batches, as in Update."""

    nll: float
    target_tokens: int
    alignment_loss: float
    linked_rows: int

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Sums:
        """Of numbers in this order."""
        nll, tokens, alignment, rows = numbers
        return cls(nll, int(tokens), alignment, int(rows))


class Trainer:
    """A network with its optimiser. total_updates: where the learning rate's schedule ends, 0 if it does not."""

    def __init__(self, network: TranslationNetwork, settings: TrainingSettings, total_updates: int) -> None:
        self.network, self.settings, self.total_updates = network, settings, total_updates
        self.parameters = list(network.parameters())
        choose_gradients(network, settings)
        self.optimiser = make_optimiser(self.parameters, settings)
        self.average = WeightAverage(network, settings.average_decay) if settings.average_decay else None
        self.dropout = Dropout(settings.dropout_embedding, settings.dropout_recurrent, settings.dropout_readout)

    def update(self, batches: Sequence[Batch], number: int) -> Update:
        """Update `number` (1, 2, …): the loss is summed over the words of a sentence, its gradient averaged over the sentences.

        Of two directions the losses are summed: each decoder learns as it would alone, and the encoder from both.
        The alignment loss, if there is one, is treated alike. Batches need their known alignment if `needs_links` says so.
        A gradient that is not finite changes nothing. A GPU is waited for once: for what is shown, and for the norm of the gradient.
        """
        pairs = sum(len(batch.source) for batch in batches)
        *sums_here, norm = numbers_here(self._measured(batches, pairs, number))
        return self.step(Sums.of(sums_here), pairs, norm, number, self.parameters)

    def _measured(self, batches: Sequence[Batch], pairs: int, number: int) -> Float64[Tensor, 5]:
        """`add_gradients`, and the norm of the gradients behind what it returns."""
        sums = self.add_gradients(batches, pairs, number)
        return torch.cat((sums, gradient_norm(self.parameters).to(sums).view(1)))

    def add_gradients(self, batches: Sequence[Batch], pairs: int, number: int) -> Float64[Tensor, 4]:
        """Adds the gradients of the loss of update `number`, divided by `pairs`, to those of the parameters.

        Returns what `Sums.of` takes, where the network is.
        """
        sums = torch.zeros(4, dtype=torch.float64, device=self.parameters[0].device)
        for batch in batches:
            sums = sums + self.add_batch(batch, self.replaced(batch), pairs, alignment_weight(self.settings, number))
        return sums

    def add_batch(
        self,
        batch: Batch,
        replaced: Float[Tensor, "batch target source"] | None,
        pairs: int | Float[Tensor, ""],
        weight: float | Float[Tensor, ""],
    ) -> Float64[Tensor, 4]:
        """`add_gradients` of one batch. replaced: of this batch. weight: λ of the alignment loss.

        On a GPU it asks for no value, and draws random numbers on the device only, so that it can be captured.
        """
        known = self._known(batch)
        nll, alignment, rows = torch.zeros(3, dtype=torch.float64, device=self.parameters[0].device).unbind()
        every = self.network.teacher_forced(batch.source, batch.source_lengths, batch.target, self.dropout, replaced, batch.target_lengths)
        losses = []
        for direction, decoded in zip(self.network.directions, every, strict=True):
            loss, plain = self._nll(direction.output, decoded, batch)
            if known is not None and self.settings.alignment_loss != "none":
                read = known * decoded.attended.unsqueeze(-1)
                term, linked = alignment_loss(decoded.weights, read, self.settings.alignment_loss)
                loss = loss + weight * term
                alignment, rows = alignment + term.detach(), rows + linked
            losses.append(loss / pairs)
            nll = nll + plain.detach().double() / len(every)
        torch.stack(losses).sum().backward()  # at once: what the directions share forms its gradient once
        return torch.stack((nll, batch.target_lengths.sum().to(nll), alignment, rows))

    def step(self, sums: Sums, pairs: int, norm: float, number: int, parameters: Sequence[nn.Parameter]) -> Update:
        """Clips the gradient, whose norm over all parameters is `norm`, applies it to these, and forgets it."""
        rate = learning_rate(self.settings, number, self.total_updates)
        applied = math.isfinite(norm) and math.isfinite(sums.nll)
        if applied:
            self._apply(norm, rate, number, parameters)
        self._forget_gradients()
        return Update(sums.nll, pairs, sums.target_tokens, norm, rate, applied, sums.alignment_loss, sums.linked_rows)

    def _apply(self, norm: float, rate: float, number: int, parameters: Sequence[nn.Parameter]) -> None:
        """The optimiser's step and the average's, with a gradient that is finite."""
        clip(parameters, norm, self.settings.clip_norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        if self.average is not None:
            self.average.update(self.network, number, parameters)

    def _forget_gradients(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)

    def replaced(self, batch: Batch) -> Float[Tensor, "batch target source"] | None:
        """The rows that replace α in the contexts of this batch, perhaps drawn now."""
        known = self._known(batch)
        return None if known is None else forced(known, self.settings)

    def _known(self, batch: Batch) -> Float[Tensor, "batch target source"] | None:
        """The known alignment, if the settings use it."""
        if not needs_links(self.settings):
            return None
        if batch.known_alignment is None:
            raise ValueError("these settings need batches with a known alignment")
        return batch.known_alignment

    def _nll(self, output: OutputLayer, decoded: TeacherForced, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """(the loss to differentiate, the plain NLL) of one direction, summed over all the batch's words: of p over `batch.words`."""
        real = source_mask(batch.target_lengths, batch.target.shape[1])
        smoothing, dtype = self.settings.label_smoothing, self.network.product_dtype
        weight: Tensor = output.weight
        bias: Tensor = output.bias
        targets = batch.target
        if batch.words is not None:
            weight, bias, targets = over_words(output, batch.words, targets)
        if real.device.type == "cpu":  # padding costs no product
            return negative_log_likelihood(decoded.features[real], weight, bias, targets[real], smoothing, dtype)
        # Elsewhere it does: how many positions are real is not known without waiting, and shapes stay those of the batch.
        rows = decoded.features.flatten(0, 1)
        return negative_log_likelihood(rows, weight, bias, targets.flatten(), smoothing, dtype, real.flatten())

    @contextmanager
    def for_use(self) -> Iterator[TranslationNetwork]:
        """The network as it will be saved and used: averaged weights, full-precision products."""
        dtype, self.network.product_dtype = self.network.product_dtype, torch.float32
        trained = {name: tensor.clone() for name, tensor in self.network.state_dict().items()} if self.average else None
        if self.average is not None:
            self.network.load_state_dict(self.average.weights)
        try:
            yield self.network
        finally:
            self.network.product_dtype = dtype
            if trained is not None:
                self.network.load_state_dict(trained)


def numbers_here(tensor: Float[Tensor, " numbers"]) -> list[float]:
    """Its numbers on the host, once whatever computes them on a GPU is done."""
    return tensor.tolist()
