"""`rnnsearch bench`: the speed of training and search on this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated

import typer

from rnnsearch.cli.options import PositiveOption, Strings, describe


class BenchTask(StrEnum):
    """The work to measure."""

    TRAIN = "train"
    TRANSLATE = "translate"


@dataclass(frozen=True)
class Sizes:
    """Options that say how much is measured."""

    words: Annotated[int, typer.Option(min=3, max=10**8)] = 30_002
    length: Annotated[int, typer.Option(min=1, max=5_000)] = 25
    repetitions: PositiveOption = 5


@describe(
    """
    work: What to measure: training updates or beam search.
    recipe: Sizes and settings: a built-in recipe or a TOML file; default: those of the paper.
    words: Vocabulary size of each side, with the symbols for end of sentence and unknown word.
    length: Words per sentence, the end of sentence not counted.
    repetitions: Batches to time, after one batch as warm-up.
    threads: CPU threads; 0 = one per core.
    json: Print one JSON object.
    """
)
def bench(
    work: BenchTask,
    *,
    recipe: str = "",
    sizes: Sizes,
    set_: Strings = None,
    threads: Annotated[int | None, typer.Option(min=0, max=1_024)] = None,
    json: bool = False,
) -> None:
    """Measure the speed of training or translation on this machine, with synthetic sentences of one
    length."""
    import json as json_format

    from rnnsearch.config import load_config
    from rnnsearch.lab.bench import bench_training, bench_translation
    from rnnsearch.system.machine import usable_device
    from rnnsearch.training.ddp import torchrun_value

    own = [] if threads is None else [f"training.threads={threads}"]
    settings = load_config(recipe, [*(set_ or ()), *own])
    usable_device(settings.training.device)
    measure = bench_training if work is BenchTask.TRAIN else bench_translation
    result = measure(settings, **asdict(sizes))
    if not torchrun_value("RANK", 0):
        print(json_format.dumps(asdict(result)) if json else result.text())
