"""The paper's Section 5 for any runs, test sets and other systems: `make_report` translates, measures, and
writes Tables 1 to 3, Figures 2 and 3, as one page with its Markdown twin and the numbers behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch.drawing.alignments import alignment_figure
from rnnsearch.drawing.figures import Curve, add_picture, curve_figure
from rnnsearch.drawing.page import (
    LATEX,
    PAGE,
    Block,
    Column,
    Document,
    Paragraph,
    Pictures,
    Section,
    Sentences,
    SentenceText,
    Table,
    Value,
    write_page,
)
from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import (
    BLEU,
    CHRF,
    NLL_PER_WORD,
    MeasureOptions,
    Measures,
    measure,
)
from rnnsearch.evaluation.statistics import FEWEST
from rnnsearch.evaluation.test_set import NamedRun, RunAnswers, System, TestSet, require_different
from rnnsearch.installed import package_version
from rnnsearch.report.scores import (
    NUMBER_COLUMNS,
    difference_table,
    links_table,
    number_rows,
    points_of,
    score_table,
    signatures,
)
from rnnsearch.system.files import file_name, make_folder, writing
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
LENGTHS = (10, 20, 30, 45)
"""Lengths in source words: one sentence of about each is drawn."""
SENTENCES, SHORTEST = 3, 10
"""Sentences shown of each kind, and fewest source words of a best or worst one: many shorter sentences score
very high or very low, which says little."""
DRAWN = {BLEU: BLEU, CHRF: CHRF, NLL_PER_WORD: "NLL per word, in nats"}
"""Metric → label of the axis of its curves by length."""
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
"""Key of a run's learning statistics → column of Table 2."""
_WORD = re.compile(r"<unk>|\w+(?:-\w+)*['’]?|\s+|[^\w\s]")

Systems = Mapping[str, Mapping[str, Sequence[str]]]
"""Other systems: name → test set → hypotheses, one per line of the source."""


@dataclass(frozen=True)
class ReportOptions:
    """How a report is made. search: settings that replace each run's own. command: the command line shown in
    the report. translations: folder of the outputs, default out/translations; those that are there are reused
    if weights, settings and text are the same."""

    search: dict[str, Any] | None = None
    device: str = "cpu"
    trust_code: bool = False
    title: str = ""
    command: str = ""
    translations: Path | None = None


def make_report(
    runs: Sequence[NamedRun],
    tests: Sequence[TestSet],
    out: str | Path,
    *,
    systems: Systems | None = None,
    options: ReportOptions = ReportOptions(),
    progress: Progress = lambda what, done, total: None,
) -> Path:
    """Writes index.html, report.md, report.json, tables/, figures/ and translations/ into `out`; returns the
    page. Tables and figures of an earlier report are removed.

    systems: hypotheses of other systems. Raises InputError for two systems with the same name, for a folder
    that holds other files, and for runs and settings that `Translator` refuses.
    """
    systems, out = systems or {}, Path(out)
    names = [*(run.name for run in runs), *systems]
    if not names:
        remedy = "name a run, or another system with --system NAME=HYP"
        raise InputError("nothing to report on", remedy=remedy)
    require_different(names, "systems", "NAME=RUN, or --system NAME=HYP")
    opened = [
        open_run(run.name, run.path, options.search, device=options.device, trust_code=options.trust_code)
        for run in runs
    ]
    _make_folders(out)
    parts = []
    for test in tests:
        measures = _measure(opened, systems, test, options.translations or out / "translations", progress)
        prefix = f"{file_name(test.name)}-" if len(tests) > 1 else ""
        parts.append(TestSetReport(measures, out / "figures", prefix, names))
    sets = ", ".join(f"{test.name} ({len(test.source):,} pairs)" for test in tests)
    data = opened[0].run.settings.data if opened else None
    document = Document(
        title=options.title or "Translations compared",
        lead=f"{', '.join(names)} on {sets}, measured as in Section 5 of Bahdanau, Cho and Bengio (2015).",
        sections=[part.section() for part in parts] + ([learning(parts[0].runs)] if opened else []),
        made=[*_provenance(opened, tests), ("Metrics", "; ".join(signatures(parts[0].measures)))],
        files=[table for part in parts for table in part.files()],
        beside=BESIDE,
        command=options.command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        source_language=data.source_language if data else "",
        target_language=data.target_language if data else "",
    )
    latex = ("table-1", "significance", "alignment-error")
    return write_page(document, out, "report", [part.prefix + name for part in parts for name in latex])


