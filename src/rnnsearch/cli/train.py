"""`rnnsearch train`: a network from a recipe and a prepared dataset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, recipes_like, resumable
from rnnsearch.errors import InputError

Recipe = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        autocompletion=recipes_like,
        help="A built-in recipe (listed by `rnnsearch settings`) or a TOML file with settings.",
    ),
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="RUN",
        help="Begin with the weights of this run or model, with a new optimiser. "
        "Network and vocabularies must be the same: `rnnsearch prepare --vocabulary RUN`.",
    ),
]


def run_folder(name: str) -> Path:
    """Returns the folder that --out names. Raises InputError for an empty name."""
    if not name:
        raise InputError("--out names no folder")
    return Path(name)


Out = Annotated[
    Path, typer.Option(parser=run_folder, help="Folder for the run: settings, vocabularies, weights, logs.")
]


def train(
    recipe: Recipe,
    data: Annotated[Path, typer.Option(help="Prepared dataset: a folder made by `rnnsearch prepare`.")],
    out: Out,
    set_: Set = None,
    from_: From = "",
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the --out folder.")] = False,
) -> None:
    """Train a network on a prepared dataset, with validation, checkpoints and TensorBoard logs. After Ctrl-C,
    --resume continues it.

    On several GPUs or machines: torchrun … -m rnnsearch train RECIPE …, with the same arguments everywhere.
    """
    from rnnsearch.config import load_config
    from rnnsearch.system.workers import end_with_launcher

    end_with_launcher()  # before torch is imported, which takes seconds
    settings = load_config(recipe, tuple(set_ or ()))
    if any(change.strip().startswith("data.") for change in set_ or ()):
        raise InputError(
            "the data settings of a prepared dataset are fixed",
            file=data,
            remedy="use these --set options with `rnnsearch prepare`",
        )
    # torch reads this at import. It silences torch's messages about broken connections.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from rnnsearch.system.machine import usable_device
    from rnnsearch.text.store.corpus import Corpus
    from rnnsearch.training import loop
    from rnnsearch.training.ddp import torchrun_value

    usable_device(settings.training.device)
    with resumable("go on with --resume"):
        loop.train(settings, Corpus.open(data), out, resume=resume, begin_from=from_)
    if not torchrun_value("RANK", 0):
        print(out)
