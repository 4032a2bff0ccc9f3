"""What several ranks cost and bring: measured for two processes of this machine, and computed for machines and cards.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --measure --recipe multi30k --words 4000 --length 15 --repetitions 40

Without --measure nothing is run: bytes and operations of an update follow from the settings, times from the speed of a network and of a
card. In an exchange of N ranks each of them sends so many bytes:

    dense:  P (N − 1) / N × (g + w)          gradients to the owners of their parts, and updated parameters back
    rows:   R (N − 1) × (g E + 8)            of embeddings, the rows of a rank's words to all others

where P is the number of dense parameters, R the rows, E their size, g the bytes of a gradient on its way, w = 4 those of a parameter.
With C seconds of arithmetic for the pairs of one rank, and X seconds of exchange, arithmetic has the share C / (C + X): nothing
overlaps. With --measure, two processes compute without an exchange, exchange without computing, and do both; the prediction is the
first and the bytes over the bandwidth of one message.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

from rnnsearch.bench import bench_training, operations_of_update, share_here, trained
from rnnsearch.config import Settings, load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.training.launch import started
from rnnsearch.training.optimiser import takes_sparse_gradients
from rnnsearch.training.parallel import ParallelTrainer
from rnnsearch.training.ranks import Ranks

NETWORKS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9}
"""Bytes per second in each direction, for each rank: those of one machine share what it has."""
CARDS = {"A100": (312e12, 300e9), "H100": (989e12, 450e9)}
"""bfloat16 operations per second (dense), and bytes per second of NVLink in each direction, as their data sheets have them."""
ENOUGH = 0.9
"""The share of time in arithmetic from which on it is said to pay."""


@dataclass(frozen=True)
class Sizes:
    """Of an update. dense: parameters with a whole gradient; rows: embedding rows of a rank, at most; row_size: numbers of each."""

    dense: int
    rows: int
    row_size: int

    @classmethod
    def of(cls, settings: Settings, words: int, length: int, pairs: int) -> Sizes:
        """pairs: of one rank. Every word of a batch is taken to be another one, up to the whole vocabulary."""
        with torch.device("meta"):
            network = TranslationNetwork(settings.model, words, words, trust_code=True)
        every = sum(parameter.numel() for parameter in network.parameters())
        if not takes_sparse_gradients(settings.training):
            return cls(every, 0, 0)
        embeddings = [network.source_embedding.weight, *([] if network.tied else [network.target_embedding.weight])]
        rows = min(words, pairs * (length + 1)) * len(embeddings)
        return cls(every - sum(one.numel() for one in embeddings), rows, embeddings[0].shape[1])

    def sent(self, world: int, gradient: int) -> float:
        """Bytes that each rank sends in an update. gradient: bytes of a number of it, 4 or 2."""
        return self.dense * (world - 1) / world * (gradient + 4) + self.rows * (world - 1) * (gradient * self.row_size + 8)


def planned(settings: Settings, words: int, length: int, ranks: list[int], card_share: float) -> list[dict[str, float | int | str]]:
    """A row for each card, network, number of ranks and precision, with batch_size pairs for each rank."""
    pairs = settings.training.batch_size
    operations = operations_of_update(settings, words=words, length=length)
    on_card = settings.model_copy(update={"training": settings.training.model_copy(update={"device": "cuda"})})
    sizes = Sizes.of(on_card, words, length, pairs)
    rows: list[dict[str, float | int | str]] = []
    for card, (speed, link) in CARDS.items():
        networks = NETWORKS | {"NVLink": link}
        arithmetic = operations / (speed * card_share)
        for (network, bandwidth), world, gradient in itertools.product(networks.items(), ranks, (4, 2)):
            sent = sizes.sent(world, gradient)
            exchange = sent / bandwidth
            row = {"card": card, "network": network, "ranks": world, "gradient_bytes": gradient, "bytes": sent, "arithmetic": arithmetic}
            share, pays = arithmetic / (arithmetic + exchange), pairs_that_pay(arithmetic, pairs, exchange)
            rows.append(row | {"exchange": exchange, "share": share, "pairs": pays})
    return rows


def pairs_that_pay(arithmetic: float, pairs: int, exchange: float) -> float:
    """Pairs for each rank with which ENOUGH of the time is arithmetic, which grows with them; rows are taken to stay as they are."""
    return pairs * exchange * ENOUGH / (1 - ENOUGH) / arithmetic


def measured(settings: Settings, words: int, length: int, repetitions: int) -> list[dict[str, float | str]]:
    """One process, then two that exchange through memory and two that exchange messages, in seconds per update."""
    one = settings.model_copy(update={"training": settings.training.model_copy(update={"processes": 1})})
    alone = bench_training(one, words=words, length=length, repetitions=repetitions).seconds
    rows: list[dict[str, float | str]] = [{"processes": 1, "exchange": "", "update": alone}]
    two = settings.model_copy(update={"training": settings.training.model_copy(update={"processes": 2})})
    for way, precision in itertools.product(("memory", "messages"), ("float32", "bfloat16")):
        training = two.training.model_copy(update={"exchange_precision": precision})
        arguments = (two.model_copy(update={"training": training}), words, length, repetitions, way)
        with started(2, training.exchange_timeout, _follow, *arguments) as ranks:
            rows.append({"processes": 2, "exchange": f"{way}, {precision}", **_both(ranks, *arguments)})
    return rows


def _follow(ranks: Ranks, *arguments: object) -> int:
    _both(ranks, *arguments)  # type: ignore[arg-type]
    return 0


def _both(ranks: Ranks, settings: Settings, words: int, length: int, repetitions: int, way: str) -> dict[str, float]:
    """What every rank does, in step."""
    set_up_cpu(settings.training.threads, ranks.world)
    ranks.share_memory = way == "memory"
    trainer, batch = trained(settings, words, length)
    parallel, share = ParallelTrainer(trainer, ranks, settings.training), share_here(batch, ranks)
    numbers = itertools.count(1)
    parallel.update_together(share, next(numbers))

    def compute() -> None:
        parallel.part.add_gradients(share.batches, share.pairs, 1)
        for parameter in trainer.parameters:
            parameter.grad = None

    def step() -> None:
        for piece in parallel.flat.give_gradients([True] * len(parallel.flat.parameters)):
            assert piece.grad is not None
        parallel.part.optimiser.step()

    def exchange() -> None:
        for parameter, view in zip(parallel.flat.parameters, parallel.flat.views(gradients), strict=True):
            parameter.grad = view
        parallel.flat.reduce()
        parallel.flat.publish()

    gradients = torch.zeros_like(parallel.flat.vector)
    message = torch.zeros(4_000_000)
    other = 1 - ranks.rank
    into = torch.empty_like(message)
    found = {
        "update": timed(lambda: parallel.update_together(share, next(numbers)), ranks, repetitions),
        "computing": timed(compute, ranks, repetitions) + timed(step, ranks, repetitions),
        "exchanging": timed(exchange, ranks, repetitions),
        "bandwidth": message.nbytes / timed(lambda: ranks.swap([(other, message)], [(other, into)]), ranks, repetitions),
    }
    gradient = 2 if settings.training.exchange_precision == "bfloat16" else 4
    sizes = Sizes.of(settings, words, length, -(-settings.training.batch_size // 2))
    found["predicted"] = found["computing"] + sizes.sent(2, gradient) / found["bandwidth"]
    return found


def timed(work: Callable[[], object], ranks: Ranks, repetitions: int) -> float:
    """Median seconds, of the slower rank each time."""
    seconds = []
    for _ in range(repetitions):
        ranks.everyone([0.0])
        begun = time.perf_counter()
        work()
        own = time.perf_counter() - begun
        seconds.append(max(other for (other,) in ranks.everyone([own])))
    return statistics.median(seconds)


def plan_text(rows: list[dict[str, float | int | str]], pairs: int) -> str:
    heads = ["card", "network", "ranks", "MB sent by each, float32 / bfloat16", "ms of exchange", f"ms of arithmetic, {pairs} pairs"]
    lines = [f"| {' | '.join([*heads, 'share in arithmetic', 'pairs per rank for 90 %'])} |", "|---|---|---|---|---|---|---|---|"]
    for whole, half in zip(rows[::2], rows[1::2], strict=True):
        both = [f"{one['bytes'] / 1e6:,.0f}" for one in (whole, half)]  # type: ignore[operator]
        times = [f"{one['exchange'] * 1e3:,.1f}" for one in (whole, half)]  # type: ignore[operator]
        shares = [f"{one['share']:.0%}" for one in (whole, half)]
        enough = [f"{one['pairs']:,.0f}" for one in (whole, half)]
        cells = [whole["card"], whole["network"], whole["ranks"], " / ".join(both), " / ".join(times)]
        cells += [f"{whole['arithmetic'] * 1e3:,.1f}", " / ".join(shares), " / ".join(enough)]  # type: ignore[operator]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def measured_text(rows: list[dict[str, float | str]]) -> str:
    lines = ["| processes | exchange | updates/s | ms per update | of them computing | exchanging alone | share | predicted ms |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in rows:
        ms = {key: 1e3 * value for key, value in row.items() if isinstance(value, float)}
        cells = [row["processes"], row["exchange"], f"{1e3 / ms['update']:.2f}", f"{ms['update']:.0f}"]
        if "computing" in ms:
            share = f"{ms['exchanging'] / ms['update']:.1%}"
            cells += [f"{ms['computing']:.0f}", f"{ms['exchanging']:.1f}", share, f"{ms['predicted']:.0f}"]
        else:
            cells += [""] * 4
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="", help="the paper's own if there is none")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 8, 64])
    parser.add_argument("--card-share", type=float, default=0.1, help="of a card's arithmetic that an update reaches: an assumption")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    settings = load_config(arguments.recipe, [*arguments.set, "training.threads=1"])
    sizes = (arguments.words, arguments.length)
    if arguments.measure:
        rows = measured(settings, *sizes, arguments.repetitions)
        conditions = f"{hardware('cpu')}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}"
        print(json.dumps(rows) if arguments.json else f"{measured_text(rows)}\n\n{conditions}\n")
        return
    plan = planned(settings, *sizes, arguments.ranks, arguments.card_share)
    update = asdict(Sizes.of(settings, *sizes, settings.training.batch_size))
    update["operations"] = operations_of_update(settings, words=arguments.words, length=arguments.length)
    numbers = ", ".join(f"{name} {value:,}" for name, value in update.items())
    text = f"On CPUs, with {settings.training.batch_size} pairs for each rank: {numbers}\n\n{plan_text(plan, settings.training.batch_size)}"
    print(json.dumps({"update": update, "plan": plan}) if arguments.json else text)


if __name__ == "__main__":
    main()
