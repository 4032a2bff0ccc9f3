"""`rnnsearch demo`: everything once, end to end, on the built-in corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, say


def demo(
    out: Annotated[Path, typer.Option(help="Folder for corpus, run and picture.")] = Path("demo"),
    set_: Set = None,
    corpus_only: Annotated[bool, typer.Option("--corpus-only", help="Write the corpus with its gold links, and stop.")] = False,
) -> None:
    """Train, translate, score and draw an alignment on the built-in corpus: a minute or two on two cores."""
    if corpus_only:
        from rnnsearch.builtin.generate import write
        from rnnsearch.demo import HELD_OUT_PAIRS, TRAIN_PAIRS
        from rnnsearch.system.folders import whole_folder

        with whole_folder(out, lambda folder: False) as folder:
            write(folder, TRAIN_PAIRS, HELD_OUT_PAIRS)
        say(f"corpus   {out} ({TRAIN_PAIRS} training pairs, {HELD_OUT_PAIRS} each for development and test, with gold links)")
        return
    from rnnsearch.demo import SHOWN, run_demo
    from rnnsearch.drawing.alignment_text import alignment_text

    result = run_demo(out, tuple(set_ or ()))
    shown = result.shown
    print(f"\n{SHOWN}\n{shown.text}\nscore {shown.score:.3f}\n")
    print(alignment_text(shown.source_tokens, shown.tokens, shown.alignment))
    print(f"\nheld out  {result.bleu}\nheld out  {result.alignment}\npicture   {result.picture}\n")
    print("What to type next:")
    print(f'  echo "The old man sees the house." | rnnsearch translate {out}/run')
    print("  rnnsearch prepare train.en train.fr --dev dev.en dev.fr --out store --recipe multi30k")
    print("  rnnsearch train multi30k --data store --out run")
