"""Training in bfloat16 learns as training in float32 does: loss curves over 120 updates of real data.

Rounding makes two runs drift apart, as another seed does at once, so the curves are means over 20 updates. The
tolerance lies between what rounding does (0.003 when this was written) and what another seed (0.05) or too
coarse a precision (0.27) does.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from rnnsearch.config import load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.batches import BatchOrder, Position, collate
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.preparation import prepare
from rnnsearch.training.setup import trainer_of

PAIRS, UPDATES, WINDOW = 2500, 120, 20
TOLERANCE = 0.02
"""Nats per word, of the mean over a window."""
SETTINGS = """data.vocabulary_size=2000 model.embedding_size=48 model.hidden_size=64 model.alignment_size=48
    model.maxout_size=48 model.initialisation=glorot optimiser.method=adam optimiser.learning_rate=0.003
    optimiser.epsilon=1e-8 optimiser.clip_norm=5 training.batch_size=20 training.max_length=15"""


def curve(corpus: Corpus, precision: str, seed: int = 1) -> NDArray[np.float64]:
    """Returns the NLL in nats per word, the mean of every WINDOW updates. All have the same batches; the seed
    is that of the first weights."""
    settings = load_config(overrides=[*SETTINGS.split(), f"training.precision={precision}"])
    torch.manual_seed(seed)
    sizes = len(corpus.source.vocabulary), len(corpus.target.vocabulary)
    network = TranslationNetwork(settings.model, *sizes)
    trainer = trainer_of(network, settings)
    order = BatchOrder(corpus.train.source.lengths, corpus.train.target.lengths, settings.training)
    batches = islice(order.batches(Position(0, 0)), UPDATES)
    updates = [
        trainer.update([collate(corpus.train, indices)], number)
        for number, (indices, _) in enumerate(batches, 1)
    ]
    nll, words = (
        np.array([(each.nll, each.target_tokens) for each in updates])
        .reshape(-1, WINDOW, 2)
        .sum(1)
        .T
    )
    return nll / words  # type: ignore[no-any-return]


@pytest.mark.slow
def test_products_in_bfloat16_learn_as_in_float32(shared_data: Path, tmp_path: Path) -> None:
    files = (shared_data / "multi30k" / f"train.{language}.gz" for language in ("en", "fr"))
    sides = [list(islice(read_lines(file), PAIRS)) for file in files]
    prepare(*sides, tmp_path / "store", settings=load_config(overrides=SETTINGS.split()).data)
    corpus = Corpus.open(tmp_path / "store")
    whole, low = curve(corpus, "float32"), curve(corpus, "bfloat16")
    assert whole[-1] < whole[0] - 1.5  # it learns: the curves do not agree by standing still
    assert (
        0 < abs(low - whole).max() < TOLERANCE < abs(curve(corpus, "float32", seed=2) - whole).max()
    )
