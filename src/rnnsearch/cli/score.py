"""`rnnsearch score`: log p of given translations, and Moses n-best lists in a run's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rnnsearch.cli.answers import Place, Ray, RayWorkers, Task, Work, answer_all, answer_on_ray, as_json
from rnnsearch.cli.options import (
    Device,
    Json,
    Out,
    Overwrite,
    Set,
    Threads,
    TrustCode,
    changes,
    describe,
    refuse,
    say_if_empty,
)
from rnnsearch.errors import InputError


@describe(
    """
    runs RUN... SRC TGT: Trained runs (several make an ensemble), the source text, and its translations or a
    Moses n-best list.
    """
)
def score(
    runs: list[str],
    *,
    json: Json = False,
    out: Out = None,
    threads: Threads = 0,
    set_: Set = None,
    overwrite: Overwrite = False,
    device: Device = "cpu",
    trust_code: TrustCode = False,
    ray: Ray = None,
    workers: RayWorkers = None,
) -> None:
    """Print log p(y|x) of each sentence pair, in nats. An n-best list is printed again, sorted by these
    scores."""
    from rnnsearch.text.formats.lines import check_pairs, read_lines, read_pairs
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.text.nbest import is_nbest

    batch_size = changes("search", set_, only=("batch_size",)).get("batch_size", 64)
    place = Place(out, overwrite, device, threads, trust_code, ray, workers)
    load, key = partial(_load, batch_size, json), partial(_key, batch_size, json)
    if ray:
        return answer_on_ray(place, runs, 2, load, key, ".jsonl" if json else ".txt")
    refuse({"--workers": workers}, "needs --ray", "add --ray local")
    run, source, target = runs_and_texts(runs)
    if is_on_disk(target) and is_nbest(next(read_lines(target), "")):
        if json or out is not None:
            what = "--json and --out cannot be used with an n-best list"
            raise InputError(what, file=target, remedy="write it with > FILE")
        return rerank_file(place, run, source, target, batch_size)
    check_pairs(source, target)
    say_if_empty(source, target)
    pairs = _no_nbest(read_pairs(source, target), target)
    answer_all(place, Task("scoring", "pairs", source, partial(key, run)), partial(load, place, run), pairs)


def _no_nbest(pairs: Iterable[tuple[str, str]], target: str) -> Iterator[tuple[str, str]]:
    """Yields the pairs. Raises InputError if the first target is one of an n-best list, which came through a
    pipe and was not examined before."""
    from rnnsearch.text.nbest import is_nbest

    for number, pair in enumerate(pairs):
        if number == 0 and is_nbest(pair[1]):
            what = "an n-best list cannot come through a pipe"
            raise InputError(what, file=target, line=1, remedy="write it to a file first")
        yield pair


def runs_and_texts(words: list[str]) -> tuple[list[Path], str, str]:
    """Returns the runs and the two texts of RUN... SRC TGT."""
    if len(words) < 3:
        raise InputError("a run, a source text and a target text are needed", remedy="give RUN SRC TGT")
    *runs, source, target = words
    return [Path(run) for run in runs], source, target


def rerank_file(place: Place, runs: Sequence[Path], source: str, target: str, batch_size: int) -> None:
    """Prints an n-best list, sorted by the scores of the runs."""
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.text.nbest import parse_nbest, rerank

    score_pairs = partial(place.load(runs).score, batch_size=batch_size)
    lines = list(read_lines(source))
    for line in rerank(score_pairs, lines, parse_nbest(read_lines(target), len(lines), target)):
        print(line)


def _key(batch_size: int, json: bool, runs: Sequence[Path]) -> str:
    from rnnsearch.run import answers_key

    return answers_key(runs, f"score {batch_size}", str(json), [])


def _load(batch_size: int, json: bool, place: Place, runs: Sequence[Path]) -> Work:
    """Loads the models. Returns the work on pairs."""
    translator = place.load(runs)

    def answer(pairs: Any, first: int) -> Any:
        return translator.force(pairs, batch_size, first=first)

    return Work(answer, as_json if json else lambda _, result: f"{result.score:.5f}", batch_size)
