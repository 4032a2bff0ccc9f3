"""`make_report`: translates test sets with every run, measures all systems, and writes the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rnnsearch.drawing.figures import Album
from rnnsearch.drawing.page import (
    Document,
    Section,
    Table,
    as_csv,
    as_html,
    as_json,
    as_markdown,
    every_table,
)
from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import BLEU, CHRF, OF_TEXTS, MeasureOptions, Measures, measure
from rnnsearch.evaluation.test_set import NamedRun, System, TestSet, require_different
from rnnsearch.report.attention import alignments, unknown_section
from rnnsearch.report.learning import learning
from rnnsearch.report.part import Part
from rnnsearch.report.scores import WINDOW, by_length, measures_file, scores, timing
from rnnsearch.report.sentences import browsing
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import file_name, write_text, writing
from rnnsearch.system.progress import Progress
from rnnsearch.translation.outputs import OpenedRun, open_run, run_answers

PAGE, MARKDOWN, NUMBERS = "index.html", "report.md", "report.json"
FOLDERS = ("translations", "tables", "figures")
BESIDE = (
    (MARKDOWN, "the same in Markdown"),
    (NUMBERS, "all numbers"),
    ("tables/", "every table as CSV"),
    ("figures/", "every figure as SVG and PDF"),
    ("translations/", "the translations"),
)
SHOWN = ("beam", "normalise", "no_unk", "replace_unk", "precision")
"""Search settings listed on the page."""

Systems = Mapping[str, Mapping[str, Sequence[str]]]
"""Other systems: name → test set → hypotheses, one per line of the source."""


def make_report(
    runs: Sequence[NamedRun],
    tests: Sequence[TestSet],
    out: str | Path,
    *,
    systems: Systems | None = None,
    search: dict[str, Any] | None = None,
    device: str = "cpu",
    trust_code: bool = False,
    title: str = "",
    command: str = "",
    progress: Progress = lambda what, done, total: None,
) -> Path:
    """Writes index.html, report.md, report.json, tables/, figures/ and translations/ into `out`; returns the
    page.

    systems: hypotheses of other systems. search: settings that replace each run's own. command: the command
    line shown in the report. Outputs in out/translations are reused if weights, settings and text are the
    same. Tables and figures of an earlier report are removed.
    Raises InputError for two systems with the same name, for a folder that holds other files, and for runs
    and settings that `Translator` refuses.
    """
    systems = systems or {}
    names = [*(run.name for run in runs), *systems]
    if not names:
        remedy = "name a run, or another system with --system NAME=HYP"
        raise InputError("nothing to report on", remedy=remedy)
    require_different(names, "systems", "NAME=RUN, or --system NAME=HYP")
    out = Path(out)
    _make_folders(out)
    opened = [open_run(run.name, run.path, search, device=device, trust_code=trust_code) for run in runs]
    album, places = Album(out / "figures"), {name: place for place, name in enumerate(names)}
    sections: list[Section] = []
    files: list[Table] = []
    for test in tests:
        measures = _measure(opened, systems, test, out / "translations", progress)
        prefix = f"{file_name(test.name)}-" if len(tests) > 1 else ""
        part = Part(measures, album, prefix, places)
        section, tables = _section(part)
        sections.append(section)
        files += tables
    if opened:
        sections.append(learning(part.runs, album))
    sets = ", ".join(f"{test.name} ({len(test.source):,} pairs)" for test in tests)
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    data = opened[0].run.settings.data if opened else None
    document = Document(
        title=title or "Translations compared",
        lead=f"{listed} on {sets}, measured as in Section 5 of Bahdanau, Cho and Bengio (2015).",
        sections=sections,
        made=[*_provenance(opened, tests), ("Metrics", "; ".join(part.signatures(OF_TEXTS)))],
        files=files,
        beside=BESIDE,
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        source_language=data.source_language if data else "",
        target_language=data.target_language if data else "",
    )
    return _write(document, out)


def _measure(
    runs: Sequence[OpenedRun],
    systems: Systems,
    test: TestSet,
    folder: Path,
    progress: Progress,
) -> Measures:
    """Translates a test set with every run, and measures all systems, our runs first."""
    compared = []
    for run in runs:
        answers = run_answers(run, test, folder, progress)
        compared.append(System(run.name, answers.texts, run=answers))
    compared += [System(name, found[test.name]) for name, found in systems.items() if test.name in found]
    options = MeasureOptions(
        multi_bleu=runs[0].run.target.tokeniser if runs else None,
        ter=True,
        by_length=True,
        window=WINDOW,
        significance=(BLEU, CHRF),
    )
    return measure(test, compared, options, progress)


def _section(part: Part) -> tuple[Section, list[Table]]:
    """Returns the section of one test set, and its tables that are too long for the page."""
    side_by_side, sentences = browsing(part)
    others = (side_by_side, unknown_section(part), alignments(part), timing(part))
    sections = [scores(part), by_length(part), *(section for section in others if section is not None)]
    title = f"Results on {part.measures.test.name}"
    section = Section(f"{part.prefix}results", title, sections=sections)
    return section, [measures_file(part), sentences]


def _make_folders(out: Path) -> None:
    """Makes the folders of a report. Raises InputError if `out` holds files that no report made."""
    ours = {PAGE, MARKDOWN, NUMBERS, *FOLDERS}
    with writing(out):
        if out.is_dir() and any(entry.name not in ours and entry.name[0] != "." for entry in out.iterdir()):
            what, remedy = "exists and holds files that are not a report's", "name another folder with --out"
            raise InputError(what, file=out, remedy=remedy)
        for name in FOLDERS:
            (out / name).mkdir(parents=True, exist_ok=True)


def _provenance(runs: Sequence[OpenedRun], tests: Sequence[TestSet]) -> list[tuple[str, str]]:
    facts = [("rnnsearch", package_version())]
    for run in runs:
        settings = ", ".join(f"{key} {run.search[key]}" for key in SHOWN)
        facts.append((f"Run {run.name}", f"{run.run.path}, checksum {run.run.checksum[:12]}, {settings}"))
    for test in tests:
        files = " and ".join(test.files) if all(test.files) else "given as lines"
        facts.append((f"Test set {test.name}", files))
    return facts


def _write(document: Document, out: Path) -> Path:
    earlier = _files_of(out)
    with writing(out):
        for table in every_table(document):
            write_text(out / "tables" / f"{table.name}.csv", as_csv(table))
        write_text(out / NUMBERS, as_json(document))
        write_text(out / MARKDOWN, as_markdown(document, tables="tables"))
        write_text(out / PAGE, as_html(document, made_everywhere=True))
        for name in earlier - _files_of(out):
            (out / name).unlink(missing_ok=True)
    return out / PAGE


def _files_of(out: Path) -> set[str]:
    """Returns the tables and figures listed in the folder's report.json, as relative paths; the empty set if
    it cannot be read."""
    try:
        numbers = json.loads((out / NUMBERS).read_text(encoding="utf-8"))
        tables, figures = list(numbers["tables"]), list(numbers["figures"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    files = {f"tables/{name}.csv" for name in tables}
    files |= {f"figures/{name}{suffix}" for name in figures for suffix in (".svg", ".pdf")}
    return {file for file in files if Path(file).name == file.partition("/")[2]}
