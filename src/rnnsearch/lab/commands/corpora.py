"""`rnnsearch select`, `links`, `try`: data selection, word links of a corpus, and a translator for
it."""

from __future__ import annotations

import os
import shlex
import webbrowser
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from rnnsearch.cli.demo import next_lines
from rnnsearch.cli.options import Strings, describe, one_of, refuse, resumable, say
from rnnsearch.cli.prepare import TextOptions, data_options
from rnnsearch.errors import InputError
from rnnsearch.system.files import is_stream, prepare_output, refuse_inputs
from rnnsearch.system.progress import progress_bar

AmountOption = Annotated[int | None, typer.Option(min=1, max=10**15)]


@dataclass(frozen=True)
class Selection:
    """Options that say how many pairs are selected, and by which models."""

    words: AmountOption = None
    share: Annotated[float | None, typer.Option(min=0.0, max=1.0)] = None
    pairs: AmountOption = None
    order: Annotated[int, typer.Option(min=1, max=9)] = 4
    seed: Annotated[int, typer.Option(min=0, max=10**9)] = 1

    @property
    def amount(self) -> tuple[float, str]:
        """(number, its unit). Raises InputError unless just one is given."""
        units = ("words", "share", "pairs")
        given = [(n, unit) for unit in units if (n := getattr(self, unit)) is not None]
        if len(given) != 1:
            raise InputError("select needs an amount", "give one of --words, --share and --pairs")
        return given[0]


@describe("""
    in_domain FILE...: Text of the domain: a source and a target file, or a bilingual file.
    pool FILE...: Text to select from: source and target files alternating, or bilingual files.
    words: Select the best pairs, with at most this many target words.
    share: Or select this share (0 to 1) of the pool's target words.
    pairs: Or select this many pairs.
    out PREFIX: Write the files PREFIX.SOURCE and PREFIX.TARGET, named after the languages:
    PREFIX.en, PREFIX.fr.
    order: Order of the n-gram language models.
    seed: Random seed of the sample of the pool.
    """)
def select(
    *,
    in_domain: list[str],
    pool: list[str],
    out: str,
    selection: Selection,
    text: TextOptions,
    overwrite: bool = False,
) -> None:
    """Select the pairs of a pool that are most similar to a domain, by bilingual cross-entropy
    difference (Axelrod et al. 2011)."""
    from rnnsearch.lab.selection import SelectOptions
    from rnnsearch.lab.selection import select as select_pairs

    amount = selection.amount
    settings, layout, languages = data_options(pool, text, others=in_domain)
    with progress_bar() as progress:
        options = SelectOptions(layout, selection.order, selection.seed, overwrite, progress)
        report = select_pairs(in_domain, pool, out, amount, settings, options)
    print(f"languages {languages}\n{report}", end="")


@dataclass(frozen=True)
class Linking:
    """Options that say how words are linked."""

    symmetrise: str = ""
    words: str = "tokenised"
    forward: str = ""
    reverse: str = ""
    aligner: str = "eflomal"
    dictionary: Path | None = None
    phrase_length: Annotated[int, typer.Option(min=1, max=9)] = 1


@describe("""
    files FILE...: Source and target files alternating, or bilingual files, as for `prepare`. They
    are aligned together.
    out FILE: Pharaoh file to write; repeat the option for several corpora.
    symmetrise: `vote` (default): links that half of the directions of three runs of eflomal have.
    Or how to symmetrise the links of both directions of one run: grow-diag-final-and (default with
    --forward), grow-diag-final, grow-diag, grow, intersection, union, forward, reverse.
    words: Words that are aligned: `tokenised` words, or words as `given` (split at spaces).
    forward FILE: Do not align. Read another aligner's links from this file, with one source word
    per target word.
    reverse FILE: With --forward: the links of the other direction, with one target word per source
    word.
    aligner: `eflomal`; a model, as en-fr: links that the model, the model of the opposite direction
    and eflomal vote for; or `rnnsearch`: the same with two networks that learn from eflomal's
    links. OUT.work keeps what is done; after Ctrl-C, the same command goes on.
    dictionary FILE: Also write each word with its most frequent translation, count and
    probabilities, which `translate --dictionary` reads.
    phrase_length: With --dictionary: maximum number of words of a phrase.
    """)
