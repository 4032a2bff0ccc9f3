"""The program without its kernels is slower and equal: every network, training, search, forced decoding and
alignment, and a whole training and its translations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import sizes
from small import ALIGNMENTS, CELLS, ENCODERS, WIRINGS, sentences, small_network, small_trainer
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.kernels import convert, fast_best_sums
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.run import Run
from rnnsearch.search.beam import beam_search, best_sums
from rnnsearch.search.step import search
from rnnsearch.search.two_directions import search_both
from rnnsearch.settings import SearchSettings
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.dataset import Corpus
from rnnsearch.training.display import Display
from rnnsearch.training.loop import train
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.posterior import has_quick_posterior, quick_alignment
from rnnsearch.translation.translator import Translator

SOURCE, LENGTHS, TARGET, TARGET_LENGTHS = sentences()
KNOWN = torch.softmax(torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(1)), -1)
DECODERS = ("forward", "backward", "bidirectional")
NETWORKS: list[dict[str, Any]] = [
    *(
        {"wiring": wiring, "decoder": decoder}
        for wiring, decoder in itertools.product(WIRINGS, DECODERS)
    ),
    *(
        {"alignment": name, "wiring": wiring}
        for name, wiring in itertools.product(ALIGNMENTS[1:], WIRINGS)
    ),
    *({"cell": cell, "encoder": encoder} for cell, encoder in itertools.product(CELLS, ENCODERS)),
    {"readout": "tanh"},
    {"factored_output": True},
    {"tie_output": True, "factored_output": True},
]
TRAININGS: list[list[str]] = [
    [
        "dropout.label_smoothing=0.1",
        "known_alignments.loss=cross-entropy",
        "known_alignments.forcing=known",
    ],
    ["optimiser.method=adam"],
]


def gradients(
    network: TranslationNetwork, training: Sequence[str], kernels: bool
) -> dict[str, Tensor | None]:
    """Returns the loss and every gradient of one update of one batch."""
    own = (
        "optimiser.method=sgd",
        "dropout.recurrent=0.2",
        f"training.kernels={str(kernels).lower()}",
    )
    trainer = small_trainer(network, *own, *training)
    torch.manual_seed(2)
    batch = Batch(SOURCE, LENGTHS, TARGET, TARGET_LENGTHS, KNOWN.to(network.output.weight.dtype))
    loss, sums = trainer.loss(batch, trainer._replaced(batch, 1, 0), 0.7)
    loss.backward()
    found = {"sums": sums} | {name: one.grad for name, one in network.named_parameters()}
    network.zero_grad()
    return {
        name: one.to_dense() if one is not None and one.is_sparse else one
        for name, one in found.items()
    }


@torch.no_grad()
def searched(network: TranslationNetwork, kernels: bool) -> list[Any]:
    limits = SearchSettings(beam=4, nbest=3, no_unk=True, min_length_ratio=0.5)
    sums = fast_best_sums if kernels else best_sums
    find, forced = partial(beam_search, sums=sums), partial(forced_decoding, [network])
    if len(network.directions) == 1:
        found = search([network], SOURCE, LENGTHS, limits, find)
    else:
        found = search_both([network], SOURCE, LENGTHS, limits, find, forced)
    every = itertools.chain.from_iterable(found)
    return [(one.ids, one.finished, one.score, one.log_probabilities, one.weights) for one in every]


def forced(network: TranslationNetwork) -> tuple[Tensor, ...]:
    batch = Batch(SOURCE, LENGTHS, TARGET, TARGET_LENGTHS)
    found: list[Tensor] = []
    for posterior in (False, True):
        found += forced_decoding([network], batch, posterior=posterior)
        if not posterior or has_quick_posterior([network]):
            found.append(quick_alignment([network], batch, posterior=posterior))
    return tuple(found)


def assert_equal(network: TranslationNetwork, training: Sequence[str], rounding: float) -> None:
    close, fast = {"rtol": rounding, "atol": rounding}, convert(network)
    torch.testing.assert_close(
        gradients(network, training, True), gradients(network, training, False), **close
    )
    torch.testing.assert_close(forced(fast), forced(network), **close)
    for one, other in zip(searched(fast, True), searched(network, False), strict=True):
        assert one[:2] == other[:2]
        for found, plain in zip(one[2:], other[2:], strict=True):
            assert found == pytest.approx(plain, rel=1e-5, abs=1e-5)  # a beam is in float32


@pytest.mark.parametrize("changed", NETWORKS, ids=str)
def test_every_network_has_the_same_values(changed: dict[str, Any]) -> None:
    assert_equal(small_network(**changed), [], 1e-12)
    assert_equal(small_network(torch.float32, **changed), [], 2e-4)


@pytest.mark.parametrize("training", TRAININGS, ids=str)
@pytest.mark.parametrize("decoder", ["forward", "bidirectional"])
def test_every_loss_has_the_same_values(decoder: str, training: list[str]) -> None:
    assert_equal(small_network(decoder=decoder), training, 1e-12)


def trained(store: Path, path: Path, *changes: str) -> Run:
    own = ["optimiser.method=sgd", "optimiser.learning_rate=0.1", "training.threads=1"]
    limits = ("max_updates=6", "validate_every=6", "validate_bleu=false", "select_by=nll")
    own += [f"stopping.{limit}" for limit in limits]
    settings = load_config(overrides=[*sizes(8), *own, *changes])
    return train(settings, Corpus.open(store), path, display=Display(quiet=True))


def test_a_training_and_its_translations_without_kernels(tiny_store: Path, tmp_path: Path) -> None:
    lines = ["The man sees the horse.", "She sleeps."]
    fast, _ = load_tensors(trained(tiny_store, tmp_path / "fast").model_path, "")
    off = trained(tiny_store, tmp_path / "off", "training.kernels=false", "search.kernels=false")
    for name, tensor in load_tensors(off.model_path, "")[0].items():
        torch.testing.assert_close(tensor, fast[name], rtol=0, atol=1e-5)
    translator = Translator.load(off.path)
    translated = translator.translate(lines)
    assert translator.translate(lines, settings={"search.precision": "int8"}) == translated
    for one, other in zip(
        translated, translator.translate(lines, settings={"search.kernels": True}), strict=True
    ):
        assert one.tokens == other.tokens
        assert one.score == pytest.approx(other.score, abs=1e-3)
