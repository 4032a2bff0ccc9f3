"""`rnnsearch report` from runs, another system and test sets to the page, on tiny runs."""

from __future__ import annotations

import csv
import json
import re
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Command, assert_refused
from folders import names
from html_elements import Elements
from pairs import lines_of, write

from rnnsearch.evaluation.bleu import bleu, chrf_statistics
from rnnsearch.lab.report import make_report, marked
from rnnsearch.lab.test_set import TestSet as Texts
from rnnsearch.lab.test_set import read_test_sets
from rnnsearch.translation.translator import Translator

EVIL = "<script>alert(1)</script> & \"quoted\" | `code` $x$ 'single' </table>"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def material(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A test set with hostile text in it, and the translations of another system."""
    folder = tmp_path_factory.mktemp("report")
    source, reference = (lines_of(tiny_corpus / f"test.{side}") for side in ("en", "fr"))
    other = [line.replace("le ", "la ") for line in reference]
    source[3], reference[3], other[3], other[5] = EVIL, f"{EVIL} !", EVIL, ""
    texts = {"test.en": source, "test.fr": reference, "other.fr": other}
    return {name: write(folder / name, lines) for name, lines in texts.items()}


@pytest.fixture(scope="module")
def line(material: dict[str, Path], tiny_run: Path, tiny_unknown_run: Path) -> str:
    """The command but for --out."""
    files = (
        f"--test {material['test.en']} {material['test.fr']} --system Other={material['other.fr']}"
    )
    return f"report known={tiny_run} short={tiny_unknown_run} {files} --beam 2"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report") / "out"


@pytest.fixture
def made(command: Command, line: str, out: Path) -> Path:
    """The folder of the report; the first test that asks makes it."""
    if not (out / "index.html").exists():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rnnsearch.lab.tables.FEWEST_SENTENCES", 1)
            result = command(f"{line} --out {out}")
        assert (result.code, result.err) == (0, "")
        assert result.lines == [str(out / "index.html")]
    return out


@pytest.fixture
def page(made: Path) -> Elements:
    return Elements((made / "index.html").read_text("utf-8"))


def test_scores_are_those_of_the_translations(made: Path, material: dict[str, Path]) -> None:
    table = {row["System"]: row for row in rows(made / "tables" / "table-1.csv")}
    assert list(table) == ["known", "short", "Other"]
    texts = {name: lines_of(made / f"translations/{name}/test.txt") for name in ("known", "short")}
    texts["Other"] = lines_of(material["other.fr"])
    reference = lines_of(material["test.fr"])
    for name, row in table.items():
        assert float(row["BLEU"]) == pytest.approx(bleu(texts[name], reference).value)
        assert float(row["chrF2"]) == pytest.approx(
            chrf_statistics(texts[name], reference).score().value
        )
    assert table["Other"]["Perplexity"] == ""  # there is no model to ask
    assert float(table["known"]["Perplexity"]) > 1


def test_every_table_and_figure_says_how_it_was_made(page: Elements) -> None:
    blocks = len(page.every("table")) + sum(
        (attributes.get("class") or "") == "block" for attributes in page.every("figure")
    )
    assert page.text.count("How this was made") == blocks
    assert page.text.count("rnnsearch report known=") == blocks + 1
    footer = page.text[page.text.rindex("How it was made") :]  # all that paper shows of it
    assert "BLEU: nrefs:1|case:mixed|eff:no|tok:13a" in footer


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("a b c", "a b c", []),
        ("a x c", "a b c", ["x"]),
        ("a c", "a b c", []),  # what is missing cannot be marked
        ("b a", "a b", ["a"]),  # one of the two stands elsewhere
        ("l'homme.", "l'homme !", ["."]),
        ("Le  chat <unk>", "le chat", ["Le", "<unk>"]),
        ("", "a", []),
    ],
)
def test_words_that_differ(text: str, reference: str, expected: list[str]) -> None:
    words = marked(text, reference)
    assert [word for word, differs in words if differs] == expected
    assert "".join(word for word, _ in words) == text


def test_a_second_report_does_not_translate_again(
    command: Command, made: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("translated again")

    names = (
        "index.html",
        "report.md",
        "report.json",
        "tables/sentences.csv",
        "tables/timing.csv",
        "figures/figure-2-bleu.svg",
    )
    before = [_without_date((made / name).read_bytes()) for name in names]
    monkeypatch.setattr("rnnsearch.lab.tables.FEWEST_SENTENCES", 1)
    monkeypatch.setattr(Translator, "translate", refuse)
    monkeypatch.setattr(Translator, "force", refuse)
    assert command(f"{line} --out {made}").code == 0
    assert [_without_date((made / name).read_bytes()) for name in names] == before


def _without_date(content: bytes) -> bytes:
    return re.sub(rb"20\d\d-\d\d-\d\d \d\d:\d\d( \w+)?", b"", content)


def test_a_full_disk_is_one_line_that_names_the_file(
    command: Command, material: dict[str, Path], tmp_path: Path
) -> None:
    """A limit on the size of files does what a disk with 8 kB left does."""
    test = f"--test {material['test.en']} {material['test.fr']} --system A={material['other.fr']}"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
        done = command(f"report {test} --out {tmp_path}/out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert re.match(rf"rnnsearch: {tmp_path}/out/\S+\.\w+: ", done.err)


def test_several_test_sets(
    command: Command, material: dict[str, Path], tiny_run: Path, tmp_path: Path
) -> None:
    source, reference, other = (material[name] for name in ("test.en", "test.fr", "other.fr"))
    files = f"--test a={source} {reference} b={source} {reference} --system Other={other} -"
    assert command(f"report {tiny_run} {files} --out {tmp_path}/out").code == 0
    tables = {
        name: [row["System"] for row in rows(tmp_path / "out" / "tables" / f"{name}-table-1.csv")]
        for name in "ab"
    }
    assert tables == {"a": [tiny_run.name, "Other"], "b": [tiny_run.name]}
    made = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["made"]
    assert {"Metrics on a", "Metrics on b"} <= made.keys()
    page = Elements((tmp_path / "out" / "index.html").read_text("utf-8"))
    ids = page.values("id")
    assert len(ids) == len(set(ids))


def test_tables_and_figures_of_an_earlier_report_go(
    material: dict[str, Path], tmp_path: Path
) -> None:
    test = read_test_sets([str(material["test.en"]), str(material["test.fr"])])[0]
    out = tmp_path / "out"
    make_report(
        {}, [test], out, systems={"A": {"test": test.reference}, "B": {"test": test.reference}}
    )
    for folder in ("figures", "tables"):
        (out / folder / "mine.svg").touch()
    make_report(
        {},
        [replace(test, name="a"), replace(test, name="b")],
        out,
        systems={"A": {"a": test.reference, "b": test.reference}},
    )
    left = {path.name for folder in ("figures", "tables") for path in (out / folder).iterdir()}
    assert "mine.svg" in left
    assert {name.partition("-")[0] for name in left - {"mine.svg"}} == {"a", "b"}


def test_a_system_may_have_the_name_of_a_column(tmp_path: Path) -> None:
    test = Texts("t", ["a", "b c"], ["x", "y z"])
    systems = {name: {"t": ["w", "v"]} for name in ("reference", "words")}
    make_report({}, [test], tmp_path / "out", systems=systems)
    found = rows(tmp_path / "out" / "tables" / "sentences.csv")
    assert [(row["words"], row["reference"]) for row in found] == [("1", "x"), ("2", "y z")]
    assert [row["system reference"] for row in found] == ["w", "v"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--system Bad={bad}", "bad: has 1 line"),
        ("--out {full}", "exists and holds files that are not a report's"),
        ("--out {page}", "exists and holds files that are not a report's"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    command: Command, line: str, tmp_path: Path, change: str, message: str
) -> None:
    (tmp_path / "bad").write_text("one\n", "utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "work").touch()
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<h1>My own</h1>")
    places = {name: str(tmp_path / name) for name in ("bad", "full", "page")}
    out = "" if "--out" in change else f"--out {tmp_path}/out "
    assert_refused(command(f"{line} {out}{change.format(**places)}"), message)
    assert not (tmp_path / "out" / "index.html").exists()
    assert names(tmp_path / "full") == ["work"]
    assert (tmp_path / "page" / "index.html").read_text() == "<h1>My own</h1>"
