"""Pages of systems: the paper's Section 5 for any runs, test sets and other systems (Tables 1 to 3,
Figures 2 and 3), and a study; each with its Markdown twin and the numbers behind it."""

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

from rnnsearch.cli.answers import Loading
from rnnsearch.evaluation import bleu
from rnnsearch.figure3 import alignment_figure
from rnnsearch.installed import package_version
from rnnsearch.lab.length_bands import length_tokenisation
from rnnsearch.lab.measures import (
    NUMBER_COLUMNS,
    MeasureOptions,
    Measures,
    measure,
    number_rows,
    system_statistics,
)
from rnnsearch.lab.metrics import BLEU, CHRF, SCORES
from rnnsearch.lab.outputs import DEFAULT_LOADING, Kind, OpenedRun, System, open_run, run_answers
from rnnsearch.lab.page import (
    Block,
    Column,
    Document,
    Picture,
    Pictures,
    Section,
    Sentences,
    SentenceText,
    Table,
    Value,
    begin_folder,
    columns,
    write_page,
)
from rnnsearch.lab.run_study import Measured
from rnnsearch.lab.significance import FEWEST_SENTENCES
from rnnsearch.lab.study import StudyFolder
from rnnsearch.lab.tables import (
    Variants,
    by_length,
    difference_table,
    learning_table,
    links_table,
    score_table,
    seeds_by_length,
    seeds_differences,
    seeds_learning,
    seeds_table,
    signatures,
)
from rnnsearch.lab.test_set import TestSet, require_different
from rnnsearch.system.files import file_name
from rnnsearch.system.progress import Progress, silent
from rnnsearch.text.codec import side_tokeniser

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
"""Sentences shown of each kind, and fewest source words of a best or worst one: many shorter
sentences score very high or very low, which says little."""
BESIDE_STUDY = (
    ("table.md", "this page in Markdown"),
    ("table.tex", "scores and differences in LaTeX"),
    ("results.jsonl", "one run per line"),
    ("translations/", "the translations"),
    ("runs/", "the runs"),
)
_WORD = re.compile(r"<unk>|\w+(?:-\w+)*['’]?|\s+|[^\w\s]")

Systems = Mapping[str, Mapping[str, Sequence[str]]]
"""Other systems: name → test set → hypotheses, one per line of the source."""


@dataclass(frozen=True)
class ReportOptions:
    """How a report is made. search: settings that replace each run's own. command: the command line
    shown in the report. translations: folder of the outputs, default out/translations; those that
    are there are reused if weights, settings and text are the same."""

    search: dict[str, Any] | None = None
    loading: Loading = DEFAULT_LOADING
    title: str = ""
    command: str = ""
    translations: Path | None = None


def make_report(
    runs: Mapping[str, Path],
    tests: Sequence[TestSet],
    out: str | Path,
    *,
    systems: Systems | None = None,
    options: ReportOptions = ReportOptions(),
    progress: Progress = silent,
) -> Path:
    """Writes index.html, report.md, report.json, tables/, figures/ and translations/ into `out`;
    returns the page. Tables and figures of an earlier report are removed.

    systems: hypotheses of other systems. Raises InputError for two systems with the same name, for
    a folder that holds other files, and for runs and settings that `Translator` refuses.
    """
    systems, out = systems or {}, Path(out)
    names = [*runs, *systems]
    require_different(names, "systems", "NAME=RUN, or --system NAME=HYP")
    opened = [open_run(name, path, options.search, options.loading) for name, path in runs.items()]
    data = opened[0].run.settings.data if opened else None
    tokeniser = opened[0].run.target.tokeniser if opened else None
    tested = [metric for metric, shown in SCORES.items() if shown.tested]
    wanted = MeasureOptions(multi_bleu=tokeniser, by_length=True, significance=tested)
    begin_folder(out, [path.rstrip("/") for path, _ in BESIDE])
    folder, parts = options.translations or out / "translations", []
    for test in tests:
        compared = [run_answers(run, test, folder, progress).system for run in opened]
        compared += [
            System(name, found[test.name]) for name, found in systems.items() if test.name in found
        ]
        prefix = f"{file_name(test.name)}-" if len(tests) > 1 else ""
        parts.append(TestSetReport(measure(test, compared, wanted), prefix, names))
    learned = (
        [Section("learning", "Learning", [learning_table(parts[0].measures.runs)])]
        if opened
        else []
    )
    sets = ", ".join(f"{test.name} ({len(test.source):,} pairs)" for test in tests)
    several = len(parts) > 1
    signed = [
        (f"Metrics on {one.test.name}" if several else "Metrics", "; ".join(signatures(one)))
        for one in (part.measures for part in parts)
    ]
    document = Document(
        title=options.title or "Translations compared",
        lead=(
            f"{', '.join(names)} on {sets}, measured as in Section 5 of Bahdanau, Cho and Bengio"
            " (2015)."
        ),
        sections=[part.section() for part in parts] + learned,
        made=[*_provenance(opened, tests), *signed],
        files=[table for part in parts for table in part.files()],
        beside=BESIDE,
        command=options.command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        source_language=data.source_language if data else "",
        target_language=data.target_language if data else "",
    )
    return write_page(document, out, "report")


