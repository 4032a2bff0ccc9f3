"""`rnnsearch bench`: how fast this machine trains and translates."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rnnsearch.cli.options import Set
from rnnsearch.errors import InputError


class BenchTask(StrEnum):
    """What can be measured."""

    TRAIN = "train"
    TRANSLATE = "translate"


def bench(
    work: Annotated[BenchTask, typer.Argument(help="What to measure: training updates or beam search.")],
    recipe: Annotated[str, typer.Option(help="Sizes and settings: a built-in recipe or a TOML file; default: those of the paper.")] = "",
    words: Annotated[
        int, typer.Option(min=3, max=10**8, help="Vocabulary size of each side, with the symbols for end of sentence and unknown word.")
    ] = 30_002,
    length: Annotated[int, typer.Option(min=1, max=5_000, help="Words per sentence, the end of sentence not counted.")] = 25,
    repetitions: Annotated[int, typer.Option(min=1, max=10**6, help="Batches to time, after one batch as warm-up.")] = 5,
    lexical_shortlist: Annotated[
        int, typer.Option(min=0, help="For `translate`: search only this number of target words, chosen at random; 0 = all words.")
    ] = 0,
    set_: Set = None,
    threads: Annotated[
        int | None, typer.Option(min=0, max=1_024, help="CPU threads; 0 = one per core. The same as --set training.threads=N.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure the speed of training or translation on this machine, with synthetic sentences of one length."""
    from json import dumps

    from rnnsearch.bench import bench_training, bench_translation
    from rnnsearch.config import load_config
    from rnnsearch.system.machine import usable_device

    changes = [*(set_ or ()), *([] if threads is None else [f"training.threads={threads}"])]
    settings = load_config(recipe, changes)
    usable_device(settings.training.device)
    if work is BenchTask.TRAIN and lexical_shortlist:
        raise InputError("training uses no lexical shortlist", remedy="remove --lexical-shortlist")
    if work is BenchTask.TRAIN:
        result = bench_training(settings, words=words, length=length, repetitions=repetitions)
    else:
        result = bench_translation(settings, words=words, length=length, repetitions=repetitions, lexical_shortlist=lexical_shortlist)
    print(dumps(result.as_dict()) if json else result.text())
