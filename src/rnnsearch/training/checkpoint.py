"""All that resuming needs, in one file: weights, optimiser, averages, random state, data position and progress."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from rnnsearch.errors import InputError
from rnnsearch.system.tensors import load_notes, load_tensors, save_tensors
from rnnsearch.training.optimiser import WeightAverage, match_gradients


@dataclass
class TrainingProgress:
    """Where a training stands. Everything here is counted, nothing is sampled: it is the same after resuming."""

    corpus_pairs: int = 0
    update: int = 0
    epochs: float = 0.0
    """Passes over the corpus, with the begun one's part."""
    epoch: int = 0
    batch: int = 0
    """Batches of this epoch that are done."""
    pairs: int = 0
    target_tokens: int = 0
    """With the ends of sentences, over all updates."""
    seconds: float = 0.0
    """Training time of all sessions, validation included."""
    skipped: int = 0
    """Updates skipped for a non-finite gradient, in all."""
    skipped_in_a_row: int = 0
    best_score: float | None = None
    best_update: int = 0
    validations_since_best: int = 0
    finished: str = ""
    """Why training ended, if it did."""
    nll_sum: float = 0.0
    nll_pairs: int = 0
    nll_tokens: int = 0
    """Training NLL since the last validation."""
    alignment_sum: float = 0.0
    linked_rows: int = 0
    """Alignment loss since the last validation, and the target positions with word links that it is summed over."""
    validations: list[dict[str, float]] = field(default_factory=list)


def save_checkpoint(
    path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, average: WeightAverage | None, progress: TrainingProgress
) -> None:
    """Writes the state whole or not at all. Raises OSError if the disk is full; the previous checkpoint is then still there."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    state = optimiser.state_dict()["state"]
    for index, values in state.items():
        for slot, value in values.items():
            tensors[f"optimiser.{index}.{slot}"] = value
    if average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in average.weights.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    save_tensors(path, tensors, {"progress": asdict(progress)})


def read_progress(path: Path) -> TrainingProgress:
    """Where the training stands that wrote this checkpoint; no tensor is read. Raises InputError if it is missing or damaged."""
    try:
        return TrainingProgress(**load_notes(path)["progress"])
    except (KeyError, TypeError) as error:
        raise InputError(f"is damaged: {error}", file=path) from None


def load_checkpoint(path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, average: WeightAverage | None) -> TrainingProgress:
    """Puts the state back where `save_checkpoint` took it from. Raises InputError if the file is missing, damaged or of other settings."""
    tensors, notes = load_tensors(path, "nothing to resume from: start again without --resume, in another folder")
    try:
        network.load_state_dict(_under("network.", tensors))
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _under("optimiser.", tensors).items():
            index, slot = key.split(".")
            state.setdefault(int(index), {})[slot] = tensor
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        match_gradients(optimiser, network)
        if average is not None:
            weights = _under("average.", tensors)
            for name, tensor in average.weights.items():
                tensor.copy_(weights[name])
        torch.set_rng_state(tensors["random.cpu"])
        if torch.cuda.is_available() and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
        return TrainingProgress(**notes["progress"])
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"does not fit the settings of this run: {str(error).splitlines()[-1].strip()}", file=path) from None


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
