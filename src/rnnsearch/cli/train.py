"""`rnnsearch train`: a network from a recipe and a prepared dataset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, recipes_like
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


def train(
    recipe: Recipe,
    data: Annotated[Path, typer.Option(help="Prepared dataset: a folder made by `rnnsearch prepare`.")],
    out: Annotated[Path, typer.Option(help="Folder for the run: settings, vocabularies, weights, logs.")],
    set_: Set = None,
    from_: From = "",
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the --out folder.")] = False,
) -> None:
    """Train a network on a prepared dataset, with validation, checkpoints and TensorBoard logs. After Ctrl-C,
    --resume continues it.

    On several machines or GPUs: torchrun … -m rnnsearch train RECIPE …, with the same arguments everywhere.
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
    # torch reads this at import. It silences torch's messages about broken connections: rank 0 prints one
    # line instead.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from rnnsearch.system.machine import usable_device
    from rnnsearch.text.store.corpus import Corpus
    from rnnsearch.training.beginning import TrainingTask
    from rnnsearch.training.launch import TrainingInterrupted, launch_of_environment
    from rnnsearch.training.loop import train_to_the_end

    usable_device(settings.training.device)
    corpus = Corpus.open(data)
    try:
        train_to_the_end(TrainingTask(settings, out, resume, from_), corpus)
        code = 0
    except TrainingInterrupted as ended:
        code = 128 + ended.signal  # the shell's convention: 130 after Ctrl-C
    launch = launch_of_environment()
    if launch is None or not launch.rank:
        print(out)
    raise typer.Exit(code)
