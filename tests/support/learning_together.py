"""What each of several processes does in the tests: it learns from its share of random batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rnnsearch.config import ModelSettings, TrainingSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.launch import Interrupt, joined, launch_of_environment
from rnnsearch.training.processes import Processes, part_of
from rnnsearch.training.trainer import Trainer, Update

MODEL = ModelSettings(
    embedding_size=6, hidden_size=8, alignment_size=5, maxout_size=6, initialisation="glorot"
)
TIED = MODEL.model_copy(update={"tie_output": True})
BOTH = MODEL.model_copy(update={"decoder": "bidirectional"})
BACKWARD = MODEL.model_copy(update={"decoder": "backward"})
LAST_STATE = MODEL.model_copy(update={"alignment": "fixed", "encoder": "forward"})
SAMPLED = {"sampled_softmax": 9}
ADAM = {"optimiser": "adam", "learning_rate": 0.01}
LINKED = {"alignment_loss": "cross-entropy", "alignment_forcing": "mixed"}
CASES: dict[str, tuple[ModelSettings, dict[str, Any]]] = {
    "adadelta, sparse rows, averaged": (MODEL, {"average_decay": 0.9}),
    "adadelta, tied, clipped": (TIED, {"clip_norm": 0.01}),
    "adadelta, dense": (MODEL, {"weight_decay": 0.01}),
    "adadelta, parameters without a gradient": (LAST_STATE, {}),
    "adam": (MODEL, ADAM),
    "adam, averaged, both decoders, accumulated": (BOTH, ADAM | {"average_decay": 0.9, "accumulate": 2}),
    "adadelta, sampled softmax, both decoders, accumulated": (BOTH, SAMPLED | {"accumulate": 2}),
    "adadelta, sampled softmax, tied": (TIED, SAMPLED),
    "adam, sampled softmax": (MODEL, ADAM | SAMPLED),
    "adamw, links, backward decoder": (BACKWARD, ADAM | LINKED | {"optimiser": "adamw", "weight_decay": 0.1}),
    "adadelta, links, both decoders, accumulated": (BOTH, LINKED | {"accumulate": 2}),
    "sgd, never clipped": (MODEL, {"optimiser": "sgd", "learning_rate": 0.1, "clip_norm": 0.0}),
}
WORDS, UPDATES, PAIRS = 23, 30, 7

State = tuple[dict[str, Tensor], dict[int, dict[str, Tensor]], dict[str, Tensor]]
"""Of a trainer: network, optimiser, averages."""


def trainer_of(case: str, processes: Processes, seed: int = 3) -> Trainer:
    """Returns a trainer of a small network in float64, the same for the same seed."""
    model, changes = CASES[case]
    torch.manual_seed(seed)
    network = TranslationNetwork(model, WORDS, WORDS).double()
    return Trainer(network, TrainingSettings(threads=1, **changes), 0, processes)


def batches_of(number: int, training: TrainingSettings, pairs: int = PAIRS) -> list[Batch]:
    """Returns as many batches of random pairs as are accumulated, with links."""
    generator = torch.Generator().manual_seed(number)
    found = []
    for _ in range(training.accumulate):
        lengths = torch.randint(1, 6, (2, pairs), generator=generator)
        ids = torch.randint(0, WORDS, (2, pairs, 5), generator=generator)
        known = torch.rand(pairs, 5, 5, generator=generator, dtype=torch.float64)
        words = None
        if training.sampled_softmax:
            words = torch.randperm(WORDS, generator=generator)[: training.sampled_softmax].sort().values
            ids[1] = words[ids[1] % len(words)]
        found.append(Batch(ids[0], lengths[0], ids[1], lengths[1], known, words))
    return found


def learned(
    case: str, processes: Processes, updates: int = UPDATES, pairs: int = PAIRS
) -> tuple[State, list[Update]]:
    """Returns what comes of so many updates. Other processes than the first begin with other weights."""
    trainer = trainer_of(case, processes, seed=3 + processes.rank)
    done = []
    for number in range(1, updates + 1):
        whole = batches_of(number, trainer.settings, pairs)
        count = sum(len(batch.source) for batch in whole)
        done.append(trainer.update([part_of(batch, processes) for batch in whole], number, count))
    return state_of(trainer), done


def state_of(trainer: Trainer) -> State:
    """Returns what a checkpoint holds."""
    average = trainer.average.weights if trainer.average else {}
    return trainer.network.state_dict(), trainer.optimiser.state_dict()["state"], average


def skipped(processes: Processes) -> tuple[Update, bool]:
    """Returns an update whose gradient is not finite in the last process alone, and whether nothing
    changed."""
    trainer = trainer_of("adam", processes)
    if processes.rank == processes.world - 1:
        with torch.no_grad():
            trainer.network.readout.U_o.weight[0, 0] = math.nan
    before = {name: tensor.clone() for name, tensor in trainer.network.state_dict().items()}
    update = trainer.update([part_of(batches_of(1, trainer.settings)[0], processes)], 1, PAIRS)
    after = trainer.network.state_dict()
    return update, all(
        torch.equal(after[name].nan_to_num(), tensor.nan_to_num()) for name, tensor in before.items()
    )


def learn_everything(cases: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Runs in each process. Returns what every case comes to here, and the weights in every process."""
    torch.set_num_threads(1)
    training = TrainingSettings(threads=1)
    with joined(launch_of_environment(), training, Interrupt()) as processes:
        found: dict[str, Any] = {case: learned(case, processes) for case in cases}
        weights = {case: found[case][0][0] for case in cases}
        found["fewer pairs than processes"] = learned(
            "adadelta, sparse rows, averaged", processes, 3, pairs=1
        )
        found["skipped"] = skipped(processes)
        return found, processes.gather(weights)
