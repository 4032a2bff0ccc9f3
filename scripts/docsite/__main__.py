"""Builds the site: python scripts/docsite [--out build/site] [--fast].

It is strict: the exit code is 1 if there is a broken link, an unknown name, an invalid formula, a
chapter that raises, or a resource from another site.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
# needed if this file is imported by its path
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chapters import ChapterError
from check import faults, write_policies
from extensions import FormulaError
from learn import write_learn
from sources import ROOT, UnknownNameError
from stage import stage
from translator import write_translator


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, default=ROOT / "build/site", help="folder of the finished site")
    add(
        "--work",
        type=Path,
        default=ROOT / "build/chapters",
        help="of the chapters; its runs are used again",
    )
    add("--fast", action="store_true", help="do not execute the chapters: for a look at the prose")
    arguments = parser.parse_args()
    begun = time.monotonic()
    try:
        warnings = build_site(arguments.out, arguments.work, run=not arguments.fast)
    except (ChapterError, UnknownNameError, FormulaError) as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    wrong = [*warnings, *faults(arguments.out)]
    for fault in wrong:
        print(f"docs: {fault}", file=sys.stderr)
    pages, seconds = len([*arguments.out.rglob("*.html")]), time.monotonic() - begun
    print(f"{arguments.out}: {pages} pages, {seconds:.0f} s, {len(wrong)} faults")
    return 1 if wrong else 0


def build_site(out: Path, work: Path, *, run: bool = True) -> list[str]:
    """Writes the site into `out` and returns MkDocs's warnings."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    from rnnsearch import __version__

    pages = out.parent / f"{out.name}-pages"
    nav = stage(pages, work, lambda text: print(text, file=sys.stderr), run=run)
    heard = Heard()
    logging.getLogger("mkdocs").addHandler(heard)
    try:
        config = load_config(
            str(Path(__file__).with_name("mkdocs.yml")),
            docs_dir=str(pages.resolve()),
            site_dir=str(out.resolve()),
            nav=nav,
            copyright=(
                f"RNNsearch {__version__} · MIT licence · this site loads nothing from elsewhere"
            ),
            extra={"generator": False, "release": __version__, "homepage": "index.html"},
        )
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
        write_translator(out)
        write_learn(out)
        write_policies(out)
    except Abort as error:  # MkDocs has logged the reason
        heard.lines.append(str(error))
    finally:
        logging.getLogger("mkdocs").removeHandler(heard)
    return heard.lines


class Heard(logging.Handler):
    """Collects MkDocs's warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


if __name__ == "__main__":
    sys.exit(main())