def _measure(
    runs: Sequence[OpenedRun], systems: Systems, test: TestSet, folder: Path, progress: Progress
) -> Measures:
    """Translates a test set with every run, and measures all systems, our runs first."""
    compared = []
    for run in runs:
        answers = run_answers(run, test, folder, progress)
        compared.append(System(run.name, answers.texts, run=answers))
    compared += [System(name, found[test.name]) for name, found in systems.items() if test.name in found]
    tokeniser = runs[0].run.target.tokeniser if runs else None
    options = MeasureOptions(multi_bleu=tokeniser, by_length=True, significance=(BLEU, CHRF))
    return measure(test, compared, options)


def _make_folders(out: Path) -> None:
    """Makes the folders of a report. Raises InputError if `out` holds files that no report made."""
    ours = {PAGE, LATEX, "report.md", "report.json", *FOLDERS}
    with writing(out):
        make_folder(out)
        if any(entry.name not in ours and entry.name[0] != "." for entry in out.iterdir()):
            what, remedy = "exists and holds files that are not a report's", "name another folder with --out"
            raise InputError(what, file=out, remedy=remedy)
        for name in FOLDERS:
            (out / name).mkdir(exist_ok=True)


def _provenance(runs: Sequence[OpenedRun], tests: Sequence[TestSet]) -> list[tuple[str, str]]:
    facts = [("rnnsearch", package_version())]
    for run in runs:
        settings = ", ".join(f"{key} {run.search[key]}" for key in SHOWN)
        facts.append((f"Run {run.name}", f"{run.run.path}, checksum {run.run.checksum[:12]}, {settings}"))
    for test in tests:
        files = " and ".join(test.files) if all(test.files) else "given as lines"
        facts.append((f"Test set {test.name}", files))
    return facts


