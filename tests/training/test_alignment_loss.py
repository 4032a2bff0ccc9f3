"""The alignment losses by hand, their weight over time, sentences drawn for forcing, and whole trainings with links.

Which row a link supervises, and the gradients, are tested in tests/model/test_known_alignment.py.
"""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.builtin.generate import split
from rnnsearch.config import DataSettings, ModelSettings, Settings, TrainingSettings, load_config
from rnnsearch.errors import InputError
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training import loop
from rnnsearch.training.alignment_loss import LOSSES, alignment_loss, alignment_weight, forced
from rnnsearch.training.display import Display
from rnnsearch.training.log import read_statistics
from rnnsearch.training.trainer import Trainer, Update
from rnnsearch.word_links import format_links


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        # links of row 1: the second of three; of row 2: the first and the third; row 3 has none
        ("cross-entropy", -math.log(0.5) - 0.5 * math.log(0.2) - 0.5 * math.log(0.4)),
        ("squared", (0.25**2 + 0.5**2 + 0.25**2) + (0.3**2 + 0.4**2 + 0.1**2)),
        ("product", -math.log(0.5) - math.log(0.5 * 0.2 + 0.5 * 0.4)),
    ],
)
def test_by_hand(form: str, expected: float) -> None:
    weights = torch.tensor([[[0.25, 0.5, 0.25], [0.2, 0.4, 0.4], [0.1, 0.8, 0.1]]], dtype=torch.float64)
    known = torch.tensor([[[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]])
    loss, rows = alignment_loss(weights, known, form)
    assert float(loss) == pytest.approx(expected, rel=1e-12)
    assert rows == 2
    twice = alignment_loss(torch.cat([weights, weights]), torch.cat([known, torch.zeros_like(known)]), form)
    assert float(twice.loss) == pytest.approx(expected, rel=1e-12)  # a sentence without links adds nothing
    assert twice.rows == 2


@pytest.mark.parametrize("form", LOSSES)
def test_no_links_at_all(form: str) -> None:
    weights = torch.rand(2, 3, 4, requires_grad=True)
    loss, rows = alignment_loss(weights, torch.zeros(2, 3, 4), form)
    assert (float(loss.detach()), rows) == (0.0, 0)
    assert not torch.autograd.grad(loss, weights)[0].any()


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.integers(1, 7))
def test_where_the_losses_are_least(energies: list[float], linked: int) -> None:
    """At the shares of the links; the product form, which is never above the cross-entropy (Jensen), wherever α lies on links alone."""
    row = torch.tensor([float(linked >> j & 1) for j in range(3)], dtype=torch.float64)
    links, alpha = int(row.sum()), torch.softmax(torch.tensor(energies, dtype=torch.float64), -1)
    losses = {form: float(loss(alpha, row / links)) for form, loss in LOSSES.items()}
    assert losses["cross-entropy"] >= losses["product"] - 1e-12 >= math.log(links) - 2e-12
    assert losses["squared"] >= 0
    for form, least in {"cross-entropy": math.log(links), "product": math.log(links), "squared": 0.0}.items():
        assert float(LOSSES[form](row / links, row / links)) == pytest.approx(least, abs=1e-12)
    within = row * alpha / (row * alpha).sum()
    assert float(LOSSES["product"](within, row / links)) == pytest.approx(math.log(links), abs=1e-12)


@pytest.mark.parametrize("form", LOSSES)
def test_a_saturated_softmax_is_no_infinity(form: str) -> None:
    """In float32 the softmax of far energies is exactly 0: the loss and its gradient stay finite."""
    energies = torch.tensor([[[200.0, 0.0, -50.0]]], requires_grad=True)
    weights = torch.softmax(energies, -1)
    assert weights[0, 0, 1] == 0
    loss, _ = alignment_loss(weights, torch.tensor([[[0.0, 1.0, 0.0]]]), form)
    (gradient,) = torch.autograd.grad(loss, energies)
    assert bool(loss.isfinite())
    assert bool(gradient.isfinite().all())


