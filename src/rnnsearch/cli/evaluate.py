"""`rnnsearch evaluate`: scores of translations."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.options import Device, Threads, TrustCode, progress_bar, say
from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from rnnsearch.evaluation.test_set import System, TestSet
    from rnnsearch.text.tokens import Tokeniser

Ref = Annotated[
    str, typer.Option(metavar="FILE", help="Reference translations, one per line, detokenised; - is stdin.")
]
Hyp = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE...", help="Translations by any system: detokenised lines; - is stdin."),
]
Src = Annotated[str | None, typer.Option(help="Source text, needed for --run and --by-length.")]
Runs = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="RUN...",
        help="Runs that wrote the --hyp files, in the same order. A run without a --hyp file translates "
        "--src.",
    ),
]
Systems = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=FILE...", help="More translations, with names for the tables."),
]
Tokenise = Annotated[
    str,
    typer.Option(help="Tokenisation for BLEU, as sacreBLEU names it; for example zh for Chinese."),
]
MultiBleu = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE",
        help="Also compute BLEU as multi-bleu.perl does, on Moses tokens of this language; with `none`, on "
        "words split at spaces.",
    ),
]
ByLength = Annotated[
    bool, typer.Option("--by-length", help="Show scores by source length: 1–10 words, 11–20, …")
]
Significance = Annotated[
    bool,
    typer.Option(
        "--significance", help="Test the differences between all pairs of systems for significance."
    ),
]
Beam = Annotated[
    int | None,
    typer.Option(help="Beam size of the runs' own translations; default: that of the run's settings."),
]
Resamples = Annotated[
    int, typer.Option(min=1, max=10**6, help="Bootstrap resamples for the confidence intervals.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Random seed of the bootstrap.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object with all results.")]


def evaluate(
    ref: Ref,
    hyp: Hyp = None,
    src: Src = None,
    run: Runs = None,
    system: Systems = None,
    tokenise: Tokenise = "13a",
    multi_bleu: MultiBleu = None,
    by_length: ByLength = False,
    significance: Significance = False,
    beam: Beam = None,
    resamples: Resamples = 1000,
    seed: Seed = 1,
    json: Json = False,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Score translations of any system: BLEU and chrF, also by sentence length, without unknown words, and
    with significance tests. If COMET is installed, print its command for these files."""
    from rnnsearch.evaluation.measures import OF_TEXTS, MeasureOptions, measure
    from rnnsearch.evaluation.statistics import FEW, FEWEST
    from rnnsearch.evaluation.test_set import System, read_hypotheses, read_systems, read_test_set
    from rnnsearch.report.scores import measures_json, measures_text

    _check_options([*(hyp or []), ref, src], hyp or run or system, src, bool(run or by_length))
    test = read_test_set("", src, ref)
    systems = [read_hypotheses(file, len(test.reference)) for file in hyp or []]
    about: dict[str, Any] = {"references": ref, "source": src, "resamples": resamples, "seed": seed}
    tokeniser = _tokeniser(multi_bleu) if multi_bleu else None
    if run:
        search = {} if beam is None else {"beam": beam}
        loading = {"search": search, "device": device, "trust_code": trust_code}
        with progress_bar() as progress:
            systems = _with_runs(systems, run, test, threads, progress, **loading)
        answers = {one.name: one.run for one in systems if one.run is not None}
        about["search"] = {name: one.search for name, one in answers.items()}
        tokeniser = tokeniser or next(iter(answers.values())).target.tokeniser
    others = read_systems(system or [], [test])
    systems += [System(name, texts) for name, found in others.items() for texts in found.values()]
    tested = OF_TEXTS if significance else ()
    measures = measure(test, systems, MeasureOptions(tokenise, tokeniser, by_length, tested, resamples, seed))
    if significance and len(test.reference) < FEWEST:
        say(FEW)
    print(measures_json(measures, about) if json else measures_text(measures))
    if src and hyp and find_spec("comet"):
        say(f"COMET is installed: comet-score {shlex.join(['-s', src, '-r', ref, '-t', *hyp])}")


def _check_options(texts: list[str | None], systems: object, source: str | None, needs_source: bool) -> None:
    """Raises InputError for options that contradict each other."""
    if not systems:
        remedy = "give --hyp FILE, --system NAME=FILE or --run RUN"
        raise InputError("there is no system to evaluate", remedy=remedy)
    if needs_source and source is None:
        raise InputError("--run and --by-length need the source text", remedy="give --src FILE")
    if texts.count("-") > 1:
        raise InputError("only one text can come from standard input", remedy="give files for the others")


def _tokeniser(language: str) -> Tokeniser:
    """Returns the tokeniser for multi-BLEU."""
    from rnnsearch.text.tokens import Tokeniser

    return Tokeniser("space", "") if language == "none" else Tokeniser("moses", language)


def _with_runs(
    written: list[System], paths: list[Path], test: TestSet, threads: int, progress: Any, **loading: Any
) -> list[System]:
    """Returns the runs, then the other --hyp files. A run without a --hyp file translates the source
    itself."""
    from rnnsearch.evaluation.test_set import System, name_runs
    from rnnsearch.system.machine import set_up_cpu
    from rnnsearch.translation.outputs import open_run, run_answers

    set_up_cpu(threads)
    systems = []
    for place, named in enumerate(name_runs([str(path) for path in paths])):
        run, given = open_run(named.name, named.path, **loading), written[place : place + 1]
        with TemporaryDirectory() as folder:
            answers = run_answers(run, test, Path(folder), progress, translate=not given)
        systems.append(System(named.name, given[0].texts if given else answers.texts, run=answers))
    return [*systems, *written[len(paths) :]]