def _provenance(runs: Sequence[OpenedRun], tests: Sequence[TestSet]) -> list[tuple[str, str]]:
    facts = [("rnnsearch", package_version())]
    for run in runs:
        settings = ", ".join(f"{key} {run.search[key]}" for key in SHOWN)
        facts.append(
            (f"Run {run.name}", f"{run.run.path}, checksum {run.run.checksum[:12]}, {settings}")
        )
    for test in tests:
        files = " and ".join(test.files) if all(test.files) else "given as lines"
        facts.append((f"Test set {test.name}", files))
    return facts


@dataclass(frozen=True)
class TestSetReport:
    """A test set's part of the report. prefix: of all names in it, because a report may have
    several test sets. names: all systems of the report; the place of one decides its colour."""

    __test__ = False
    measures: Measures
    prefix: str
    names: Sequence[str]

    @cached_property
    def chrf(self) -> dict[str, list[float]]:
        """The chrF2 of every sentence, by system."""
        return {
            name: list(map(of[CHRF].of_sums, of[CHRF].values.tolist()))
            for name, of in self.measures.statistics.items()
        }

    def section(self) -> Section:
        """Returns the section of the test set, without the parts that need runs if there are
        none."""
        parts = [
            ("scores", "Scores", self.scores()),
            ("length", "Length of the sentence", by_length(self.measures, self.prefix, self.names)),
            ("table-3", "Table 3. Translations side by side", list(self.sentences())),
            ("figure-3", "Alignments", self.alignments()),
            ("timing-section", "Time of translation", self.timing()),
        ]
        inner = [
            Section(self.prefix + name, title, blocks) for name, title, blocks in parts if blocks
        ]
        return Section(
            self.prefix + "results", f"Results on {self.measures.test.name}", sections=inner
        )

    def files(self) -> list[Table]:
        """Returns the tables that are too long for the page: all measured numbers, and every
        sentence with every translation."""
        measures = self.measures
        rows = [list(map(row.get, NUMBER_COLUMNS)) for row in number_rows(measures)]
        caption = "All measures, with 95 % bootstrap intervals"
        numbers = Table(self.prefix + "measures", caption, columns(*NUMBER_COLUMNS), rows)
        texts: dict[str, Sequence[Value]] = {
            "line": range(1, len(measures.lengths) + 1),
            "words": measures.lengths,
            "source": measures.test.source,
            "reference": measures.test.reference,
        }
        for one in measures.systems:
            name = f"system {one.name}" if one.name in texts else one.name
            texts |= {name: one.texts, f"{one.name}, chrF2": self.chrf[one.name]}
        caption = "Every sentence with every translation"
        lines = list(zip(*texts.values(), strict=True))
        return [numbers, Table(self.prefix + "sentences", caption, columns(*texts), lines)]

    def scores(self) -> list[Block]:
        """Returns Table 1, and a matrix of the differences between all systems."""
        measures, first = self.measures, score_table(self.measures, self.prefix)
        tested = [each for each in measures.comparisons if each.metric == BLEU]
        if not tested:
            return [first]
        made = (
            "Bootstrap intervals, chrF2 and all p-values unrounded:"
            f" tables/{self.prefix}measures.csv"
        )
        differences = difference_table(tested, list(measures.statistics), BLEU)
        name, made_so = self.prefix + differences.name, [made, *signatures(measures, [BLEU])]
        return [first, replace(differences, name=name, made=made_so)]

    def sentences(self) -> Iterator[Block]:
        """Yields Table 3: the longest sentences, and the best and the worst of each system."""
        measures, lengths = self.measures, self.measures.lengths
        numbers = range(len(lengths))
        enough = [n for n in numbers if lengths[n] >= SHORTEST] or numbers
        chosen = {"The longest sentences": sorted(numbers, key=lambda n: -lengths[n])}
        for name, values in self.chrf.items():
            chosen[f"{name}: the worst sentences"] = sorted(enough, key=lambda n: values[n])
            chosen[f"{name}: the best sentences"] = sorted(enough, key=lambda n: -values[n])
        yield (
            "Marked words of a translation are not in the reference, or not at this place. Best"
            f" and worst are by chrF2, among sentences of at least {SHORTEST} words."
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
                    score = f"chrF2 {self.chrf[system.name][n]:.1f}"
                    texts.append(SentenceText(system.name, words, score))
                found.append((f"Line {n + 1}, {lengths[n]} words", texts))
            yield Sentences(f"{self.prefix}sentences-{place}", caption, found, open=not place)

    def alignments(self) -> list[Block]:
        """Returns Figure 3 of the runs with an attention, side by side, and the alignment error if
        there are gold links. For each of LENGTHS it has the first sentence of the nearest
        length."""
        translations = {
            name: [line.translation for line in run.outputs[Kind.TRANSLATIONS]]
            for name, run in self.measures.runs.items()
            if run.attends
        }
        if not translations:
            return []
        measures, lengths = self.measures, self.measures.lengths
        usable = [
            n for n in range(len(lengths)) if all(of[n].tokens for of in translations.values())
        ]
        chosen = {
            min(usable, key=lambda n: abs(lengths[n] - length)) for length in LENGTHS if usable
        }
        blocks: list[Block] = [
            "Rows are the words of the translation, columns the words of the source. The brighter a"
            " cell, the larger its weight α."
        ]
        for letter, n in zip("abcd", sorted(chosen, key=lengths.__getitem__), strict=False):
            pictures = []
            for name, of in translations.items():
                found = of[n]
                figure = alignment_figure(found.source_tokens, found.tokens, found.alignment)
                alt = (
                    f"Alignment matrix. Source: {measures.test.source[n]} Translation: {found.text}"
                )
                file = f"{self.prefix}alignment-{n + 1}-{self.names.index(name)}"
                pictures.append(Picture(file, name, alt, figure))
            caption = f"Figure 3{letter}. Line {n + 1}, {lengths[n]} words"
            blocks.append(Pictures(f"{self.prefix}figure-3{letter}", caption, pictures, wide=True))
        if measures.test.gold is not None:
            scored = {name: measures.statistics[name] for name in translations}
            blocks.append(links_table(self.prefix + "alignment-error", scored, measures.test.gold))
        return blocks

    def timing(self) -> list[Block]:
        """Returns the speed of our runs, measured while they translated."""
        rows: list[list[Value]] = []
        made, words = [], sum(self.measures.lengths)
        for name, run in self.measures.runs.items():
            each, search = [line.seconds for line in run.outputs[Kind.TRANSLATIONS]], run.search
            seconds, machine = float(np.sum(each)), run.header["hardware"]
            rows.append([name, *(round(n / seconds, 2) for n in (len(each), words)), seconds])
            made.append(
                f"{name}: {machine}, beam {search['beam']}, batches of {search['batch_size']}"
            )
        note = (
            "Wall-clock time of search in batches of similar length, on an otherwise idle machine"
            " or not."
        )
        speeds = ("Sentences per second", "Source words per second", "Seconds")
        heads = [Column("System"), *(Column(name, ",.2f") for name in speeds)]
        table = Table(self.prefix + "timing", "Time of translation", heads, rows, [note], made)
        return [table] if rows else []


def marked(text: str, reference: str) -> list[tuple[str, bool]]:
    """Splits a translation into words, and marks those outside the blocks that match the reference.
    Case counts."""
    ours, theirs = (_WORD.findall(line) for line in (text, reference))
    places = [place for place, word in enumerate(ours) if not word.isspace()]
    expected = [word for word in theirs if not word.isspace()]
    matcher = SequenceMatcher(None, [ours[place] for place in places], expected, autojunk=False)
    differs = set(places)
    for block in matcher.get_matching_blocks():
        differs.difference_update(places[block.a : block.a + block.size])
    return [(word, place in differs) for place, word in enumerate(ours)]


def write_study(
    folder: StudyFolder, runs: Sequence[Measured], command: str = ""
) -> tuple[str, Path]:
    """Writes index.html, table.md, table.json, table.tex, tables/ and figures/. Returns the
    Markdown, and the path of the page.

    command: the command line shown on the page.
    """
    variants = {
        name: {run.row["seed"]: run for run in runs if run.usable and run.row["variant"] == name}
        for name in folder.study.variants
    }
    variants = {name: seeds for name, seeds in variants.items() if seeds}
    remarks = [
        f"{run.row['run']} is not averaged in. It {run.row['status']}: {run.row['error']}"
        for run in runs
        if not run.usable
    ]
    if missing := sorted({run.name for run in folder.runs} - {run.row["run"] for run in runs}):
        remarks.append(f"Not in these tables: {', '.join(missing)}.")
    translated = next((name for name, test in folder.tests.items() if test.translate), None)
    learning = [*seeds_learning(variants, translated), *remarks]
    document = Document(
        folder.study.title or Path(folder.name).stem,
        _seeds_statement(variants),
        [
            *(_test_section(folder, name, variants) for name in folder.tests),
            Section("learning", "Learning and cost", learning),
        ],
        made=[("rnnsearch", package_version()), ("Study", Path(folder.name).name)],
        beside=BESIDE_STUDY,
        command=command,
    )
    page = write_page(document, folder.path, "table")
    return (folder.path / "table.md").read_text("utf-8"), page


def _seeds_statement(variants: Variants) -> str:
    """Says how many seeds the means are over."""
    counts = {name: len(seeds) for name, seeds in variants.items()}
    most = max(counts.values(), default=0)
    if most < 2:
        return "One seed."
    fewer = [f"{count} of {name}" for name, count in counts.items() if 1 < count < most]
    but = f" ({', '.join(fewer)})" if fewer else ""
    return f"Mean ± sample standard deviation over {most} seeds{but}; no ±: one seed."


def _test_section(folder: StudyFolder, name: str, variants: Variants) -> Section:
    """Returns the tables and figures of one test set."""
    test = folder.read_test(name)
    found = {
        variant: [run.statistics[name] for run in seeds.values()]
        for variant, seeds in variants.items()
    }
    every = dict(found)
    for system, texts in folder.read_systems(name).items():
        options = MeasureOptions(multi_bleu=side_tokeniser("target", folder.corpus.data))
        every[system] = [system_statistics(test, System(system, texts), options)]
    blocks: list[Block] = [seeds_table(name, len(test.source), every)]
    if len(test.source) >= FEWEST_SENTENCES:
        blocks += seeds_differences(folder.study.pairs_to_compare, name, variants)
        blocks += seeds_by_length(
            name, bleu.lengths(test.source, length_tokenisation(test.source)), found
        )
    return Section(f"test-{name}", f"Results on {name}", blocks)
