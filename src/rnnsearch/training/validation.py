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
from rnnsearch.errors import InputError
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.kernel_dispatch import kernels_used
from rnnsearch.system.tensors import save_tensors
from rnnsearch.text.store.batches import collate
from rnnsearch.text.store.corpus import Corpus
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
        by_bleu = select_by == "bleu" and self.bleu is not None
        return (self.bleu if by_bleu and self.bleu is not None else -self.nll), -self.nll


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
    bleu = None
    if training.validate_bleu:
        from rnnsearch.evaluation.bleu import bleu as corpus_bleu
        from rnnsearch.evaluation.bleu import tokenisation_of

        tokenise = tokenisation_of(settings.data.target_language)
        bleu = corpus_bleu(hypotheses, references, tokenise=tokenise).value
    # sentences spread over the set, the same every time
    shown = np.linspace(0, len(hypotheses) - 1, min(training.samples, len(hypotheses))).astype(int)
    samples = [(lines[i], references[i], hypotheses[i]) for i in shown]
    return Validation(nll / len(corpus.dev), nll / words, bleu, samples)


def development_nll(network: TranslationNetwork, corpus: Corpus, batch_size: int) -> tuple[float, int]:
    """Returns (−Σ log p(y | x) in nats, target words with the ends of sentences) over the development set."""
    assert corpus.dev is not None
    device = network.output.weight.device
    order = np.argsort(np.maximum(corpus.dev.source_lengths, corpus.dev.target_lengths), kind="stable")
    total = 0.0
    for begin in range(0, len(order), batch_size):
        batch = collate(corpus.dev, order[begin : begin + batch_size]).to(device)
        log_probabilities, _ = forced_decoding([network], batch)
        total -= float(log_probabilities.double().sum())
    return total, int(corpus.dev.target_lengths.sum())


class BestWeights:
    """The weights of the best validation so far.

    They count as the best, also in `progress`, once they are saved. Weights that could not be saved stay in
    memory until the next attempt.
    """

    def __init__(self, path: Path, progress: TrainingProgress, warn: Callable[[str], None]) -> None:
        self.path, self.progress, self.warn = path, progress, warn
        self._waiting: tuple[dict[str, Tensor], dict[str, Any], Score | None] | None = None
        """Weights that the disk has not taken yet, their notes, and their score."""
        self._refused = ""

    def offer(self, network: nn.Module, score: Score | None, notes: dict[str, Any]) -> bool:
        """Takes the weights if they are the best so far. Returns whether they are.

        score: None without a development set: the latest are the best. notes: with `update`.
        """
        before = self._waiting[2] if self._waiting else self._best_score()
        if score is not None and before is not None and score <= before:
            self.progress.validations_since_best += 1
            return False
        tensors = network.state_dict()
        self._waiting = tensors, notes, score
        self.progress.validations_since_best = 0
        self.save()
        if self._waiting is not None:  # a copy, because training changes the weights
            self._waiting = {name: tensor.clone() for name, tensor in tensors.items()}, notes, score
        return True

    def _best_score(self) -> Score | None:
        best, update = self.progress.best_score, self.progress.best_update
        if best is None or not self.path.exists():
            return None
        nlls = (row["dev_nll"] for row in self.progress.validations if row["update"] == update)
        return best, -next(nlls, math.inf)

    def is_missing(self) -> bool:
        """Tells whether the current weights should be offered again: an earlier session could not save them,
        or no weights were ever saved."""
        unsaved = self.progress.unsaved_update == self.progress.update
        return self._waiting is None and (unsaved or not self.path.exists())

    def save(self) -> None:
        """Saves weights that could not be saved earlier, if any."""
        if self._waiting is None:
            return
        (tensors, notes, score), progress = self._waiting, self.progress
        progress.unsaved_update = notes["update"]
        try:
            save_tensors(self.path, tensors, notes)
        except OSError as error:
            self._refused = error.strerror or str(error)
            said = f"{self._unsaved()}; they stay in memory until the next checkpoint, training goes on"
            self.warn(f"warning: {said}")
            return
        progress.best_score = None if score is None else score[0]
        progress.best_update, progress.unsaved_update = notes["update"], 0
        self._waiting = None

    def must_be_saved(self) -> None:
        """Raises InputError if the best weights are not saved yet: they would be lost with the end of
        training."""
        if self._waiting is not None:
            best = self.progress.best_update
            there = f"it holds those of update {best}" if best else "there is no model"
            remedy = "free some space and go on with --resume"
            raise InputError(f"{self._unsaved()}; {there}", file=self.path, remedy=remedy)

    def _unsaved(self) -> str:
        update = self.progress.unsaved_update
        return f"the best weights, of update {update}, could not be saved: {self._refused}"
