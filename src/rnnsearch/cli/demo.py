"""`rnnsearch demo` and `rnnsearch try`: everything once, end to end, on the built-in corpus or on
another."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from rnnsearch.cli.options import Strings, describe, refuse, resumable, say


@describe(
    """
    out: Folder for the corpus, the run and the picture.
    corpus_only: Only write the built-in corpus with its gold word links.
    """,
    extra="all",
)
def demo(*, out: Path = Path("demo"), set_: Strings = None, corpus_only: bool = False) -> None:
    """Train, translate, score and draw an alignment on the built-in corpus; it takes a minute or
    two on two cores."""
    from rnnsearch.demo import DEMO_SENTENCE, HELD_OUT_PAIRS, TRAIN_PAIRS, run_demo

    if corpus_only:
        refuse({"--set": set_}, "cannot be used with --corpus-only")
        from rnnsearch.builtin.corpus import write
        from rnnsearch.system.files import whole_folder

        with whole_folder(out, lambda folder: False) as folder:
            write(folder, TRAIN_PAIRS, HELD_OUT_PAIRS)
        say(
            f"corpus   {out} ({TRAIN_PAIRS} pairs, and {HELD_OUT_PAIRS} each for development and"
            " test)"
        )
        return
    from rnnsearch.figure3 import alignment_text

    with resumable():
        result = run_demo(out, set_ or ())
    shown = result.shown
    print(f"\n{DEMO_SENTENCE}\n{shown.text}\nscore {shown.score:.3f}\n")
    print(alignment_text(shown.source_tokens, shown.tokens, shown.alignment))
    print(f"\nheld out  {result.bleu}\nheld out  {result.alignment}\npicture   {result.picture}\n")
    for line in what_next(out):
        print(line)


def what_next(folder: Path) -> Iterator[str]:
    """Yields commands that can be typed unchanged in this directory."""
    names = "run", "corpus/train", "corpus/dev", "corpus/test"
    run, train, dev, test = (shlex.quote(str(folder / name)) for name in names)
    yield from next_lines()
    yield f'  echo "The old man sees the house." | rnnsearch translate {run}'
    yield f"  rnnsearch report {run} --test {test}.en {test}.fr --out demo-report"
    yield "What to type for a corpus of your own, shown with that of the demo:"
    yield (
        f"  rnnsearch prepare {train}.en {train}.fr --dev {dev}.en {dev}.fr --out store --recipe"
        " demo"
    )
    yield "  rnnsearch train demo --data store --out run"


def next_lines() -> Iterator[str]:
    """Yields the heading of further commands, and first how the shell finds the program, if it does
    not."""
    activate = Path(sys.executable).with_name("activate")
    if not shutil.which("rnnsearch") and activate.exists():
        yield f"So that the shell finds rnnsearch: source {shlex.quote(str(activate))}"
    yield "What to type next:"
