"""Every public name in use, for type checkers: nothing here is run. `make check` reads it with pyright in
strict mode, tests with mypy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

import rnnsearch
from rnnsearch import (
    AlignedPair,
    Aligner,
    AlignmentScore,
    Choice,
    Corpus,
    DataSettings,
    DropoutSettings,
    GeneratedPair,
    GoldLinks,
    Hypothesis,
    InputError,
    KnownAlignmentSettings,
    Link,
    ModelSettings,
    OptimiserSettings,
    PreparationReport,
    PrepareOptions,
    Run,
    Score,
    SearchSettings,
    Settings,
    StoppingSettings,
    TrainingInterrupted,
    TrainingSettings,
    Translation,
    TranslationSettings,
    Translator,
    alignment_error,
    bleu,
    chrf,
    generate,
    load_config,
    prepare,
    read_gold,
    read_pharaoh,
    recipe_names,
    symmetrise,
    train,
)
from rnnsearch.extending import (
    Alignment,
    Cell,
    Encoded,
    Encoder,
    Linear,
    Readout,
    gaussian,
    orthogonal,
    zeros,
)


def prepared_and_trained() -> Run:
    assert_type(recipe_names(), list[str])
    settings = load_config("demo", ["model.hidden_size=64"])
    assert_type(settings, Settings)
    assert_type(settings.data, DataSettings)
    assert_type(settings.model, ModelSettings)
    assert_type(settings.training, TrainingSettings)
    assert_type(settings.search, SearchSettings)
    assert_type(settings.optimiser, OptimiserSettings)
    assert_type(settings.dropout, DropoutSettings)
    assert_type(settings.known_alignments, KnownAlignmentSettings)
    assert_type(settings.stopping, StoppingSettings)
    assert_type(settings.translation, TranslationSettings)
    assert_type(settings.model.hidden_size, int)
    pairs = generate(10, seed=1, max_words=8)
    assert_type(pairs, list[GeneratedPair])
    report = prepare(
        [pair.source_text for pair in pairs],
        [pair.target_text for pair in pairs],
        Path("store"),
        settings=settings.data,
        options=PrepareOptions(workers=1),
    )
    assert_type(report, PreparationReport)
    try:
        return train(settings, Corpus.open("store"), "run", resume=True)
    except TrainingInterrupted as ended:
        assert_type(ended.run, Run)
        raise
    except InputError as error:
        raise SystemExit(str(error)) from error


def translated() -> Iterator[Translation]:
    translator = Translator.load("run", Path("other"), trust_code=True)
    assert_type(translator.translate(["a"], beam=5), list[Translation])
    translator.translate(["a"], beams=5)  # type: ignore[call-arg]
    translator.translate(["a"], beam="5")  # type: ignore[arg-type]
    translator.stream(["a"], normalise="words")  # type: ignore[arg-type]
    translator.stream(["a"], settings={"search.no_unk": True})
    translator.stream(["a"], no_unk=True)  # type: ignore[call-arg]
    translator.translate(["a", "b"], prefix=["A", None])
    assert_type(translator.choices("a", "A ", 3), list[Choice])
    assert_type(translator.score([("a", "b")]), list[float])
    assert_type(translator.align([("a", "b")], posterior=True), list[Translation])
    yield from translator.stream(iter(["a"]))
    yield from translator.force([("a", "b")])


def aligned() -> Iterator[AlignedPair]:
    aligner = Aligner.load("en-fr", Path("fr-en"), device="cpu")
    (pair,) = aligner.align([(["a", "b"], "c d")], threshold=0.5)
    assert_type(pair.links, list[Link])
    assert_type(pair.probabilities, NDArray[np.float32])
    assert_type(pair.source_words, list[str])
    assert_type(pair.target_span(0, 1), tuple[int, int] | None)
    assert_type(pair.target_characters(0, 1), tuple[int, int] | None)
    assert_type(pair.pharaoh(), str)
    yield from aligner.stream(("a", "b") for _ in range(3))


def looked_at(result: Translation) -> None:
    assert_type(result.alignment, NDArray[np.float32])
    assert_type(result.links(), list[Link])
    assert_type(result.before(1), str)
    assert_type(result.plot("alignment.svg"), Figure)
    assert_type(result.alternatives, list[Translation])
    hypothesis = Hypothesis((0,), 0.0, (0.0,), np.zeros((1, 1), dtype=np.float32), True)
    assert_type(hypothesis.ids, tuple[int, ...])


def evaluated(results: list[Translation]) -> None:
    assert_type(bleu([result.text for result in results], ["a"]), Score)
    assert_type(chrf(["a"], ["a"]).value, float)
    gold = read_gold("gold.wa")
    assert_type(gold, list[GoldLinks])
    assert_type(alignment_error([result.links() for result in results], gold), AlignmentScore)
    forward, reverse = read_pharaoh("forward.links"), read_pharaoh("reverse.links")
    assert_type(
        [symmetrise(one, other) for one, other in zip(forward, reverse, strict=True)],
        list[list[Link]],
    )
    assert_type(rnnsearch.__version__, str)


class Bilinear(Alignment):
    """A scorer, as a user with a strict checker writes it."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W = Linear(annotation_size, state_size, init=orthogonal)

    def keys(self, annotations: Tensor) -> Tensor:
        return self.W.forward(annotations)

    def energies(
        self, state: Tensor, keys: Tensor, memory: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        return state @ keys.mT, memory


class Identity(Encoder):
    def __init__(self, embedding_size: int, encoder_size: int, cell: type[Cell]) -> None:
        super().__init__(embedding_size, encoder_size, cell)
        self.annotation_size = self.summary_size = embedding_size

    def forward(self, embedded: Tensor, mask: Tensor, dropout: float = 0.0) -> Encoded:
        return Encoded(embedded, embedded[:, 0])


class Plain(Readout):
    layer_size = 1

    def activation(self, layer: Tensor) -> Tensor:
        gaussian(0.01)(layer)
        zeros(layer)
        return torch.relu(layer)
