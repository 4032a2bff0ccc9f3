"""How gradients reach the owner of their part and updated parameters come back: as messages, or through memory that all ranks see."""

from __future__ import annotations

import contextlib
import mmap
import os
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from rnnsearch.training.ranks import Ranks


class Exchange(ABC):
    """vector: the parameters, a part for each rank. sent: like it, where this rank leaves the gradients of the parts of others."""

    def __init__(self, ranks: Ranks, vector: Tensor, sent: Tensor) -> None:
        self.ranks, self.vector, self.sent = ranks, vector, sent

    def part(self, vector: Tensor, rank: int) -> Tensor:
        """Of a vector like these, what belongs to this rank."""
        share = len(vector) // self.ranks.world
        return vector[rank * share : (rank + 1) * share]

    @abstractmethod
    def begin(self) -> None:
        """Gives all ranks the vector of rank 0."""

    @abstractmethod
    def add_to(self, gradient: Tensor) -> None:
        """Waits for all gradients, and adds those of the others to the own part's, always in the same order."""

    @abstractmethod
    def publish(self) -> None:
        """Gives all ranks what each has made of its part of the vector."""


def exchange_of(ranks: Ranks, part: Tensor, wire: torch.dtype) -> Exchange:
    """part: like what a rank owns. wire: the type of `sent`."""
    if ranks.share_memory:
        sizes = [part.nbytes * ranks.world] + [len(part) * ranks.world * wire.itemsize] * ranks.world
        memory = shared_memory(ranks, sum(sizes))
        if memory is not None:
            vector, *sent = memory.split(sizes)
            return Shared(ranks, vector.view(part.dtype), [one.view(wire) for one in sent])
    return Messages(ranks, part, wire)


class Messages(Exchange):
    """Between any machines: a part goes to its owner directly, and from there to all."""

    def __init__(self, ranks: Ranks, part: Tensor, wire: torch.dtype) -> None:
        vector = part.new_zeros(len(part) * ranks.world)
        super().__init__(ranks, vector, torch.empty_like(vector, dtype=wire))
        self.received = {rank: torch.empty_like(part, dtype=wire) for rank in sorted(ranks.others)}

    def begin(self) -> None:
        self.ranks.from_first(self.vector)

    def add_to(self, gradient: Tensor) -> None:
        out = [(rank, self.part(self.sent, rank)) for rank in self.ranks.others]
        self.ranks.swap(out, [(rank, self.received[rank]) for rank in self.ranks.others])
        for received in self.received.values():
            gradient.add_(received)

    def publish(self) -> None:
        own, others = self.part(self.vector, self.ranks.rank), self.ranks.others
        self.ranks.swap([(rank, own) for rank in others], [(rank, self.part(self.vector, rank)) for rank in others])


class Shared(Exchange):
    """On one machine: one vector for all, and of each rank what it leaves for the others; they only tell each other when it is there."""

    def __init__(self, ranks: Ranks, vector: Tensor, sent_by: list[Tensor]) -> None:
        super().__init__(ranks, vector, sent_by[ranks.rank])
        self.sent_by = sent_by

    def begin(self) -> None:
        self.ranks.everyone([0.0])

    def add_to(self, gradient: Tensor) -> None:
        self.ranks.everyone([0.0])
        for rank in sorted(self.ranks.others):
            gradient.add_(self.part(self.sent_by[rank], self.ranks.rank))
        # Nobody writes there again before all have gone on: the norm of the gradient needs every rank.

    def publish(self) -> None:
        self.ranks.everyone([0.0])


def shared_memory(ranks: Ranks, size: int) -> Tensor | None:
    """So many bytes, the same for all ranks of one machine; None, in all of them, where the system does not offer it.

    It is a file without a name: nothing is left of it when the last process has ended, however that ends.
    """
    descriptor, memory = -1, None
    if not ranks.rank:
        with contextlib.suppress(OSError, AttributeError):  # Linux alone has it
            descriptor = os.memfd_create("rnnsearch")
            os.ftruncate(descriptor, size)
    process, number = ranks.said("memory", [os.getpid(), descriptor])[0]
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{process}/fd/{number}", "r+b", buffering=0) as file:
        memory = mmap.mmap(file.fileno(), size)
    everywhere = all(ranks.said("memory is there", memory is not None))
    if descriptor >= 0:
        os.close(descriptor)
    return torch.frombuffer(memory, dtype=torch.uint8) if everywhere and memory is not None else None
