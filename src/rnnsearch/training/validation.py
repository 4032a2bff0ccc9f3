"""Validates on the development set, and keeps the best weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from rnnsearch.config import Settings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.kernel_dispatch import kernels_used
from rnnsearch.system.tensors import save_tensors
from rnnsearch.text.batches import collate
from rnnsearch.text.dataset import Corpus
from rnnsearch.training.checkpoint import TrainingProgress
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.translator import Translator

Score = tuple[float, float]
"""The score by which weights are selected, and minus the NLL, which decides between equal ones: higher is
better."""


@dataclass(frozen=True, slots=True)
class Validation:
    """The scores of a network on the development set.

    nll: mean −log p(y | x) of a sentence in nats (Table 2). bleu: in the tokenisation of the target language;
    None if not requested.
    """

    nll: float
    nll_per_word: float
    bleu: float | None
    samples: list[tuple[str, str, str]]
    """(source, reference, translation), as text."""

    def score(self, select_by: str) -> Score:
        """Returns the score by which the best weights are selected. select_by: bleu or nll."""
        return (-self.nll if select_by == "nll" or self.bleu is None else self.bleu), -self.nll


def validate(network: TranslationNetwork, corpus: Corpus, settings: Settings) -> Validation | None:
    """Scores the network on the development set; None if the corpus has none."""
    training = settings.training
    if corpus.dev is None or not len(corpus.dev):
        return None
    with kernels_used(training.kernels):
        nll, words = development_nll(network, corpus, training.batch_size)
    lines, references = corpus.dev_source_lines, corpus.dev_target_lines
    translator = Translator([network], corpus.source, corpus.target, settings.search)
    translated = lines if training.validate_bleu else lines[: training.samples]
    results = translator.translate(translated, beam=training.validate_beam, nbest=1)
    hypotheses = [result.text for result in results]
    score = None
    if training.validate_bleu:
        from rnnsearch.evaluation.bleu import bleu, tokenisation_of

        score = bleu(hypotheses, references, tokenise=tokenisation_of(settings.data.target_language)).value
    # sentences spread over the set, the same every time
    shown = np.linspace(0, len(hypotheses) - 1, min(training.samples, len(hypotheses))).astype(int)
    samples = [(lines[i], references[i], hypotheses[i]) for i in shown]
    return Validation(nll / len(corpus.dev), nll / words, score, samples)


def development_nll(network: TranslationNetwork, corpus: Corpus, batch_size: int) -> tuple[float, int]:
    """Returns (−Σ log p(y | x) in nats, target words with the ends of sentences) over the development set."""
    assert corpus.dev is not None
    device = network.output.weight.device
    order = np.argsort(np.maximum(corpus.dev.source.lengths, corpus.dev.target.lengths), kind="stable")
    total = 0.0
    for begin in range(0, len(order), batch_size):
        batch = collate(corpus.dev, order[begin : begin + batch_size]).to(device)
        log_probabilities, _ = forced_decoding([network], batch)
        total -= float(log_probabilities.double().sum())
    return total, int(corpus.dev.target.lengths.sum())


class BestWeights:
    """The weights of the best validation so far, in the file `path`. Weights that could not be saved stay in
    memory until the next attempt."""

    def __init__(self, path: Path, progress: TrainingProgress, warn: Callable[[str], None]) -> None:
        self.path, self.progress, self.warn = path, progress, warn
        self._unsaved: tuple[dict[str, Tensor], dict[str, Any]] | None = None

    def offer(self, network: nn.Module, score: Score | None, notes: dict[str, Any]) -> bool:
        """Takes the weights if they are the best so far. Returns whether they are.

        score: None without a development set: the latest are the best. notes: with `update`.
        """
        progress, best = self.progress, self._best_score()
        if score is not None and best is not None and score <= best:
            progress.validations_since_best += 1
            return False
        progress.best_score = None if score is None else score[0]
        progress.best_update, progress.validations_since_best = notes["update"], 0
        tensors = network.state_dict()
        self._unsaved = tensors, notes
        try:
            self.save()
        except OSError as error:  # a copy stays, because training changes the weights
            self._unsaved = {name: tensor.clone() for name, tensor in tensors.items()}, notes
            what = f"the best weights, of update {notes['update']}, are not saved: {error.strerror or error}"
            self.warn(f"warning: {what}; the next checkpoint tries again, training goes on")
        return True

    def _best_score(self) -> Score | None:
        best, update = self.progress.best_score, self.progress.best_update
        if best is None or not (self._unsaved or self.path.exists()):
            return None
        nlls = (row["dev_nll"] for row in self.progress.validations if row["update"] == update)
        return best, -next(nlls, math.inf)

    def save(self) -> None:
        """Saves weights that are not saved yet. Raises OSError if the disk is full."""
        if self._unsaved is not None:
            save_tensors(self.path, *self._unsaved)
            self._unsaved = None
