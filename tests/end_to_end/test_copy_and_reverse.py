"""From lines of text to a translation with its alignment, on tasks whose alignment is known: the diagonal
and the anti-diagonal."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from rnnsearch import Corpus, Translator, load_config, prepare, train
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.training.display import Display

WORDS = [f"{first}{second}" for first in "bdfg" for second in "aei"]
SMALL = """
model.embedding_size=32 model.hidden_size=48 model.alignment_size=32 model.maxout_size=32
model.initialisation=glorot data.tokeniser=space
optimiser.method=adam optimiser.learning_rate=0.01 optimiser.epsilon=1e-8 optimiser.schedule=linear
optimiser.clip_norm=5 training.batch_size=32 stopping.max_updates=250
stopping.validate_every=250 stopping.validate_bleu=false training.threads=1
"""
ORDERS = {"copy": slice(None), "reverse": slice(None, None, -1)}
"""Of a sentence's words, in its translation."""


def pairs(order: slice, count: int, seed: int) -> list[tuple[str, str]]:
    """Returns random sentences, each with its translation."""
    random, found = Random(seed), []
    for _ in range(count):
        words = [random.choice(WORDS) for _ in range(random.randint(2, 6))]
        found.append((" ".join(words), " ".join(words[order])))
    return found


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("copy", "model.wiring=released"),
        pytest.param("reverse", "model.wiring=eq4", marks=pytest.mark.slow),
        pytest.param("reverse", "model.decoder=backward", marks=pytest.mark.slow),
        pytest.param("copy", "model.decoder=bidirectional", marks=pytest.mark.slow),
    ],
)
def test_it_learns_the_task_and_where_to_look(tmp_path: Path, name: str, model: str) -> None:
    order, settings = ORDERS[name], load_config(overrides=[*SMALL.split(), model])
    store, dev = tmp_path / "store", (pairs(order, 50, 2), None)
    prepare(pairs(order, 2000, 1), None, store, dev=dev, settings=settings.data)
    train(settings, Corpus.open(store), tmp_path / "run", display=Display(quiet=True))
    translator, held_out = Translator.load(tmp_path / "run"), pairs(order, 60, 3)
    results = translator.translate((source for source, _ in held_out), beam=4)
    assert bleu([result.text for result in results], [target for _, target in held_out]).value > 90

    hits = total = 0
    for (source, _), result in zip(held_out, translator.force(held_out), strict=True):
        size = len(source.split())
        assert result.alignment.shape == (size, size + 1)
        np.testing.assert_allclose(result.alignment.sum(1), 1.0, atol=1e-5)
        hits += int((result.alignment.argmax(1) == np.arange(size)[order]).sum())
        total += size
    assert hits / total > 0.9
