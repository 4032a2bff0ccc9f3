"""Ensembles: several models search as one, which is again a step function over an opaque state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Int
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.translation.beam import SearchState, StepFunction, StepResult


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """The members' states, in the order of their step functions."""

    members: Sequence[SearchState]

    def select(self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]) -> Self:
        """The same selection in every member."""
        return type(self)(tuple(member.select(sentences, hypotheses) for member in self.members))


def ensemble(steps: Sequence[StepFunction]) -> tuple[StepFunction, Callable[[Sequence[SearchState]], EnsembleState]]:
    """One step function for several models of one vocabulary, and what makes its first state from theirs.

    The mean is taken of the probabilities, not of their logarithms: log p = logsumexp_m log p_m − log M; α is the mean of the members' α.
    Raises InputError without a member.
    """
    if not steps:
        raise InputError("an ensemble needs at least one model")

    def step(previous: Tensor | None, state: EnsembleState) -> StepResult:
        results = [member(previous, own) for member, own in zip(steps, state.members, strict=True)]
        log_probabilities = torch.stack([result.log_probabilities for result in results]).logsumexp(dim=0) - math.log(len(results))
        weights = torch.stack([result.weights for result in results]).mean(dim=0)
        return StepResult(log_probabilities, weights, EnsembleState(tuple(result.state for result in results)))

    return step, EnsembleState