def test_tiny_weights_have_the_gradient_of_the_energies() -> None:
    """∂/∂e of the cross-entropy is α − a, although 1/α is of the order of 10³⁵ on the way there."""
    energies = torch.tensor([[[80.0, 0.0, 1.0]]], requires_grad=True)
    known = torch.tensor([[[0.0, 0.5, 0.5]]])
    weights = torch.softmax(energies, -1)
    (gradient,) = torch.autograd.grad(alignment_loss(weights, known, "cross-entropy").loss, energies)
    torch.testing.assert_close(gradient, weights.detach() - known)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {1: 1.0, 100: 1.0}),
        ({"alignment_weight": 0.3}, {1: 0.3, 10_000: 0.3}),
        ({"alignment_weight": 2.0, "alignment_annealing": 10}, {1: 2.0, 2: 1.8, 6: 1.0, 11: 0.0, 12: 0.0, 99: 0.0}),
        ({"alignment_annealing": 4, "alignment_final_weight": 0.2}, {1: 1.0, 2: 0.8, 3: 0.6, 5: 0.2, 6: 0.2}),
        ({"alignment_weight": 0.0, "alignment_annealing": 2, "alignment_final_weight": 1.0}, {1: 0.0, 2: 0.5, 3: 1.0, 4: 1.0}),
    ],
    ids=str,
)
def test_the_weight_over_time(changed: dict[str, Any], expected: dict[int, float]) -> None:
    settings = TrainingSettings.model_validate(changed)
    assert {update: alignment_weight(settings, update) for update in expected} == pytest.approx(expected)


def test_sentences_are_drawn_whole_for_forcing() -> None:
    known = torch.softmax(torch.randn(4000, 3, 2), -1)
    assert forced(known, TrainingSettings()) is None
    everywhere = forced(known, TrainingSettings(alignment_forcing="known"))
    assert everywhere is not None
    assert torch.equal(everywhere, known)
    mixed = TrainingSettings(alignment_forcing="mixed", alignment_forcing_probability=0.3)
    drawn, again = forced(known, mixed), forced(known, mixed)
    assert drawn is not None
    assert again is not None
    chosen = drawn.flatten(1).any(1)
    assert torch.equal(drawn[chosen], known[chosen])  # whole sentences as they are; the others keep their own α in every row
    assert 0.26 < float(chosen.double().mean()) < 0.34  # five standard deviations
    assert not torch.equal(drawn, again)


@pytest.mark.parametrize("change", [{"alignment_loss": "product"}, {"alignment_forcing": "known"}], ids=str)
def test_rnnencdec_has_no_alignment_to_learn(change: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r'model.alignment = "fixed" learns no alignment'):
        load_config("rnnencdec-50", [f"training.{key}={value}" for key, value in change.items()])


MODEL = ModelSettings(embedding_size=12, hidden_size=16, alignment_size=12, maxout_size=12, initialisation="glorot")
PLAIN = {"max_updates": 24, "validate_every": 8, "save_every": 4, "batch_size": 10, "pool_batches": 3, "threads": 1, "samples": 1}
LOSS = {"alignment_loss": "cross-entropy"}
EVERYTHING = {
    **{"max_updates": 12, "validate_every": 6, "max_length": 12, "validate_bleu": False, "select_by": "nll", "samples": 0},
    **{"alignment_loss": "product", "alignment_annealing": 10, "alignment_final_weight": 0.1},
    **{"alignment_forcing": "mixed", "alignment_forcing_probability": 0.6},
    **{"dropout_embedding": 0.1, "dropout_recurrent": 0.1, "label_smoothing": 0.1, "average_decay": 0.9},
    **{"accumulate": 2, "reshuffle": True, "precision": "bfloat16", "optimiser": "adam", "learning_rate": 0.01},
}


