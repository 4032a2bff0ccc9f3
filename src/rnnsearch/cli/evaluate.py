"""`rnnsearch evaluate`: scores of translations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.options import Device, Threads, TrustCode, progress_bar
from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from rnnsearch.evaluation.evaluation import Metric
    from rnnsearch.text.tokenise import Tokeniser
    from rnnsearch.translation.systems import Models


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
        typer.Option(min=1, metavar="WIDTH", help="Show scores in a window of WIDTH source lengths that slides over all lengths."),
    ] = None,
    significance: Annotated[
        bool, typer.Option("--significance", help="Test the differences between all pairs of systems for significance.")
    ] = False,
    beam: Annotated[int | None, typer.Option(help="Beam size of the runs' own translations; default: that of the run's settings.")] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples for the confidence intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the bootstrap.")] = 1,
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

    files, runs, others = hyp or [], run or [], system or []
    require_sense(files, runs, others, ref, src, needs_source=bool(runs or by_length or window), forms=json + tsv)
    references = lines(ref)
    source = lines(src, len(references)) if src is not None else []
    words = lengths(source) if by_length or window else []
    systems = [hypotheses_of(file, len(references)) for file in files]
    about: dict[str, Any] = {"references": ref, "source": src, "resamples": resamples, "seed": seed}
    wanted: dict[str, Any] = {"significance": significance, "samples": resamples, "seed": seed}
    wanted |= {"lengths": buckets(words) if by_length else [], "windows": windows(words, window) if window else []}
    tokeniser = words_of(multi_bleu) if multi_bleu else None
    with progress_bar() as progress:
        if runs:
            written = [each.hypotheses for each in systems[: len(runs)]] + [None] * (len(runs) - len(systems))
            models, runs_tokeniser = measured(runs, written, source, references, progress, (beam, device, threads, trust_code))
            systems = [*models.systems, *systems[len(runs) :]]
            wanted |= {"known": models.known, "without_unk": models.without_unk}
            about |= {"search": models.search}
            tokeniser = tokeniser or runs_tokeniser
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


def lines(file: str, expected: int | None = None) -> list[str]:
    """A text, whole. Raises InputError if it is empty, or has not the expected number of lines."""
    from rnnsearch.text.formats.lines import read_lines

    text = list(read_lines(file))
    if not text:
        raise InputError("the file is empty", file=file, remedy="give one sentence per line")
    if expected is not None and len(text) != expected:
        remedy = "line N must translate line N of the references"
        raise InputError(f"has {len(text):,} lines, but there are {expected:,} references", file=file, remedy=remedy)
    return text


def words_of(language: str) -> Tokeniser:
    """What makes words for multi-BLEU."""
    from rnnsearch.text.tokenise import Tokeniser

    return Tokeniser("space", "") if language == "none" else Tokeniser("moses", language)


def measured(
    runs: list[Path],
    written: list[list[str] | None],
    source: list[str],
    references: list[str],
    progress: Any,
    how: tuple[int | None, str, int, bool],
) -> tuple[Models, Tokeniser]:
    """What the runs add, and the first one's target tokeniser."""
    from rnnsearch.cli.runs import load
    from rnnsearch.translation.systems import measure_models

    beam, device, threads, trust_code = how
    loaded = [(path, load([path], device, threads, trust_code)) for path in runs]
    search = {} if beam is None else {"beam": beam}
    return measure_models(loaded, written, source, references, progress, **search), loaded[0][1].target.tokeniser


def metrics(tokenise: str, tokeniser: Tokeniser | None, ter: bool, progress: Any) -> list[Metric]:
    """BLEU and chrF, and what else is wanted."""
    from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics, multi_bleu_statistics, ter_statistics

    chosen: list[Metric] = [lambda ours, theirs: bleu_statistics(ours, theirs, tokenise=tokenise), chrf_statistics]
    if tokeniser is not None:
        chosen.append(lambda ours, theirs: multi_bleu_statistics(ours, theirs, tokeniser))
    if ter:
        chosen.append(lambda ours, theirs: ter_statistics(ours, theirs, lambda done, of: progress("translation edit rate", done, of)))
    return chosen
