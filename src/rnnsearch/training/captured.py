"""Gradients by CUDA graphs: a GPU records the kernels of a batch, and repeats them for every batch
of the same shape.

The host launches these thousands of small kernels more slowly than a GPU computes them; a graph is
one launch. Clipping and the optimiser stay outside: their kernels are few, for each works on all
parameters, and the host reads the norm of the gradient before it lets them run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float64
from torch import Tensor
from torch.optim.adadelta import adadelta

from rnnsearch.batch import Batch
from rnnsearch.errors import one_line
from rnnsearch.system.progress import note
from rnnsearch.training.loss import Alignments, Scalar, alignment_weight
from rnnsearch.training.optimiser import SLOTS, Adadelta
from rnnsearch.training.trainer import BatchLoss, Trainer

POSITIONS = 8
"""Sentences are padded to multiples of this number."""
GRAPHS = 40
"""Largest number of graphs. Batches of other shapes are computed one kernel at a time."""


class CaptureError(RuntimeError):
    """A GPU cannot record a function."""


class Graphs:
    """A function of tensors that a GPU repeats as CUDA graphs, one for each shape of the arguments.

    Shapes are recorded when they come for the second time. work: must not make the host wait, and
    leaves its results in tensors that exist before. Raises CaptureError if it cannot be recorded.
    """

    def __init__(self, work: Callable[..., None]) -> None:
        self.work, self.seen = work, set[tuple[torch.Size, ...]]()
        self.recorded: dict[tuple[torch.Size, ...], tuple[dict[str, Tensor], Any]] = {}

    def __call__(self, **inputs: Tensor) -> None:
        """Does the work."""
        shape = tuple(tensor.shape for tensor in inputs.values())
        if shape in self.seen and shape not in self.recorded and len(self.recorded) < GRAPHS:
            fixed = {name: tensor.clone() for name, tensor in inputs.items()}
            pool = next((graph.pool() for _, graph in self.recorded.values()), None)
            device = next(iter(inputs.values())).device
            self.recorded[shape] = fixed, record(lambda: self.work(**fixed), device, pool)
        self.seen.add(shape)
        if shape not in self.recorded:
            self.work(**inputs)
            return
        fixed, graph = self.recorded[shape]
        for name, tensor in inputs.items():
            fixed[name].copy_(tensor)
        graph.replay()


def record(work: Callable[[], None], device: torch.device, pool: Any) -> torch.cuda.CUDAGraph:
    """Returns the graph of the kernels that `work` launches; none of them runs yet. pool: the
    memory of another graph, to be shared, or None. Raises CaptureError."""
    graph = torch.cuda.CUDAGraph()
    try:
        # If recording fails, `torch.cuda.graph` leaves its own stream as the current one.
        with (
            torch.cuda.stream(torch.cuda.current_stream(device)),
            torch.cuda.graph(graph, pool, _stream(device)),
        ):
            work()
    except RuntimeError as error:
        # The random generator would stay in the state of recording, too.
        generator = torch.cuda.default_generators[device.index]
        generator.graphsafe_set_state(generator.clone_state())
        raise CaptureError(one_line(str(error.__context__ or error))) from error
    return graph


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """Returns the stream of all graphs: only graphs of one stream share their memory well."""
    return torch.cuda.Stream(device)


class JointAdadelta(Adadelta):
    """Adadelta by few kernels. Every parameter needs a dense gradient."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Updates all parameters."""
        for group in self.param_groups:
            settings = dict(group)
            parameters = settings.pop("params")
            for one in parameters:
                if not self.state[one]:
                    self.state[one] = {slot: torch.zeros_like(one) for slot in SLOTS}
            squares, deltas = ([self.state[one][slot] for one in parameters] for slot in SLOTS)
            gradients = [one.grad for one in parameters]
            counts = [torch.zeros(())] * len(parameters)
            how = {"foreach": True, "maximize": False, **settings}
            adadelta(parameters, gradients, squares, deltas, counts, **how)


class CapturedTrainer(Trainer):
    """A trainer whose batches have few shapes, so that a GPU can record them. If that fails, they
    are computed one kernel at a time, and one line says so.

    batch_size: batches are filled up to multiples of it, with pairs without target words. others:
    further arguments of `Trainer`. changes: gets a row if recording fails.
    """

    def __init__(self, batch_size: int, loss: BatchLoss, *others: Any) -> None:
        super().__init__(loss, *others)
        self.batch_size, self.changes = batch_size, list[dict[str, Any]]()
        for embedding in (self.network.source_embedding, self.network.target_embedding):
            embedding.sparse_gradient = False
        if isinstance(self.optimiser, Adadelta):
            self.optimiser = JointAdadelta(self.parameters, **self.optimiser.defaults)
        # A graph has fixed addresses: all of them add to these tensors, and share other memory.
        self.gradients = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.sums = torch.zeros(4, dtype=torch.float64, device=self.gradients[0].device)
        self.add: Callable[..., None] = Graphs(self._add) if self.sums.is_cuda else self._add

    def add_gradients(
        self, batches: Sequence[Batch], pairs: int, number: int
    ) -> Float64[Tensor, 4]:
        """Computes the same as `Trainer.add_gradients`, up to rounding and the masks of dropout."""
        self.sums.zero_()
        torch._foreach_zero_(self.gradients)
        for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
            parameter.grad = gradient
        factors = alignment_weight(self.known_alignments, number), 1.0 / pairs
        weight, factor = (self.gradients[0].new_full((), value) for value in factors)
        for place, batch in enumerate(batches):
            whole = padded(batch, self.batch_size)
            inputs = whole.parts() | {"weight": weight, "factor": factor}
            if (replaced := self._replaced(whole, number, place)) is not None:
                inputs["replaced"] = replaced
            try:
                self.add(**inputs)
            except CaptureError as error:
                note(f"training.capture = true has no effect from update {number} on: {error}")
                row = {"setting": "training.capture", "before": True, "after": False}
                self.changes.append({"update": number - 1, **row})
                self.add = self._add
                self.add(**inputs)
        return self.sums.clone()

    def _add(
        self, weight: Scalar, factor: Scalar, replaced: Alignments | None = None, **batch: Tensor
    ) -> None:
        """Adds the statistics and the gradients of a batch. weight: λ of the alignment loss.
        factor: of the gradients."""
        loss, statistics = self.loss(Batch(**batch), replaced, weight)
        loss.backward(factor)
        self.sums += statistics


def padded(batch: Batch, batch_size: int) -> Batch:
    """Returns the batch with rounded sizes. Added pairs have one source position and no target
    words, so that their loss and gradients are 0."""
    known, pairs = batch.known_alignment, -len(batch.source) % batch_size
    source, target = (-ids.shape[1] % POSITIONS for ids in (batch.source, batch.target))
    return Batch(
        F.pad(batch.source, (0, source, 0, pairs)),
        F.pad(batch.source_lengths, (0, pairs), value=1),
        F.pad(batch.target, (0, target, 0, pairs)),
        F.pad(batch.target_lengths, (0, pairs)),
        None if known is None else F.pad(known, (0, source, 0, target, 0, pairs)),
    )
