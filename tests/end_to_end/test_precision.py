"""Training with bfloat16 products learns as training in float32 does: loss curves over 120 updates of real
data.

What agrees is the shape of learning, not a digit: rounding makes two runs drift apart, as another seed does
at once. So the curves
are means over 20 updates. The tolerance lies between what rounding the products does (0.003 at most when this
was written) and what
another seed (0.05) or too coarse a precision (0.27) does. A CPU without bfloat16 emulates the products:
slower, with the same results.
"""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from rnnsearch.config import load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS
from rnnsearch.text.batches import BatchOrder, Position, collate
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.preparation import prepare
from rnnsearch.training.trainer import Trainer

PAIRS, UPDATES, WINDOW = 2500, 120, 20
TOLERANCE = 0.02
"""Nats per word, of the mean over a window."""
SETTINGS = [
    *(
        "data.vocabulary_size=2000",
        "model.embedding_size=48",
        "model.hidden_size=64",
        "model.alignment_size=48",
        "model.maxout_size=48",
    ),
    *(
        "model.initialisation=glorot",
        "training.optimiser=adam",
        "training.learning_rate=0.003",
        "training.epsilon=1e-8",
    ),
    *("training.clip_norm=5", "training.batch_size=20", "training.max_length=15"),
]


@pytest.fixture(scope="module")
def corpus(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("precision")
    for language in ("en", "fr"):
        with gzip.open(shared_data / "multi30k" / f"train.{language}.gz", "rb") as lines:
            (folder / f"train.{language}").write_bytes(b"".join(islice(lines, PAIRS)))
    prepare(
        folder / "train.en",
        folder / "train.fr",
        folder / "store",
        settings=load_config(overrides=SETTINGS).data,
    )
    return Corpus.open(folder / "store")


def curve(corpus: Corpus, precision: str, updates: int = UPDATES, *, seed: int = 1) -> NDArray[np.float64]:
    """NLL in nats a word, the mean of every WINDOW updates; the batches are the same whatever the seed, which
    is of the first weights."""
    settings = load_config(overrides=[*SETTINGS, f"training.precision={precision}"])
    torch.manual_seed(seed)
    sizes = len(corpus.source.vocabulary), len(corpus.target.vocabulary)
    network = TranslationNetwork(settings.model, *sizes, product_dtype=PRECISIONS[precision])
    trainer = Trainer(network, settings.training, 0)
    order = BatchOrder(corpus.train.source.lengths, corpus.train.target.lengths, settings.training)
    nll, words = np.zeros(updates), np.zeros(updates)
    for number, (indices, _) in enumerate(islice(order.batches(Position(0, 0)), updates)):
        update = trainer.update([collate(corpus.train, indices)], number + 1)
        nll[number], words[number] = update.nll, update.target_tokens
    return nll.reshape(-1, WINDOW).sum(1) / words.reshape(-1, WINDOW).sum(1)


@pytest.mark.slow
def test_products_in_bfloat16_learn_as_in_float32(corpus: Corpus) -> None:
    whole, low = curve(corpus, "float32"), curve(corpus, "bfloat16")
    assert whole[-1] < whole[0] - 1.5  # it learns: the curves do not agree by standing still
    assert not np.array_equal(whole, low)  # and the precision does something
    assert abs(low - whole).max() < TOLERANCE
    assert (
        abs(curve(corpus, "float32", UPDATES // 2, seed=2) - whole[: UPDATES // 2 // WINDOW]).max()
        > TOLERANCE
    )
