"""`rnnsearch bench`: how fast this machine trains, translates and aligns."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Positive, Recipe, Set, describe
from rnnsearch.errors import InputError


class BenchTask(StrEnum):
    """The work to measure."""

    TRAIN = "train"
    TRANSLATE = "translate"
    ALIGN = "align"


@describe(
    """
    work: What to measure: training updates, beam search or word links.
    recipe: Sizes and settings: a built-in recipe or a TOML file; default: those of the paper.
    words: Vocabulary size of each side, with the symbols for end of sentence and unknown word.
    length: Words per sentence, the end of sentence not counted.
    repetitions: Batches to time, after one batch as warm-up.
    run RUN: For `align`: a trained run, with --text.
    text SRC TGT: For `align`: the source text and its translations, with --run.
    threads: CPU threads; 0 = one per core.
    json: Print one JSON object, or one per line.
    """
)
def bench(
    work: BenchTask,
    *,
    recipe: Recipe = "",
    words: Annotated[int, typer.Option(min=3, max=10**8)] = 30_002,
    length: Annotated[int, typer.Option(min=1, max=5_000)] = 25,
    repetitions: Positive = 5,
    run: Path | None = None,
    text: tuple[str, str] | None = None,
    set_: Set = None,
    threads: Annotated[int | None, typer.Option(min=0, max=1_024)] = None,
    json: bool = False,
) -> None:
    """Measure the speed of training, translation or alignment on this machine, with synthetic sentences of
    one length, or with a run."""
    import json as json_format

    from rnnsearch.bench import bench_alignment, bench_training, bench_translation
    from rnnsearch.config import load_config
    from rnnsearch.system.machine import set_up_cpu, usable_device
    from rnnsearch.text.formats.lines import read_pairs
    from rnnsearch.training.ddp import torchrun_value
    from rnnsearch.translation.translator import Translator

    own = [] if threads is None else [f"training.threads={threads}"]
    settings = load_config(recipe, [*(set_ or ()), *own])
    usable_device(settings.training.device)
    sizes = {"words": words, "length": length, "repetitions": repetitions}
    aligns = work is BenchTask.ALIGN
    if not bool(run) == bool(text) == aligns:
        raise InputError("`bench align`, and no other, needs --run and --text", remedy="give both, or none")
    if run and text:
        if not (pairs := list(read_pairs(*text))):
            raise InputError("is empty", file=text[0], remedy="give a text with sentences")
        set_up_cpu(settings.training.threads)
        translator = Translator.load(run, device=settings.training.device)
        results = bench_alignment(translator, pairs, settings.search.batch_size, repetitions)
    else:
        measure = bench_training if work is BenchTask.TRAIN else bench_translation
        results = [measure(settings, **sizes)]
    if not torchrun_value("RANK", 0):
        for result in results:
            print(json_format.dumps(asdict(result)) if json else result.text())
