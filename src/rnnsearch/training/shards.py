"""Optimiser state and averaged weights: each rank holds those of its own part, and rank 0 gets them whole for a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.training.flat import FlatParameters
from rnnsearch.training.optimiser import WeightAverage, averaging_rate, make_optimiser
from rnnsearch.training.optimiser_state import LIKE, NUMBER, SLOTS
from rnnsearch.training.ranks import Ranks


class OptimiserShard:
    """The optimiser of the own pieces, and of the parameters with sparse gradients (`rows`), of which all ranks remember the same.

    Rank 0 also has the optimiser of the whole network, which holds no state but for a moment: before `spread` and after `collect`.
    """

    def __init__(self, flat: FlatParameters, rows: Sequence[nn.Parameter], settings: TrainingSettings, ranks: Ranks) -> None:
        self.flat, self.rows, self.ranks = flat, list(rows), ranks
        nothing = [nn.Parameter(flat.gradient.new_zeros(1))]  # a rank without a part, of a network of few numbers
        self.optimiser = make_optimiser([*flat.pieces.values(), *rows] or nothing, settings)
        slots = SLOTS[type(self.optimiser).__name__]
        self.like = [slot for slot, kind in slots.items() if kind == LIKE]
        self.numbers = [slot for slot, kind in slots.items() if kind == NUMBER]

    def collect(self, whole: torch.optim.Optimizer | None) -> None:
        """Fills the state of the whole network's optimiser, which rank 0 gives, so that it is as if it had made all updates itself."""
        state, flat = self.optimiser.state, self.flat
        counts = [[-1.0] * max(1, len(self.numbers)) for _ in flat.parameters]
        for piece, parameter in flat.pieces.items():
            if state.get(parameter):
                counts[piece.number] = [float(state[parameter][slot]) for slot in self.numbers] or [0.0]
        every = self.ranks.everyone([number for numbers in counts for number in numbers])
        known = [max(column) for column in zip(*every, strict=True)]
        for slot in self.like:
            part = torch.zeros_like(flat.gradient)
            for piece, view in flat.views_of_own(part).items():
                if state.get(flat.pieces[piece]):
                    view.copy_(state[flat.pieces[piece]][slot])
            vector = self.ranks.to_first(part)
            if whole is not None and vector is not None:
                for parameter, view, number in zip(flat.parameters, flat.views(vector), known[:: max(1, len(self.numbers))], strict=True):
                    if number >= 0:
                        whole.state[parameter][slot] = view
        if whole is not None:
            for index, parameter in enumerate(flat.parameters):
                for place, slot in enumerate(self.numbers):
                    if (number := known[index * len(self.numbers) + place]) >= 0:
                        whole.state[parameter][slot] = torch.tensor(number, dtype=torch.float32)
            whole.state.update({parameter: state[parameter] for parameter in self.rows if state.get(parameter)})

    def spread(self, whole: torch.optim.Optimizer | None) -> None:
        """The opposite: gives every rank its part of what the whole network's optimiser remembers, which then forgets it."""
        flat, width = self.flat, max(1, len(self.numbers))
        counts = [[-1.0] * width for _ in flat.parameters]
        for index, parameter in enumerate(flat.parameters if whole is not None else ()):
            if whole is not None and whole.state.get(parameter):
                counts[index] = [float(whole.state[parameter][slot]) for slot in self.numbers] or [0.0]
        known = self.ranks.numbers_from_first([number for numbers in counts for number in numbers])
        for piece, parameter in flat.pieces.items():
            if known[piece.number * width] >= 0 and self.like:
                numbers = {slot: known[piece.number * width + place] for place, slot in enumerate(self.numbers)}
                place_of = parameter.device if parameter.is_cuda else None
                self.optimiser.state[parameter] = {
                    slot: torch.tensor(number, dtype=torch.float32, device=place_of) for slot, number in numbers.items()
                }
        for slot in self.like if max(known, default=-1) >= 0 else ():
            vector = None
            if whole is not None:
                vector = torch.zeros_like(flat.vector)
                for parameter, view in zip(flat.parameters, flat.views(vector), strict=True):
                    if whole.state.get(parameter):
                        view.copy_(whole.state[parameter][slot])
            part = torch.empty_like(flat.gradient)
            self.ranks.parts_of_first(vector, part)
            for piece, view in flat.views_of_own(part).items():
                if known[piece.number * width] >= 0:
                    self.optimiser.state[flat.pieces[piece]][slot] = view
        self._spread_rows(whole)
        if whole is not None:
            whole.state.clear()

    def _spread_rows(self, whole: torch.optim.Optimizer | None) -> None:
        for parameter in self.rows:
            mine = {} if whole is None else whole.state.get(parameter, {})
            (there,) = self.ranks.numbers_from_first([float(bool(mine))])
            if not there:
                continue
            empty = {
                "square_avg": torch.empty_like(parameter.data),
                "acc_delta": torch.empty_like(parameter.data),
                "updates": torch.zeros((), dtype=parameter.dtype),
                "step": torch.zeros(len(parameter), dtype=torch.int64),
            }
            state = mine if whole is not None else empty
            for slot in empty:
                self.ranks.from_first(state[slot])
            self.optimiser.state[parameter] = dict(state)


class AverageShard:
    """`WeightAverage` of the own part. The rows are averaged by rank 0 alone, in `whole`, which is the average of the network there."""

    def __init__(self, flat: FlatParameters, rows: Sequence[nn.Parameter], decay: float, ranks: Ranks, whole: WeightAverage | None) -> None:
        self.flat, self.decay, self.ranks, self.whole = flat, decay, ranks, whole
        self.part = flat.own.clone()
        self.rows = {parameter.data_ptr() for parameter in rows}

    @torch.no_grad()
    def update(self, network: TranslationNetwork, update: int, parameters: object = None) -> None:
        """After update 1, 2, …"""
        rate = averaging_rate(self.decay, update)
        self.part.lerp_(self.flat.own, rate)
        if self.whole is not None and self.rows:
            for name, tensor in network.state_dict().items():
                if tensor.data_ptr() in self.rows:
                    self.whole.weights[name].lerp_(tensor, rate)

    def collect(self, network: TranslationNetwork) -> None:
        """Makes rank 0's `whole` what it says."""
        vector = self.ranks.to_first(self.part)
        if self.whole is not None and vector is not None:
            for name, view in self._named(network, vector):
                self.whole.weights[name].copy_(view)

    def spread(self, network: TranslationNetwork) -> None:
        """The opposite."""
        vector = None
        if self.whole is not None:
            vector = torch.zeros_like(self.flat.vector)
            for name, view in self._named(network, vector):
                view.copy_(self.whole.weights[name])
        self.ranks.parts_of_first(vector, self.part)

    def _named(self, network: TranslationNetwork, vector: Tensor) -> list[tuple[str, Tensor]]:
        """(name in the network, its view of a vector): a matrix with two names occurs twice."""
        views = {p.data_ptr(): view for p, view in zip(self.flat.parameters, self.flat.views(vector), strict=True)}
        return [(name, views[tensor.data_ptr()]) for name, tensor in network.state_dict().items() if tensor.data_ptr() in views]
