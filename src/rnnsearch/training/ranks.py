"""The processes that train together, as one of them sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from rnnsearch.batch import Batch
from rnnsearch.errors import InputError

Exchanged = TypeVar("Exchanged")


class Ranks:
    """The processes that train together, as one of them sees them. rank: its number. world: how
    many they are; alone, a process is rank 0 of 1."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world

    @property
    def is_first(self) -> bool:
        """Tells whether this process is rank 0, which validates, saves and displays."""
        return not self.rank

    def wrap(self, loss: nn.Module, sparse: Sequence[nn.Parameter]) -> nn.Module:
        """Returns the module with gradients averaged over the ranks. sparse: parameters with sparse
        gradients."""
        if self.world == 1:
            return loss
        # DDP expects sparse gradients only for parameters of an `nn.Embedding(sparse=True)`.
        holders = nn.ModuleList(nn.Embedding(1, 1, sparse=True) for _ in sparse)
        for holder, parameter in zip(holders, sparse, strict=True):
            holder.weight = parameter
        return DistributedDataParallel(_WithHolders(holders, loss), find_unused_parameters=True)

    def gather(self, value: Exchanged) -> list[Exchanged]:
        """Returns the values of all ranks, in their order, in every rank. Values must be
        picklable."""
        if self.world == 1:
            return [value]
        every: list[Any] = [None] * self.world
        distributed.all_gather_object(every, value)
        return every

    def from_first(self, compute: Callable[[], Exchanged]) -> Exchanged:
        """Calls `compute` in rank 0 only, and returns its result in every rank. If it raises
        InputError, the others exit with code 2."""
        if self.world == 1:
            return compute()
        box: list[Any] = [None, None]
        if self.is_first:
            try:
                box[0] = compute()
            except InputError as error:
                box[1] = error
        distributed.broadcast_object_list(box, device=torch.device("cpu"))
        if box[1] is not None:
            raise box[1] if self.is_first else SystemExit(2)
        return cast(Exchanged, box[0])

    def share(self, batch: Batch) -> Batch:
        """Returns this rank's pairs of a batch. All ranks need the same number of batches: without
        pairs, a rank gets a batch with empty targets, whose loss and gradients are 0."""
        if self.rank < len(batch.source):
            return batch.share(self.rank, self.world)
        one = batch.share(0, len(batch.source))
        links = None if one.known_alignment is None else one.known_alignment * 0.0
        return replace(one, target_lengths=one.target_lengths * 0, known_alignment=links)

    def seed_dropout(self, seed: int, update: int) -> None:
        """Seeds dropout from seed, update and rank, so that each of several ranks has its own
        masks."""
        if self.world > 1:
            words = np.random.SeedSequence([seed, update, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(words[0]) >> 1)


class _WithHolders(nn.Module):
    """A loss, preceded by modules that mark its parameters with sparse gradients for DDP."""

    def __init__(self, holders: nn.ModuleList, loss: nn.Module) -> None:
        super().__init__()
        self.holders, self.loss = holders, loss

    def forward(self, *inputs: Any) -> Any:
        return self.loss(*inputs)