@dataclass(frozen=True)
class TestSetReport:
    """A test set's part of the report. figures: folder of its pictures. prefix: of all names in it, because a
    report may have several test sets. names: all systems of the report; the place of one decides its
    colour."""

    __test__ = False
    measures: Measures
    figures: Path
    prefix: str
    names: Sequence[str]

    @property
    def runs(self) -> list[tuple[str, RunAnswers]]:
        """Our runs and their names."""
        return [(system.name, system.run) for system in self.measures.systems if system.run is not None]

    def section(self) -> Section:
        """Returns the section of the test set."""
        found = [("scores", "Scores", self.scores()), ("length", "Length of the sentence", self.by_length())]
        found += [("table-3", "Table 3. Translations side by side", list(self.sentences()))]
        if attending := [(name, run) for name, run in self.runs if run.attends]:
            found.append(("figure-3", "Alignments", self.alignments(attending)))
        if self.runs:
            found.append(("timing-section", "Time of translation", [self.timing()]))
        inner = [Section(self.prefix + name, title, blocks) for name, title, blocks in found]
        return Section(f"{self.prefix}results", f"Results on {self.measures.test.name}", sections=inner)

    def table(
        self, name: str, caption: str, columns: Sequence[str], rows: Iterable[Sequence[Value]], *notes: str
    ) -> Table:
        """Returns a table."""
        return Table(self.prefix + name, caption, list(map(Column, columns)), list(rows), notes)

    def files(self) -> list[Table]:
        """Returns the tables that are too long for the page: all measured numbers, and every sentence with
        every translation."""
        measures = self.measures
        rows = [[row.get(column) for column in NUMBER_COLUMNS] for row in number_rows(measures)]
        columns: dict[str, Sequence[Value]] = {
            "line": range(1, len(measures.lengths) + 1),
            "words": measures.lengths,
            "source": measures.test.source,
            "reference": measures.test.reference,
        }
        for one in measures.systems:
            chrf = measures.statistics[one.name][CHRF].by_sentence()
            columns |= {one.name: one.texts, f"{one.name}, chrF2": chrf}
        caption = "All measures, with 95 % bootstrap intervals"
        every, texts = "Every sentence with every translation", zip(*columns.values(), strict=True)
        return [
            self.table("measures", caption, NUMBER_COLUMNS, rows),
            self.table("sentences", every, list(columns), texts),
        ]

    def scores(self) -> list[Block]:
        """Returns Table 1, and a matrix of the differences between all systems."""
        measures = self.measures
        tested = [each for each in measures.comparisons if each.metric == BLEU]
        if not tested:
            return [score_table(measures, self.prefix)]
        table = difference_table(tested, [system.name for system in measures.systems], BLEU)
        made = f"Bootstrap intervals, chrF2 and all p-values unrounded: tables/{self.prefix}measures.csv"
        made_so = [made, *signatures(measures, [BLEU])]
        return [
            score_table(measures, self.prefix),
            replace(table, name=f"{self.prefix}significance", made=made_so),
        ]

    def by_length(self) -> list[Block]:
        """Returns the table of BLEU by source length, and Figure 2, without lengths that have too few
        sentences to compare."""
        measures = self.measures
        rows: list[list[Value]] = [["Sentences", *(band.sentences for band in measures.buckets)]]
        rows += [
            [name, *(f"{one.value:.1f} ({one.low:.1f}–{one.high:.1f})" for one in found)]
            for name, found in points_of(measures, BLEU).items()
        ]
        columns, caption = ["Source words", *map(str, measures.buckets)], "BLEU by source length"
        table = self.table("bleu-by-length", f"{caption}, with 95 % intervals", columns, rows)
        signed = signatures(measures, [BLEU])
        bands, pictures = [band for band in measures.buckets if band.sentences >= FEWEST], []
        ticks = [(float(n), str(band), f"{band.sentences:,}") for n, band in enumerate(bands)]
        for metric, label in DRAWN.items() if bands else ():
            curves, spoken = [], []
            for name, found in points_of(measures, metric).items():
                drawn = [one for one in found if one.words in bands]
                y, low, high = zip(*((one.value, one.low, one.high) for one in drawn), strict=True)
                curves.append(Curve(name, self.names.index(name), range(len(y)), y, low, high))
                spoken.append(f"{name}: {', '.join(f'{one.value:.2f} at {one.words}' for one in drawn)}")
            if curves:
                figure = curve_figure(curves, "source words; below: sentences", label, ticks=ticks)
                name = f"{self.prefix}figure-2-{metric.lower().replace(' ', '-')}"
                alt = f"{label} by source length. {'; '.join(spoken)}."
                pictures.append(
                    add_picture(self.figures, figure, name, f"{label.partition(',')[0]} by length", alt)
                )
        if not pictures:
            return [replace(table, made=signed)]
        note = (
            "Bands: 95 % of 1,000 bootstrap resamples of the sentences. Lengths: words of BLEU's 13a "
            f"tokenisation; lengths of fewer than {FEWEST} sentences are not drawn."
        )
        title = "Figure 2. Scores over the length of the source sentence"
        return [
            Pictures(f"{self.prefix}figure-2", title, pictures, [note], signed),
            replace(table, made=signed),
        ]

    def sentences(self) -> Iterable[Block]:
        """Yields Table 3: the longest sentences, and the best and the worst of each system."""
        measures = self.measures
        lengths, numbers = measures.lengths, range(len(measures.lengths))
        chrf = {name: found[CHRF].by_sentence() for name, found in measures.statistics.items()}
        enough = [n for n in numbers if lengths[n] >= SHORTEST] or list(numbers)
        chosen = {"The longest sentences": sorted(numbers, key=lambda n: (-lengths[n], n))}
        for name, values in chrf.items():
            chosen[f"{name}: the worst sentences"] = sorted(enough, key=lambda n: (values[n], n))
            chosen[f"{name}: the best sentences"] = sorted(enough, key=lambda n: (-values[n], n))
        yield Paragraph(
            "Marked words of a translation are not in the reference, or not at this place. Best and worst "
            f"are by chrF2, among sentences of at least {SHORTEST} words."
        )
        for place, (caption, order) in enumerate(chosen.items()):
            found = []
            for n in order[:SENTENCES]:
                source, reference = measures.test.pairs[n]
                texts = [
                    SentenceText("Source", [(source, False)], role="source"),
                    SentenceText("Reference", [(reference, False)], role="reference"),
                ]
                for system in measures.systems:
                    words = marked(system.texts[n], reference) or [("(nothing)", False)]
                    texts.append(SentenceText(system.name, words, f"chrF2 {chrf[system.name][n]:.1f}"))
                found.append((f"Line {n + 1}, {lengths[n]} words", texts))
            yield Sentences(f"{self.prefix}sentences-{place}", caption, found, open=not place)

    def alignments(self, runs: Sequence[tuple[str, RunAnswers]]) -> list[Block]:
        """Returns Figure 3 of runs with an attention, side by side, and the alignment error if there are gold
        links. For each of LENGTHS it has the first sentence of the nearest length."""
        measures, lengths = self.measures, self.measures.lengths
        usable = [n for n in range(len(lengths)) if all(run.translations[n].tokens for _, run in runs)]
        chosen = [min(usable, key=lambda n: abs(lengths[n] - length)) for length in LENGTHS if usable]
        blocks: list[Block] = [
            Paragraph(
                "Rows are the words of the translation, columns the words of the source. The brighter a "
                "cell, the larger its weight α."
            )
        ]
        for letter, n in zip("abcd", sorted(set(chosen), key=lambda n: lengths[n]), strict=False):
            pictures = []
            for name, run in runs:
                found = run.translations[n]
                figure = alignment_figure(found.source_tokens, found.tokens, found.alignment)
                alt = f"Alignment matrix. Source: {measures.test.source[n]} Translation: {found.text}"
                file = f"{self.prefix}alignment-{n + 1}-{self.names.index(name)}"
                pictures.append(add_picture(self.figures, figure, file, name, alt))
            caption = f"Figure 3{letter}. Line {n + 1}, {lengths[n]} words"
            blocks.append(Pictures(f"{self.prefix}figure-3{letter}", caption, pictures, wide=True))
        if measures.test.gold is not None:
            scored = {name: measures.statistics[name] for name, _ in runs}
            blocks.append(links_table(f"{self.prefix}alignment-error", scored, measures.test.gold))
        return blocks

    def timing(self) -> Table:
        """Returns the speed of our runs, measured while they translated."""
        rows: list[list[Value]] = []
        made, words = [], sum(self.measures.lengths)
        for name, run in self.runs:
            seconds, search = float(np.sum(run.seconds)), run.search
            rows.append([name, *(round(n / seconds, 2) for n in (len(run.seconds), words)), seconds])
            made.append(f"{name}: {run.hardware}, beam {search['beam']}, batches of {search['batch_size']}")
        note = "Wall-clock time of search in batches of similar length, on an otherwise idle machine or not."
        columns = ["System", "Sentences per second", "Source words per second", "Seconds"]
        return replace(self.table("timing", "Time of translation", columns, rows, note), made=made)


