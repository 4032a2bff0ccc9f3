"""`make_report`: translates test sets with every run, measures all systems, and writes the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rnnsearch.drawing.figures import Album, Curve, curve_figure
from rnnsearch.drawing.page import LATEX, PAGE, Block, Document, Pictures, Section, write_page
from rnnsearch.drawing.tables import Column, Table
from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import BLEU, CHRF, MeasureOptions, Measures, measure
from rnnsearch.evaluation.test_set import NamedRun, RunAnswers, System, TestSet, require_different
from rnnsearch.installed import package_version
from rnnsearch.report.scores import (
    WINDOW,
    TestSetReport,
    by_length,
    measures_file,
    scores,
    signatures,
    timing,
)
from rnnsearch.report.sentences import alignments, browsing, unknown_section
from rnnsearch.system.files import file_name, writing
from rnnsearch.system.progress import Progress
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import OpenedRun, open_run, run_answers

FOLDERS = ("translations", "tables", "figures")
BESIDE = (
    ("report.md", "the same in Markdown"),
    ("report.json", "all numbers"),
    ("table.tex", "Table 1 and the differences in LaTeX"),
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
    translations: Path | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Path:
    """Writes index.html, report.md, report.json, tables/, figures/ and translations/ into `out`; returns the
    page.

    systems: hypotheses of other systems. search: settings that replace each run's own. command: the command
    line shown in the report. translations: folder of the outputs, default out/translations; those that are
    there are reused if weights, settings and text are the same. Tables and figures of an earlier report are
    removed.
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
    opened = [open_run(run.name, run.path, search, device=device, trust_code=trust_code) for run in runs]
    _make_folders(out)
    album, places = Album(out / "figures"), {name: place for place, name in enumerate(names)}
    sections: list[Section] = []
    files: list[Table] = []
    for test in tests:
        measures = _measure(opened, systems, test, translations or out / "translations", progress)
        prefix = f"{file_name(test.name)}-" if len(tests) > 1 else ""
        part = TestSetReport(measures, album, prefix, places)
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
        made=[*_provenance(opened, tests), ("Metrics", "; ".join(signatures(measures)))],
        files=files,
        beside=BESIDE,
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        source_language=data.source_language if data else "",
        target_language=data.target_language if data else "",
    )
    prefixes = [section.name.removesuffix("results") for section in sections]
    latex = [
        f"{prefix}{name}" for prefix in prefixes for name in ("table-1", "significance", "alignment-error")
    ]
    return write_page(document, out, "report", latex)


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


def _section(part: TestSetReport) -> tuple[Section, list[Table]]:
    """Returns the section of one test set, and its tables that are too long for the page."""
    side_by_side, sentences = browsing(part)
    others = side_by_side, unknown_section(part), alignments(part), timing(part) if part.runs else None
    sections = [scores(part), by_length(part), *(section for section in others if section is not None)]
    title = f"Results on {part.measures.test.name}"
    section = Section(f"{part.prefix}results", title, sections=sections)
    return section, [measures_file(part), sentences]


def _make_folders(out: Path) -> None:
    """Makes the folders of a report. Raises InputError if `out` holds files that no report made."""
    ours = {PAGE, LATEX, "report.md", "report.json", *FOLDERS}
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


LEARNING = {
    "updates": Column("Updates"),
    "epochs": Column("Epochs", ".2f"),
    "hours": Column("Hours", ".2f"),
    "train_nll": Column("NLL, training", ".2f"),
    "dev_nll": Column("NLL, development", ".2f", best="lowest"),
    "dev_bleu": Column("BLEU, development", ".2f", best="highest"),
    "best_update": Column("Best update"),
    "pairs_seen": Column("Pairs seen"),
    "parameters": Column("Parameters"),
    "hardware": Column("Machine"),
}


def learning(runs: Sequence[tuple[str, RunAnswers]], album: Album) -> Section:
    """Returns the table and the learning curves of all runs. The row of a run without a log is empty."""
    logs = {name: read_statistics(run.path) for name, run in runs}
    known = {name: logs[name] | {"parameters": run.parameters} for name, run in runs}
    table = Table(
        "table-2",
        "Table 2. Learning statistics of the runs",
        [Column("System"), *LEARNING.values()],
        [[name, *(found.get(key) for key in LEARNING)] for name, found in known.items()],
        notes=[
            "NLL is the mean −log p(y | x) of a sentence, in nats: on the training data since the "
            "validation before, on the "
            "development data for the weights that the run selected. Hours count validation too.",
            *(
                f"{name} was not finished."
                for name, log in logs.items()
                if log and not log.get("ended_because")
            ),
        ],
        made=[f"{name}: {run.path / 'log' / 'statistics.json'}, {_ending(logs[name])}" for name, run in runs],
    )
    blocks: list[Block] = [table]
    curves = [_curve(name, place, log) for place, (name, log) in enumerate(logs.items())]
    curves = [curve for curve in curves if any(value is not None for value in curve.y)]
    if any(len(curve.x) > 1 for curve in curves):
        ends = (
            f"{curve.name} ends at {curve.y[-1]:.1f} after {curve.x[-1]:.1f} hours"
            for curve in curves
            if curve.y[-1] is not None
        )
        alt = f"Development BLEU of each run over its hours of training. {'; '.join(ends)}"
        figure = curve_figure(curves, "hours of training", "BLEU on the development set")
        picture = album.add(figure, "learning-curves", "Development BLEU while the runs were trained", alt)
        notes = ["Scores are from greedy search or a small beam, as each run's settings say."]
        blocks.append(Pictures("figure-learning", "Learning curves", [picture], notes=notes))
    return Section("learning", "Learning", blocks)


def _ending(log: dict[str, Any]) -> str:
    if not log:
        return "which is missing"
    return f"ended: {log['ended_because']}" if log.get("ended_because") else "not finished"


def _curve(name: str, place: int, log: dict[str, Any]) -> Curve:
    rows = log.get("validations", [])
    return Curve(name, place, [row["seconds"] / 3600 for row in rows], [row.get("dev_bleu") for row in rows])
