"""How good the network is on the development set: NLL, BLEU and a few translations to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rnnsearch.config import Settings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import collate
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.translator import Translator


@dataclass(frozen=True, slots=True)
class Validation:
    """nll: mean −log p(y | x) of a sentence in nats (Table 2). bleu: None if it was not asked for."""

    nll: float
    nll_per_word: float
    bleu: float | None
    signature: str
    samples: list[tuple[str, str, str]]
    """(source, reference, translation), as text."""


def validate(network: TranslationNetwork, corpus: Corpus, settings: Settings) -> Validation | None:
    """None if the corpus has no development set."""
    if corpus.dev is None or not len(corpus.dev):
        return None
    nll, words = development_nll(network, corpus, settings.training.batch_size)
    pairs = len(corpus.dev)
    bleu, signature = None, ""
    translated = corpus.dev_source_lines if settings.training.validate_bleu else corpus.dev_source_lines[: settings.training.samples]
    translator = Translator([network], corpus.source, corpus.target, settings.search)
    hypotheses = [result.text for result in translator.translate(translated, beam=settings.training.validate_beam, nbest=1)]
    if settings.training.validate_bleu:
        from rnnsearch.evaluation.bleu import bleu as corpus_bleu

        score = corpus_bleu(hypotheses, corpus.dev_target_lines)
        bleu, signature = score.value, score.signature
    # sentences spread over the set, the same every time
    shown = np.linspace(0, len(hypotheses) - 1, min(settings.training.samples, len(hypotheses))).astype(int)
    samples = [(corpus.dev_source_lines[i], corpus.dev_target_lines[i], hypotheses[i]) for i in shown]
    return Validation(nll / pairs, nll / words, bleu, signature, samples)


def development_nll(network: TranslationNetwork, corpus: Corpus, batch_size: int) -> tuple[float, int]:
    """(−Σ log p(y | x) in nats, target words with the ends of sentences) over the development set."""
    assert corpus.dev is not None
    device = network.output.weight.device
    order = np.argsort(np.maximum(corpus.dev.source_lengths, corpus.dev.target_lengths), kind="stable")
    total = 0.0
    for begin in range(0, len(order), batch_size):
        batch = collate(corpus.dev, order[begin : begin + batch_size]).to(device)
        log_probabilities, _ = forced_decoding([network], batch)
        total -= float(log_probabilities.double().sum())
    return total, int(corpus.dev.target_lengths.sum())
