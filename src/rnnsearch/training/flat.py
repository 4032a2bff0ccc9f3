"""Parameters end to end in one vector, of which every rank owns an equal part: it sums its gradient and updates it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rnnsearch.training.exchange import exchange_of
from rnnsearch.training.ranks import Ranks

ALIGNED = 16
"""Every parameter begins at a multiple of so many numbers: products read aligned memory."""


class Piece(NamedTuple):
    """What lies of a parameter in a part of the vector. number: of the parameter, from 0; begin, end: within the vector."""

    number: int
    begin: int
    end: int


class FlatParameters:
    """The parameters become views of `vector`: what the other ranks publish there is theirs without a copy. It begins as rank 0 has it.

    share: numbers that a rank owns. gradient: the own part's, summed over the ranks by `reduce`. pieces: of the parameters within the own
    part, each with its view of `gradient` as gradient, for an optimiser. Two roundings at most: wire, in which gradients are sent, and
    the sum, which is formed in the parameters' own precision.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], ranks: Ranks, wire: torch.dtype | None = None) -> None:
        self.parameters, self.ranks = list(parameters), ranks
        first = self.parameters[0]
        self.starts, end = [], 0
        for parameter in self.parameters:
            self.starts.append(end)
            end += -(-parameter.numel() // ALIGNED) * ALIGNED
        self.share = -(-end // (ranks.world * ALIGNED)) * ALIGNED
        self.gradient = first.new_zeros(self.share, requires_grad=False)
        self.exchange = exchange_of(ranks, self.gradient, wire or first.dtype)
        self.vector = self.exchange.vector
        for parameter, view in zip(self.parameters, self.views(self.vector), strict=True):
            if not ranks.rank:
                view.copy_(parameter.data)
            parameter.data = view
        self.exchange.begin()
        self.pieces = {piece: nn.Parameter(self.own[self._within(piece)]) for piece in self.pieces_of(ranks.rank)}

    def views(self, vector: Tensor) -> list[Tensor]:
        """Of a vector like this one, what belongs to each parameter, in its shape."""
        return [
            vector[start : start + parameter.numel()].view_as(parameter)
            for parameter, start in zip(self.parameters, self.starts, strict=True)
        ]

    @property
    def own(self) -> Tensor:
        return self.exchange.part(self.vector, self.ranks.rank)

    def pieces_of(self, rank: int) -> list[Piece]:
        begin, end = rank * self.share, (rank + 1) * self.share
        bounds = [(max(begin, start), min(end, start + p.numel())) for p, start in zip(self.parameters, self.starts, strict=True)]
        return [Piece(index, first, last) for index, (first, last) in enumerate(bounds) if first < last]

    def views_of_own(self, part: Tensor) -> dict[Piece, Tensor]:
        """Of a vector like the own part, what belongs to each piece."""
        return {piece: part[self._within(piece)] for piece in self.pieces}

    def reduce(self) -> list[bool]:
        """Sums the parameters' gradients, each part in its owner's `gradient`, and forgets them. Returns which parameters had one."""
        ranks, there = self.ranks, [parameter.grad is not None for parameter in self.parameters]
        self.gradient.zero_()
        for rank in range(ranks.world):
            place = self.gradient if rank == ranks.rank else self.exchange.part(self.exchange.sent, rank)
            for index, begin, end in self.pieces_of(rank):
                grad, start = self.parameters[index].grad, self.starts[index]
                part = place[begin - rank * self.share : end - rank * self.share]
                if grad is None:
                    part.zero_()
                else:
                    part.copy_(grad.reshape(-1)[begin - start : end - start])
        for parameter in self.parameters:
            parameter.grad = None
        self.exchange.add_to(self.gradient)
        return there

    def give_gradients(self, there: Sequence[bool]) -> list[nn.Parameter]:
        """The pieces of those parameters that have a gradient, with it."""
        for piece, gradient in self.views_of_own(self.gradient).items():
            self.pieces[piece].grad = gradient if there[piece.number] else None
        return list(self.pieces.values())

    def publish(self) -> None:
        """Gives the other ranks the own part, and gets theirs."""
        self.exchange.publish()

    def _within(self, piece: Piece) -> slice:
        offset = self.ranks.rank * self.share
        return slice(piece.begin - offset, piece.end - offset)
