"""Makes the training history for the site's page of that name: translations of some sentences after
some twenty updates.

A run keeps only its last checkpoint. Every checkpoint is a new file, so hard links can keep them
all during training:

    last=RUN/checkpoints/last.safetensors
    while sleep 1; do ln $last KEPT/$(stat -c %i $last); done

Then:

    python scripts/training_history.py RUN KEPT SOURCE REFERENCE --title "…" \\
        --out docs/assets/learn/history.json
"""

from __future__ import annotations

import argparse
import json
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnsearch import Run, Translator
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.formats.lines import read_lines

DIGITS = string.digits + string.ascii_lowercase
"""Digits that encode a weight: "0" is 0, and "z" is 1."""


def spread(updates: list[int], most: int) -> set[int]:
    """Returns at most this many of the updates, closer together at the beginning, where most
    changes."""
    wanted = [0, *np.geomspace(max(updates[1], 1), updates[-1], most - 1)]
    return {min(updates, key=lambda update: abs(update - one)) for one in wanted}


def kept_weights(run: Run, kept: Path, most: int) -> Iterator[tuple[int, dict[str, Tensor]]]:
    """Yields updates with the weights after them (averaged ones if any). The initial weights come
    from the seed, as in training."""
    files = {load_tensors(path, "")[1]["progress"]["update"]: path for path in kept.iterdir()}
    for update in sorted(spread(sorted({0, *files}), most)):
        torch.manual_seed(run.settings.training.seed)
        weights = run.make_network().state_dict()
        tensors = load_tensors(files[update], "")[0] if update in files else {}
        for part in ("network.", "average."):
            weights |= {name: tensors[part + name] for name in weights if part + name in tensors}
        yield update, weights


def history(
    run: Run, kept: Path, pairs: list[tuple[str, str]], title: str, most: int
) -> dict[str, Any]:
    """Returns the content of the file: sentences, and for each moment its update, −log p per
    reference word, greedy translations, and α of the references in DIGITS."""
    network = run.make_network().eval()
    sentences, moments = [], []
    for update, weights in kept_weights(run, kept, most):
        network.load_state_dict(weights)
        translator = Translator([network], run.source, run.target, run.settings)
        forced = translator.align(pairs)
        sentences = [
            {"source": one.source_tokens, "target": one.tokens, "text": text}
            for one, (_, text) in zip(forced, pairs, strict=True)
        ]
        loss = -sum(one.score for one in forced) / sum(len(one.tokens) + 1 for one in forced)
        texts = [one.text for one in translator.translate([source for source, _ in pairs], beam=1)]
        rows = ["".join(DIGITS[round(35 * w)] for w in np.ravel(one.alignment)) for one in forced]
        moments.append({"update": update, "loss": round(loss, 2), "texts": texts, "weights": rows})
    return {"title": title, "sentences": sentences, "moments": moments}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("run", "kept", "source", "reference"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--title", required=True, help="of the figure: what was trained, on what, by whom"
    )
    parser.add_argument("--moments", type=int, default=22)
    given = parser.parse_args()
    pairs = list(zip(read_lines(given.source), read_lines(given.reference), strict=True))
    made = history(Run.open(given.run), given.kept, pairs, given.title, given.moments)
    given.out.write_text(
        json.dumps(made, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )
    print(f"{given.out}: {len(made['moments'])} moments, {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
