"""Validates on the development set, and keeps the best weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from rnnsearch.errors import InputError
from rnnsearch.kernels import convert
from rnnsearch.model.network import TranslationNetwork, import_named
from rnnsearch.settings import Settings
from rnnsearch.system.tensors import save_tensors
from rnnsearch.text.batches import collate
from rnnsearch.text.dataset import Corpus, Pairs
from rnnsearch.training.checkpoint import TrainingProgress
from rnnsearch.translation.batching import batched_by_length
from rnnsearch.translation.forced import force_in_batches, forced_decoding
from rnnsearch.translation.translator import Translator

Sample = tuple[str, str, str]
"""(source, reference, translation), as text."""


def validate(
    network: TranslationNetwork, corpus: Corpus, settings: Settings
) -> tuple[dict[str, float], list[Sample]]:
    """Returns (scores, samples) of the development set; both are empty without one.

    scores: dev_nll, the mean −log p(y | x) of a sentence in nats (Table 2); dev_nll_per_word; and,
    if they are requested, dev_bleu, in the tokenisation of the target language, without case if the
    network writes none, and dev_metric, of the user's own function. Raises InputError if that
    function cannot be imported, or does not return a number.
    """
    stopping, pairs = settings.stopping, corpus.dev
    if pairs is None or not len(pairs):
        return {}, []
    nll, words = nll_and_words(network, pairs, settings.training.batch_size)
    scores = {"dev_nll": nll / len(pairs), "dev_nll_per_word": nll / words}
    lines, references = corpus.dev_source_lines, corpus.dev_target_lines
    translator = Translator([network], corpus.source, corpus.target, settings)
    every = stopping.validate_bleu or stopping.validate_metric
    translated = lines if every else lines[: stopping.samples]
    results = translator.translate(translated, beam=stopping.validate_beam, nbest=1)
    hypotheses = [result.text for result in results]
    if stopping.validate_bleu:
        from rnnsearch.evaluation.bleu import bleu, tokenisation_of

        tokenise = tokenisation_of(settings.data.target_language)
        lowercase = corpus.target.tokeniser.lowercase
        score = bleu(hypotheses, references, tokenise=tokenise, lowercase=lowercase)
        scores["dev_bleu"] = score.value
    if stopping.validate_metric:
        scores["dev_metric"] = own_score(stopping.validate_metric, hypotheses, references, lines)
    # sentences spread over the set, the same every time
    shown = np.linspace(0, len(hypotheses) - 1, min(stopping.samples, len(hypotheses))).astype(int)
    return scores, [(lines[i], references[i], hypotheses[i]) for i in shown]


def own_score(name: str, *texts: Sequence[str]) -> float:
    """Returns the score of a user's function. texts: translations, references and sources. Raises
    InputError as `validate` does."""
    try:
        score = float(import_named("stopping.validate_metric", name)(*map(list, texts)))
        if not math.isfinite(score):
            raise ValueError(f"it returned {score}")
        return score
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        what = f"stopping.validate_metric = {name!r} raised {type(error).__name__}: {error}"
        gets = "it gets three lists of lines (translations, references, sources)"
        raise InputError(what, f"{gets} and returns a number") from error


def nll_and_words(network: TranslationNetwork, pairs: Pairs, batch_size: int) -> tuple[float, int]:
    """Returns (−Σ log p(y | x) in nats, number of target words with the ends of sentences)."""
    fast = convert(network)  # with less memory
    lengths = list(zip(pairs.source.lengths.tolist(), pairs.target.lengths.tolist(), strict=True))
    one = partial(_log_p, fast, pairs)
    work = partial(force_in_batches, [network], lengths=lengths.__getitem__, work=one)
    scores = batched_by_length(range(len(pairs)), lambda pair: max(lengths[pair]), batch_size, work)
    return -math.fsum(scores), int(pairs.target.lengths.sum())


def _log_p(network: TranslationNetwork, pairs: Pairs, some: list[int]) -> list[float]:
    batch = collate(pairs, some).to(network.output.weight.device)
    return forced_decoding([network], batch)[0].double().sum(1).tolist()


NOISE = 1.0
"""Below this development BLEU, the NLL decides."""


class BestWeights:
    """The weights of the best validation so far, in the file `path`. Weights that could not be
    saved stay in memory until the next attempt. select_by: bleu, nll or metric."""

    def __init__(
        self, path: Path, progress: TrainingProgress, select_by: str, warn: Callable[[str], None]
    ) -> None:
        self.path, self.progress, self.select_by, self.warn = path, progress, select_by, warn
        self._unsaved: tuple[dict[str, Tensor], dict[str, Any]] | None = None

    def offer(self, network: nn.Module, notes: dict[str, Any]) -> bool:
        """Takes the weights if they are the best so far. Returns whether they are.

        notes: `update` and the scores of the validation; without scores, the latest weights are the
        best.
        """
        score, best, update = self._score(notes), None, notes["update"]
        if self._unsaved or self.path.exists():
            best = self._score(self.progress.best_row)
        if score is not None and best is not None and score <= best:
            return False
        self.progress.best_update = update
        tensors = network.state_dict()
        self._unsaved = tensors, notes
        try:
            self.save()
        except OSError as error:  # a copy stays, because training changes the weights
            self._unsaved = {name: tensor.clone() for name, tensor in tensors.items()}, notes
            what = f"the best weights, of update {update}, are not saved: {error.strerror or error}"
            self.warn(f"warning: {what}; the next checkpoint tries again, training goes on")
        return True

    def _score(self, scores: dict[str, Any]) -> tuple[float, float] | None:
        """Returns (the score by which weights are selected, minus the NLL, which decides between
        equal ones); higher is better. None without scores."""
        if "dev_nll" not in scores:
            return None
        nll = -scores["dev_nll"] if math.isfinite(scores["dev_nll"]) else -math.inf
        score = nll if self.select_by == "nll" else scores.get(f"dev_{self.select_by}", nll)
        return (0.0 if self.select_by == "bleu" and 0 <= score < NOISE else score), nll

    def save(self) -> None:
        """Saves weights that are not saved yet. Raises OSError if the disk is full."""
        if self._unsaved is not None:
            save_tensors(self.path, *self._unsaved)
            self._unsaved = None
