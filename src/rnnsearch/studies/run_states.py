"""Where each run of a study stands, and how long the rest may take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rnnsearch.config import Settings, TrainingSettings
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.training.checkpoint import read_progress
from rnnsearch.training.loop import reason_to_stop
from rnnsearch.training.progress import TrainingProgress


@dataclass(frozen=True)
class RunState:
    """minutes: of training so far. left: minutes that training will still take, None while nobody can know."""

    run: StudyRun
    updates: int
    share: float
    minutes: float
    left: float | None
    trained: bool
    measured: bool

    def __str__(self) -> str:
        if self.measured:
            return f"{self.run.name}: done, {self.updates:,} updates in {duration(self.minutes)}"
        if self.trained:
            return f"{self.run.name}: trained, {self.updates:,} updates in {duration(self.minutes)}; not measured yet"
        left = "" if self.left is None else f", about {duration(self.left)} left"
        done = f"at update {self.updates:,} ({self.share:.0%})" if self.updates else "not begun"
        return f"{self.run.name}: {done}{left}"


def duration(minutes: float) -> str:
    """For a person: `3 min`, `2 h 05 min`."""
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} h {rest:02d} min" if hours else f"{rest} min" if minutes >= 1 else f"{60 * minutes:.0f} s"


def is_trained(path: Path, settings: Settings) -> bool:
    """Whether a run has reached what its settings ask for: with more updates than before it has not."""
    checkpoint = path / "checkpoints" / "last.safetensors"
    if not checkpoint.exists():
        return False
    progress = read_progress(checkpoint)
    return bool(progress.finished) and bool(reason_to_stop(settings.training, progress))


def states(plan: Plan, folder: StudyFolder, measured: set[str]) -> list[RunState]:
    """Of all runs. measured: the names of those whose row is in the results."""
    found = [_state(run, plan.of_seed(run.variant, run.seed), folder, run.name in measured) for run in folder.runs(plan)]
    known = [state.minutes / state.share for state in found if state.share > 0]
    usual = sum(known) / len(known) if known else None
    return [state if state.left is not None or state.updates else replace(state, left=usual) for state in found]


def time_left(found: list[RunState], jobs: int) -> str:
    """What is left of the training, as a sentence for a person; empty if nobody can know yet."""
    if any(state.left is None for state in found):
        return ""
    return f"about {duration(sum(state.left or 0.0 for state in found) / jobs)} of training left"


def _state(run: StudyRun, settings: Settings, folder: StudyFolder, measured: bool) -> RunState:
    checkpoint = run.path / "checkpoints" / "last.safetensors"
    if not checkpoint.exists():
        return RunState(run, 0, 0.0, 0.0, None, False, False)
    progress = read_progress(checkpoint)
    trained = is_trained(run.path, settings)
    share = 1.0 if trained else _share(settings.training, progress)
    minutes = progress.seconds / 60
    left = 0.0 if trained else minutes / share - minutes if share else None
    return RunState(run, progress.update, share, minutes, left, trained, measured and trained)


def _share(training: TrainingSettings, progress: TrainingProgress) -> float:
    """Of the training that is done, by the nearest limit; 0 if there is none."""
    limits = (
        (training.max_updates, float(progress.update)),
        (training.max_epochs, progress.epochs),
        (training.max_minutes, progress.seconds / 60),
    )
    return min(1.0, max((done / limit for limit, done in limits if limit), default=0.0))
