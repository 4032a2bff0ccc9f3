"""`rnnsearch score`: log p of given translations, and Moses n-best lists in a run's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnsearch.cli.on_ray import Ray, RayOptions, Workers, layout_of, runs_and_corpora, work_on_ray
from rnnsearch.cli.options import (
    Columns,
    Device,
    Json,
    Out,
    Overwrite,
    Set,
    Threads,
    TrustCode,
    changes,
    load,
    runs_and_texts,
    say_if_empty,
)
from rnnsearch.errors import InputError

if TYPE_CHECKING:  # it would load numpy
    from rnnsearch.records import Translation
    from rnnsearch.translation.translator import Translator


def score(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... SRC TGT",
            help="Trained runs (several make an ensemble), the source text, and its translations or a "
            "Moses n-best list.",
        ),
    ],
    json: Json = False,
    threads: Threads = 0,
    set_: Set = None,
    device: Device = "cpu",
    trust_code: TrustCode = False,
    ray: Ray = None,
    out: Out = None,
    overwrite: Overwrite = False,
    workers: Workers = None,
    columns: Columns = None,
) -> None:
    """Print log p(y|x) of each sentence pair, in nats. An n-best list is printed again, sorted by these
    scores."""
    from rnnsearch.cli.output import LineProgress, as_json
    from rnnsearch.run import answers_key
    from rnnsearch.system.files import write_text
    from rnnsearch.system.line_file import LineFile
    from rnnsearch.text.formats.lines import check_pairs, read_lines, read_pairs
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.text.nbest import is_nbest, not_nbest, parse_nbest, rerank

    batch_size = changes("search", set_, only=("batch_size",)).get("batch_size", 64)
    options = RayOptions(ray, workers, out, overwrite, device, threads, {})
    if ray:
        score_on_ray(runs, options, columns, json, batch_size, trust_code)
        return
    options.check_unused({"--columns": columns is not None})
    run, source, target = runs_and_texts(runs)
    answer: Callable[[Translation], str] = as_json if json else as_score
    key = answers_key(run, f"score {batch_size}", str(json), [])
    file = LineFile(Path(out or ""), key) if out is not None else None
    if file:
        file.begin(overwrite)
    translator = load(run, device, threads, trust_code)
    # A pipe can be read only once, so its first line cannot be examined.
    if is_on_disk(target) and is_nbest(next(read_lines(target), "")):
        if json:
            raise InputError("--json cannot be used with an n-best list", file=target, remedy="remove --json")
        lines = list(read_lines(source))
        score_pairs = partial(translator.score, batch_size=batch_size)
        ranked = rerank(score_pairs, lines, parse_nbest(read_lines(target), len(lines), target))
        text = "".join(f"{line}\n" for line in ranked)
        print(text, end="") if file is None else write_text(file.path, text)
        return
    check_pairs(source, target)
    say_if_empty(source, target)
    pairs = not_nbest(read_pairs(source, target), target)
    if file is None:
        for result in translator.force(pairs, batch_size):
            print(answer(result))
        return
    with file, LineProgress("scoring", "pairs", source, "the same command goes on") as progress:
        for block in file.blocks(pairs, batch_size):
            file.append(block, map(answer, translator.force(block, batch_size, first=file.done + 1)))
            progress(file.done, len(block))
        file.finish()


def as_score(result: Translation) -> str:
    """Returns log p(y | x) with five decimals."""
    return f"{result.score:.5f}"


def score_on_ray(
    words: list[str],
    options: RayOptions,
    columns: tuple[str, str] | None,
    json: bool,
    batch_size: int,
    trust_code: bool,
) -> None:
    """Scores the shards of a corpus."""
    from rnnsearch.run import answers_key

    options.check()
    runs, corpora = runs_and_corpora(words, 2)
    find_key = partial(answers_key, runs, f"score {batch_size} {columns}", str(json), [])
    loaded = partial(load, runs, options.device, options.threads or 1, trust_code)
    work, suffix = partial(_work, loaded, batch_size, json), ".jsonl" if json else ".txt"
    work_on_ray(options, corpora, layout_of(runs[0], columns or ("", "")), work, find_key, suffix)


def _work(
    loaded: Callable[[], Translator], batch_size: int, json: bool
) -> Callable[[Iterator[tuple[str, str]]], Iterable[str]]:
    """Returns the work on the pairs of a shard."""
    from rnnsearch.cli.output import as_json
    from rnnsearch.text.nbest import not_nbest

    translator, answer = loaded(), as_json if json else as_score
    return lambda pairs: map(answer, translator.force(not_nbest(pairs, "the target"), batch_size))
