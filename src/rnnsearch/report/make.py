"""`make_report`: translations of every run, then the page and all that lies beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rnnsearch.drawing.document import Document, Section, Table, every_table
from rnnsearch.errors import InputError
from rnnsearch.report.gather import Worker, gather, known_pairs, open_runs
from rnnsearch.report.inputs import NamedRun, TestSet, file_name, require_different
from rnnsearch.report.measures import measure
from rnnsearch.report.one_test_set import results
from rnnsearch.report.outputs import Output, RunOutput
from rnnsearch.report.pictures import Album
from rnnsearch.report.render import as_csv, as_html, as_json, as_markdown
from rnnsearch.report.table_1 import signatures
from rnnsearch.report.table_2 import learning
from rnnsearch.system.files import write_text
from rnnsearch.system.machine import hardware
from rnnsearch.system.progress import Progress
from rnnsearch.system.version import package_version

PAGE, MARKDOWN, NUMBERS = "report.html", "report.md", "report.json"
FOLDERS = ("translations", "tables", "figures")


def make_report(
    runs: Sequence[NamedRun],
    tests: Sequence[TestSet],
    out: Path,
    *,
    systems: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    search: dict[str, Any] | None = None,
    device: str = "cpu",
    trust_code: bool = False,
    title: str = "",
    command: str = "",
    beside: Sequence[tuple[str, str]] = (),
    progress: Progress = lambda what, done, total: None,
) -> Path:
    """Writes report.html, report.md, report.json, tables/, figures/ and translations/ into `out`; returns the page.

    systems: outside systems: name → test set → hypotheses, one a line of the source. search: settings changed from each run's own.
    command: shown as what made the report. beside: further links of the page: (path from it, what is there).
    Translations that are in out/translations, of the same weights, settings and text, are used again; tables and figures of an earlier
    report there go.
    Raises InputError for two systems of one name, for a folder that holds something else, and for runs and settings that
    `Translator` refuses.
    """
    if not runs and not systems:
        raise InputError("nothing to report on", remedy="name a run, or an outside system with --system NAME=HYP")
    require_different([*(run.name for run in runs), *(systems or {})], "systems", "NAME=RUN, or --system NAME=HYP")
    _make_folders(out)
    workers = open_runs(runs, search or {}, device=device, trust_code=trust_code)
    album = Album(out / "figures")
    sections: list[Section] = []
    files: list[Table] = []
    metrics: list[str] = []
    for test in tests:
        known = known_pairs(workers, test) if workers else []
        outputs = _outputs(workers, test, known, systems or {}, out / "translations", progress, device)
        measures = measure(test, outputs, known, out / "translations", progress)
        metrics = signatures(measures)
        found = results(measures, album, prefix=f"{file_name(test.name)}-" if len(tests) > 1 else "")
        sections.append(found.section)
        files += found.files
    if workers:
        sections.append(learning(workers, album))
    document = Document(
        title=title or "Translations compared",
        lead=_lead(workers, tests, systems or {}),
        sections=sections,
        made=[*_made(workers, tests), ("Metrics", "; ".join(metrics))],
        files=files,
        beside=beside,
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        source_language=workers[0].run.settings.data.source_language if workers else "",
        target_language=workers[0].run.settings.data.target_language if workers else "",
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


def _outputs(
    workers: Sequence[Worker],
    test: TestSet,
    known: Sequence[int],
    systems: Mapping[str, Mapping[str, Sequence[str]]],
    folder: Path,
    progress: Progress,
    device: str,
) -> list[Output]:
    outputs: list[Output] = []
    for place, worker in enumerate(workers):
        work = gather(worker, test, known, folder, progress, hardware(device))
        outputs.append(RunOutput(worker.name, place, work.texts, worker, work))
    for place, (name, translated) in enumerate(systems.items(), len(workers)):
        if test.name in translated:
            outputs.append(Output(name, place, list(translated[test.name])))
    return outputs


def _lead(workers: Sequence[Worker], tests: Sequence[TestSet], systems: Mapping[str, object]) -> str:
    names = [*(worker.name for worker in workers), *systems]
    sets = ", ".join(f"{test.name} ({len(test.source):,} pairs)" for test in tests)
    return f"{_listed(names)} on {sets}, measured as in Section 5 of Bahdanau, Cho and Bengio (2015)."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _made(workers: Sequence[Worker], tests: Sequence[TestSet]) -> list[tuple[str, str]]:
    facts = [("rnnsearch", package_version())]
    for worker in workers:
        changes = {key: value for key, value in worker.search.items() if key in ("beam", "normalise", "no_unk", "replace_unk", "precision")}
        settings = ", ".join(f"{key} {value}" for key, value in changes.items())
        facts.append((f"Run {worker.name}", f"{worker.run.path}, checksum {worker.checksum[:12]}, {settings}"))
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
