"""Several processes of one machine that compute each update together: first each its share of the pairs, then of the parameters.

Threads divide every single product, and wait for the slowest of them each time; processes meet three times per update. Weights, their
averages and the optimiser's state lie in shared memory, one copy for all, so that nothing is sent but batches and a few numbers.
"""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, multiprocessing, nn

from rnnsearch.errors import InputError
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.workers import end_with_parent
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.optimiser import gradient_norm
from rnnsearch.training.trainer import Sums, Trainer, Update

Rows = dict[int, NDArray[np.int64]]
"""Parameter → the rows that a process has written of its gradient, where that is not all of them."""


@dataclass(frozen=True)
class Exchange:
    """owner: the rank that updates each parameter. written: by rank and parameter, where that rank leaves its gradient for the owner."""

    owner: list[int]
    written: list[list[Tensor | None]]

    @classmethod
    def of(cls, parameters: Sequence[nn.Parameter], world: int) -> Exchange:
        """Gives every parameter, the largest first, to the rank that has least, and makes the shared memory."""
        owner, load = [0] * len(parameters), [0] * world
        for index in sorted(range(len(parameters)), key=lambda index: -parameters[index].numel()):
            owner[index] = load.index(min(load))
            load[owner[index]] += parameters[index].numel()
        written = [[None if owner[i] == rank else _shared_like(p) for i, p in enumerate(parameters)] for rank in range(world)]
        return cls(owner, written)


class Member:
    """One worker, by its rank."""

    def __init__(self, trainer: Trainer, exchange: Exchange, rank: int) -> None:
        self.trainer, self.exchange, self.rank = trainer, exchange, rank
        self.own = [parameter for parameter, owner in zip(trainer.parameters, exchange.owner, strict=True) if owner == rank]

    def write(self) -> Rows:
        """Leaves the gradients of other ranks' parameters where these find them, and forgets them."""
        rows: Rows = {}
        for index, (parameter, place) in enumerate(zip(self.trainer.parameters, self.exchange.written[self.rank], strict=True)):
            if place is None:
                continue
            if parameter.grad is None:
                rows[index] = np.zeros(0, dtype=np.int64)
            elif parameter.grad.is_sparse:
                gradient = parameter.grad.coalesce()
                place[gradient.indices()[0]] = gradient.values()
                rows[index] = gradient.indices()[0].numpy()
            else:
                place.copy_(parameter.grad)
            parameter.grad = None
        return rows

    def read(self, rows_of: Sequence[Rows]) -> float:
        """Adds what the others have left to the gradients of the own parameters. Returns their L2 norm. rows_of: by rank."""
        for index, (parameter, owner) in enumerate(zip(self.trainer.parameters, self.exchange.owner, strict=True)):
            if owner != self.rank:
                continue
            for places, rows in zip(self.exchange.written, rows_of, strict=True):
                place = places[index]
                if place is not None:
                    _add(parameter, place, rows.get(index))
        return float(gradient_norm(self.own))


