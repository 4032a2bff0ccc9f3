"""Ensembles: several models search as one, which is again a step function over an opaque state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.translation.beam import SearchState, StepFunction, StepResult


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """The members' states, in the order of their step functions."""

    members: Sequence[SearchState]

    def select(self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]) -> EnsembleState:
        """The same selection in every member."""
        return EnsembleState(tuple(member.select(sentences, hypotheses) for member in self.members))


def ensemble(steps: Sequence[StepFunction]) -> tuple[StepFunction, Callable[[Sequence[SearchState]], EnsembleState]]:
    """One step function for several models of one vocabulary, and what makes its first state from theirs.

    The mean is taken of the probabilities, not of their logarithms: log p = logsumexp_m log p_m − log M; α is `mean_alignment`.
    Raises InputError without a member.
    """
    if not steps:
        raise InputError("an ensemble needs at least one model")

    def step(previous: Tensor | None, state: EnsembleState) -> StepResult:
        results = [member(previous, own) for member, own in zip(steps, state.members, strict=True)]
        log_probabilities = torch.stack([result.log_probabilities for result in results]).logsumexp(dim=0) - math.log(len(results))
        weights = mean_alignment([result.weights for result in results])
        return StepResult(log_probabilities, weights, EnsembleState(tuple(result.state for result in results)))

    return step, EnsembleState


def mean_alignment(weights: Sequence[Float[Tensor, "*rest source"]]) -> Float[Tensor, "*rest source"]:
    """The mean of several models' or directions' α of the same words, among those that read a context for the word.

    A row of zeros says that none was read (the first word of the decoder variant `appendix`); it stays 0 if no member read one.
    """
    every = torch.stack(list(weights))
    read = every.any(-1, keepdim=True).sum(0).clamp(min=1)
    return every.sum(0) / read
