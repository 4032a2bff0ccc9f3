"""A document in its four forms."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from matplotlib.figure import Figure

from rnnsearch.lab.page import (
    Column,
    Document,
    Picture,
    Pictures,
    Section,
    Sentences,
    SentenceText,
    Table,
    as_csv,
    as_html,
    as_json,
    as_latex,
    as_markdown,
    as_text,
)

TABLE = Table(
    "scores",
    "Scores of <A> & |B|",
    (
        Column("System"),
        Column("BLEU", ".2f", "highest"),
        Column("TER", ".1f", "lowest"),
        Column("Updates"),
        Column("Note", numeric=False),
    ),
    [
        ["<A>", 20.126, 60.0, 12345, 'a "quote"'],
        ["|B|", 20.1, 59.96, None, "x"],
        ["none", None, None, -3, ""],
    ],
    notes=["A note."],
    made=["signature"],
)


def document(*blocks: object) -> Document:
    inner = Section("inner", "Inner", ["text *with* <b>"])
    return Document(
        "Title",
        "Lead.",
        [Section("one", "One", list(blocks), [inner])],
        [("Run", "x")],
        "rnnsearch report",
        "today",
    )  # type: ignore[arg-type]


def test_numbers_are_written_as_their_column_says_and_the_best_stand_out() -> None:
    first, second, third = TABLE.cells
    assert [cell.text for cell in first] == ["<A>", "20.13", "60.0", "12,345", 'a "quote"']
    assert [cell.text for cell in second] == ["|B|", "20.10", "60.0", "–", "x"]
    assert [cell.text for cell in third] == ["none", "–", "–", "−3", ""]
    assert [cell.best for cell in first] == [False, True, False, False, False]
    assert [cell.best for cell in second] == [False, False, True, False, False]
    assert TABLE.numeric == {1, 2, 3}


def test_files_hold_what_was_computed() -> None:
    read = list(csv.DictReader(io.StringIO(as_csv(TABLE))))
    assert read[0] == {
        "System": "<A>",
        "BLEU": "20.126",
        "TER": "60.0",
        "Updates": "12345",
        "Note": 'a "quote"',
    }
    assert read[1]["Updates"] == ""
    numbers = json.loads(as_json(document(TABLE)))["tables"]["scores"]
    assert numbers["rows"][0]["BLEU"] == 20.126
    assert numbers["rows"][1]["Updates"] is None
    assert numbers["made"] == ["signature"]
    infinite = as_json(document(Table("t", "", [Column("a")], [[math.inf], [math.nan]])))
    assert json.loads(infinite)["tables"]["t"]["rows"] == [{"a": None}, {"a": None}]
    picture = Picture("p", "A caption", "", Figure())
    shown = json.loads(as_json(document(Pictures("f", "Figure", [picture]))))
    assert shown["figures"] == {"p": "A caption"}


def test_markdown_escapes_what_would_be_marks() -> None:
    lines = as_markdown(document(TABLE)).split("\n")
    assert '| \\<A\\> | **20.13** | 60.0 | 12,345 | a "quote" |' in [line.strip() for line in lines]
    assert "| \\|B\\| | 20.10 | **60.0** | – | x |" in [line.strip() for line in lines]
    header = next(place for place, line in enumerate(lines) if line.startswith("| System"))
    assert lines[header + 1] == "|---|---:|---:|---:|---|"
    assert lines[header + 2].startswith("| \\<A\\>")  # no blank line cuts the table
    assert lines[header + 5 : header + 7] == ["", "A note."]  # or the note would be a row of it
    assert "text \\*with\\* \\<b\\>" in lines
    assert [line for line in lines if line.startswith("#")] == [
        "# Title",
        "## One",
        "### Inner",
        "## How it was made",
    ]


def test_markdown_s_blocks_are_paragraphs_of_their_own() -> None:
    markdown = as_markdown(document(TABLE, TABLE, "Then."))
    assert "\n\nData: [tables/scores.csv](tables/scores.csv)\n\n**Scores" in markdown
    assert "(tables/scores.csv)\n\nThen.\n\n" in markdown


def test_sentences_in_both_forms() -> None:
    words = [("l'", False), ("homme", True), (" ", False), ("<unk>", False), ("&amp;", False)]
    lines = [
        SentenceText("Source", [("man", False)], role="source"),
        SentenceText("A", words, "chrF2 1.0"),
    ]
    shown = document(Sentences("s", "Some", [("Line 7", lines)], open=True))
    html, markdown = as_html(shown), as_markdown(shown)
    assert "l&#39;<mark>homme</mark> &lt;unk&gt;" in html
    assert "- A (chrF2 1.0): l'<b>homme</b> \\<unk\\>\\&amp;" in markdown
    assert "Line 7:" in markdown


@pytest.mark.parametrize("wide", [False, True])
def test_pictures_stand_in_the_page_and_beside_the_markdown(wide: bool) -> None:
    pictures = [Picture("p", "A caption", "What *it* shows", Figure())]
    shown = document(Pictures("f", "Figure", pictures, wide=wide))
    assert '<desc id="p-description">What *it* shows</desc>' in as_html(shown)
    assert "![What \\*it\\* shows](figures/p.svg)" in as_markdown(shown)


def test_latex_and_text_of_a_table() -> None:
    """The cells that a person would write; LaTeX's characters are escaped."""
    latex = as_latex([TABLE])
    assert r'$<$A$>$ & \textbf{20.13} & 60.0 & 12,345 & a "quote" \\' in latex
    assert r"\textbar{}B\textbar{} & 20.10 & \textbf{60.0} & -- & x \\" in latex
    assert r"none & -- & -- & $-$3 &  \\" in latex
    assert r"\caption{Scores of $<$A$>$ \& \textbar{}B\textbar{}}" in latex
    assert "\n% A note.\n% signature\n" in latex
    odd = Table("t", "50 % of $x_1$ {#} ~^\\", [Column("a_b")], [])
    assert (
        r"\caption{50 \% of \$x\_1\$ \{\#\} \textasciitilde{}\textasciicircum{}\textbackslash{}}"
        in as_latex([odd])
    )
    assert as_text(TABLE).split("\n") == [
        "System   BLEU   TER  Updates  Note",
        '<A>     20.13  60.0   12,345  a "quote"',
        "|B|     20.10  60.0        –  x",
        "none        –     –       -3",
    ]
