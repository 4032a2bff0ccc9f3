"""Training by several processes: each computes the gradient of its share of the pairs, and updates its part of the parameters.

Rank 0 leads: it has the run, validates, saves and shows, and tells the others what to do next. They follow.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.text.store.batches import Batch, BatchOrder, ChosenPairs, Position, batches_from, collate
from rnnsearch.text.store.corpus import Pairs
from rnnsearch.training.alignment_loss import needs_links
from rnnsearch.training.flat import FlatParameters
from rnnsearch.training.interrupt import Interrupt
from rnnsearch.training.optimiser import gradient_norm, sparse_parameters
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.rows import reduce_rows
from rnnsearch.training.shards import AverageShard, OptimiserShard
from rnnsearch.training.trainer import Sums, Trainer, Update, numbers_here

WIRES = {"float32": None, "bfloat16": torch.bfloat16}
"""What the settings call the precision of gradients on their way; None: that of the parameters."""


class Share(NamedTuple):
    """Of an update's pairs, those of one rank. pairs: how many all ranks have; check: a checksum of which they are."""

    batches: list[Batch]
    pairs: int
    check: int = 0


def share_of(pairs: Pairs, chosen: Sequence[ChosenPairs], training: TrainingSettings, rank: int, world: int) -> Share:
    """Every world-th pair of each batch, so that all shares are about equally long; a rank without a pair leaves the batch out."""
    check = 0
    for numbers in (numbers for one in chosen for numbers in one if numbers is not None):
        check = zlib.crc32(np.ascontiguousarray(numbers).tobytes(), check)
    mine = [(indices[rank::world], words) for indices, words in chosen if len(indices) > rank]
    linked, multiple = needs_links(training), training.length_multiple
    batches = [collate(pairs, some, linked=linked, multiple=multiple, words=words).to(training.device) for some, words in mine]
    return Share(batches, sum(len(one.indices) for one in chosen), check)


def updates_from(
    order: BatchOrder, position: Position, pairs: Pairs, training: TrainingSettings
) -> Iterator[tuple[list[ChosenPairs], Position]]:
    """The pairs of each update from `position` on, and the position after it."""
    stream = batches_from(order, position, pairs, training.sampled_softmax)
    while part := list(islice(stream, training.accumulate)):
        yield [chosen for chosen, _ in part], part[-1][1]


