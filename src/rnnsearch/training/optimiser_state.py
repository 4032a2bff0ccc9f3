"""What an optimiser must remember of each parameter: read from a checkpoint, it is compared with this before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.training.optimiser import takes_sparse_gradients

LIKE, ROWS, NUMBER = "like the parameter", "a number for each row", "one number"

SLOTS: dict[str, dict[str, str]] = {
    "Adadelta": {"square_avg": LIKE, "acc_delta": LIKE},
    "Adam": {"exp_avg": LIKE, "exp_avg_sq": LIKE, "step": NUMBER},
    "AdamW": {"exp_avg": LIKE, "exp_avg_sq": LIKE, "step": NUMBER},
    "SGD": {},
}
"""Class of the optimiser → its state of a parameter after an update."""

SPARSE_SLOTS: dict[str, dict[str, str]] = {"Adadelta": {"step": ROWS, "updates": NUMBER}}
"""What comes to it where gradients are sparse."""


def copies_in_memory(settings: TrainingSettings) -> int:
    """How many times training holds as much as the parameters: these, their gradients, what the optimiser remembers, the average.

    With a sampled softmax the large matrices have gradients of few rows.
    """
    class_name = {"adadelta": "Adadelta", "adam": "Adam", "adamw": "AdamW", "sgd": "SGD"}[settings.optimiser]
    whole_gradients = not (settings.sampled_softmax and takes_sparse_gradients(settings))
    return 1 + whole_gradients + sum(kind == LIKE for kind in SLOTS[class_name].values()) + (settings.average_decay > 0)


def stateless(state: Mapping[int, Mapping[str, Tensor]], parameters: Sequence[nn.Parameter], optimiser: str) -> list[int]:
    """The parameters that an optimiser has updated others without: no loss depends on them. optimiser: the name of its class."""
    return [index for index in range(len(parameters)) if index not in state] if state and SLOTS[optimiser] else []


def check_state(
    state: Mapping[int, Mapping[str, Tensor]], parameters: Sequence[nn.Parameter], optimiser: str, without: Sequence[int] = ()
) -> None:
    """Raises InputError unless the state fits the parameters after an update, in names, shapes and types. without: as `stateless` says."""
    if unknown := [index for index in state if not 0 <= index < len(parameters)]:
        raise InputError(f"it holds the optimiser's state of parameter {unknown[0]}, and there are {len(parameters)}")
    for index, parameter in enumerate(parameters):
        values = state.get(index, {})
        if not values and index in without:
            continue
        more = SPARSE_SLOTS.get(optimiser, {})
        expected = SLOTS[optimiser] | (more if more.keys() & values.keys() else {})
        if expected.keys() != values.keys():
            what = f"{optimiser}'s state of parameter {index} is {_listed(values)}, and {_listed(expected)} is expected"
            raise InputError(what)
        for slot, kind in expected.items():
            shape = {LIKE: parameter.shape, ROWS: parameter.shape[:1], NUMBER: ()}[kind]
            if values[slot].shape != shape or (kind == LIKE and values[slot].dtype != parameter.dtype):
                found = f"{list(values[slot].shape)}, {values[slot].dtype}"
                raise InputError(f"{optimiser}'s {slot} of parameter {index} is {found}, and should be {kind}: {list(shape)}")


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)) or "nothing"
