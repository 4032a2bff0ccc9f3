"""Updates that a GPU repeats: forward, backward and optimiser are captured once as CUDA graphs, and then launched whole.

An update is thousands of small kernels, and to launch one takes the host longer than it takes a large GPU to run it. A graph is launched
at once. It reads and writes the addresses that it was captured with, so everything that changes from update to update lies in buffers
that stay: the batch, the gradients, their sums, and the numbers that follow from the number of the update. Three parts are captured:
the gradients of a batch, once per shape; the sums and the norm of the gradient; and clipping, optimiser and average. The host looks at
the norm between the second and the third: a gradient that is not finite changes nothing.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError, one_line
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.alignment_loss import alignment_weight, needs_links
from rnnsearch.training.optimiser import averaging_rate, clip_factor, gradient_norm
from rnnsearch.training.trainer import Trainer

WARM_UPS = 3
"""Runs of each part before it is captured: libraries load their kernels, and optimisers make their state. (torch's example has 3.)"""
GRAPHS = 256
"""Pieces of work that are captured: one for each shape of batch, those first met often enough, and two for all. An update of another shape
runs uncaptured, which is slower and no less right."""


@runtime_checkable
class Graphs(Protocol):
    """Where captured work runs: a GPU, or what stands in for it in tests."""

    def run(self, work: Callable[[], None]) -> None:
        """Runs it as it is."""
        ...

    def record(self, work: Callable[[], None]) -> Callable[[], None]:
        """Captures it without running it. Returns what runs it again, on the same addresses and with the same numbers from the host."""
        ...


class CudaGraphs:
    """All graphs share one pool of memory: between two of them nothing in it has to survive."""

    def __init__(self, device: torch.device | str) -> None:
        self.device = torch.device(device)
        self.stream = torch.cuda.Stream(self.device)
        self.pool = torch.cuda.graph_pool_handle()

    def run(self, work: Callable[[], None]) -> None:
        """On the stream of the captures: autograd keeps to the stream on which it first met a parameter."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.stream), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "This instance was constructed with capturable=True")  # a warm-up is meant to be uncaptured
            work()
        torch.cuda.current_stream(self.device).wait_stream(self.stream)

    def record(self, work: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.device(self.device), torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
                work()
        except RuntimeError as error:
            cause = error.__context__ or error  # to end a capture that has failed fails as well
            if isinstance(cause, torch.OutOfMemoryError):
                raise cause from None
            what = f"an update of this network cannot be captured: {one_line(str(cause))[:200]}"
            raise InputError(what, remedy="set training.capture = false") from error
        return graph.replay


class Repeated:
    """Work by its key: it is run as it is WARM_UPS times, then captured, and repeated from there on."""

    def __init__(self, graphs: Graphs) -> None:
        self.graphs = graphs
        self._met: Counter[Hashable] = Counter()
        self._replays: dict[Hashable, Callable[[], None]] = {}

    def __call__(self, key: Hashable, work: Callable[[], None]) -> None:
        if not self.repeats(key):
            self._met[key] += 1
            self.graphs.run(work)
            return
        if key not in self._replays:
            self._replays[key] = self.graphs.record(work)
        self._replays[key]()

    def repeats(self, key: Hashable) -> bool:
        """Whether the next call with this key is captured, or has been."""
        return key in self._replays or (self._met[key] >= WARM_UPS and len(self._replays) < GRAPHS)

    def forget(self, key: Hashable) -> None:
        """Captures it anew, after as many runs as at first."""
        self._replays.pop(key, None)
        del self._met[key]


@dataclass(frozen=True)
class Inputs:
    """What the gradients of a batch are computed from. replaced: as in `Trainer.add_batch`."""

    batch: Batch
    replaced: Tensor | None

    def tensors(self) -> dict[str, Tensor]:
        return self.batch.parts() | ({} if self.replaced is None else {"replaced": self.replaced})

    def copy(self) -> Inputs:
        """Buffers that stay."""
        batch = Batch(**{name: part.clone() for name, part in self.batch.parts().items()})
        return Inputs(batch, None if self.replaced is None else self.replaced.clone())

    def take(self, other: Inputs) -> None:
        """Writes another batch of the same shape into these buffers."""
        for buffer, tensor in zip(self.tensors().values(), other.tensors().values(), strict=True):
            buffer.copy_(tensor)

    @property
    def shape(self) -> Hashable:
        return tuple((name, tuple(tensor.shape)) for name, tensor in self.tensors().items())


class CapturedTrainer(Trainer):
    """A trainer whose updates are captured, and are those of `Trainer` but for rounding.

    graphs: by default those of the settings' device. Gradients keep their buffers from update to update: they are whole, not sparse, and
    zeros where a batch of one shape leaves them out and another has given them.
    """

    def __init__(self, network: TranslationNetwork, settings: TrainingSettings, total_updates: int, graphs: Graphs | None = None) -> None:
        super().__init__(network, settings, total_updates)
        self.repeated = Repeated(graphs or CudaGraphs(settings.device))
        self.inputs: dict[Hashable, Inputs] = {}
        like = self.parameters[0].detach()
        self.pairs, self.alignment_weight, self.clip_factor, self.averaging_rate = (like.new_zeros(()) for _ in range(4))
        self.rate = like.new_zeros((), dtype=torch.float32)  # as torch's fused kernels demand
        self.sums, self.numbers = (like.new_zeros(size, dtype=torch.float64) for size in (4, 5))
        self.buffers: set[nn.Parameter] = set()

    def _measured(self, batches: Sequence[Batch], pairs: int, number: int) -> Tensor:
        self.pairs.fill_(pairs)
        self.alignment_weight.fill_(alignment_weight(self.settings, number))
        for batch in batches:
            self._add_captured(batch)
        self.repeated("norm", self._measure)
        return self.numbers

    def _add_captured(self, batch: Batch) -> None:
        """Adds the gradients of a batch and its sums to what the buffers hold."""
        known = batch.known_alignment if needs_links(self.settings) else None
        given = Inputs(replace(batch, known_alignment=known), self.replaced(batch))
        shape, read = given.shape, given
        if self.repeated.repeats(shape):
            read = self.inputs[shape] if shape in self.inputs else self.inputs.setdefault(shape, given.copy())
            read.take(given)
        self.repeated(shape, partial(self._add, read))
        self._keep_buffers()

    def _add(self, inputs: Inputs) -> None:
        self.sums.add_(self.add_batch(inputs.batch, inputs.replaced, self.pairs, self.alignment_weight))

    def _keep_buffers(self) -> None:
        """Gives each parameter that has got its first gradient a buffer of its own for it: autograd may share what it makes."""
        new = [parameter for parameter in self.parameters if parameter.grad is not None and parameter not in self.buffers]
        for parameter in new:
            assert parameter.grad is not None
            parameter.grad = torch.empty_like(parameter).copy_(parameter.grad)
        if new:
            self.buffers.update(new)
            for part in ("norm", "step"):
                self.repeated.forget(part)

    def _measure(self) -> None:
        norm = gradient_norm(self.parameters).to(self.sums).view(1)
        self.numbers.copy_(torch.cat((self.sums, norm)))
        self.sums.zero_()

    def _apply(self, norm: float, rate: float, number: int, parameters: Sequence[nn.Parameter]) -> None:
        self.rate.fill_(rate)
        self.clip_factor.fill_(clip_factor(norm, self.settings.clip_norm))
        self.averaging_rate.fill_(averaging_rate(self.settings.average_decay, number))
        for group in self.optimiser.param_groups:  # a checkpoint brings others
            group["lr"] = self.rate
        self.repeated("step", self._move)

    def _move(self) -> None:
        if self.settings.clip_norm:
            torch._foreach_mul_(self._gradients(), self.clip_factor)
        self.optimiser.step()
        if self.average is not None:
            self.average.update_by(self.averaging_rate, self.network)

    def _forget_gradients(self) -> None:
        torch._foreach_zero_(self._gradients())

    def _gradients(self) -> list[Tensor]:
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]


def make_trainer(network: TranslationNetwork, settings: TrainingSettings, total_updates: int) -> Trainer:
    """With captured updates, if the settings say so."""
    return (CapturedTrainer if settings.capture else Trainer)(network, settings, total_updates)


def check_capture(settings: TrainingSettings, ranks: int) -> None:
    """Raises InputError where updates shall be captured and cannot be. ranks: of the training."""
    if settings.capture and settings.device == "cpu":
        raise InputError("training.capture = true needs a GPU", remedy='set training.device = "cuda", or training.capture = false')
    if settings.capture and ranks > 1:
        raise InputError(f"training.capture = true needs one process, and there are {ranks}", remedy="set training.capture = false")
    if settings.capture and settings.sampled_softmax:
        what = "training.capture = true and training.sampled_softmax do not go together: captured updates know no partitions"
        raise InputError(what, remedy="set training.capture = false")
