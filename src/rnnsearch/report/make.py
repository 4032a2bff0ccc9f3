"""`make_report`: translations of every run, then the page and all that lies beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rnnsearch.drawing.document import Document, Section, Table, every_table
from rnnsearch.errors import InputError
from rnnsearch.evaluation.test_set import TestSet
from rnnsearch.report.arguments import NamedRun, require_different
from rnnsearch.report.measures import Output, RunOutput, measure
from rnnsearch.report.one_test_set import results
from rnnsearch.report.pictures import Album
from rnnsearch.report.render import as_csv, as_html, as_json, as_markdown
from rnnsearch.report.table_1 import signatures
from rnnsearch.report.table_2 import learning
from rnnsearch.system.files import file_name, write_text
from rnnsearch.system.progress import Progress
from rnnsearch.system.version import package_version
from rnnsearch.translation.outputs import Kind, LoadedRun, known_pairs, load_run, outputs, write_texts
from rnnsearch.translation.outputs_file import read_header

PAGE, MARKDOWN, NUMBERS = "report.html", "report.md", "report.json"
FOLDERS = ("translations", "tables", "figures")


def make_report(
    runs: Sequence[NamedRun],
    tests: Sequence[TestSet],
    out: str | Path,
    *,
    systems: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    search: dict[str, Any] | None = None,
    outputs_folder: Path | None = None,
    device: str = "cpu",
    trust_code: bool = False,
    title: str = "",
    command: str = "",
    beside: Sequence[tuple[str, str]] = (),
    progress: Progress = lambda what, done, total: None,
) -> Path:
    """Writes report.html, report.md, report.json, tables/, figures/ and translations/ into `out`; returns the page.

    systems: other systems: name → test set → hypotheses, one per line of the source. search: settings changed from each run's own.
    command: shown as what made the report. beside: further links of the page: (path from it, what is there). outputs_folder: of the runs'
    outputs, out/translations if none is named; those of the same weights, settings and text are used again. Tables and figures of an
    earlier report go.
    Raises InputError for two systems of one name, for a folder that holds something else, and for runs and settings that
    `Translator` refuses.
    """
    if not runs and not systems:
        raise InputError("nothing to report on", remedy="name a run, or another system with --system NAME=HYP")
    require_different([*(run.name for run in runs), *(systems or {})], "systems", "NAME=RUN, or --system NAME=HYP")
    out = Path(out)
    _make_folders(out)
    loaded = [load_run(run.name, run.path, search, device=device, trust_code=trust_code) for run in runs]
    album = Album(out / "figures")
    sections: list[Section] = []
    files: list[Table] = []
    metrics: list[str] = []
    for test in tests:
        known = known_pairs(loaded, test) if loaded else []
        compared = _compared(loaded, test, systems or {}, outputs_folder or out / "translations", progress)
        for output in compared:
            if isinstance(output, RunOutput):
                write_texts(out / "translations", output.loaded, test, output.lines)
        measures = measure(test, compared, known, out / "translations", progress)
        metrics = signatures(measures)
        found = results(measures, album, prefix=f"{file_name(test.name)}-" if len(tests) > 1 else "")
        sections.append(found.section)
        files += found.files
    if loaded:
        sections.append(learning(loaded, album))
    document = Document(
        title=title or "Translations compared",
        lead=_lead(loaded, tests, systems or {}),
        sections=sections,
        made=[*_made(loaded, tests), ("Metrics", "; ".join(metrics))],
        files=files,
        beside=beside,
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        source_language=loaded[0].run.settings.data.source_language if loaded else "",
        target_language=loaded[0].run.settings.data.target_language if loaded else "",
    )
    return _write(document, out)


def _make_folders(out: Path) -> None:
    """Raises InputError if the folder holds anything that no report made."""
    ours = {PAGE, MARKDOWN, NUMBERS, *FOLDERS}
    try:
        if out.is_dir() and not {entry.name for entry in out.iterdir() if not entry.name.startswith(".")} <= ours:
            raise InputError("exists and holds other things than a report", file=out, remedy="name another folder with --out")
        for name in FOLDERS:
            (out / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=error.filename or out) from None


def _compared(
    runs: Sequence[LoadedRun], test: TestSet, systems: Mapping[str, Mapping[str, Sequence[str]]], folder: Path, progress: Progress
) -> list[Output]:
    """Our runs first."""
    others = enumerate(systems.items(), len(runs))
    return [
        *(_output(run, place, test, folder, progress) for place, run in enumerate(runs)),
        *(Output(name, place, list(translated[test.name])) for place, (name, translated) in others if test.name in translated),
    ]


def _output(run: LoadedRun, place: int, test: TestSet, folder: Path, progress: Progress) -> RunOutput:
    lines = outputs(run, test, Kind.TRANSLATIONS, folder, progress)
    without_unk = {line.number: line for line in outputs(run, test, Kind.WITHOUT_UNK, folder, progress)}
    # References that a study has aligned by the posterior too are references as well.
    kind = Kind.POSTERIOR if run.path(folder, test, Kind.POSTERIOR).exists() else Kind.REFERENCES
    references = outputs(run, test, kind, folder, progress)
    hardware = read_header(run.path(folder, test, Kind.TRANSLATIONS))["hardware"]
    return RunOutput(run.name, place, [line.translation.text for line in lines], run, lines, without_unk, references, hardware)


def _lead(runs: Sequence[LoadedRun], tests: Sequence[TestSet], systems: Mapping[str, object]) -> str:
    names = [*(run.name for run in runs), *systems]
    sets = ", ".join(f"{test.name} ({len(test.source):,} pairs)" for test in tests)
    return f"{_listed(names)} on {sets}, measured as in Section 5 of Bahdanau, Cho and Bengio (2015)."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _made(runs: Sequence[LoadedRun], tests: Sequence[TestSet]) -> list[tuple[str, str]]:
    facts = [("rnnsearch", package_version())]
    for run in runs:
        changes = {key: value for key, value in run.search.items() if key in ("beam", "normalise", "no_unk", "replace_unk", "precision")}
        settings = ", ".join(f"{key} {value}" for key, value in changes.items())
        facts.append((f"Run {run.name}", f"{run.run.path}, checksum {run.checksum[:12]}, {settings}"))
    facts += [(f"Test set {test.name}", " and ".join(test.files) if all(test.files) else "given as lines") for test in tests]
    return facts


def _write(document: Document, out: Path) -> Path:
    earlier = _files_of(out)
    try:
        for table in every_table(document):
            write_text(out / "tables" / f"{table.name}.csv", as_csv(table))
        write_text(out / NUMBERS, as_json(document))
        write_text(out / MARKDOWN, as_markdown(document))
        write_text(out / PAGE, as_html(document))
        for name in earlier - _files_of(out):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=error.filename or out) from None
    return out / PAGE


def _files_of(out: Path) -> set[str]:
    """Tables and figures that the report in the folder says are its own, relative to it; none if it cannot be read."""
    try:
        numbers = json.loads((out / NUMBERS).read_text(encoding="utf-8"))
        tables, figures = list(numbers["tables"]), list(numbers["figures"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    files = {f"tables/{name}.csv" for name in tables} | {f"figures/{name}{suffix}" for name in figures for suffix in (".svg", ".pdf")}
    return {file for file in files if Path(file).name == file.partition("/")[2]}