def links(
    files: Strings = None,
    *,
    out: list[Path],
    linking: Linking,
    text: TextOptions,
    overwrite: bool = False,
) -> None:
    """Align the words of a corpus in both directions, with eflomal, or with eflomal and networks
    together. `prepare --links` reads the links. The same text and seed (data.seed) give the same
    links, on Linux."""
    from rnnsearch.lab.dictionary import write_dictionary
    from rnnsearch.lab.eflomal_links import link_texts, linked_words
    from rnnsearch.lab.link_files import VOTE, link_files
    from rnnsearch.text.formats.readers import parallel_texts
    from rnnsearch.text.links import METHODS

    texts = files or []
    methods = tuple(METHODS) if linking.forward else (VOTE, *METHODS)
    method = one_of(linking.symmetrise or methods[0], "--symmetrise", methods)
    counted: Any = one_of(linking.words, "--words", ("tokenised", "given"))
    forward, aligner, dictionary = linking.forward, linking.aligner, linking.dictionary
    if bool(forward) != bool(linking.reverse) or not (forward or texts):
        what = "links needs a corpus, or an aligner's files of both directions"
        raise InputError(what, "give the texts, or give --forward and --reverse")
    if forward:
        refuse_to_align(linking, texts, text, out)
    if dictionary and (forward or aligner != "eflomal"):
        what = "--dictionary needs texts that eflomal aligns"
        raise InputError(what, "give SRC TGT and no --aligner")
    outputs = [*out, *filter(None, [dictionary])]
    refuse_inputs(outputs, [*texts, forward, linking.reverse])
    for path in outputs:
        prepare_output(path, overwrite)
    if aligner != "eflomal":
        own = is_stream(out[0]) or (aligner != "rnnsearch" and (text.recipe or text.set_))
        if (
            len(texts) != 2
            or len(out) != 1
            or any((text.columns, text.format_, linking.symmetrise, own))
        ):
            what = f"--aligner {aligner} takes two files of lines and one --out, and votes itself"
            raise InputError(what, "remove the other files and options")
        return link_by_networks(
            aligner, list(map(Path, texts)), out[0], counted, text.recipe, text.set_ or []
        )
    with progress_bar() as progress:
        if forward:
            report = link_files([(Path(forward), Path(linking.reverse))], out, method=method)
        else:
            settings, layout, languages = data_options(texts, text)
            corpora = parallel_texts(texts, layout=layout)
            report = f"languages {languages}\n" + link_texts(
                corpora, out, settings=settings, method=method, words=counted, progress=progress
            )
            if dictionary:
                pairs = linked_words(corpora, out, settings, counted)
                entries = write_dictionary(pairs, dictionary, linking.phrase_length)
                report += f"entries  {entries:,} in {dictionary}\n"
    print(report, end="")


def refuse_to_align(linking: Linking, texts: list[str], text: TextOptions, out: list[Path]) -> None:
    """Raises InputError for texts and options without effect on links that are read from files."""
    if texts:
        what = "--forward and --reverse are links that are made already"
        raise InputError(what, f"leave out {texts[0]} and the other texts, or these options")
    if len(out) > 1:
        raise InputError("links needs one --out file for each corpus", "give --out FILE")
    aligning = {"--aligner": linking.aligner != "eflomal", "--words": linking.words == "given"}
    reading = {"--columns": text.columns, "--format": text.format_, "--recipe": text.recipe}
    refuse(
        aligning | reading | {"--set": text.set_},
        "has no effect on the links of --forward",
        "remove it",
    )


def link_by_networks(
    aligner: str, files: list[Path], out: Path, words: Any, recipe: str, own: list[str]
) -> None:
    """Aligns two files with a model and its opposite, or with two networks that are trained
    first."""
    from rnnsearch.cli.align import align
    from rnnsearch.lab.learned_aligner import LINKS_RECIPE, align_with_models, learn_links
    from rnnsearch.lab.link_files import LOWEST, vote_files

    folder = out.with_name(f"{out.name}.work")
    if aligner == "rnnsearch":
        aligners = learn_links(files, folder, words, recipe or LINKS_RECIPE, own)
    else:
        aligners = align_with_models(aligner, files, folder, words)
    how = {"posterior": "true", "symmetrise": "product", "words": words, "threshold": LOWEST}
    settings = [f"align.{name}={value}" for name, value in how.items()]
    with resumable(), aligners as both:
        forward, backward = both.networks
        runs, reverse = [forward, *map(str, both.lines)], [Path(backward)]
        whole = partial(align, runs, reverse_run=reverse, set_=settings, format_="jsonl")
        aligned = both.step("networks.jsonl", lambda path: whole(out=str(path)))
        vote_files(aligned, both.eflomal, out, rule=both.rule)
    print(f"{out}\nnetworks  {forward}, {backward}")


@describe(
    """
    files FILE...: Text and its translation: corpus.en corpus.fr, .tsv or .tmx.
    out: Folder for everything: dataset, run, page, report.
    minutes: Minutes that training may take on this machine, about.
    no_open: Do not open the page in a browser.
    """,
    extra="all",
)
def try_(
    files: list[Path],
    *,
    out: Path = Path("try"),
    minutes: Annotated[float, typer.Option(min=0.1, max=1e5)] = 60.0,
    columns: tuple[str, str] | None = None,
    set_: Strings = None,
    no_open: bool = False,
) -> None:
    """Train a translator on a corpus (files as for `prepare`), with a page that shows how it
    learns. After Ctrl-C, the same command goes on."""
    from rnnsearch.lab.quick_start import try_corpus

    def show(page: Path) -> None:
        say(f"page     {page}")
        if not no_open and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            webbrowser.open(page.resolve().as_uri())

    with resumable():
        scores = try_corpus(files, out, minutes, set_ or (), show, columns or ("", ""))
    print("scores   " + ", ".join(f"{name} {value:.2f}" for name, value in scores.items()))
    print("         of pairs like those learned from: text of another kind gets lower scores")
    run = shlex.quote(str(out / "run"))
    print(f"page     {out / 'page' / 'index.html'}\n", *next_lines(), sep="\n")
    print(f"  rnnsearch translate {run}")
    if len(files) == 2:
        print(f"  rnnsearch align {run} {shlex.join(map(str, files))}")
    print(f"  rnnsearch export {run} --out page")