class Team:
    """The trainer as worker 0, and the other workers. `update` is `Trainer.update` but for the order of sums and the dropout masks.

    The optimiser must have its state already: whoever makes the state later would not share it. So the first update of a training is
    the trainer's alone. Close it to end the processes; they also end with this one, however it ends.
    """

    def __init__(self, trainer: Trainer, processes: int) -> None:
        for tensor in (*trainer.network.parameters(), *(trainer.average.weights.values() if trainer.average else ())):
            tensor.share_memory_()
        exchange = Exchange.of(trainer.parameters, processes)
        self.member = Member(trainer, exchange, 0)
        context = multiprocessing.get_context("spawn")
        self._connections: list[Connection] = []
        self._processes: list[Any] = []
        for rank in range(1, processes):
            here, there = context.Pipe()
            work = (there, Member(trainer, exchange, rank), trainer.settings.threads, processes)
            self._processes.append(context.Process(target=_work, args=work, daemon=True))
            self._processes[-1].start()
            there.close()  # the other process's end: with its death, reading here ends too
            self._connections.append(here)
        atexit.register(self.close)  # before multiprocessing waits for these processes, which wait for this one

    def update(self, batches: Sequence[Batch], number: int) -> Update:
        """Update `number`, as `Trainer.update`. Raises InputError if a worker has ended."""
        trainer, world = self.member.trainer, len(self._connections) + 1
        pairs = sum(len(batch.source) for batch in batches)
        seeds = torch.randint(2**62, (world,)).tolist()
        for rank, connection in enumerate(self._connections, 1):
            _send(connection, ([_packed(batch.share(rank, world)) for batch in batches], pairs, number, seeds[rank]))
        every_sums = [Sums.of(trainer.add_gradients(_not_empty(batch.share(0, world) for batch in batches), pairs, number).tolist())]
        rows_of = [self.member.write()]
        for connection in self._connections:
            sums, rows = _receive(connection)
            every_sums.append(sums)
            rows_of.append(rows)
        self._tell(rows_of)
        norm = self.member.read(rows_of)
        norm = sum((norm**2, *(_receive(connection) ** 2 for connection in self._connections))) ** 0.5
        total = Sums(*map(sum, zip(*every_sums, strict=True)))
        self._tell((total, norm))
        update = trainer.step(total, pairs, norm, number, self.member.own)
        for connection in self._connections:
            _receive(connection)
        return update

    def close(self) -> None:
        atexit.unregister(self.close)
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join(5)

    @property
    def process_ids(self) -> list[int]:
        """Of the other workers."""
        return [process.pid for process in self._processes]

    def _tell(self, message: Any) -> None:
        for connection in self._connections:
            _send(connection, message)


def _work(connection: Connection, member: Member, threads: int, processes: int) -> None:
    """What a worker process does until the other end of the connection closes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to all processes, they are for the first, which ends after the update at hand
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    set_up_cpu(threads, processes)
    trainer = member.trainer
    try:
        while True:
            packed, pairs, number, seed = connection.recv()
            torch.manual_seed(seed)
            sums = Sums.of(trainer.add_gradients(_not_empty(_unpacked(batch) for batch in packed), pairs, number).tolist())
            connection.send((sums, member.write()))
            connection.send(member.read(connection.recv()))
            total, norm = connection.recv()
            trainer.step(total, pairs, norm, number, member.own)
            connection.send(None)
    except (EOFError, BrokenPipeError):
        return


def _shared_like(parameter: nn.Parameter) -> Tensor:
    place = torch.empty_like(parameter.data)
    place.share_memory_()
    return place


def _add(parameter: nn.Parameter, place: Tensor, rows: NDArray[np.int64] | None) -> None:
    """Adds the gradient that another process left in `place`: all of it, or some rows, which may be none."""
    if rows is None:
        parameter.grad = place.clone() if parameter.grad is None else parameter.grad.add_(place)
    elif len(rows):
        index = torch.from_numpy(rows)
        gradient = torch.sparse_coo_tensor(index.unsqueeze(0), place[index], place.shape)
        parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


def _packed(batch: Batch) -> dict[str, NDArray[Any]]:
    """As arrays, which go through a pipe by value: tensors would each take a block of shared memory."""
    return {name: part.numpy() for name, part in batch.parts().items()}


def _unpacked(parts: dict[str, NDArray[Any]]) -> Batch:
    return Batch(**{name: torch.from_numpy(part) for name, part in parts.items()})


def _not_empty(batches: Any) -> list[Batch]:
    return [batch for batch in batches if len(batch.source)]


def _send(connection: Connection, message: Any) -> None:
    try:
        connection.send(message)
    except OSError:
        raise _ended() from None


def _receive(connection: Connection) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):
        raise _ended() from None


def _ended() -> InputError:
    remedy = 'resume, with training.processes = 1 if memory is short; a script needs `if __name__ == "__main__":`'
    return InputError("a process of the training has ended", remedy=remedy)
