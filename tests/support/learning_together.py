"""What each rank does in the tests of several: it learns from its share of random batches.

torchrun --nproc-per-node 2 -m learning_together FILE CASE... writes into FILE what comes of it.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import torch
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import ModelSettings, Settings
from rnnsearch.training import setup
from rnnsearch.training.ddp import connected_ranks
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.trainer import Trainer, Update

MODEL = ModelSettings(
    embedding_size=6, hidden_size=8, alignment_size=5, maxout_size=6, initialisation="glorot"
)
TIED = MODEL.model_copy(update={"tie_output": True})
BOTH = MODEL.model_copy(update={"decoder": "bidirectional"})
BACKWARD = MODEL.model_copy(update={"decoder": "backward"})
LAST_STATE = MODEL.model_copy(update={"alignment": "fixed", "encoder": "forward"})
ADAM = ["optimiser.method=adam", "optimiser.learning_rate=0.01"]
LINKED = ["known_alignments.loss=cross-entropy", "known_alignments.forcing=mixed"]
AVERAGED = "optimiser.average_decay=0.9"
TWICE = "training.accumulate=2"
DECAY = "optimiser.weight_decay"
CASES: dict[str, tuple[ModelSettings, list[str]]] = {
    "adadelta, sparse rows, averaged": (MODEL, [AVERAGED]),
    "adadelta, tied, clipped": (TIED, ["optimiser.clip_norm=0.01"]),
    "adadelta, dense": (MODEL, [f"{DECAY}=0.01"]),
    "adadelta, parameters without a gradient": (LAST_STATE, []),
    "adam": (MODEL, ADAM),
    "adam, averaged, both decoders, accumulated": (BOTH, [*ADAM, AVERAGED, TWICE]),
    "adamw, links, backward decoder": (
        BACKWARD,
        [*ADAM, *LINKED, "optimiser.method=adamw", f"{DECAY}=0.1"],
    ),
    "adadelta, links, both decoders, accumulated": (BOTH, [*LINKED, TWICE]),
    "sgd, never clipped": (
        MODEL,
        ["optimiser.method=sgd", "optimiser.learning_rate=0.1", "optimiser.clip_norm=0"],
    ),
}
WORDS, UPDATES, PAIRS = 23, 12, 7

State = tuple[dict[str, Tensor], dict[int, dict[str, Tensor]], dict[str, Tensor]]
"""Of a trainer: network, optimiser, averages."""


def settings_of(case: str) -> Settings:
    return load_config(overrides=["training.threads=1", "training.kernels=false", *CASES[case][1]])


def trainer_of(case: str, ranks: Ranks, seed: int = 3) -> Trainer:
    """Returns a trainer of a small network in float64, the same for the same seed."""
    torch.manual_seed(seed)
    network = TranslationNetwork(CASES[case][0], WORDS, WORDS).double()
    return setup.trainer_of(network, settings_of(case), ranks=ranks)


def batches_of(number: int, case: str, pairs: int = PAIRS) -> list[Batch]:
    """Returns as many batches of random pairs as are accumulated, with links."""
    generator = torch.Generator().manual_seed(number)
    found = []
    for _ in range(settings_of(case).training.accumulate):
        lengths = torch.randint(1, 6, (2, pairs), generator=generator)
        ids = torch.randint(0, WORDS, (2, pairs, 5), generator=generator)
        known = torch.rand(pairs, 5, 5, generator=generator, dtype=torch.float64)
        found.append(Batch(ids[0], lengths[0], ids[1], lengths[1], known))
    return found


def learned(
    case: str, ranks: Ranks, updates: int = UPDATES, pairs: int = PAIRS
) -> tuple[State, list[Update]]:
    """Returns what comes of so many updates. Other ranks than the first begin with other weights."""
    trainer = trainer_of(case, ranks, seed=3 + ranks.rank)
    done = []
    for number in range(1, updates + 1):
        whole = batches_of(number, case, pairs)
        count = sum(len(batch.source) for batch in whole)
        done.append(trainer.update([ranks.share(batch) for batch in whole], number, count))
    return state_of(trainer), done


def state_of(trainer: Trainer) -> State:
    """Returns what a checkpoint holds."""
    average = trainer.average.weights if trainer.average else {}
    return trainer.network.state_dict(), trainer.optimiser.state_dict()["state"], average


def skipped(ranks: Ranks) -> tuple[Update, bool]:
    """Returns an update whose gradient is not finite in the last rank alone, and whether nothing
    changed."""
    trainer = trainer_of("adam", ranks)
    if ranks.rank == ranks.world - 1:
        with torch.no_grad():
            trainer.network.readout.U_o.weight[0, 0] = math.nan
    before = {name: tensor.clone() for name, tensor in trainer.network.state_dict().items()}
    update = trainer.update([ranks.share(batches_of(1, "adam")[0])], 1, PAIRS)
    after = trainer.network.state_dict()
    return update, all(
        torch.equal(after[name].nan_to_num(), tensor.nan_to_num())
        for name, tensor in before.items()
    )


def main(file: str, *cases: str) -> None:
    """Writes what every case comes to in rank 0, and the weights in every rank."""
    torch.set_num_threads(1)
    with connected_ranks("cpu") as ranks:
        found: dict[str, Any] = {case: learned(case, ranks) for case in cases}
        weights = {case: found[case][0][0] for case in cases}
        found["fewer pairs than ranks"] = learned(
            "adadelta, sparse rows, averaged", ranks, 3, pairs=1
        )
        found["skipped"] = skipped(ranks)
        every = ranks.gather(weights)
        if ranks.is_first:
            torch.save((found, every), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
