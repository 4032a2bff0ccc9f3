"""`rnnsearch prepare`, `select` and `links`: parallel text becomes a prepared dataset, a selection, and word
links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch.cli.options import Columns, Cores, Strings, describe
from rnnsearch.errors import InputError
from rnnsearch.system.files import is_stream, prepare_output
from rnnsearch.system.progress import progress_bar, show

if TYPE_CHECKING:
    from rnnsearch.run import Run
    from rnnsearch.settings import DataSettings
    from rnnsearch.text.formats.readers import Layout

MOST_REPETITIONS = 1_000
"""Maximum of --repeat: more would be a mistake and fill the disk."""
_VOCABULARY_SETTINGS = (
    *("source_language", "target_language", "tokeniser", "lowercase"),
    *("subwords", "vocabulary_size", "minimum_count"),
)
"""Settings of [data] that a vocabulary was made with."""


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
    workers N: Processes that clean the text; 0 = one per core.
    """
)
def prepare(
    files: list[str],
    *,
    out: Path,
    dev: Strings = None,
    links: Strings = None,
    links_reversed: bool = False,
    repeat: str = "",
    vocabulary: str = "",
    columns: Columns = None,
    format_: str = "",
    recipe: str = "",
    set_: Strings = None,
    overwrite: bool = False,
    workers: Cores = 0,
) -> None:
    """Clean, tokenise and encode parallel text, and report which pairs were dropped and why."""
    from rnnsearch.run import Run
    from rnnsearch.system.workers import core_count
    from rnnsearch.text.formats.readers import parallel_texts
    from rnnsearch.text.preparation import PrepareOptions, prepare_texts

    parts = [part.strip() for part in repeat.split(",")] if repeat else []
    if not all(part in map(str, range(1, MOST_REPETITIONS + 1)) for part in parts):
        what = f"--repeat takes whole numbers from 1 to {MOST_REPETITIONS:,} with commas between them"
        raise InputError(f"{what}, not {repeat!r}", remedy="give one number per corpus, as in --repeat 1,3")
    run = Run.open(vocabulary) if vocabulary else None
    settings, layout = data_options(recipe, set_, columns, format_, run)
    with progress_bar() as progress:
        options = PrepareOptions(
            links=links or [],
            links_reversed=links_reversed,
            repeat=list(map(int, parts)),
            vocabulary={"source": run.source, "target": run.target} if run else {},
            overwrite=overwrite,
            workers=workers or core_count(),
            progress=progress,
        )
        texts, development = (parallel_texts(names, layout=layout) if names else [] for names in (files, dev))
        report = prepare_texts(texts, out, dev=development, settings=settings, options=options)
    show(report.text().removesuffix("\n"))


def data_options(
    recipe: str,
    overrides: Strings,
    columns: Columns,
    format_: str,
    run: Run | None = None,
) -> tuple[DataSettings, Layout]:
    """Returns the data settings of the recipe and overrides, and where the sides are in bilingual files.
    Settings of the vocabulary come from the run, if given.

    Raises InputError for an unknown format, and if an override asks for another kind of vocabulary.
    """
    from rnnsearch.config import load_config
    from rnnsearch.text.formats.readers import Layout

    settings = load_config(recipe, overrides or ()).data
    if run is not None:
        kept = run.settings.data.model_dump(include=set(_VOCABULARY_SETTINGS))
        for override in overrides or ():
            key = override.partition("=")[0].strip().removeprefix("data.")
            if key in kept and kept[key] != getattr(settings, key):
                what = f"data.{key} does not fit the vocabulary of {run.path}"
                raise InputError(what, remedy=f"it was made with data.{key} = {kept[key]}: do not set it")
        settings = settings.model_copy(update=kept)
    kind: Any = format_  # checked there
    sides = columns or ("", "")
    return settings, Layout(kind, *sides, settings.source_language, settings.target_language)
<<<<<<< HEAD
=======


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
    format_: str = "",
    recipe: str = "",
    set_: Strings = None,
    order: Annotated[int, typer.Option(min=1, max=9)] = 4,
    seed: Annotated[int, typer.Option(min=0, max=10**9)] = 1,
    overwrite: bool = False,
) -> None:
    """Select the pairs of a pool that are most similar to a domain, by bilingual cross-entropy difference
    (Axelrod et al. 2011)."""
    from rnnsearch.lab.selection import SelectOptions
    from rnnsearch.lab.selection import select as select_pairs

    amounts = [
        (n, unit) for n, unit in ((words, "words"), (share, "share"), (pairs, "pairs")) if n is not None
    ]
    if len(amounts) != 1:
        raise InputError("select needs an amount", remedy="give one of --words, --share and --pairs")
    settings, layout = data_options(recipe, set_, columns, format_)
    with progress_bar() as progress:
        options = SelectOptions(layout, order, seed, overwrite, progress)
        report = select_pairs(in_domain, pool, out, amounts[0], settings, options)
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
    files: Strings = None,
    *,
    out: list[Path],
    symmetrise: str = "",
    words: str = "tokenised",
    forward: str = "",
    reverse: str = "",
    columns: Columns = None,
    format_: str = "",
    recipe: str = "",
    set_: Strings = None,
    overwrite: bool = False,
    aligner: str = "eflomal",
) -> None:
    """Align the words of a corpus in both directions, with eflomal, or with eflomal and networks together.
    `prepare --links` reads the links."""
    from rnnsearch.lab.eflomal_links import link_files, link_texts
    from rnnsearch.text.formats.readers import parallel_texts
    from rnnsearch.text.links import DEFAULT, METHODS

    method, texts = one_of(symmetrise or DEFAULT, "--symmetrise", tuple(METHODS)), files or []
    counted: Any = one_of(words, "--words", ("tokenised", "given"))
    if bool(forward) != bool(reverse) or bool(forward) == bool(texts):
        what = "links needs a corpus, or an aligner's files of both directions"
        raise InputError(what, remedy="give the texts, or give --forward and --reverse")
    if forward and len(out) > 1:
        raise InputError("links needs one --out file for each corpus", remedy="give --out FILE")
    for path in out:
        prepare_output(path, overwrite)
    if aligner != "eflomal":
        own = is_stream(out[0]) or (aligner != "rnnsearch" and (recipe or set_))
        if len(texts) != 2 or len(out) != 1 or any((columns, format_, symmetrise, own)):
            what = f"--aligner {aligner} takes two files of lines and one --out, and symmetrises by `product`"
            raise InputError(what, remedy="remove the other files and options")
        return link_by_networks(aligner, list(map(Path, texts)), out[0], counted, recipe, set_ or [])
    with progress_bar() as progress:
        if forward:
            report = link_files(forward, reverse, out, method=method)
        else:
            settings, layout = data_options(recipe, set_, columns, format_)
            corpora = parallel_texts(texts, layout=layout)
            report = link_texts(
                corpora, out, settings=settings, method=method, words=counted, progress=progress
            )
    print(report, end="")


def link_by_networks(
    aligner: str, files: list[Path], out: Path, words: Any, recipe: str, own: list[str]
) -> None:
    """Aligns two files with a model and its opposite, or with two networks that are trained first."""
    from rnnsearch.cli.align import align
    from rnnsearch.lab.learned_aligner import RECIPE, align_with_models, learn_links
    from rnnsearch.lab.eflomal_links import vote_files
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
>>>>>>> fix/files
