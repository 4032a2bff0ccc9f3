"""`rnnsearch train`: a network from a recipe and a dataset."""

from __future__ import annotations

import os
from pathlib import Path

from rnnsearch.cli.options import Strings, describe, refuse, resumable
from rnnsearch.errors import InputError


@describe(
    """
    recipe RECIPE: A built-in recipe (listed by `rnnsearch settings`) or a TOML file with settings.
    data: Prepared dataset: a folder made by `rnnsearch prepare`.
    out DIR: Folder for the run: settings, vocabularies, weights, logs.
    from_ RUN: Begin with the weights of this run or model, with a new optimiser. Network and
    vocabularies must be the same: `rnnsearch prepare --vocabulary RUN`.
    resume: Continue the run in the --out folder.
    """,
    extra="train",
)
def train(
    recipe: str,
    *,
    data: Path,
    out: str,
    set_: Strings = None,
    from_: str = "",
    resume: bool = False,
) -> None:
    """Train a network on a prepared dataset, with validation, checkpoints and TensorBoard logs.
    After Ctrl-C, --resume continues it.

    On several GPUs or machines: torchrun … -m rnnsearch train RECIPE …, with the same options.
    """
    from rnnsearch.config import load_config
    from rnnsearch.system.workers import end_with_launcher

    end_with_launcher()  # before torch is imported, which takes seconds
    refuse({"--out": not out}, "names no folder", "give --out DIR")
    settings = load_config(recipe, tuple(set_ or ()))
    if any(change.strip().startswith("data.") for change in set_ or ()):
        what = "the data settings of a prepared dataset are fixed"
        raise InputError(what, "use these --set options with `rnnsearch prepare`", file=data)
    # torch reads this at import. It silences torch's messages about broken connections.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from rnnsearch.text.dataset import Corpus
    from rnnsearch.training import loop
    from rnnsearch.training.ddp import torchrun_value

    with resumable("go on with --resume"):
        loop.train(settings, Corpus.open(data), Path(out), resume=resume, begin_from=from_)
    if not torchrun_value("RANK", 0):
        print(out)
