"""Where a training stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from rnnsearch.config import first_fault
from rnnsearch.errors import InputError

Count = Annotated[int, Field(ge=0, lt=2**63)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass
class TrainingProgress:
    """Everything here is counted, nothing is sampled: it is the same after resuming."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # for `checked_progress`

    corpus_pairs: Count = 0
    update: Count = 0
    epochs: Amount = 0.0
    """Passes over the corpus, with the begun one's part."""
    epoch: Count = 0
    batch: Count = 0
    """Batches of this epoch that are done."""
    pairs: Count = 0
    target_tokens: Count = 0
    """With the ends of sentences, over all updates."""
    seconds: Amount = 0.0
    """Training time of all sessions, validation included."""
    skipped: Count = 0
    """Updates skipped for a non-finite gradient, in all."""
    skipped_in_a_row: Count = 0
    best_score: float | None = None
    best_update: Count = 0
    unsaved_update: Count = 0
    """Whose weights are better still, and could not be saved; 0 if there is none."""
    validations_since_best: Count = 0
    finished: str = ""
    """Why training ended, if it did."""
    nll_sum: float = 0.0
    nll_pairs: Count = 0
    nll_tokens: Count = 0
    """Training NLL since the last validation."""
    alignment_sum: float = 0.0
    linked_rows: Count = 0
    """Alignment loss since the last validation, and the target positions with word links that it is summed over."""
    validations: list[dict[str, int | float]] = field(default_factory=list)
    """A row for each, with at least `update`."""


_PROGRESS = TypeAdapter(TrainingProgress)


def checked_progress(notes: dict[str, Any], path: Path) -> TrainingProgress:
    """What a checkpoint's notes say. Raises InputError for anything that a training would not have written."""
    try:
        progress = _PROGRESS.validate_python(notes.get("progress"))
    except ValidationError as error:
        raise InputError(f"is damaged: progress: {first_fault(error)}", file=path) from None
    for what, wrong in {
        "a validation without its update": any("update" not in row for row in progress.validations),
        "more updates skipped than there were": progress.skipped > progress.update,
        "a best update that is yet to come": progress.best_update > progress.update,
    }.items():
        if wrong:
            raise InputError(f"is damaged: progress: {what}", file=path)
    return progress
