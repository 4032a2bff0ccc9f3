"""Training compared with the same network written the textbook way: nn.GRU encoder, attention and nn.GRUCell
step by step, plain autograd.

    python benchmarks/plain_pytorch.py --size small --threads 1
    python benchmarks/plain_pytorch.py --size paper --threads 1 --updates 2

Both train on the same synthetic batches (80 pairs of one length), in turn in one process. The ratio of the
median times of whole updates is printed. Our matrix products are in bfloat16 by default; the textbook network
computes in float32 and, with --autocast, also under torch's autocast.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnsearch.config import load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.trainer import Trainer

BATCH = 80
SIZES = {  # embedding, hidden, alignment, maxout, words, words a side
    "small": (256, 512, 512, 256, 10_000, 15),
    "paper": (620, 1000, 1000, 500, 30_000, 25),
}


class Textbook(nn.Module):
    """RNNsearch as tutorials write it; its cells are torch's own gated units."""

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
    network: Textbook, optimiser: torch.optim.Optimizer, batch: Batch, autocast: bool
) -> None:
    with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
        loss = network(batch.source, batch.target)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument(
        "--precision", choices=("float32", "bfloat16"), default="bfloat16", help="of our products"
    )
    parser.add_argument("--updates", type=int, default=5, help="of each, after one that warms up")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--autocast", action="store_true")
    arguments = parser.parse_args()
    set_up_cpu(arguments.threads)
    torch.manual_seed(1)
    m, n, a, maxout, words, length = SIZES[arguments.size]
    sizes = {"embedding_size": m, "hidden_size": n, "alignment_size": a, "maxout_size": maxout}
    settings = load_config(
        "",
        [
            *(f"model.{key}={value}" for key, value in sizes.items()),
            f"training.precision={arguments.precision}",
        ],
    )
    dtype = torch.bfloat16 if arguments.precision == "bfloat16" else torch.float32
    trainer = Trainer(
        TranslationNetwork(settings.model, words, words, product_dtype=dtype), settings.training, 0
    )
    contestants: dict[str, Callable[[Batch, int], object]] = {
        "ours": lambda batch, number: trainer.update([batch], number)
    }
    for autocast in (False, True) if arguments.autocast else (False,):
        network = Textbook(m, n, a, maxout, words)
        optimiser = torch.optim.Adadelta(network.parameters(), lr=1.0, rho=0.95)
        name = "textbook, autocast" if autocast else "textbook"
        contestants[name] = lambda batch, _, n=network, o=optimiser, c=autocast: textbook_update(
            n, o, batch, c
        )  # type: ignore[misc]
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    lengths = torch.full((BATCH,), length + 1)
    for number in range(1, arguments.updates + 2):
        ids = torch.randint(2, words, (2, BATCH, length + 1))
        batch = Batch(ids[0], lengths, ids[1], lengths)
        for name, update in contestants.items():
            started = time.perf_counter()
            update(batch, number)
            seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    print(
        f"{hardware('cpu')}; {BATCH} pairs of {length} words, {words:,} words a side, {arguments.size} "
        "sizes, Adadelta"
    )
    for name, median in medians.items():
        print(
            f"{name:20} {BATCH * (length + 1) / median:8,.0f} target tokens/s   ours is "
            f"{median / medians['ours']:.2f} times as fast"
        )


if __name__ == "__main__":
    main()
