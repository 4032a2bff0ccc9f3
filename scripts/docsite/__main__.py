"""Builds the site: python scripts/docsite [--out build/site] [--fast].

Strict: a broken link, an unknown name, a formula that cannot be read, a chapter that raises or anything
loaded from elsewhere ends it with
exit code 1.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))  # also where this file is imported by its path

from chapters import ChapterError
from check import faults
from configuration import configuration, extension_options
from learn import write_learn
from mathml import FormulaError
from policy import write_policies
from sources import ROOT, UnknownNameError
from stage import stage
from translator import write_translator

WORK = ROOT / "build" / "chapters"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "site", help="folder of the finished site"
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=WORK,
        help="folder in which the chapters run; what they trained there is used again",
    )
    parser.add_argument(
        "--fast", action="store_true", help="do not execute the chapters: for a look at the prose"
    )
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

    import rnnsearch

    pages = out.parent / f"{out.name}-pages"
    staged = stage(pages, work, lambda text: print(text, file=sys.stderr), run=run)
    settings = configuration(pages.resolve(), out.resolve(), staged.nav, rnnsearch.__version__)
    settings["markdown_extensions"] = [
        {name: extension_options().get(name, {})} for name in settings["markdown_extensions"]
    ]
    heard = Heard()
    logging.getLogger("mkdocs").addHandler(heard)
    try:
        config = load_config(io.BytesIO(b"{}"), **settings)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
        write_translator(out)
        write_learn(out)
        write_policies(out)
    except Abort as error:  # it has logged why
        return [*heard.lines, str(error)]
    finally:
        logging.getLogger("mkdocs").removeHandler(heard)
    return heard.lines


class Heard(logging.Handler):
    """Keeps what MkDocs warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


if __name__ == "__main__":
    sys.exit(main())
