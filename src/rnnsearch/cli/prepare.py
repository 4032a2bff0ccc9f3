"""`rnnsearch prepare`: parallel text to a prepared dataset."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnsearch.cli.options import (
    Columns,
    Format,
    LinksReversed,
    Set,
    WorkerProcesses,
    one_of,
    progress_bar,
)
from rnnsearch.errors import InputError
from rnnsearch.system.progress import show

if TYPE_CHECKING:
    from rnnsearch.config import DataSettings
    from rnnsearch.run import Run

MOST_REPETITIONS = 1_000
"""Maximum of --repeat: more would be a mistake and fill the disk."""

_VOCABULARY_SETTINGS = (
    *("source_language", "target_language", "tokeniser", "lowercase"),
    *("subwords", "vocabulary_size", "minimum_count"),
)
"""Settings of [data] that a vocabulary was made with."""


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Source and target files alternating, or bilingual files. .gz, .bz2, .xz, .zst and .zip are "
        "decompressed; - is stdin.",
    ),
]
Dev = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE...", help="Development pairs for validation during training; files as above."),
]
Links = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE...",
        help="Word links, a file per corpus, a line per pair: Pharaoh, JSON lines or TMX.",
    ),
]
LinkWords = Annotated[
    str,
    typer.Option(
        help="Words that the links refer to: words as `given` (split at spaces), `tokenised` words, or "
        "`auto` to detect it."
    ),
]
Repeat = Annotated[
    str,
    typer.Option(
        metavar="N[,N...]",
        help="How many times the pairs of each corpus are used, to give it more weight: one number per "
        "corpus.",
    ),
]
Vocabulary = Annotated[
    str,
    typer.Option(
        metavar="RUN",
        help="Use the vocabularies and subwords of this run or model instead of learning new ones.",
    ),
]
Recipe = Annotated[
    str, typer.Option(help="Use the data settings of this recipe: a built-in name or a TOML file.")
]


def prepare(
    files: Files,
    out: Annotated[Path, typer.Option(help="Folder for the prepared dataset.")],
    dev: Dev = None,
    links: Links = None,
    links_reversed: LinksReversed = False,
    links_words: LinkWords = "auto",
    repeat: Repeat = "",
    vocabulary: Vocabulary = "",
    columns: Columns = None,
    format_: Format = "",
    recipe: Recipe = "",
    set_: Set = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing prepared dataset.")
    ] = False,
    workers: WorkerProcesses = 0,
) -> None:
    """Clean, tokenise and encode parallel text, and report which pairs were dropped and why."""
    from rnnsearch.system.workers import core_count
    from rnnsearch.text.formats.readers import Layout, parallel_texts
    from rnnsearch.text.preparing.prepare import prepare_texts

    times = _repetitions(repeat)
    run = _opened(vocabulary) if vocabulary else None
    settings = _settings(recipe, set_ or (), run)
    source, target = columns or ("", "")
    layout = Layout(format_, source, target, settings.source_language, settings.target_language)  # type: ignore[arg-type]  # checked there
    with progress_bar() as progress:
        report = prepare_texts(
            parallel_texts(files, layout=layout),
            out,
            dev=parallel_texts(dev, layout=layout) if dev else [],
            links=links or [],
            links_reversed=links_reversed,
            link_words=one_of(links_words, "--links-words", ("auto", "given", "tokenised")),  # type: ignore[arg-type]
            repeat=times,
            vocabulary=None if run is None else {"source": run.source, "target": run.target},
            settings=settings,
            overwrite=overwrite,
            workers=workers or core_count(),
            progress=progress,
        )
    show(report.text().removesuffix("\n"))


def _repetitions(text: str) -> list[int]:
    """Returns the numbers of `--repeat`. Raises InputError for anything but positive whole numbers."""
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts) or not all(
        0 < int(part) <= MOST_REPETITIONS for part in parts
    ):
        what = (
            f"--repeat takes whole numbers from 1 to {MOST_REPETITIONS:,} with commas between them, not "
            f"{text!r}"
        )
        raise InputError(what, remedy="give one number per corpus, as in --repeat 1,3")
    return [int(part) for part in parts]


def _opened(name: str) -> Run:
    from rnnsearch.run import Run

    return Run.open(name)


def _settings(recipe: str, overrides: Sequence[str], run: Run | None) -> DataSettings:
    """Returns the settings of the recipe and overrides; settings of the vocabulary come from the run, if
    given.

    Raises InputError if an override asks for another kind of vocabulary.
    """
    from rnnsearch.config import load_config

    if run is None:
        return load_config(recipe, tuple(overrides)).data
    kept = {key: getattr(run.settings.data, key) for key in _VOCABULARY_SETTINGS}
    first = (f"data.{key}={json.dumps(value)}" for key, value in kept.items())
    settings = load_config(recipe, (*first, *overrides)).data
    for key, value in kept.items():
        if getattr(settings, key) != value:
            what = f"data.{key} = {getattr(settings, key)} does not fit the vocabulary of {run.path}"
            raise InputError(what, remedy=f"it was made with data.{key} = {value}: do not set it")
    return settings
