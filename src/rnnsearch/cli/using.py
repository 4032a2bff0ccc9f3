"""Commands that use trained runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rnnsearch.cli.options import Device, Json, Threads, TrustCode
from rnnsearch.errors import InputError


def translate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN... [FILE]", help="Trained runs (several make an ensemble), then the text; no FILE or - is stdin."),
    ],
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept; as the run's settings say if not given.")] = None,
    nbest: Annotated[int, typer.Option(help="Translations of each line; more than one gives a Moses n-best list.")] = 1,
    normalise: Annotated[str | None, typer.Option(help="Length normalisation: none, length or gnmt.")] = None,
    coverage: Annotated[float | None, typer.Option(help="Weight of GNMT's coverage penalty.")] = None,
    no_unk: Annotated[bool, typer.Option("--no-unk", help="Never write the unknown word.")] = False,
    replace_unk: Annotated[bool, typer.Option("--replace-unk", help="Write the strongest aligned source word for an unknown one.")] = False,
    dictionary: Annotated[Path | None, typer.Option(help="For --replace-unk: `source<TAB>target` lines.")] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Search only the words that this lexical table (`rnnsearch lexicon`) allows a batch."),
    ] = None,
    frequent_candidates: Annotated[int | None, typer.Option(help="Of --candidates: first words of the target, for every batch.")] = None,
    candidates_per_word: Annotated[int | None, typer.Option(help="Of --candidates: best translations of each source word.")] = None,
    min_length_ratio: Annotated[
        float | None, typer.Option(help="At least this share of the source's words (released implementation: 0.5).")
    ] = None,
    max_length_ratio: Annotated[float | None, typer.Option(help="At most this many times the source's words.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Draw this many translations at random instead of searching the best.")] = 0,
    temperature: Annotated[float, typer.Option(help="Of --samples.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of --samples.")] = 1,
    json: Json = False,
    links: Annotated[Path | None, typer.Option(help="Write hard word links here, in Pharaoh format.")] = None,
    alignment_plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the alignment of every line here, as PNG.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sentences translated together.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Of the matrix products: float32, bfloat16 where the processor is made for it, or int8, the fastest.")
    ] = None,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Translate text line by line: the N-th line out belongs to the N-th line in."""
    from rnnsearch.output import as_json, as_nbest
    from rnnsearch.text.reading import read_lines

    file = "-" if runs[-1].is_dir() or (len(runs) == 1 and str(runs[0]) != "-") else str(runs.pop())
    translator = load(runs, device, threads, trust_code, dictionary, candidates)
    search: dict[str, Any] = {"beam": beam, "nbest": nbest, "normalise": normalise, "coverage_beta": coverage, "batch_size": batch_size}
    search |= {"precision": precision, "frequent_candidates": frequent_candidates, "candidates_per_word": candidates_per_word}
    search |= {"min_length_ratio": min_length_ratio, "max_length_ratio": max_length_ratio}
    search |= {"no_unk": no_unk or None, "replace_unk": replace_unk or bool(dictionary) or None}
    search = {key: value for key, value in search.items() if value is not None}
    lines = read_lines(file)
    if samples:
        nbest = samples
        results: Iterable[Any] = translator.sample(lines, samples=samples, temperature=temperature, seed=seed, **(search | {"nbest": 1}))
    else:
        results = translator.stream(lines, **search)
    for number, result in enumerate(also_written(results, links, alignment_plots)):
        print(as_json(result) if json else as_nbest(number, result) if nbest > 1 else result.text)


def score(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN... SRC TGT", help="Trained runs, source text, and its translations or a Moses n-best list.")
    ],
    json: Json = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs scored together.")] = 64,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Print log p(y|x) of every pair, in nats; an n-best list comes back in the order of its scores."""
    from rnnsearch.output import as_json
    from rnnsearch.text.nbest import is_nbest, parse_nbest
    from rnnsearch.text.reading import read_lines, read_pairs
    from rnnsearch.translation.rerank import not_nbest, rerank

    run, source, target = runs_and_texts(runs)
    translator = load(run, device, threads, trust_code)
    # What comes through a pipe can be read only once, so there is no looking ahead.
    if Path(target).is_file() and is_nbest(next(read_lines(target), "")):
        if json:
            raise InputError("an n-best list comes back as an n-best list, not as JSON", file=target, remedy="leave out --json")
        lines = list(read_lines(source))
        for line in rerank(translator, lines, parse_nbest(read_lines(target), len(lines), target)):
            print(line)
        return
    for result in translator.force(not_nbest(read_pairs(source, target), target), batch_size):
        print(as_json(result) if json else f"{result.score:.5f}")


def load(
    runs: list[Path], device: str, threads: int, trust_code: bool, dictionary: Path | None = None, candidates: Path | None = None
) -> Any:
    """The translator of one run, or of an ensemble."""
    from rnnsearch.text.dictionary import read_dictionary
    from rnnsearch.training.processor import set_up_processor
    from rnnsearch.translation.translator import Translator

    set_up_processor(threads)
    entries = read_dictionary(dictionary) if dictionary else None
    return Translator.load(*runs, device=device, trust_code=trust_code, dictionary=entries, candidates=candidates)


def runs_and_texts(words: list[str]) -> tuple[list[Path], str, str]:
    """RUN... SRC TGT → the runs and the two texts."""
    if len(words) < 3:
        raise InputError("a run, a source text and a target text are needed", remedy="RUN SRC TGT")
    *runs, source, target = words
    return [Path(run) for run in runs], source, target


def also_written(results: Iterable[Any], links: Path | None, plots: Path | None) -> Iterator[Any]:
    """Passes results on, and writes their links and pictures on the way."""
    from rnnsearch.output import as_links

    with faults_named(plots):
        if plots:
            plots.mkdir(parents=True, exist_ok=True)
    with faults_named(links):
        file = links.open("w", encoding="utf-8") if links else None
    try:
        for number, result in enumerate(results, 1):
            with faults_named(links):
                if file:
                    print(as_links(result), file=file)
            if plots:
                result.plot(plots / f"{number:06d}.png")
            yield result
    finally:
        with faults_named(links):
            if file:
                file.close()


def write(path: Path, text: str) -> None:
    """Writes a file whole, and its folder if there is none. Raises InputError if it cannot be written."""
    from rnnsearch.files import write_text

    with faults_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)


@contextmanager
def faults_named(path: Path | None) -> Iterator[None]:
    """Says which file could not be written: on a full disk the system does not."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=error.filename or path) from None
