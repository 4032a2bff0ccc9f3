"""All that resuming needs, in one file: weights, optimiser, averages, random state, data position and progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from rnnsearch.errors import InputError
from rnnsearch.system.tensors import difference, load_notes, load_tensors, save_tensors
from rnnsearch.training.optimiser import WeightAverage, match_gradients
from rnnsearch.training.optimiser_state import check_state, stateless
from rnnsearch.training.progress import TrainingProgress, checked_progress

OTHERS = {"random.cpu", "random.cuda"}


def save_checkpoint(
    path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, average: WeightAverage | None, progress: TrainingProgress
) -> None:
    """Writes the state whole or not at all. Raises OSError if the disk is full; the previous checkpoint is then still there."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    state = optimiser.state_dict()["state"]
    parameters = optimiser.param_groups[0]["params"]
    for index, values in state.items():
        for slot, value in values.items():
            tensors[f"optimiser.{index}.{slot}"] = value
    if average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in average.weights.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if parameters[0].is_cuda:  # elsewhere its numbers are not drawn, and asking for them would start the driver
        tensors["random.cuda"] = torch.cuda.get_rng_state(parameters[0].device)
    save_tensors(path, tensors, {"progress": asdict(progress), "stateless": stateless(state, parameters, type(optimiser).__name__)})


def read_progress(path: Path) -> TrainingProgress:
    """Where the training stands that wrote this checkpoint; no tensor is read. Raises InputError if it is missing or damaged."""
    return checked_progress(load_notes(path, "train it first, or wait for its first checkpoint"), path)


def load_checkpoint(path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, average: WeightAverage | None) -> TrainingProgress:
    """Puts the state back where `save_checkpoint` took it from. Raises InputError if the file is missing, damaged or of other settings."""
    tensors, notes = load_tensors(path, "nothing to resume from: start again without --resume, in another folder")
    progress = checked_progress(notes, path)
    try:
        _compare(_under("network.", tensors), network.state_dict())
        _compare(_under("average.", tensors), {} if average is None else average.weights)
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _under("optimiser.", tensors).items():
            index, slot = key.split(".")
            state.setdefault(int(index), {})[slot] = tensor
        if strange := [name for name in tensors if name not in OTHERS and not name.startswith(("network.", "average.", "optimiser."))]:
            raise InputError(f"there is a tensor {strange[0]}, which does not belong to a checkpoint")
        if state or progress.update > progress.skipped:
            check_state(state, optimiser.param_groups[0]["params"], type(optimiser).__name__, notes.get("stateless", []))
        network.load_state_dict(_under("network.", tensors))
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        match_gradients(optimiser, network)
        if average is not None:
            weights = _under("average.", tensors)
            for name, tensor in average.weights.items():
                tensor.copy_(weights[name])
        torch.set_rng_state(tensors["random.cpu"])
        device = optimiser.param_groups[0]["params"][0].device
        if device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], device)
    except (InputError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"does not fit the settings of this run: {error}", file=path) from None
    return progress


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _compare(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    if misfit := difference(found, expected):
        raise InputError(misfit)
