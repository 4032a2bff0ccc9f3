"""Commands that train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, say
from rnnsearch.errors import InputError


def demo(
    out: Annotated[Path, typer.Option(help="Folder for corpus, run and picture.")] = Path("demo"),
    set_: Set = None,
    corpus_only: Annotated[bool, typer.Option("--corpus-only", help="Write the corpus with its gold links, and stop.")] = False,
) -> None:
    """Train, translate, score and draw an alignment on the built-in corpus: a minute or two on two cores."""
    if corpus_only:
        from rnnsearch.builtin.corpus import write
        from rnnsearch.demo import HELD_OUT_PAIRS, TRAIN_PAIRS
        from rnnsearch.text.folder import whole_folder

        with whole_folder(out, lambda folder: False) as folder:
            write(folder, TRAIN_PAIRS, HELD_OUT_PAIRS)
        say(f"corpus   {out} ({TRAIN_PAIRS} training pairs, {HELD_OUT_PAIRS} each for development and test, with gold links)")
        return
    from rnnsearch.demo import SHOWN, run_demo
    from rnnsearch.evaluation.terminal import alignment_text

    result = run_demo(out, tuple(set_ or ()))
    shown = result.shown
    print(f"\n{SHOWN}\n{shown.text}\nscore {shown.score:.3f}\n")
    print(alignment_text(shown.source_tokens, shown.tokens, shown.alignment))
    print(f"\nheld out  {result.bleu}\nheld out  {result.alignment}\npicture   {result.picture}\n")
    print("What to type next:")
    print(f'  echo "The old man sees the house." | rnnsearch translate {out}/run')
    print("  rnnsearch prepare train.en train.fr --dev dev.en dev.fr --out store --recipe multi30k")
    print("  rnnsearch train multi30k --data store --out run")


def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A built-in recipe (see docs/reference/recipes.md) or a TOML file.")],
    data: Annotated[Path, typer.Option(help="Folder that `rnnsearch prepare` made.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    set_: Set = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is there.")] = False,
) -> None:
    """Train a network, with validation, checkpoints and a log for TensorBoard. Ctrl-C ends it so that --resume can go on."""
    from rnnsearch.config import load_config

    settings = load_config(recipe, tuple(set_ or ()))
    if any(change.strip().startswith("data.") for change in set_ or ()):
        raise InputError("the data settings of a prepared corpus are fixed", file=data, remedy="--set them for `rnnsearch prepare`")
    from rnnsearch.run import usable_device
    from rnnsearch.text.corpus import Corpus
    from rnnsearch.training.loop import train as train_run

    usable_device(settings.training.device)
    train_run(settings, Corpus.open(data), out, resume=resume)
    print(out)
