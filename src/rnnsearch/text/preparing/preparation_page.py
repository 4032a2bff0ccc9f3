"""The report of a preparation as a page: what was read and dropped, both sides in numbers and charts, and a few random pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime

from rnnsearch.config import DataSettings
from rnnsearch.drawing.document import Block, Column, Document, Paragraph, Section, Sentence, Sentences, SentenceText, Table, Value, Word
from rnnsearch.drawing.page import as_html
from rnnsearch.system.version import package_version
from rnnsearch.text.preparing.preparation_charts import charts
from rnnsearch.text.preparing.preparation_report import DroppedExample, PreparationReport, Sample, TextReport, share

_BESIDE = (("report.txt", "this report as text"), ("report.json", "all numbers"), ("dropped.tsv.gz", "every dropped pair"))


def page(report: PreparationReport, settings: DataSettings, command: str = "") -> str:
    """The whole page. command: shown as what made the dataset."""
    names = [text.name for text in (*report.texts, *report.dev)]
    folder, short = _relative(names)
    named = short if len(report.texts) > 1 else {}
    languages = settings.source_language, settings.target_language
    kept = f"{report.pairs_kept:,} of {report.pairs_read:,} pairs kept ({share(report.pairs_kept, report.pairs_read)})"
    sections = [
        Section("texts", "Texts", [_texts(report, short)]),
        Section("sides", "Source and target", [_sides(report), _sizes(report), charts(report)]),
        Section("dropped", "Dropped pairs", _dropped(report, named)),
        Section("samples", "Random pairs", [_pairs("random", "Random pairs that were kept", report.samples, named, shown=True)]),
    ]
    if report.padding:
        sections.insert(3, Section("padding", "Padding", [_padding(report)]))
    made = [("rnnsearch", package_version()), ("Languages", f"{languages[0]} (source), {languages[1]} (target)")]
    document = Document(
        "Prepared dataset",
        f"{languages[0]} to {languages[1]}: {kept}.",
        sections,
        made=[*made, *([("Folder of the texts", folder)] if folder else [])],
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        source_language=languages[0],
        target_language=languages[1],
        beside=_BESIDE,
    )
    return as_html(document)


def _relative(names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The folder that all the files are in, "" if there is none, and each name relative to it. A text's name may be that of two files."""
    folders = [folder for name in names for file in name.split(" | ") if (folder := os.path.dirname(file))]
    common = os.path.commonpath(folders) if len({os.path.isabs(folder) for folder in folders}) == 1 else ""

    def short(file: str) -> str:
        return os.path.relpath(file, common) if common and os.path.dirname(file) else file

    return common, {name: " | ".join(map(short, name.split(" | "))) for name in names}


def _texts(report: PreparationReport, short: dict[str, str]) -> Table:
    rows: list[list[Value]] = [
        [short[text.name], text.pairs_read, text.pairs_kept, _warnings(text)] for text in (*report.texts, *report.dev)
    ]
    columns = Column("Text"), Column("Pairs read"), Column("Pairs kept"), Column("Input warnings")
    return Table("pairs", "Pairs of each text", columns, rows)


def _warnings(text: TextReport) -> str | None:
    sides = ("source", text.source_warnings), ("target", text.target_warnings)
    found = [
        f"{side}: {kind} in {count:,} line{'s' * (count != 1)} (first: {warnings.first[kind]:,})"
        for side, warnings in sides
        for kind, count in sorted(warnings.lines.items())
    ]
    return "; ".join(found) or None


def _sides(report: PreparationReport) -> Table:
    columns = [Column("Side"), Column("Sentences"), Column("Words"), Column("Distinct words"), Column("Words per sentence", ".1f")]
    columns += [Column("Longest sentence"), Column(f"Known {report.unit}, %", ".2f"), Column("Sentences without unknown ones, %", ".2f")]
    sides = {"source": report.source, "target": report.target, "dev source": report.dev_source, "dev target": report.dev_target}
    rows: list[list[Value]] = []
    for name, side in sides.items():
        if side is not None:
            counts = side.sentences, side.words, side.distinct_words, side.words / max(side.sentences, 1), side.longest
            known = 100 * side.known_tokens / max(side.tokens, 1), 100 * side.known_sentences / max(side.sentences, 1)
            rows.append([name, *counts, *known])
    return Table("counts", "Words and sentences", columns, rows)


def _sizes(report: PreparationReport) -> Paragraph:
    links = "" if report.links is None else f" Word links: {report.links:,}."
    return Paragraph(f"Vocabulary size: {report.source_vocabulary:,} source, {report.target_vocabulary:,} target.{links}")


def _dropped(report: PreparationReport, named: dict[str, str]) -> list[Block]:
    rows: list[list[Value]] = [[tally.reason, tally.setting or "always on", tally.pairs] for tally in report.dropped]
    table = Table("reasons", "Pairs dropped by each filter", (Column("Filter"), Column("Setting"), Column("Pairs")), rows)
    found = [tally for tally in report.dropped if tally.examples]
    examples = [_pairs(f"dropped-{place}", f"Examples: {tally.reason}", tally.examples, named) for place, tally in enumerate(found)]
    return [table, *examples]


def _pairs(name: str, caption: str, pairs: Sequence[DroppedExample | Sample], named: dict[str, str], shown: bool = False) -> Sentences:
    sentences = [
        Sentence(
            f"Pair {pair.number:,}",
            named.get(pair.text, ""),
            [
                SentenceText("Source", [Word(pair.source or "(empty)")], role="source"),
                SentenceText("Target", [Word(pair.target or "(empty)")]),
            ],
        )
        for pair in pairs
    ]
    return Sentences(name, caption, sentences, open=shown)


def _padding(report: PreparationReport) -> Table:
    rows: list[list[Value]] = [[entry.batches, 100 * entry.share] for entry in report.padding]
    return Table("batches", "Padding of a batch", (Column("Batches"), Column("Positions that are padding, %", ".1f")), rows)
