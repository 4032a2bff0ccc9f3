"""`rnnsearch train`, `settings` and `bench`: a network from a recipe and a dataset; the settings;
the speed of this machine."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

from rnnsearch.cli.options import Strings, describe, one_of, refuse, resumable
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
        raise InputError(what, file=data, remedy="use these --set options with `rnnsearch prepare`")
    # torch reads this at import. It silences torch's messages about broken connections.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from rnnsearch.system.machine import usable_device
    from rnnsearch.text.dataset import Corpus
    from rnnsearch.training import loop
    from rnnsearch.training.ddp import torchrun_value

    usable_device(settings.training.device)
    with resumable("go on with --resume"):
        loop.train(settings, Corpus.open(data), Path(out), resume=resume, begin_from=from_)
    if not torchrun_value("RANK", 0):
        print(out)


@describe("""
    name [SECTION[.KEY]]: Show only this section or setting, for example model or model.cell.
    recipe NAME: Print this built-in recipe.
    study NAME: Print this built-in study.
    """)
def settings(
    name: str = "",
    *,
    recipe: str = "",
    study: str = "",
) -> None:
    """List all settings with defaults and descriptions, and the names of the built-in recipes and
    studies."""
    from rnnsearch.config import built_in

    for kind, asked in (("recipe", recipe), ("study", study)):
        if asked:
            known = built_in(kind)
            print(known[one_of(asked, f"--{kind}", known)].read_text(encoding="utf-8"), end="")
            return
    for line in listed(name, min(100, shutil.get_terminal_size((100, 24)).columns)):
        print(line)
    if not name:
        print(f"Built-in recipes (print one with --recipe NAME): {', '.join(built_in('recipe'))}")
        print(f"Built-in studies (print one with --study NAME): {', '.join(built_in('study'))}")


def listed(name: str, width: int) -> Iterator[str]:
    """Yields lines about the settings of this name, of this section, or all. Raises InputError for
    an unknown name."""
    from rnnsearch.config import RENAMED, described_keys, suggested_key
    from rnnsearch.settings import Settings

    one, found = "." in name, False
    name = RENAMED.get(name, name)
    for section in Settings.model_fields:
        table = type(getattr(Settings(), section))
        keys = [
            key for key in described_keys(table) if name in ("", section, f"{section}.{key.name}")
        ]
        if keys and not one:
            yield from [*textwrap.wrap(" ".join(f"[{section}] {table.__doc__}".split()), width), ""]
        for key in keys:
            found = True
            yield f"{section}.{key.name} = {key.default}    # {key.allowed}"
            yield from textwrap.wrap(
                key.description, width, initial_indent="    ", subsequent_indent="    "
            )
        if keys and not one:
            yield ""
    if not found:
        remedy = (
            f"{suggested_key(Settings, name.split('.'))} sections:"
            f" {', '.join(Settings.model_fields)}"
        )
        raise InputError(f"there is no setting '{name}'", remedy=remedy.strip())
