"""`rnnsearch bench`: how fast this machine trains, translates and aligns."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnsearch.cli.options import Set, load
from rnnsearch.errors import InputError

if TYPE_CHECKING:  # they would load torch
    from rnnsearch.bench import AlignmentSpeeds
    from rnnsearch.config import Settings


class BenchTask(StrEnum):
    """The work to measure."""

    TRAIN = "train"
    TRANSLATE = "translate"
    ALIGN = "align"


Work = Annotated[
    BenchTask, typer.Argument(help="What to measure: training updates, beam search or word links.")
]
Recipe = Annotated[
    str,
    typer.Option(help="Sizes and settings: a built-in recipe or a TOML file; default: those of the paper."),
]
Words = Annotated[
    int,
    typer.Option(
        min=3,
        max=10**8,
        help="Vocabulary size of each side, with the symbols for end of sentence and unknown word.",
    ),
]
Length = Annotated[
    int, typer.Option(min=1, max=5_000, help="Words per sentence, the end of sentence not counted.")
]
Repetitions = Annotated[
    int, typer.Option(min=1, max=10**6, help="Batches to time, after one batch as warm-up.")
]
Run = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN", help="For `align`: a trained run, with --text. An untrained network is far slower."
    ),
]
Text = Annotated[
    tuple[str, str] | None,
    typer.Option(metavar="SRC TGT", help="For `align`: the source text and its translations, with --run."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=0, max=1_024, help="CPU threads; 0 = one per core. The same as --set training.threads=N."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def bench(
    work: Work,
    recipe: Recipe = "",
    words: Words = 30_002,
    length: Length = 25,
    repetitions: Repetitions = 5,
    run: Run = None,
    text: Text = None,
    set_: Set = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Measure the speed of training, translation or alignment on this machine, with synthetic sentences of
    one length, or with a run."""
    from dataclasses import asdict
    from json import dumps

    from rnnsearch.bench import bench_training, bench_translation
    from rnnsearch.config import load_config
    from rnnsearch.system.machine import usable_device
    from rnnsearch.training.ddp import torchrun_value

    changes = [*(set_ or ()), *([] if threads is None else [f"training.threads={threads}"])]
    settings = load_config(recipe, changes)
    usable_device(settings.training.device)
    if (run or text) and (work is not BenchTask.ALIGN or not (run and text)):
        raise InputError(
            "--run and --text are for `bench align`, and belong together", remedy="give both, or none"
        )
    if work is BenchTask.ALIGN:
        speeds = _alignment(settings, run, text, words, length, repetitions)
        print(dumps(asdict(speeds)) if json else speeds.text())
        return
    if work is BenchTask.TRAIN:
        result = bench_training(settings, words=words, length=length, repetitions=repetitions)
    else:
        result = bench_translation(settings, words=words, length=length, repetitions=repetitions)
    if not torchrun_value("RANK", 0):
        print(dumps(asdict(result)) if json else result.text())


def _alignment(
    settings: Settings,
    run: Path | None,
    text: tuple[str, str] | None,
    words: int,
    length: int,
    repetitions: int,
) -> AlignmentSpeeds:
    from rnnsearch.bench import bench_random_pairs, bench_text_pairs
    from rnnsearch.text.formats.lines import read_pairs

    if run is None or text is None:
        return bench_random_pairs(settings, words=words, length=length, repetitions=repetitions)
    translator = load([run], settings.training.device, settings.training.threads, trust_code=False)
    return bench_text_pairs(
        translator, list(read_pairs(*text)), batch_size=settings.search.batch_size, repetitions=repetitions
    )