def marked(text: str, reference: str) -> list[tuple[str, bool]]:
    """Splits a translation into words, and marks those outside the blocks that match the reference. Case
    counts."""
    ours, theirs = (_WORD.findall(line) for line in (text, reference))
    places = [place for place, word in enumerate(ours) if not word.isspace()]
    expected = [word for word in theirs if not word.isspace()]
    matcher = SequenceMatcher(None, [ours[place] for place in places], expected, autojunk=False)
    differs = set(places)
    for block in matcher.get_matching_blocks():
        differs.difference_update(places[block.a : block.a + block.size])
    return [(word, place in differs) for place, word in enumerate(ours)]


def learning(runs: Sequence[tuple[str, RunAnswers]]) -> Section:
    """Returns Table 2. The row of a run without a log is empty."""
    logs = {name: read_statistics(run.path) | {"parameters": run.parameters} for name, run in runs}
    endings = {name: log.get("ended_because") or "not finished" for name, log in logs.items()}
    table = Table(
        "table-2",
        "Table 2. Learning statistics of the runs",
        [Column("System"), *LEARNING.values()],
        [[name, *(log.get(key) for key in LEARNING)] for name, log in logs.items()],
        notes=[
            "NLL is the mean −log p(y | x) of a sentence, in nats: on the training data since the "
            "validation before, on the development data for the weights that the run selected. Hours count "
            "validation too."
        ],
        made=[f"{name}: {run.path / 'log' / 'statistics.json'}, {endings[name]}" for name, run in runs],
    )
    return Section("learning", "Learning", [table])