def settings(**training: Any) -> Settings:
    return Settings(model=MODEL, training=TrainingSettings.model_validate({**PLAIN, **training}))


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.en, train.fr, dev.en and dev.fr of the built-in corpus, tokenised, and train.links between their words."""
    folder = tmp_path_factory.mktemp("words")
    for name, examples in zip(("train", "dev"), split(300, 20), strict=False):
        for suffix, lines in (
            ("en", [" ".join(example.source) for example in examples]),
            ("fr", [" ".join(example.target) for example in examples]),
            ("links", [format_links(example.links) for example in examples]),
        ):
            (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def prepared(corpus: Path, store: Path, **data: Any) -> Corpus:
    links, dev = corpus / "train.links", (corpus / "dev.en", corpus / "dev.fr")
    prepare(corpus / "train.en", corpus / "train.fr", store, dev=dev, links=links, settings=DataSettings(tokeniser="space", **data))
    return Corpus.open(store)


@pytest.fixture(scope="module")
def linked(words: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return prepared(words, tmp_path_factory.mktemp("linked") / "store")


def train(configured: Settings, corpus: Corpus, path: Path, resume: bool = False) -> list[dict[str, float]]:
    """The validations."""
    loop.train(configured, corpus, path, resume=resume, display=Display(0, quiet=True))
    validations: list[dict[str, float]] = read_statistics(path)["validations"]
    return validations


def test_the_loss_falls_and_is_written_down(linked: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each validation's row is the mean over the linked words since the one before."""
    updates: list[Update] = []
    update = Trainer.update

    def watched(*arguments: Any) -> Update:
        updates.append(update(*arguments))
        return updates[-1]

    monkeypatch.setattr(Trainer, "update", watched)
    adam = {"optimiser": "adam", "learning_rate": 0.03, "clip_norm": 5.0, "validate_bleu": False, "select_by": "nll", "max_length": 12}
    found = [row["train_alignment_loss"] for row in train(settings(**LOSS, **adam), linked, tmp_path / "run")]
    windows = [updates[begin : begin + PLAIN["validate_every"]] for begin in range(0, len(updates), PLAIN["validate_every"])]
    assert found == pytest.approx([sum(one.alignment_loss for one in w) / sum(one.linked_rows for one in w) for w in windows])
    assert found[-1] < 0.9 * found[0]
    without = train(settings(**adam, max_updates=2, alignment_forcing="known"), linked, tmp_path / "without")
    assert all("train_alignment_loss" not in row for row in without)


@pytest.mark.parametrize(
    "data", [{"subwords": "bpe", "vocabulary_size": 80}, {"vocabulary_size": 30}], ids=["pieces", "mostly unknown words"]
)
def test_pieces_and_unknown_words_are_linked_too(words: Path, tmp_path: Path, data: dict[str, Any]) -> None:
    """Every id of a linked word carries its links, so that the rows without any are those of words without any."""
    corpus = prepared(words, tmp_path / "store", **data)
    (row,) = train(settings(**LOSS, max_updates=5, validate_bleu=False, select_by="nll", max_length=200), corpus, tmp_path / "run")
    assert 0 < row["train_alignment_loss"] < 5


def test_resuming_is_exact(linked: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that draws or counts: sentences for forcing, dropout, the weight's annealing, two batches an update."""
    configured = settings(**EVERYTHING)
    whole = train(configured, linked, tmp_path / "whole")
    update = loop.Session.update

    def interrupting(session: loop.Session, *arguments: Any) -> None:
        update(session, *arguments)
        if session.progress.update == 7:
            os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C does

    with monkeypatch.context() as patch:
        patch.setattr(loop.Session, "update", interrupting)
        train(configured, linked, tmp_path / "parts")
    torch.rand(7)  # whatever happened to the random state in between must not matter
    parts = train(configured, linked, tmp_path / "parts", resume=True)
    for one, other in zip(whole, parts, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
    expected, _ = load_tensors(tmp_path / "whole" / "checkpoints" / "last.safetensors", "")
    found, _ = load_tensors(tmp_path / "parts" / "checkpoints" / "last.safetensors", "")
    for name, tensor in expected.items():
        assert torch.equal(tensor, found[name]), name


@pytest.mark.parametrize("change", [{"alignment_loss": "squared"}, {"alignment_forcing": "mixed"}], ids=str)
def test_a_corpus_without_links_is_refused(tiny_store: Path, tmp_path: Path, change: dict[str, str]) -> None:
    (name, value), *_ = change.items()
    with pytest.raises(InputError, match=rf'has no word links, which training.{name} = "{value}" learns from .*--links FILE'):
        train(settings(**change), Corpus.open(tiny_store), tmp_path / "run")
    assert not (tmp_path / "run").exists()
