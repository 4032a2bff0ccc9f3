"""Compares training with a textbook implementation of the same network: nn.GRU encoder, attention
and nn.GRUCell step by step, plain autograd.

    python benchmarks/plain_pytorch.py --size small --threads 1
    python benchmarks/plain_pytorch.py --size paper --threads 1 --updates 2

Both train on the same synthetic batches (80 pairs of one length), alternating in one process. The
ratio of the median times of complete updates is printed. Our matrix products are in
bfloat16 where the CPU is faster in it, else in float32; the textbook network computes in float32
and, with --autocast, also under torch's autocast.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.lab.bench import random_batch, random_network
from rnnsearch.system.machine import fastest_precision, hardware, set_up_cpu
from rnnsearch.training.setup import trainer_of

SIZES = {  # embedding, hidden, alignment, maxout, words, words a side
    "tiny": (6, 8, 8, 6, 20, 3),
    "small": (256, 512, 512, 256, 10_000, 15),
    "paper": (620, 1000, 1000, 500, 30_000, 25),
}


class Textbook(nn.Module):
    """RNNsearch as in tutorials, with torch's own GRU cells."""

    def __init__(self, m: int, n: int, a: int, maxout: int, words: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, m), nn.Embedding(words, m)
        self.encoder = nn.GRU(m, n, batch_first=True, bidirectional=True)
        self.start = nn.Linear(n, n)
        self.query, self.keys, self.energy = (
            nn.Linear(n, a, bias=False),
            nn.Linear(2 * n, a, bias=False),
            nn.Linear(a, 1, bias=False),
        )
        self.cell = nn.GRUCell(m + 2 * n, n)
        self.layer, self.output = nn.Linear(n + m + 2 * n, 2 * maxout), nn.Linear(maxout, words)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        annotations, last = self.encoder(self.source(source))
        state, keys = torch.tanh(self.start(last[1])), self.keys(annotations)
        previous, loss = torch.zeros_like(self.target(target[:, 0])), torch.zeros(())
        for i in range(target.shape[1]):
            energies = self.energy(torch.tanh(self.query(state).unsqueeze(1) + keys)).squeeze(-1)
            context = (torch.softmax(energies, -1).unsqueeze(1) @ annotations).squeeze(1)
            state = self.cell(torch.cat((previous, context), -1), state)
            layer = self.layer(torch.cat((state, previous, context), -1))
            logits = self.output(torch.maximum(layer[:, 0::2], layer[:, 1::2]))
            loss = loss + F.cross_entropy(logits.float(), target[:, i], reduction="sum")
            previous = self.target(target[:, i])
        return loss / len(source)


def textbook_update(
    network: Textbook, optimiser: torch.optim.Optimizer, autocast: bool, batch: Batch, number: int
) -> None:
    with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
        loss = network(batch.source, batch.target)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--size", choices=SIZES, default="small")
    add("--updates", type=int, default=5, help="of each, after one that warms up")
    add("--threads", type=int, default=1)
    add("--autocast", action="store_true")
    arguments = parser.parse_args()
    m, n, a, maxout, words, length = SIZES[arguments.size]
    sizes = {"embedding": m, "hidden": n, "alignment": a, "maxout": maxout}
    changes = [f"model.{name}_size={size}" for name, size in sizes.items()]
    changes += [f"training.threads={arguments.threads}", "training.precision=fastest"]
    settings = load_config("", changes)
    set_up_cpu(arguments.threads)
    trainer = trainer_of(random_network(settings, words), settings)
    contestants: dict[str, Callable[[Batch, int], object]] = {
        "ours": lambda batch, number: trainer.update([batch], number)
    }
    for name in ("textbook", "textbook, autocast")[: 1 + arguments.autocast]:
        textbook = Textbook(m, n, a, maxout, words)
        optimiser = torch.optim.Adadelta(textbook.parameters(), lr=1.0, rho=0.95)
        contestants[name] = partial(textbook_update, textbook, optimiser, name != "textbook")
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(1, arguments.updates + 2):
        batch = random_batch(settings, words, length)
        for name, update in contestants.items():
            started = time.perf_counter()
            update(batch, number)
            seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    pairs = f"{len(batch.source)} pairs of {length} words, {words:,} words a side"
    precision = fastest_precision(torch.device("cpu"))
    print(f"{hardware('cpu')}; {pairs}, {arguments.size} sizes, Adadelta; ours in {precision}")
    for name, median in medians.items():
        print(
            f"{name:20} {batch.target.numel() / median:8,.0f} target tokens/s   ours is "
            f"{median / medians['ours']:.2f} times as fast"
        )


if __name__ == "__main__":
    main()
