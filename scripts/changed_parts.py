"""Measures which parts of a network a further training should change.

    python scripts/changed_parts.py fr-en fr-en.work/step-8/run inputs.fr inputs.en \\
        --parts source_embedding encoder decoder

MODEL is the run or model with which RUN began. Of the weights after RUN's last update, parameters
whose names begin with PARTS are kept (by default all; none after a single --parts); the others are
those of MODEL. With --share 0.5, those that are kept are the means with MODEL's. Prints the mean
negative log-likelihood of the sentence pairs.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from statistics import fmean

from shipped_model import last_weights

from rnnsearch import Translator
from rnnsearch.run import Run
from rnnsearch.system.tensors import save_tensors
from rnnsearch.text.formats.lines import read_pairs


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--parts", nargs="*", default=[""])
    parser.add_argument("--share", type=float, default=1.0)
    arguments = parser.parse_args()
    weights, trained = (
        Run.open(arguments.model).load_network().state_dict(),
        last_weights(arguments.run),
    )
    for part in arguments.parts:
        if not any(name.startswith(part) for name in trained):
            parser.error(f"no parameter's name begins with {part!r}")
    weights |= {
        name: weights[name].lerp(one, arguments.share)
        for name, one in trained.items()
        if name.startswith(tuple(arguments.parts))
    }
    pairs = list(read_pairs(arguments.source, arguments.reference))
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        shutil.copytree(arguments.run, run, ignore=shutil.ignore_patterns("checkpoints", "log"))
        save_tensors(run / "model.safetensors", weights, {})
        scores = Translator.load(run).score(pairs)
    print(f"{-fmean(scores):.3f} nats per sentence of {len(pairs):,} pairs")


if __name__ == "__main__":
    main()