class ParallelTrainer:
    """A trainer as one of several. In rank 0 it is told of updates; the others `follow`.

    settings: of the training, the same in all ranks. trainer: rank 0's has what a checkpoint has restored, and the others get it from
    there; the parameters of its network become views of one vector. signals: of this process; all ranks hear of them at the next update.
    """

    def __init__(self, trainer: Trainer, ranks: Ranks, settings: TrainingSettings, signals: Interrupt | None = None) -> None:
        network = trainer.network
        self.settings, self.trainer, self.ranks, self.signals = settings, trainer, ranks, signals or Interrupt()
        self.signal = 0
        """The number of a signal that any rank has got."""
        self.rows = sparse_parameters(network)
        chosen = {id(parameter) for parameter in self.rows}
        self.wire = WIRES[settings.exchange_precision]
        self._check_parts()
        self.flat = FlatParameters([p for p in trainer.parameters if id(p) not in chosen], ranks, self.wire)
        for tensor in (*self.rows, *network.buffers()):
            ranks.from_first(tensor.data)
        self.optimiser = OptimiserShard(self.flat, self.rows, settings, ranks)
        self.optimiser.spread(None if ranks.rank else trainer.optimiser)
        self.average = None
        if decay := settings.average_decay:
            self.average = AverageShard(self.flat, self.rows, decay, ranks, trainer.average)
            self.average.spread(network)
        self.part = copy.copy(trainer)  # of the same network
        self.part.optimiser = self.optimiser.optimiser
        self.part.average = cast(Any, self.average)

    def update(self, share: Share, number: int) -> Update:
        """Update `number` in rank 0: `Trainer.update` of the pairs of all ranks, but for the order of sums and the dropout masks."""
        self.ranks.tell(f"update {number}")
        return self.update_together(share, number)

    def collect(self, *, state: bool) -> None:
        """Makes the trainer of rank 0 whole: its average, and with `state` its optimiser, until `forget` or the next update."""
        self.ranks.tell("state" if state else "average")
        self._collect(state)

    def forget(self) -> None:
        """Lets the whole optimiser's state go; the ranks keep theirs."""
        self.trainer.optimiser.state.clear()

    def end(self, code: int) -> None:
        """Ends the other ranks, with this exit code."""
        self.ranks.tell(f"end {code}")

    def follow(self, shares: Iterator[Share]) -> int:
        """Does what rank 0 says, until it says that training has ended. Returns the exit code."""
        share = next(shares)  # read while rank 0 has other things to do
        while True:
            match self.ranks.hear().split():
                case ["update", number]:
                    self.update_together(share, int(number))
                    share = next(shares)
                case ["end", code]:
                    return int(code)
                case [what]:
                    self._collect(what == "state")

    def update_together(self, share: Share, number: int) -> Update:
        """What every rank does of update `number`, all at the same time."""
        settings, ranks, part = self.settings, self.ranks, self.part
        seed_rank(settings.seed, number, ranks.rank)
        sums = part.add_gradients(share.batches, share.pairs, number)
        if self.rows:
            reduce_rows(self.rows, ranks, self.wire)
        there = self.flat.reduce()
        own = self.flat.give_gradients([True] * len(there))
        counted = own if ranks.rank else [*own, *self.rows]
        *here, norm = numbers_here(torch.cat((sums, gradient_norm(counted).to(sums).view(1))))
        numbers = [*here, norm**2, share.check, self.signals.signal, *map(float, there)]
        every = ranks.everyone(numbers)
        total = [sum(column) for column in zip(*every, strict=True)]
        if len({row[5] for row in every}) > 1:
            raise InputError(f"the ranks have read different pairs for update {number}", remedy="prepare the data once, and copy it")
        self.signal = int(max(row[6] for row in every))
        parameters = self.flat.give_gradients([count > 0 for count in total[7:]])
        update = part.step(Sums.of(total[:4]), share.pairs, total[4] ** 0.5, number, [*parameters, *self.rows])
        if update.applied:
            self.flat.publish()
        return update

    def _collect(self, state: bool) -> None:
        if self.average is not None:
            self.average.collect(self.trainer.network)
        if state:
            self.optimiser.collect(None if self.ranks.rank else self.trainer.optimiser)

    def _check_parts(self) -> None:
        """Before anything is sent: do all have the same parameters?"""
        shapes = [[name, list(tensor.shape), str(tensor.dtype)] for name, tensor in self.trainer.network.state_dict().items()]
        # Rows are updated everywhere: processors that round differently would drift apart.
        capability = torch.backends.cpu.get_cpu_capability() if self.rows else ""
        every = self.ranks.said("network", [shapes, capability])
        first_shapes, first_processor = every[0]
        for rank, (theirs, processor) in enumerate(every):
            if theirs != first_shapes:
                raise InputError(f"{self.ranks.name(rank)} has another network than rank 0", remedy="use the same code on all machines")
            if processor != first_processor:
                what = f"{self.ranks.name(rank)} computes with {processor}, and rank 0 with {first_processor}"
                raise InputError(what, remedy="set ATEN_CPU_CAPABILITY=avx2 (or default) on all machines")


def seed_rank(seed: int, number: int, rank: int) -> None:
    """Dropout masks follow from the training's seed, the update and the rank alone, so that resuming needs no random state of any rank."""
    torch.manual_seed(int(np.random.SeedSequence([seed, number, rank]).generate_state(1, np.uint64)[0]) >> 1)
