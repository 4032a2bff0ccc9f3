"""From lines of text to a translation with its alignment, on tasks whose alignment is known: the diagonal
and the anti-diagonal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from rnnsearch import Corpus, Translator, load_config, prepare, train
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.training.display import Display

WORDS = [f"{first}{second}" for first in "bdfg" for second in "aei"]
SMALL = [
    "model.embedding_size=32",
    "model.hidden_size=48",
    "model.alignment_size=32",
    "model.maxout_size=32",
    'model.initialisation="glorot"',
    "training.optimiser=adam",
    "training.learning_rate=0.01",
    "training.epsilon=1e-8",
    "training.schedule=linear",
    "training.clip_norm=5",
    "training.batch_size=32",
    "training.max_updates=250",
    "training.validate_every=250",
    "training.validate_bleu=false",
    "training.threads=1",
    "data.tokeniser=space",
]


def sentences(count: int, seed: int) -> list[list[str]]:
    random = Random(seed)
    return [[random.choice(WORDS) for _ in range(random.randint(2, 6))] for _ in range(count)]


def learn(folder: Path, task: Callable[[list[str]], list[str]], *model: str) -> Translator:
    settings = load_config(overrides=[*SMALL, *model])
    sides = []
    for words in (sentences(2000, 1), sentences(50, 2)):
        sides.append([[" ".join(each) for each in side] for side in (words, map(task, words))])
    prepare(*sides[0], folder / "store", dev=sides[1], settings=settings.data)
    train(settings, Corpus.open(folder / "store"), folder / "run", display=Display(quiet=True))
    return Translator.load(folder / "run")


@pytest.mark.parametrize(
    ("name", "task", "model"),
    [
        ("copy", lambda words: words, ("model.wiring=released",)),
        pytest.param("reverse", lambda words: words[::-1], ("model.wiring=eq4",), marks=pytest.mark.slow),
        pytest.param(
            "reverse", lambda words: words[::-1], ("model.decoder=backward",), marks=pytest.mark.slow
        ),
        pytest.param("copy", lambda words: words, ("model.decoder=bidirectional",), marks=pytest.mark.slow),
    ],
)
def test_it_learns_the_task_and_where_to_look(
    tmp_path: Path, name: str, task: Callable[[list[str]], list[str]], model: tuple[str, ...]
) -> None:
    translator = learn(tmp_path, task, *model)
    held_out = sentences(60, 3)
    results = translator.translate((" ".join(words) for words in held_out), beam=4)
    assert bleu([result.text for result in results], [" ".join(task(words)) for words in held_out]).value > 90

    forced = list(translator.force((" ".join(words), " ".join(task(words))) for words in held_out))
    hits = total = 0
    for words, result in zip(held_out, forced, strict=True):
        size = len(words)
        assert result.alignment.shape == (size, size + 1)
        np.testing.assert_allclose(result.alignment.sum(1), 1.0, atol=1e-5)
        expected = np.arange(size) if name == "copy" else np.arange(size)[::-1]
        hits += int((result.alignment.argmax(1) == expected).sum())
        total += size
    assert hits / total > 0.9
