"""`rnnsearch prepare`, `select` and `links`: parallel text becomes a prepared dataset, a selection,
and word links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch.cli.options import Cores, Strings, describe
from rnnsearch.errors import InputError
from rnnsearch.system.progress import progress_bar, show

if TYPE_CHECKING:
    from rnnsearch.run import Run
    from rnnsearch.settings import DataSettings
    from rnnsearch.text.formats.layout import Layout

MOST_REPETITIONS = 1_000
"""Maximum of --repeat: more would be a mistake and fill the disk."""
_VOCABULARY_SETTINGS = (
    "source_language target_language tokeniser lowercase subwords vocabulary_size minimum_count"
)
"""Settings of [data] that a vocabulary was made with."""


@dataclass(frozen=True)
class TextOptions:
    """Options that say how to read and to tokenise parallel text."""

    columns: tuple[str, str] | None = None
    format_: str = ""
    recipe: str = ""
    set_: Strings = None


@dataclass(frozen=True)
class MoreOfCorpus:
    """Options that say what a dataset has besides its pairs."""

    dev: Strings = None
    links: Strings = None
    links_reversed: bool = False
    repeat: str = ""
    vocabulary: str = ""


@describe(
    """
    files FILE...: Source and target files alternating, or bilingual files. .gz, .bz2, .xz, .zst and
    .zip are decompressed; - is stdin.
    out: Folder for the prepared dataset.
    dev FILE...: Development pairs for validation during training; files as above.
    links FILE...: Word links, a file per corpus, a line per pair: Pharaoh or JSON lines.
    repeat N[,N...]: How many times the pairs of each corpus are used, to give it more weight: one
    number per corpus.
    vocabulary RUN: Use the vocabularies and subwords of this run or model instead of learning new
    ones.
    workers N: Processes that clean the text; 0 = one per core.
    """
)
def prepare(
    files: list[str],
    *,
    out: Path,
    more: MoreOfCorpus,
    text: TextOptions,
    overwrite: bool = False,
    workers: Cores = 0,
) -> None:
    """Clean, tokenise and encode parallel text, and report which pairs were dropped and why."""
    from rnnsearch.run import Run
    from rnnsearch.system.cores import core_count
    from rnnsearch.text.formats.readers import parallel_texts
    from rnnsearch.text.preparation import PrepareOptions, prepare_texts

    parts = [part.strip() for part in more.repeat.split(",")] if more.repeat else []
    if not all(part in map(str, range(1, MOST_REPETITIONS + 1)) for part in parts):
        what = (
            f"--repeat takes whole numbers from 1 to {MOST_REPETITIONS:,} with commas between them"
        )
        raise InputError(
            f"{what}, not {more.repeat!r}", "give one number per corpus, as in --repeat 1,3"
        )
    run = Run.open(more.vocabulary) if more.vocabulary else None
    settings, layout, languages = data_options(files, text, run, more.dev or ())
    with progress_bar() as progress:
        options = PrepareOptions(
            links=more.links or [],
            links_reversed=more.links_reversed,
            repeat=list(map(int, parts)),
            vocabulary={"source": run.source, "target": run.target} if run else {},
            overwrite=overwrite,
            workers=workers or core_count(),
            progress=progress,
        )
        both = files, more.dev
        texts, development = (
            parallel_texts(names, layout=layout) if names else [] for names in both
        )
        report = prepare_texts(texts, out, dev=development, settings=settings, options=options)
    show(f"languages {languages}\n{report.text()}".removesuffix("\n"))


def data_options(
    files: Sequence[str], text: TextOptions, run: Run | None = None, others: Sequence[str] = ()
) -> tuple[DataSettings, Layout, str]:
    """Returns the data settings of the recipe and overrides, with the languages of the files; where
    the sides are in bilingual files; and a message with the languages. Settings of the vocabulary
    come from the run, if given. others: more files, which the message warns of if they are in other
    languages.

    Raises InputError for an unknown format, if an override asks for another kind of vocabulary, and
    as `with_languages`.
    """
    from rnnsearch.config import load_config
    from rnnsearch.text.formats.layout import Layout
    from rnnsearch.text.languages import language_doubts, with_languages

    kind: Any = text.format_  # checked there
    sides, own = text.columns or ("", ""), [*(text.set_ or ())]
    if run is not None:
        settings = load_config(text.recipe, own).data
        kept = run.settings.data.model_dump(include=set(_VOCABULARY_SETTINGS.split()))
        for override in own:
            key = override.partition("=")[0].strip().removeprefix("data.")
            if key in kept and kept[key] != getattr(settings, key):
                raise InputError(
                    f"data.{key} does not fit the vocabulary of {run.path}",
                    f"it was made with data.{key} = {kept[key]}: do not set it",
                )
        own += [f"data.{key}={json.dumps(value)}" for key, value in kept.items()]
    own, said = with_languages(files, text.recipe, own, Layout(kind, *sides))
    settings = load_config(text.recipe, own).data
    layout = Layout(kind, *sides, settings.source_language, settings.target_language)
    return (
        settings,
        layout,
        said
        + "".join(
            language_doubts(texts, layout, first) for texts, first in ((files, 1), (others, 0))
        ),
    )
