"""`rnnsearch evaluate`: scores of translations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.options import Device, Threads, TrustCode, progress_bar
from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from rnnsearch.evaluation.evaluation import Metric
    from rnnsearch.evaluation.systems import System
    from rnnsearch.evaluation.test_set import TestSet
    from rnnsearch.text.tokenise import Tokeniser
    from rnnsearch.translation.outputs import LoadedRun


def evaluate(
    ref: Annotated[str, typer.Option(help="Reference translations, one per line, detokenised; - is stdin.")],
    hyp: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Translations by any system: detokenised lines, or a Moses n-best list; - is stdin."),
    ] = None,
    src: Annotated[str | None, typer.Option(help="Source text, needed for --run, --by-length and --window.")] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN...", help="Runs that wrote the --hyp files, in the same order. A run without a --hyp file translates --src."
        ),
    ] = None,
    system: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE...", help="More translations, with names for the tables.")] = None,
    tokenise: Annotated[str, typer.Option(help="Tokenisation for BLEU, as sacreBLEU names it.")] = "13a",
    multi_bleu: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Also compute BLEU as multi-bleu.perl does, on Moses tokens of this language, or `none`: on words split at spaces.",
        ),
    ] = None,
    ter: Annotated[
        bool, typer.Option("--ter", help="Also compute the translation edit rate (slow: minutes for thousands of long sentences).")
    ] = False,
    by_length: Annotated[bool, typer.Option("--by-length", help="Show scores by source length: 1–10 words, 11–20, …")] = False,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, metavar="WIDTH", help="Show scores in a window of WIDTH source lengths that slides over all lengths."
        ),
    ] = None,
    significance: Annotated[
        bool, typer.Option("--significance", help="Test the differences between all pairs of systems for significance.")
    ] = False,
    beam: Annotated[int | None, typer.Option(help="Beam size of the runs' own translations; default: that of the run's settings.")] = None,
    resamples: Annotated[int, typer.Option(min=1, max=10**6, help="Bootstrap resamples for the confidence intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Random seed of the bootstrap.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all results.")] = False,
    tsv: Annotated[bool, typer.Option("--tsv", help="Print one table with a row for each number.")] = False,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Score translations of any system: BLEU and chrF, also by sentence length, without unknown words, and with significance tests."""
    from rnnsearch.evaluation.bleu import lengths
    from rnnsearch.evaluation.by_length import buckets, windows
    from rnnsearch.evaluation.evaluation import Wanted
    from rnnsearch.evaluation.evaluation import evaluate as evaluated
    from rnnsearch.evaluation.score_tables import as_json, as_text, as_tsv
    from rnnsearch.evaluation.systems import hypotheses_of, read_system
    from rnnsearch.evaluation.test_set import read_test_set
    from rnnsearch.report.arguments import name_runs

    files, runs, others = hyp or [], run or [], system or []
    require_sense(files, runs, others, ref, src, needs_source=bool(runs or by_length or window), forms=json + tsv)
    test = read_test_set(src or "", src, ref)
    references = test.reference
    words = lengths(test.source) if by_length or window else []
    systems = [hypotheses_of(file, len(references)) for file in files]
    about: dict[str, Any] = {"references": ref, "source": src, "resamples": resamples, "seed": seed}
    wanted: dict[str, Any] = {"significance": significance, "samples": resamples, "seed": seed}
    wanted |= {"lengths": buckets(words) if by_length else [], "windows": windows(words, window) if window else []}
    tokeniser = words_of(multi_bleu) if multi_bleu else None
    with progress_bar() as progress:
        if runs:  # only these need torch
            from rnnsearch.system.machine import set_up_cpu
            from rnnsearch.translation.outputs import load_run

            set_up_cpu(threads)
            search = {} if beam is None else {"beam": beam}
            named = name_runs([str(path) for path in runs])
            loaded = [load_run(each.name, each.path, search, device=device, trust_code=trust_code) for each in named]
            ours, more = measured(loaded, [each.hypotheses for each in systems[: len(runs)]], test, progress)
            systems = [*ours, *systems[len(runs) :]]
            wanted |= more
            about |= {"search": {each.name: each.search for each in loaded}}
            tokeniser = tokeniser or loaded[0].run.target.tokeniser
        systems += [read_system(other, len(references)) for other in others]
        result = evaluated(systems, references, metrics(tokenise, tokeniser, ter, progress), Wanted(**wanted))
    print(as_json(result, about) if json else as_tsv(result) if tsv else as_text(result))


def require_sense(
    files: list[str], runs: list[Path], others: list[str], reference: str, source: str | None, needs_source: bool, forms: int
) -> None:
    """Raises InputError for options that contradict each other."""
    if not (files or runs or others):
        raise InputError("there is no system to evaluate", remedy="give --hyp FILE, --system NAME=FILE or --run RUN")
    if needs_source and source is None:
        raise InputError("--run, --by-length and --window need the source text", remedy="give --src FILE")
    if forms > 1:
        raise InputError("--json and --tsv cannot be used together", remedy="remove one of them")
    if [*files, reference, source, *(other.partition("=")[2] for other in others)].count("-") > 1:
        raise InputError("only one text can come from standard input", remedy="give files for the others")


def words_of(language: str) -> Tokeniser:
    """What makes words for multi-BLEU."""
    from rnnsearch.text.tokenise import Tokeniser

    return Tokeniser("space", "") if language == "none" else Tokeniser("moses", language)


def measured(runs: list[LoadedRun], written: list[list[str]], test: TestSet, progress: Any) -> tuple[list[System], dict[str, Any]]:
    """The runs as systems with the likelihood of the references; and for `Wanted`: the known pairs, and their translations without UNK.

    written: the translations of the first runs, which exist already.
    """
    from rnnsearch.evaluation.likelihood import Likelihood
    from rnnsearch.evaluation.systems import System
    from rnnsearch.translation.outputs import Kind, known_pairs, outputs

    known = set(known_pairs(runs, test))
    systems, without_unk = [], {}
    for place, run in enumerate(runs):
        found = {kind: outputs(run, test, kind, None, progress) for kind in (Kind.REFERENCES, Kind.WITHOUT_UNK)}
        without_unk[run.name] = [line.translation.text for line in found[Kind.WITHOUT_UNK] if line.number in known]
        likelihood = Likelihood.of(line.translation for line in found[Kind.REFERENCES])
        lines = [] if place < len(written) else outputs(run, test, Kind.TRANSLATIONS, None, progress)
        texts = [line.translation.text for line in lines] or written[place]
        systems.append(System(run.name, texts, run.run.path, likelihood))
    return systems, {"known": [number in known for number in range(len(test.source))], "without_unk": without_unk}


def metrics(tokenise: str, tokeniser: Tokeniser | None, ter: bool, progress: Any) -> list[Metric]:
    """BLEU and chrF, and what else is wanted."""
    from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics, multi_bleu_statistics, ter_statistics

    chosen: list[Metric] = [lambda ours, theirs: bleu_statistics(ours, theirs, tokenise=tokenise), chrf_statistics]
    if tokeniser is not None:
        chosen.append(lambda ours, theirs: multi_bleu_statistics(ours, theirs, tokeniser))
    if ter:
        chosen.append(lambda ours, theirs: ter_statistics(ours, theirs, lambda done, of: progress("translation edit rate", done, of)))
    return chosen
