"""`rnnsearch prepare`, `select` and `links`: parallel text becomes a prepared dataset, a selection, and word
links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.options import (
    Columns,
    Count,
    Files,
    Format,
    LinksReversed,
    Overwrite,
    Recipe,
    Set,
    Workers,
    describe,
    one_of,
    resumable,
)
from rnnsearch.errors import InputError
from rnnsearch.system.files import prepare_output
from rnnsearch.system.progress import ProgressBar, show

if TYPE_CHECKING:
    from rnnsearch.config import DataSettings
    from rnnsearch.run import Run
    from rnnsearch.text.formats.readers import Layout

MOST_REPETITIONS = 1_000
"""Maximum of --repeat: more would be a mistake and fill the disk."""
_VOCABULARY_SETTINGS = (
    *("source_language", "target_language", "tokeniser", "lowercase"),
    *("subwords", "vocabulary_size", "minimum_count"),
)
"""Settings of [data] that a vocabulary was made with."""
Amount = Annotated[int | None, typer.Option(min=1, max=10**15)]


@describe(
    """
    files FILE...: Source and target files alternating, or bilingual files. .gz, .bz2, .xz, .zst and .zip are
    decompressed; - is stdin.
    out: Folder for the prepared dataset.
    dev FILE...: Development pairs for validation during training; files as above.
    links FILE...: Word links, a file per corpus, a line per pair: Pharaoh or JSON lines.
    repeat N[,N...]: How many times the pairs of each corpus are used, to give it more weight: one number per
    corpus.
    vocabulary RUN: Use the vocabularies and subwords of this run or model instead of learning new ones.
    """
)
def prepare(
    files: list[str],
    *,
    out: Path,
    dev: Files = None,
    links: Files = None,
    links_reversed: LinksReversed = False,
    repeat: str = "",
    vocabulary: str = "",
    columns: Columns = None,
    format_: Format = "",
    recipe: Recipe = "",
    set_: Set = None,
    overwrite: Overwrite = False,
    workers: Workers = 0,
) -> None:
    """Clean, tokenise and encode parallel text, and report which pairs were dropped and why."""
    from rnnsearch.run import Run
    from rnnsearch.system.workers import core_count
    from rnnsearch.text.formats.readers import parallel_texts
    from rnnsearch.text.preparation import prepare_texts

    parts = [part.strip() for part in repeat.split(",")] if repeat else []
    if not all(part in map(str, range(1, MOST_REPETITIONS + 1)) for part in parts):
        what = f"--repeat takes whole numbers from 1 to {MOST_REPETITIONS:,} with commas between them"
        raise InputError(f"{what}, not {repeat!r}", remedy="give one number per corpus, as in --repeat 1,3")
    run = Run.open(vocabulary) if vocabulary else None
    settings = data_settings(recipe, set_ or (), run)
    layout = layout_of(settings, columns, format_)
    with ProgressBar() as progress:
        report = prepare_texts(
            parallel_texts(files, layout=layout),
            out,
            dev=parallel_texts(dev, layout=layout) if dev else [],
            links=links or [],
            links_reversed=links_reversed,
            repeat=list(map(int, parts)),
            vocabulary={"source": run.source, "target": run.target} if run else None,
            settings=settings,
            overwrite=overwrite,
            workers=workers or core_count(),
            progress=progress,
        )
    show(report.text().removesuffix("\n"))


def data_settings(recipe: str, overrides: Sequence[str], run: Run | None = None) -> DataSettings:
    """Returns the settings of the recipe and overrides; settings of the vocabulary come from the run, if
    given.

    Raises InputError if an override asks for another kind of vocabulary.
    """
    from rnnsearch.config import load_config

    if run is None:
        return load_config(recipe, tuple(overrides)).data
    kept = run.settings.data.model_dump(include=set(_VOCABULARY_SETTINGS))
    first = (f"data.{key}={json.dumps(value)}" for key, value in kept.items())
    settings = load_config(recipe, (*first, *overrides)).data
    for key, value in kept.items():
        if getattr(settings, key) != value:
            what = f"data.{key} = {getattr(settings, key)} does not fit the vocabulary of {run.path}"
            raise InputError(what, remedy=f"it was made with data.{key} = {value}: do not set it")
    return settings


def layout_of(settings: DataSettings, columns: tuple[str, str] | None, format_: str) -> Layout:
    """Returns where the sides are in bilingual files. Raises InputError for an unknown format."""
    from rnnsearch.text.formats.readers import Layout

    kind: Any = format_  # checked there
    return Layout(kind, *(columns or ("", "")), settings.source_language, settings.target_language)


@describe(
    """
    in_domain FILE...: Text of the domain: a source and a target file, or a bilingual file.
    pool FILE...: Text to select from: source and target files alternating, or bilingual files.
    words: Select the best pairs, with at most this many target words.
    share: Or select this share (0 to 1) of the pool's target words.
    pairs: Or select this many pairs.
    out PREFIX: Write the files PREFIX.SOURCE and PREFIX.TARGET, named after the languages: PREFIX.en,
    PREFIX.fr.
    order: Order of the n-gram language models.
    seed: Random seed of the sample of the pool.
    """
)
def select(
    *,
    in_domain: list[str],
    pool: list[str],
    out: str,
    words: Amount = None,
    share: Annotated[float | None, typer.Option(min=0.0, max=1.0)] = None,
    pairs: Amount = None,
    columns: Columns = None,
    format_: Format = "",
    recipe: Recipe = "",
    set_: Set = None,
    order: Annotated[int, typer.Option(min=1, max=9)] = 4,
    seed: Count = 1,
    overwrite: Overwrite = False,
) -> None:
    """Select the pairs of a pool that are most similar to a domain, by bilingual cross-entropy difference
    (Axelrod et al. 2011)."""
    from rnnsearch.text.selection import select as select_pairs

    amounts = [
        (n, unit) for n, unit in ((words, "words"), (share, "share"), (pairs, "pairs")) if n is not None
    ]
    if len(amounts) != 1:
        raise InputError("select needs an amount", remedy="give one of --words, --share and --pairs")
    settings = data_settings(recipe, set_ or ())
    how: dict[str, Any] = {"settings": settings, "layout": layout_of(settings, columns, format_)}
    how |= {"order": order, "seed": seed, "overwrite": overwrite}
    with ProgressBar() as progress:
        report = select_pairs(in_domain, pool, out, amounts[0], progress=progress, **how)
    print(report, end="")


@describe(
    """
    files FILE...: Source and target files alternating, or bilingual files, as for `prepare`. They are aligned
    together.
    out FILE: Pharaoh file to write; repeat the option for several corpora.
    symmetrise: How to symmetrise the links of both directions: grow-diag-final-and (default),
    grow-diag-final, grow-diag, grow, intersection, union, forward, reverse.
    words: Words that are aligned: `tokenised` words, or words as `given` (split at spaces).
    forward FILE: Do not align. Read another aligner's links from this file, with one source word per target
    word.
    reverse FILE: With --forward: the links of the other direction, with one target word per source word.
    aligner: `eflomal`; a model, as en-fr: links that the model, the model of the opposite direction and
    eflomal vote for; or `rnnsearch`: the same with two networks that learn from eflomal's links. OUT.work
    keeps what is done; after Ctrl-C, the same command goes on.
    """
)
def links(
    files: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    out: list[Path],
    symmetrise: str = "",
    words: str = "tokenised",
    forward: str = "",
    reverse: str = "",
    columns: Columns = None,
    format_: Format = "",
    recipe: Recipe = "",
    set_: Set = None,
    overwrite: Overwrite = False,
    aligner: str = "eflomal",
) -> None:
    """Align the words of a corpus in both directions, with eflomal, or with eflomal and networks together.
    `prepare --links` reads the links."""
    from rnnsearch.text.corpus_links import link_files, link_texts
    from rnnsearch.text.formats.readers import parallel_texts
    from rnnsearch.text.links import DEFAULT, METHODS

    method, texts = one_of(symmetrise or DEFAULT, "--symmetrise", tuple(METHODS)), files or []
    counted: Any = one_of(words, "--words", ("tokenised", "given"))
    if bool(forward) != bool(reverse):
        raise InputError("links needs both directions", remedy="give --forward and --reverse")
    if bool(forward) == bool(texts):
        what = "links needs a corpus or the files of an aligner, and not both"
        raise InputError(what, remedy="give the texts, or give --forward and --reverse")
    if forward and len(out) > 1:
        raise InputError("links needs one --out file for each corpus", remedy="give --out FILE")
    for path in out:
        prepare_output(path, overwrite)
    if aligner != "eflomal":
        own = aligner != "rnnsearch" and (recipe or set_)
        if len(texts) != 2 or len(out) != 1 or any((columns, format_, symmetrise, own)):
            what = f"--aligner {aligner} takes two files of lines and one --out, and symmetrises by `product`"
            raise InputError(what, remedy="remove the other files and options")
        return link_by_networks(aligner, list(map(Path, texts)), out[0], counted, recipe, set_ or [])
    with ProgressBar() as progress:
        if forward:
            report = link_files(forward, reverse, out, method=method)
        else:
            settings = data_settings(recipe, set_ or ())
            corpora = parallel_texts(texts, layout=layout_of(settings, columns, format_))
            how: dict[str, Any] = {"method": method, "words": counted, "progress": progress}
            report = link_texts(corpora, out, settings=settings, **how)
    print(report, end="")


def link_by_networks(
    aligner: str, files: list[Path], out: Path, words: Any, recipe: str, own: list[str]
) -> None:
    """Aligns two files with a model and its opposite, or with two networks that are trained first."""
    from rnnsearch.cli.align import align
    from rnnsearch.learned_aligner import RECIPE, align_with_models, learn_links
    from rnnsearch.text.corpus_links import vote_files
    from rnnsearch.text.links import VOTES

    folder = out.with_name(f"{out.name}.work")
    if aligner == "rnnsearch":
        aligners = learn_links(files, folder, words, recipe or RECIPE, own)
    else:
        aligners = align_with_models(aligner, files, folder, words)
    how: dict[str, Any] = {"posterior": True, "symmetrise": "product", "words": words}
    how |= {"threshold": VOTES[-1], "links_format": "jsonl"}
    with resumable(), aligners as ((forward, backward), votes, step):

        def align_texts(path: Path) -> None:
            align([forward, *map(str, files)], out=str(path), reverse_run=[Path(backward)], **how)

        vote_files(step("networks.jsonl", align_texts), *votes, out)
    print(f"{out}\nnetworks  {forward}, {backward}")
