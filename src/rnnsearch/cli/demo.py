"""`rnnsearch demo`: everything once, end to end, on the built-in corpus."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, resumable, say


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the corpus, the run and the picture.")] = Path("demo"),
    set_: Set = None,
    corpus_only: Annotated[
        bool, typer.Option("--corpus-only", help="Only write the built-in corpus with its gold word links.")
    ] = False,
) -> None:
    """Train, translate, score and draw an alignment on the built-in corpus; it takes a minute or two on two
    cores."""
    if corpus_only:
        from rnnsearch.builtin.corpus import write
        from rnnsearch.demo import HELD_OUT_PAIRS, TRAIN_PAIRS
        from rnnsearch.system.files import whole_folder

        with whole_folder(out, lambda folder: False) as folder:
            write(folder, TRAIN_PAIRS, HELD_OUT_PAIRS)
        say(
            f"corpus   {out} ({TRAIN_PAIRS} training pairs, {HELD_OUT_PAIRS} each for development and "
            "test, with gold links)"
        )
        return
    from rnnsearch.demo import SHOWN, run_demo
    from rnnsearch.drawing.alignments import alignment_text

    with resumable():
        result = run_demo(out, tuple(set_ or ()))
    shown = result.shown
    print(f"\n{SHOWN}\n{shown.text}\nscore {shown.score:.3f}\n")
    print(alignment_text(shown.source_tokens, shown.tokens, shown.alignment))
    print(f"\nheld out  {result.bleu}\nheld out  {result.alignment}\npicture   {result.picture}\n")
    for line in what_next(out):
        print(line)


def what_next(folder: Path) -> Iterator[str]:
    """Yields commands that can be typed unchanged in this directory, with this PATH."""
    program = command_name()
    at = {
        name: shlex.quote(str(folder / name)) for name in ("run", "corpus/train", "corpus/dev", "corpus/test")
    }
    run, train, dev, test = at.values()
    yield "What to type next:"
    yield f'  echo "The old man sees the house." | {program} translate {run}'
    yield f"  {program} report {run} --test {test}.en {test}.fr --out demo-report"
    yield "What to type for a corpus of your own, shown with that of the demo:"
    yield f"  {program} prepare {train}.en {train}.fr --dev {dev}.en {dev}.fr --out store --recipe demo"
    yield f"  {program} train demo --data store --out run"
    activate = Path(program).parent / "activate"
    if activate.exists():
        yield f"After `source {activate}` the program is called rnnsearch."


def command_name() -> str:
    """Returns how to call this program here: by its name if the shell finds it, else by its path."""
    called = sys.argv[0]
    if Path(called).name != "rnnsearch":  # python -m rnnsearch
        return f"{shlex.quote(sys.executable)} -m rnnsearch"
    found = shutil.which("rnnsearch")
    if found and os.path.realpath(found) == os.path.realpath(shutil.which(called) or called):
        return "rnnsearch"
    return shlex.quote(called)
