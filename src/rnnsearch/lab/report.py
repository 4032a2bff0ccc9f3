"""The paper's Section 5 for any runs, test sets and other systems: `make_report` translates, measures, and
writes Tables 1 to 3, Figures 2 and 3, as one page with its Markdown twin and the numbers behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import FEWEST_SENTENCES
from rnnsearch.figure3 import alignment_figure
from rnnsearch.installed import package_version
from rnnsearch.lab.figures import Curve, curve_figure
from rnnsearch.lab.measures import BLEU, CHRF, NLL_PER_WORD, MeasureOptions, Measures, measure
from rnnsearch.lab.outputs import OpenedRun, open_run, run_answers
from rnnsearch.lab.page import (
    PAGE,
    Block,
    Column,
    Document,
    Paragraph,
    Picture,
    Pictures,
    Section,
    Sentences,
    SentenceText,
    Table,
    Value,
    columns,
    write_page,
)
from rnnsearch.lab.scores import (
    NUMBER_COLUMNS,
    difference_table,
    links_table,
    number_rows,
    points_of,
    score_table,
    signatures,
)
from rnnsearch.lab.test_set import NamedRun, RunAnswers, System, TestSet, require_different
from rnnsearch.system.files import file_name, make_folder, writing
from rnnsearch.system.progress import Progress, silent
from rnnsearch.training.log import read_statistics

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
    "hardware": Column("Machine", numeric=False),
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
    progress: Progress = silent,
) -> Path:
    """Writes index.html, report.md, report.json, tables/, figures/ and translations/ into `out`; returns the
    page. Tables and figures of an earlier report are removed.

    systems: hypotheses of other systems. Raises InputError for two systems with the same name, for a folder
    that holds other files, and for runs and settings that `Translator` refuses.
    """
    systems, out = systems or {}, Path(out)
    names = [*(run.name for run in runs), *systems]
    require_different(names, "systems", "NAME=RUN, or --system NAME=HYP")
    opened = [
        open_run(run.name, run.path, options.search, device=options.device, trust_code=options.trust_code)
        for run in runs
    ]
    data = opened[0].run.settings.data if opened else None
    tokeniser = opened[0].run.target.tokeniser if opened else None
    wanted = MeasureOptions(multi_bleu=tokeniser, by_length=True, significance=(BLEU, CHRF))
    _begin_folder(out)
    folder, parts = options.translations or out / "translations", []
    for test in tests:
        answers = {run.name: run_answers(run, test, folder, progress) for run in opened}
        compared = [System(name, run.texts, run=run) for name, run in answers.items()]
        compared += [System(name, found[test.name]) for name, found in systems.items() if test.name in found]
        prefix = f"{file_name(test.name)}-" if len(tests) > 1 else ""
        parts.append(TestSetReport(measure(test, compared, wanted), prefix, names))
    sets = ", ".join(f"{test.name} ({len(test.source):,} pairs)" for test in tests)
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
    return write_page(document, out, "report")


def _begin_folder(out: Path) -> None:
    """Makes the folder of a report. Raises InputError if it holds files that no report made."""
    ours = {PAGE, *(path.rstrip("/") for path, _ in BESIDE)}
    with writing(out):
        make_folder(out)
        if any(entry.name not in ours and entry.name[0] != "." for entry in out.iterdir()):
            what, remedy = "exists and holds files that are not a report's", "name another folder with --out"
            raise InputError(what, file=out, remedy=remedy)


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
    """A test set's part of the report. prefix: of all names in it, because a report may have several test
    sets. names: all systems of the report; the place of one decides its colour."""

    __test__ = False
    measures: Measures
    prefix: str
    names: Sequence[str]

    @property
    def runs(self) -> list[tuple[str, RunAnswers]]:
        """Our runs and their names."""
        return [(system.name, system.run) for system in self.measures.systems if system.run is not None]

    @cached_property
    def chrf(self) -> dict[str, list[float]]:
        """The chrF2 of every sentence, by system."""
        return {name: found[CHRF].by_sentence() for name, found in self.measures.statistics.items()}

    def section(self) -> Section:
        """Returns the section of the test set, without the parts that need runs if there are none."""
        parts = [
            ("scores", "Scores", self.scores()),
            ("length", "Length of the sentence", self.by_length()),
            ("table-3", "Table 3. Translations side by side", list(self.sentences())),
            ("figure-3", "Alignments", self.alignments()),
            ("timing-section", "Time of translation", self.timing()),
        ]
        inner = [Section(self.prefix + name, title, blocks) for name, title, blocks in parts if blocks]
        return Section(self.prefix + "results", f"Results on {self.measures.test.name}", sections=inner)

    def files(self) -> list[Table]:
        """Returns the tables that are too long for the page: all measured numbers, and every sentence with
        every translation."""
        measures = self.measures
        rows = [[row.get(column) for column in NUMBER_COLUMNS] for row in number_rows(measures)]
        caption = "All measures, with 95 % bootstrap intervals"
        numbers = Table(self.prefix + "measures", caption, columns(*NUMBER_COLUMNS), rows)
        texts: dict[str, Sequence[Value]] = {
            "line": range(1, len(measures.lengths) + 1),
            "words": measures.lengths,
            "source": measures.test.source,
            "reference": measures.test.reference,
        }
        for one in measures.systems:
            texts |= {one.name: one.texts, f"{one.name}, chrF2": self.chrf[one.name]}
        caption, lines = "Every sentence with every translation", list(zip(*texts.values(), strict=True))
        return [numbers, Table(self.prefix + "sentences", caption, columns(*texts), lines)]

    def scores(self) -> list[Block]:
        """Returns Table 1, and a matrix of the differences between all systems."""
        measures, first = self.measures, score_table(self.measures, self.prefix)
        tested = [each for each in measures.comparisons if each.metric == BLEU]
        if not tested:
            return [first]
        made = f"Bootstrap intervals, chrF2 and all p-values unrounded: tables/{self.prefix}measures.csv"
        differences = difference_table(tested, [system.name for system in measures.systems], BLEU)
        name, made_so = self.prefix + differences.name, [made, *signatures(measures, [BLEU])]
        return [first, replace(differences, name=name, made=made_so)]

    def by_length(self) -> list[Block]:
        """Returns the table of BLEU by source length, and Figure 2, without lengths that have too few
        sentences to compare."""
        measures, signed = self.measures, signatures(self.measures, [BLEU])
        rows: list[list[Value]] = [["Sentences", *(band.sentences for band in measures.buckets)]]
        for name, found in points_of(measures, BLEU).items():
            rows.append([name, *(f"{one.value:.1f} ({one.interval})" for one in found if one.sentences)])
        heads = columns("Source words", *map(str, measures.buckets))
        caption = "BLEU by source length, with 95 % intervals"
        table = Table(self.prefix + "bleu-by-length", caption, heads, rows, made=signed)
        pictures = [picture for metric in DRAWN if (picture := self.curves(metric))]
        if not pictures:
            return [table]
        note = (
            "Bands: 95 % of 1,000 bootstrap resamples of the sentences. Lengths: words of BLEU's 13a "
            f"tokenisation; lengths of fewer than {FEWEST_SENTENCES} sentences are not drawn."
        )
        title = "Figure 2. Scores over the length of the source sentence"
        return [Pictures(self.prefix + "figure-2", title, pictures, [note], signed), table]

    def curves(self, metric: str) -> Picture | None:
        """Draws the scores of all systems by source length, if there are any."""
        bands = [band for band in self.measures.buckets if band.sentences >= FEWEST_SENTENCES]
        curves, spoken, label = [], [], DRAWN[metric]
        for name, found in points_of(self.measures, metric).items():
            drawn = [one for one in found if one.words in bands]
            if drawn:
                y, low, high = zip(*((one.value, one.low, one.high) for one in drawn), strict=True)
                curves.append(Curve(name, self.names.index(name), range(len(y)), y, low, high))
                spoken.append(f"{name}: {', '.join(f'{one.value:.2f} at {one.words}' for one in drawn)}")
        if not curves:
            return None
        ticks = [f"{band}\n{band.sentences:,}" for band in bands]
        figure = curve_figure(curves, "source words; below: sentences", label, ticks=ticks)
        name = f"{self.prefix}figure-2-{metric.lower().replace(' ', '-')}"
        alt = f"{label} by source length. {'; '.join(spoken)}."
        return Picture(name, f"{label.partition(',')[0]} by length", alt, figure)

    def sentences(self) -> Iterator[Block]:
        """Yields Table 3: the longest sentences, and the best and the worst of each system."""
        measures, lengths = self.measures, self.measures.lengths
        numbers = range(len(lengths))
        enough = [n for n in numbers if lengths[n] >= SHORTEST] or numbers
        chosen = {"The longest sentences": sorted(numbers, key=lambda n: (-lengths[n], n))}
        for name, values in self.chrf.items():
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
                    texts.append(SentenceText(system.name, words, f"chrF2 {self.chrf[system.name][n]:.1f}"))
                found.append((f"Line {n + 1}, {lengths[n]} words", texts))
            yield Sentences(f"{self.prefix}sentences-{place}", caption, found, open=not place)

    def alignments(self) -> list[Block]:
        """Returns Figure 3 of the runs with an attention, side by side, and the alignment error if there are
        gold links. For each of LENGTHS it has the first sentence of the nearest length."""
        runs = [(name, run) for name, run in self.runs if run.attends]
        if not runs:
            return []
        measures, lengths = self.measures, self.measures.lengths
        usable = [n for n in range(len(lengths)) if all(run.translations[n].tokens for _, run in runs)]
        chosen = {min(usable, key=lambda n: abs(lengths[n] - length)) for length in LENGTHS if usable}
        blocks: list[Block] = [
            Paragraph(
                "Rows are the words of the translation, columns the words of the source. The brighter a "
                "cell, the larger its weight α."
            )
        ]
        for letter, n in zip("abcd", sorted(chosen, key=lambda n: lengths[n]), strict=False):
            pictures = []
            for name, run in runs:
                found = run.translations[n]
                figure = alignment_figure(found.source_tokens, found.tokens, found.alignment)
                alt = f"Alignment matrix. Source: {measures.test.source[n]} Translation: {found.text}"
                file = f"{self.prefix}alignment-{n + 1}-{self.names.index(name)}"
                pictures.append(Picture(file, name, alt, figure))
            caption = f"Figure 3{letter}. Line {n + 1}, {lengths[n]} words"
            blocks.append(Pictures(f"{self.prefix}figure-3{letter}", caption, pictures, wide=True))
        if measures.test.gold is not None:
            scored = {name: measures.statistics[name] for name, _ in runs}
            blocks.append(links_table(self.prefix + "alignment-error", scored, measures.test.gold))
        return blocks

    def timing(self) -> list[Block]:
        """Returns the speed of our runs, measured while they translated."""
        rows: list[list[Value]] = []
        made, words = [], sum(self.measures.lengths)
        for name, run in self.runs:
            seconds, search = float(np.sum(run.seconds)), run.search
            rows.append([name, *(round(n / seconds, 2) for n in (len(run.seconds), words)), seconds])
            made.append(f"{name}: {run.hardware}, beam {search['beam']}, batches of {search['batch_size']}")
        note = "Wall-clock time of search in batches of similar length, on an otherwise idle machine or not."
        heads = [Column("System")]
        heads += [
            Column(name, ",.2f") for name in ("Sentences per second", "Source words per second", "Seconds")
        ]
        table = Table(self.prefix + "timing", "Time of translation", heads, rows, [note], made)
        return [table] if rows else []


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
