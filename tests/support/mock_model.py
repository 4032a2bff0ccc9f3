"""A mock step of search, whose log p and α are any function of the ids so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.search.beam import Hypothesis, StepResult, beam_search
from rnnsearch.settings import SearchSettings

Row = tuple[NDArray[np.float32], NDArray[np.float32]]
Ids = tuple[int, ...]


@dataclass
class State:
    """sentences (B,) and, per hypothesis, all the ids it was fed (B, k, i): a wrong selection changes every
    later distribution."""

    sentences: Tensor
    ids: Tensor

    def select(self, sentences: Tensor | None, hypotheses: Tensor) -> State:
        rows = torch.arange(len(self.sentences)) if sentences is None else sentences
        return State(self.sentences[rows], self.ids[rows[:, None], hypotheses])


@dataclass
class Model:
    """p(· | sentence, ids so far) over `size` ids and α over the sentence's positions, drawn from a seed that
    holds all of these.

    grain: round log p to multiples of it, so that exact ties abound (the sum is 1 no more). impossible: share
    of ids with p = 0.
    """

    lengths: list[int]
    size: int = 5
    seed: int = 0
    grain: float = 0.0
    impossible: float = 0.0
    padding: int = 0
    batch_sizes: list[int] = field(default_factory=list)

    def row(self, sentence: int, ids: Ids) -> Row:
        random = np.random.default_rng([self.seed, sentence, len(ids), *ids])
        logits = random.normal(scale=1.5, size=self.size)
        log_p = logits - np.log(np.exp(logits).sum())
        if self.grain:
            log_p = np.round(log_p / self.grain) * self.grain
        log_p[random.random(self.size) < self.impossible] = -np.inf
        return log_p.astype(np.float32), random.dirichlet(
            np.full(self.lengths[sentence], 0.5)
        ).astype(np.float32)

    def step(self, previous: Tensor | None, state: State) -> StepResult:
        assert previous is None or previous.shape == state.ids.shape[:2]
        ids = state.ids if previous is None else torch.cat([state.ids, previous[:, :, None]], dim=2)
        self.batch_sizes.append(len(ids))
        log_p = torch.zeros(*ids.shape[:2], self.size)
        weights = torch.zeros(*ids.shape[:2], max(self.lengths) + self.padding)
        rows: dict[tuple[int, Ids], Row] = {}
        for b, sentence in enumerate(state.sentences.tolist()):
            for k, history in enumerate(map(tuple, ids[b].tolist())):
                if (sentence, history) not in rows:
                    rows[sentence, history] = self.row(sentence, history)
                one, alpha = rows[sentence, history]
                log_p[b, k] = torch.from_numpy(one)
                weights[b, k, : len(alpha)] = torch.from_numpy(alpha)
        return StepResult(log_p, weights, State(state.sentences, ids))

    def start(self, sentences: list[int] | None = None) -> tuple[State, Tensor]:
        """(the first state, the lengths) of these sentences, by default of all."""
        chosen = list(range(len(self.lengths))) if sentences is None else sentences
        state = State(
            torch.tensor(chosen, dtype=torch.long), torch.zeros(len(chosen), 1, 0, dtype=torch.long)
        )
        return state, torch.tensor([self.lengths[i] for i in chosen], dtype=torch.long)

    def search(
        self, settings: SearchSettings, sentences: list[int] | None = None
    ) -> list[list[Hypothesis]]:
        return beam_search(self.step, *self.start(sentences), settings)
