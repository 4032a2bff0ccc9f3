"""Files of the page "Watch it learn", besides its scripts in docs/assets/learn: sentences of the
built-in corpus, and scripts shared with the page that translates."""

from __future__ import annotations

import json
from pathlib import Path

from rnnsearch import generate
from rnnsearch.serve.page import page_files

FOLDER = Path("assets/learn")
"""Folder in the site."""
SHARED = ("elements.js", "matrix.js", "state.js", "engine/breath.js")
TRAINING_PAIRS, TRAINED_WORDS = 4000, 16
LENGTHS = [(4, 6), (7, 9), (10, 12), (13, 16), (17, 20)]
"""Ranges of words of the held-out sources, as in corpus.js. The last are longer than any training
sentence."""
DRAWN, OF_EACH_LENGTH = 1200, 24
SENTENCE = "The European Economic Area is visited by the former engineer ."
"""The sentence shown first."""


def write_learn(site: Path) -> None:
    """Writes the sentences and the shared scripts into a built site."""
    (site / FOLDER / "corpus.json").write_text(
        json.dumps(sentences(), ensure_ascii=False), encoding="utf-8"
    )
    files = page_files()
    for name in SHARED:
        (site / FOLDER / Path(name).name).write_bytes(files[name])


def sentences() -> dict[str, list[tuple[str, str]]]:
    """Returns tokenised pairs for training and held out. Every held-out word occurs in training."""
    training = generate(TRAINING_PAIRS, max_words=TRAINED_WORDS)
    known = [
        {word for pair in training for word in pair.source},
        {word for pair in training for word in pair.target},
    ]
    drawn = generate(DRAWN, seed=2, min_words=LENGTHS[0][0], max_words=LENGTHS[-1][1] + 4)
    drawn.sort(key=lambda pair: " ".join(pair.source) != SENTENCE)
    held_out = []
    for low, high in LENGTHS:
        fitting = [
            pair
            for pair in drawn
            if low <= len(pair.source) <= high
            and {*pair.source} <= known[0]
            and {*pair.target} <= known[1]
        ]
        held_out += fitting[:OF_EACH_LENGTH]
    return {
        name: [(" ".join(pair.source), " ".join(pair.target)) for pair in pairs]
        for name, pairs in {"training": training, "heldOut": held_out}.items()
    }
