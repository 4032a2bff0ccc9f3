"""The report of a preparation as one page of HTML that needs nothing else: tables, charts, examples, and a few random pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from rnnsearch.drawing.svg_charts import Series, lines, steps
from rnnsearch.text.preparing.preparation_report import Dropped, PreparationReport, SideReport, share

_STYLE = """
:root { --text: #1c2024; --dim: #5b6570; --ground: #ffffff; --line: #dfe3e8; --source: #2563a8; --target: #c2571a; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ec; --dim: #9aa5b1; --ground: #14171a; --line: #30363d; --source: #6fb1f5; --target: #f0955c; }
}
body { color: var(--text); background: var(--ground); font: 15px/1.5 system-ui, sans-serif;
  max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; color: var(--dim); font-weight: 600; }
td, th { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-weight: 600; } svg { width: 100%; height: auto; }
.dim { color: var(--dim); } .scroll { overflow-x: auto; }
.tick, .label { fill: var(--dim); font: 11px system-ui, sans-serif; } .grid { stroke: var(--line); }
.line { fill: none; stroke-width: 2; } .area { fill-opacity: .35; stroke-width: 1; }
.source { stroke: var(--source); } .target { stroke: var(--target); }
.area.source, .key.source { fill: var(--source); } .area.target, .key.target { fill: var(--target); }
"""


def page(report: PreparationReport) -> str:
    """The whole page. What the corpus holds is escaped; nothing is loaded from elsewhere."""
    sections = [
        f"<h1>Prepared dataset</h1><p>{report.pairs_read:,} pairs read, {report.pairs_kept:,} kept "
        f"({share(report.pairs_kept, report.pairs_read)}).</p>",
        _section("Texts", _texts(report)),
        _section("Sides", _sides(report)),
        _section("Charts", f'<div class="charts">{"".join(_charts(report))}</div>'),
        _section("Dropped", _dropped(report.dropped)),
        _section("Padding", _padding(report)),
        _section("Random pairs", _samples(report)),
    ]
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Prepared dataset</title><style>{_STYLE}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(sections)}</body></html>\n'


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>" if content else ""


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Numbers stand on the right."""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if not body:
        return ""
    heads = "".join(f"<th>{escape(column)}</th>" for column in columns)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"


def _texts(report: PreparationReport) -> str:
    rows: list[tuple[str, int, int, str]] = []
    for text in [*report.texts, *report.dev]:
        noted = [
            f"{side}: {kind} in {count:,} lines (first {warnings.first[kind]:,})"
            for side, warnings in (("source", text.source_warnings), ("target", text.target_warnings))
            for kind, count in sorted(warnings.lines.items())
        ]
        rows.append((text.name, text.pairs_read, text.pairs_kept, "; ".join(noted)))
    return _table(("text", "pairs read", "kept", "input warnings"), rows)


def _sides(report: PreparationReport) -> str:
    sides = {"source": report.source, "target": report.target, "dev source": report.dev_source, "dev target": report.dev_target}
    rows = [
        (
            name,
            side.sentences,
            side.words,
            side.distinct_words,
            f"{side.words / max(side.sentences, 1):.1f}",
            side.longest,
            share(side.known_tokens, side.tokens),
            share(side.known_sentences, side.sentences),
        )
        for name, side in sides.items()
        if side is not None
    ]
    known = f"{report.unit} known", f"sentences without unknown {report.unit}"
    sizes = f"<p>Vocabulary entries: {report.source_vocabulary:,} source, {report.target_vocabulary:,} target.</p>"
    links = "" if report.links is None else f"<p>Word links: {report.links:,}.</p>"
    return _table(("side", "sentences", "words", "distinct", "words per sentence", "longest", *known), rows) + sizes + links


def _charts(report: PreparationReport) -> Iterable[str]:
    sides: tuple[tuple[str, SideReport], ...] = (("source", report.source), ("target", report.target))
    yield steps("Length", "words", "sentences", [Series(name, name, _bars(side.lengths)) for name, side in sides])
    bounds = [(max(bound, report.ratios[1][0] / 1.2), float(pairs)) for bound, pairs in report.ratios]
    bounds.append((bounds[-1][0] * 1.2, 0.0))  # the last bar needs an end
    yield steps("Ratio of lengths", "target words / source words", "pairs", [Series("pairs", "source", bounds)], logarithmic=True)
    growth = [Series(name, name, [(float(words), float(different)) for words, different in [(0, 0), *side.growth]]) for name, side in sides]
    yield lines("Growth of the vocabulary", "words read", "distinct words", growth)
    coverage = [Series(name, name, [(float(size), 100 * covered) for size, covered in side.coverage]) for name, side in sides]
    yield lines("Coverage", "most frequent words", "% of the running words", coverage, logarithmic=True)


def _bars(heights: Sequence[int]) -> list[tuple[float, float]]:
    return [*((float(place), float(height)) for place, height in enumerate(heights)), (float(len(heights)), 0.0)]


def _dropped(dropped: Sequence[Dropped]) -> str:
    rows = [(tally.reason, tally.setting or "always on", tally.pairs) for tally in dropped]
    examples = [
        (tally.reason, example.text, example.number, example.source or "(empty)", example.target or "(empty)")
        for tally in dropped
        for example in tally.examples
    ]
    note = '<p class="dim">dropped.tsv.gz names every dropped pair.</p>'
    return _table(("reason", "setting", "pairs"), rows) + note + _table(("reason", "text", "pair", "source", "target"), examples)


def _padding(report: PreparationReport) -> str:
    return _table(("batches", "positions that are padding"), [(entry.batches, f"{100 * entry.share:.1f} %") for entry in report.padding])


def _samples(report: PreparationReport) -> str:
    return _table(
        ("text", "pair", "source", "target"), [(entry.text, entry.number, entry.source, entry.target) for entry in report.samples]
    )
