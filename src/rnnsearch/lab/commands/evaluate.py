"""`rnnsearch evaluate` and `rnnsearch aer`: scores of translations and of word links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.answers import Loading
from rnnsearch.cli.options import Strings, describe, refuse, say, search_changes
from rnnsearch.errors import InputError
from rnnsearch.system.progress import progress_bar

if TYPE_CHECKING:
    from rnnsearch.lab.outputs import System
    from rnnsearch.lab.test_set import TestSet
    from rnnsearch.text.tokens import Tokeniser

GoldFrom = Annotated[int | None, typer.Option(min=0, max=1)]
"""The position of the first word in gold links."""


@dataclass(frozen=True)
class Texts:
    """Options that name the texts: those to score, and what they are compared with."""

    ref: Strings
    hyp: Strings = None
    src: str | None = None
    system: Strings = None


@dataclass(frozen=True)
class WantedScores:
    """Options that say what is computed."""

    tokenise: str = ""
    multi_bleu: str = ""
    by_length: bool = False
    significance: bool = False
    resamples: Annotated[int, typer.Option(min=1, max=10**6)] = 1000


@describe(
    """
    ref FILE...: Reference translations, one per line, detokenised; several files are several
    references of each sentence; - is stdin.
    hyp FILE...: Translations by any system: detokenised lines; - is stdin.
    src: Source text, needed for --run and --by-length.
    run RUN...: Runs that wrote the --hyp files, in the same order. A run without a --hyp file
    translates --src.
    system NAME=FILE...: More translations, with names for the tables.
    tokenise: Tokenisation for BLEU, as sacreBLEU names it; default: 13a, or that for the
    letters of the references.
    multi_bleu LANGUAGE: Also compute BLEU as multi-bleu.perl does, on Moses tokens of this
    language; with `none`, on words split at spaces.
    by_length: Show scores by source length: 1–10 words, 11–20, …
    significance: Test the differences between all pairs of systems for significance.
    beam: Beam size of the runs' own translations; default: that of the run's settings.
    resamples: Bootstrap resamples for the confidence intervals.
    json: Print one JSON object with all results.
    """,
    extra="report",
)
def evaluate(
    *,
    texts: Texts,
    run: Strings = None,
    scoring: WantedScores,
    beam: int | None = None,
    json: bool = False,
    loading: Loading,
) -> None:
    """Score translations of any system: BLEU and chrF, also by sentence length, without unknown
    words, and with significance tests."""
    from rnnsearch.lab.length_bands import unspaced_tokenisation
    from rnnsearch.lab.measures import MeasureOptions, measure
    from rnnsearch.lab.metrics import OF_TEXTS
    from rnnsearch.lab.outputs import System
    from rnnsearch.lab.scores import measures_json, measures_text
    from rnnsearch.lab.significance import FEW, FEWEST_SENTENCES
    from rnnsearch.lab.test_set import file_stem, read_hypotheses, read_test_set

    files, references, src = texts.hyp or [], texts.ref or [], texts.src
    if not (files or run or texts.system):
        remedy = "give --hyp FILE, --system NAME=FILE or --run RUN"
        raise InputError("there is no system to evaluate", remedy)
    if (run or scoring.by_length) and src is None:
        raise InputError("--run and --by-length need the source text", "give --src FILE")
    if not run:
        refuse({"--beam": beam is not None}, "belongs to --run", "add --run RUN")
    if [*files, *references, src].count("-") > 1:
        raise InputError("only one text can come from standard input", "give files for the others")
    test = read_test_set("", src, references[0]).with_references(references[1:])
    other = unspaced_tokenisation(test.reference)
    if not scoring.tokenise and other:
        say(f"13a does not split the words of these references: BLEU has --tokenise {other}")
    systems = [
        System(file_stem(file), read_hypotheses(file, len(test.reference))) for file in files
    ]
    shown = references if references[1:] else references[0]
    about: dict[str, Any] = {"references": shown, "source": src, "resamples": scoring.resamples}
    tokeniser = multi_bleu_tokeniser(scoring.multi_bleu, other)
    others = named_systems(texts.system or [], test)
    tested = OF_TEXTS if scoring.significance else ()
    options = MeasureOptions(
        scoring.tokenise, tokeniser, scoring.by_length, tested, scoring.resamples
    )
    options.check(test)
    if run:
        systems = with_runs(systems, others, run, test, loading, search_changes(None, beam=beam))
        answers = {one.name: one.run for one in systems if one.run is not None}
        about["search"] = {name: one.search for name, one in answers.items()}
        first = next(iter(answers.values())).run.target.tokeniser
        options = replace(options, multi_bleu=tokeniser or first)
    measures = measure(test, [*systems, *others], options)
    if scoring.significance and len(test.reference) < FEWEST_SENTENCES:
        say(FEW)
    print(measures_json(measures, about) if json else measures_text(measures))


def multi_bleu_tokeniser(language: str, other: str) -> Tokeniser | None:
    """Returns the tokeniser that --multi-bleu names, if any. other: the tokenisation of sacreBLEU
    for these references."""
    from rnnsearch.text.tokens import Tokeniser

    if language == "none":
        return Tokeniser("space", "")
    tokeniser = Tokeniser("moses", language) if language else None
    if tokeniser is not None and tokeniser.unspaced:
        what = f"Moses does not split text of the language {language}"
        raise InputError(what, f"use --tokenise {other or language}")
    return tokeniser


def named_systems(texts: list[str], test: TestSet) -> list[System]:
    """Returns the systems of --system NAME=FILE."""
    from rnnsearch.lab.outputs import System
    from rnnsearch.lab.test_set import read_systems

    found = read_systems(texts, [test])
    if missing := [name for name, files in found.items() if not files]:
        raise InputError(f"--system {missing[0]}=- names no file", "--hyp - reads stdin")
    return [System(name, lines) for name, files in found.items() for lines in files.values()]


def with_runs(
    written: list[System],
    others: list[System],
    paths: list[str],
    test: TestSet,
    loading: Loading,
    search: dict[str, Any],
) -> list[System]:
    """Returns the runs, then the other --hyp files. A run without a --hyp file translates the
    source itself. Raises InputError if one of them is called as one of the others is."""
    from rnnsearch.lab.outputs import Kind, open_run, run_answers
    from rnnsearch.lab.test_set import name_runs, require_different

    systems, runs = [], name_runs(paths)
    names = [*runs, *(one.name for one in (*written[len(paths) :], *others))]
    require_different(names, "systems", "--system NAME=FILE")
    with progress_bar() as progress:
        for place, (name, path) in enumerate(runs.items()):
            run = open_run(name, path, search, loading)
            given = written[place : place + 1]
            kinds = [Kind.WITHOUT_UNK] if given else [Kind.TRANSLATIONS, Kind.WITHOUT_UNK]
            with TemporaryDirectory() as folder:
                found = run_answers(run, test, Path(folder), progress, kinds).system
            systems.append(replace(found, texts=given[0].texts) if given else found)
    return [*systems, *written[len(paths) :]]


@describe(
    """
    links FILE...: Word links of one or more systems, one sentence per line: Pharaoh or JSON lines.
    gold FILE: Gold links: as --links (i-j sure, i?j possible), or NAACL .wa.
    json: Print one JSON object, with counts, agreement of the systems and share of monotone jumps.
    latex: Print the tables in LaTeX, for a paper.
    """
)
def aer(
    *,
    links: Strings,
    gold: str,
    links_reversed: bool = False,
    gold_from: GoldFrom = None,
    json: bool = False,
    latex: bool = False,
) -> None:
    """Score word links against gold links: alignment error rate, precision, recall and
    F-measure."""
    from rnnsearch.evaluation.alignment_error import read_gold
    from rnnsearch.lab.page import as_latex
    from rnnsearch.lab.scores import link_tables, links_as_json, links_as_text, read_links
    from rnnsearch.lab.significance import FEW, FEWEST_SENTENCES

    refuse({"--json": json and latex}, "cannot be used with --latex")
    truth = read_gold(gold, first=gold_from)
    systems = read_links(links or [], truth, links_reversed, gold if gold_from is None else "")
    if len(systems) > 1 and len(truth) < FEWEST_SENTENCES:
        say(FEW)
    if json:
        print(links_as_json(systems, truth, gold))
    elif latex:
        print(as_latex(link_tables(systems, truth)), end="")
    else:
        print(links_as_text(systems, truth))
