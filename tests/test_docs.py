"""The documentation is true: its commands exist, its code runs, its tables say what the code says, its links
lead somewhere."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from functools import reduce
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer
from command_line import Command, sets, sizes

from rnnsearch.cli.answers import json_line
from rnnsearch.cli.commands import app
from rnnsearch.config import load_config, recipe_names, validated
from rnnsearch.errors import InputError
from rnnsearch.installed import VARIABLE
from rnnsearch.lab.study import open_study
from rnnsearch.model.alignment import ALIGNMENTS
from rnnsearch.model.cells import CELLS
from rnnsearch.model.decoder import WIRINGS
from rnnsearch.model.encoder import ENCODERS
from rnnsearch.model.readout import READOUTS
from rnnsearch.records import Translation
from rnnsearch.run import read_statistics
from rnnsearch.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in (
        *sorted(DOCS.rglob("*.md")),
        *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    )
}
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def calls(text: str) -> Iterator[list[str]]:
    """The words after `rnnsearch` of every such command in the sh blocks, wherever it stands in a
    pipeline."""
    for line in "\n".join(blocks(text, "sh")).replace("\\\n", " ").split("\n"):
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set("|&;"):
                yield from called(words)
                words = []
            else:
                words.append(word)


def called(words: list[str]) -> Iterator[list[str]]:
    """What one command of a pipeline asks of rnnsearch, without its redirections."""
    for place in [place for place, word in enumerate(words) if set(word) <= set("<>")][::-1]:
        del words[place : place + 2]
    if words and words[0] == "torchrun":
        words = words[words.index("-m") + 1 :]
    if words and words[0].rpartition("/")[2] == "rnnsearch":
        yield words[1:]


def understood(words: list[str]) -> None:
    """Parses a command as the program does, and its recipe and settings, without running it."""
    if not words or words[0].startswith("-"):
        assert words in (["--help"], ["-h"], ["--version"])
        return
    assert words[0] in COMMANDS, f"there is no `rnnsearch {words[0]}`"
    try:
        context = COMMANDS[words[0]].make_context(words[0], words[1:])
    except typer.Exit:  # --help
        return
    except Exception as error:  # a usage error, whose class typer hides
        raise AssertionError(f"rnnsearch {' '.join(words)}: {error}") from error
    recipe = context.params.get("recipe", "")
    load_config("" if recipe.endswith(".toml") else recipe, context.params.get("set_") or ())


SHOWN = [(name, words) for name, text in PAGES.items() for words in calls(text)]


@pytest.mark.parametrize(
    ("page", "words"), SHOWN, ids=[f"{name}: {' '.join(words)}" for name, words in SHOWN]
)
def test_commands_exist(page: str, words: list[str]) -> None:
    understood(words)


def test_commands_are_found() -> None:
    """The test above is blind without this one."""
    text = "```sh\n$ cat a | rnnsearch translate run \\\n  --beam 5 > b   # text\n"
    text += "ls; .venv/bin/rnnsearch --help && rnnsearch demo\n```\n"
    assert list(calls(text)) == [["translate", "run", "--beam", "5"], ["--help"], ["demo"]]
    assert {words[0] for name, words in SHOWN if name == "docs/tutorial.md"} >= {
        *("demo", "prepare", "train", "translate", "score", "evaluate", "align", "aer")
    }
    for wrong in (
        "translat run",
        "translate run --beams 5",
        "train demo --data store",
        "train dem --data s --out r",
        "aer --links a",
    ):
        with pytest.raises((AssertionError, InputError)):
            understood(wrong.split())


@pytest.mark.parametrize("name", PAGES)
def test_options_exist(name: str) -> None:
    """Those named in running text: `--option` or `--option VALUE`."""
    if "/start/from-" in name:
        pytest.skip("names options of other programs, too; its commands are checked above")
    options = {name for each in COMMANDS.values() for option in each.params for name in option.opts}
    text = re.sub(r"^```.*?^```$", "", PAGES[name], flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`(--[a-z0-9-]+)(?![a-z0-9.-])", text))
    everywhere = {
        "--debug",
        "--help",
        "--quiet",
        "--version",
        "--install-completion",
        "--show-completion",
    }
    others = {"--max-restarts", "--nnodes", "--rdzv-id", "--signal"}  # torchrun's and Slurm's
    assert named <= options | everywhere | others


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere_and_scripts_are_there(name: str) -> None:
    for link in re.findall(r"\]\(([^)#]+)", PAGES[name]):
        if not link.startswith("https://"):
            assert ((ROOT / name).parent / link).exists(), link
    for script in re.findall(r"\b(?:benchmarks|scripts)/[a-z_]+\.py\b", PAGES[name]):
        assert (ROOT / script).is_file(), script


def test_the_index_links_to_every_page() -> None:
    linked = {f"docs/{link}" for link in re.findall(r"\]\(([^)#]+)", PAGES["docs/index.md"])}
    apart = ("docs/index.md", "docs/decisions/", "docs/log.md")
    assert {
        name for name in PAGES if name.startswith("docs/") and not name.startswith(apart)
    } <= linked


REFERENCE = re.compile(r"`((?:[a-z_]+/)*[a-z_]+)\.py:([A-Za-z_.0-9]+)`")


@pytest.mark.parametrize("name", PAGES)
def test_functions_exist(name: str) -> None:
    """`model/decoder.py:Decoder.attend` names a function or class that this very file defines."""
    for file, attribute in REFERENCE.findall(PAGES[name]):
        module = importlib.import_module("rnnsearch." + file.replace("/", "."))
        found = reduce(getattr, attribute.split("."), module)
        found = inspect.unwrap(found.fget if isinstance(found, property) else found)
        assert found.__module__ == module.__name__, (
            f"{file}.py:{attribute} is defined in {found.__module__}"
        )


def test_every_equation_has_its_place() -> None:
    lines = PAGES["docs/how-to/read-the-code.md"].split("\n")
    rows = [line.split("|") for line in lines if line.startswith("| ")]
    placed = {row[1].strip() for row in rows if REFERENCE.search(row[3])}
    equations = {f"Eq. {number}" for number in range(1, 8)}
    assert placed >= equations | {"A.1.1", "A.1.2", "A.2.1", "A.2.2", "A.2.3", "B.1", "B.2"}


def test_settings_page_is_up_to_date() -> None:
    page = runpy.run_path(str(ROOT / "scripts/settings_reference.py"))["page"]()
    remedy = "python scripts/settings_reference.py > docs/reference/settings.md"
    assert PAGES["docs/reference/settings.md"] == page, remedy


def test_what_the_paper_states_is_the_default_or_a_recipe() -> None:
    """A plain value in the column of the paper is the default, or that of RNNsearch-50."""
    paper = runpy.run_path(str(ROOT / "scripts/settings_reference.py"))["PAPER"]
    settings, recipe = Settings(), load_config("rnnsearch-50")
    for section, keys in paper.items():
        assert keys.keys() <= type(getattr(settings, section)).model_fields.keys()
        for key, stated in keys.items():
            value = re.fullmatch(r"`([^`]+)` \([A-Z0-9., ]+\)", stated)
            if value:
                known = [getattr(getattr(each, section), key) for each in (settings, recipe)]
                assert tomllib.loads(f"value = {value[1]}")["value"] in known, f"{section}.{key}"


def described_recipes() -> dict[str, dict[str, Any]]:
    """Recipe → {setting: value}, from the tables of recipes.md: a column with a recipe's name in its head
    holds its values."""
    described: dict[str, dict[str, Any]] = {}
    head: list[str] = []
    for line in PAGES["docs/reference/recipes.md"].split("\n"):
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if cells[0] == "setting":
            head = cells
        elif line.startswith("| `"):
            for name, value in zip(head[1:], cells[1:], strict=True):
                if name != "why" and value:
                    described.setdefault(name, {})[cells[0]] = tomllib.loads(f"value = {value}")[
                        "value"
                    ]
    return described


def test_recipes_are_described_as_they_are() -> None:
    described = described_recipes()
    assert sorted(described) == recipe_names()
    for name in recipe_names():
        table = tomllib.loads(
            (resources.files("rnnsearch") / "recipes" / f"{name}.toml").read_text("utf-8")
        )
        assert described[name] == {
            f"{section}.{key}": value for section in table for key, value in table[section].items()
        }, name


@pytest.mark.parametrize("name", PAGES)
def test_toml_blocks_are_recipes_or_studies(name: str, tmp_path: Path) -> None:
    for block in blocks(PAGES[name], "toml"):
        if "variants" in tomllib.loads(block):
            (tmp_path / "study.toml").write_text(block, "utf-8")
            open_study(tmp_path / "study.toml")
        else:
            validated(tomllib.loads(block), name)


@pytest.mark.parametrize("name", PAGES)
def test_settings_named_in_the_text_exist(name: str) -> None:
    """As `section.key`, `section.key = value` or `--section.key VALUE`."""
    known = {
        f"{section}.{key}" for section, table in Settings() for key in type(table).model_fields
    }
    sections = "|".join(Settings.model_fields)
    named = re.findall(rf"`((?:{sections})\.[a-z_]+)[ `]", PAGES[name])
    named += re.findall(r"`--([a-z]+\.[a-z_]+)", PAGES[name])
    files = {"data.toml", "model.safetensors", "translation.en", "translation.fr"}
    assert {*named} <= known | files


def test_model_page_names_every_part() -> None:
    page = PAGES["docs/reference/model.md"]
    parts = [part for each in (CELLS, ENCODERS, READOUTS, WIRINGS) for part in each.values()]
    names = [*ALIGNMENTS.values(), *(f"{part.__module__}:{part.__name__}" for part in parts)]
    for module, _, name in (each.removeprefix("rnnsearch.").partition(":") for each in names):
        assert f"{module.replace('.', '/')}.py:{name}" in page


def test_files_page_names_every_file(
    tiny_store: Path, tiny_run: Path, tiny_subword_run: Path
) -> None:
    page = PAGES["docs/reference/files.md"]
    for folder in (tiny_store, tiny_run, tiny_subword_run):
        for path in folder.rglob("*"):
            name = re.sub(r"\b(source|target)\b", "<side>", str(path.relative_to(folder)))
            name = re.sub(r"(tfevents)\..*", r"\1.*", name)
            assert path.is_dir() or f"`{name}`" in page, name
    statistics = json.loads((tiny_run / "log/statistics.json").read_text("utf-8"))
    for key in (*statistics, *statistics["validations"][-1]):
        assert f"`{key}`" in page, key


def test_files_page_names_every_field() -> None:
    translation = Translation("", [], ["</s>"], 0.0, [], np.zeros((0, 1), dtype=np.float32))
    table = PAGES["docs/reference/files.md"].partition("| field |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(
        json.loads(json_line(0, translation))
    )


TINY = """
model = {embedding_size = 8, hidden_size = 8, alignment_size = 8, maxout_size = 8}
training = {batch_size = 20, threads = 1}
stopping = {max_updates = 4, validate_every = 4, samples = 1}
search = {beam = 2, max_length_ratio = 1.0}
"""


@pytest.fixture
def reader(
    tiny_corpus: Path, tiny_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of someone who follows the pages: a corpus and small.toml, which here is even smaller."""
    (tmp_path / "corpus").symlink_to(tiny_corpus)
    (tmp_path / "prepared").symlink_to(tiny_store)
    (tmp_path / "small.toml").write_text(TINY, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    for module in ("my_scorer", "my_cell"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return tmp_path


def test_small_toml_is_the_demo_recipe() -> None:
    """As the tutorial says."""
    (block,) = blocks(PAGES["docs/tutorial.md"], "toml")
    assert validated(tomllib.loads(block), "tutorial") == load_config("demo")


def test_python_of_the_tutorial(reader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each block by itself, in their order: a block has only the files of those before it, none of their
    names."""
    for block in blocks(PAGES["docs/tutorial.md"], "python"):
        exec(block, {"__name__": "__main__"})
    said = capsys.readouterr().out
    assert "pairs    300 read" in said
    assert "\nBLEU " in said
    assert (reader / "alignment.png").exists()
    assert (reader / "little-store").is_dir()


@pytest.fixture
def demo(reader: Path, tiny_run: Path) -> Path:
    """The same folder after `rnnsearch demo`."""
    (reader / "run").symlink_to(tiny_run)
    (reader / "demo").mkdir()
    (reader / "demo/run").symlink_to(tiny_run)
    (reader / "demo/corpus").symlink_to(reader / "corpus")
    return reader


@pytest.mark.parametrize("page", ["alignment-researcher", "practitioner"])
def test_python_of_the_first_pages(
    page: str, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = blocks(PAGES[f"docs/start/{page}.md"], "python")
    exec(block, {"__name__": "__main__"})
    assert capsys.readouterr().out


def test_python_of_the_readme(demo: Path) -> None:
    names: dict[str, Any] = {}
    (block,) = blocks(PAGES["README.md"], "python")
    exec(block, names)
    result = names["result"]
    assert result.alignment.shape == (len(result.tokens), len(result.source_tokens))
    assert (demo / "alignment.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.slow
def test_commands_of_the_readme(tiny_corpus: Path, reader: Path, command: Command) -> None:
    """Only the network and the corpus are small here."""
    small = {
        "prepare": ["data.vocabulary_size=120"],
        "train": [*sizes(16), "model.encoder_size=16", "stopping.max_updates=4"],
    }
    small["train"] += ["stopping.validate_bleu=false", "stopping.samples=0"]
    for file in tiny_corpus.iterdir():
        shutil.copy(file, reader)
    ran = []
    (block,) = (text for text in blocks(PAGES["README.md"], "sh") if "rnnsearch prepare" in text)
    for line in block.strip().split("\n"):
        words, _, redirected = line.split("#")[0].partition(">")
        _, name, *arguments = shlex.split(words)
        if name == "try":  # all of the others in one: tests/test_quick_start.py
            continue
        outcome = command(name, *arguments, *sets(*small.get(name, ())).split())
        assert outcome.code == 0, outcome.err
        if redirected:
            Path(redirected.strip()).write_text(outcome.out, encoding="utf-8")
            assert len(outcome.lines) == 20
        ran.append(name)
    assert ran == ["prepare", "train", "translate", "evaluate", "align", "report"]
    assert Path("report/index.html").exists()


def test_the_labels_of_their_page_are_carried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other weights may miss a label or two; what the page shows is what most of them say."""
    monkeypatch.setenv(VARIABLE, str(ROOT / "models/src/rnnsearch_models"))
    page, names = PAGES["docs/how-to/carry-labels.md"], dict[str, Any]()
    cuts = str.splitlines, str.split
    for code, said, cut in zip(blocks(page, "python"), blocks(page, "text"), cuts, strict=True):
        exec(code, names)
        found, expected = cut(capsys.readouterr().out), cut(said)
        assert len(found) == len(expected)
        assert sum(one == other for one, other in zip(found, expected, strict=True)) >= 0.8 * len(
            expected
        )
    assert names["aligner"].reverse is not None


OWN = blocks(PAGES["docs/how-to/own-scorer.md"], "python")
"""The code of my_scorer.py, that which checks it, my_cell.py, and my_metric.py."""


def test_own_scorer_page(reader: Path, command: Command) -> None:
    """Its commands and its Python are run as they stand; without consent the run is refused."""
    scorer, check, cell, metric = OWN
    (reader / "my_scorer.py").write_text(scorer, "utf-8")
    (reader / "my_cell.py").write_text(cell, "utf-8")
    (reader / "my_metric.py").write_text(metric, "utf-8")
    (reader / "store").symlink_to("prepared")
    for words in calls(PAGES["docs/how-to/own-scorer.md"]):
        done = command(*words)
        assert done.code == 0, done.err
        if "--trust-code" in words:
            assert len(done.lines) == 20
            refused = command(*(word for word in words if word != "--trust-code"))
            assert (refused.code, refused.out) == (2, "")
            assert "my_scorer:Smoothed" in refused.err
    exec(check, {"__name__": "check"})
    assert all("dev_metric" in row for row in read_statistics(reader / "run-chrf")["validations"])


def test_own_cell_equation(reader: Path) -> None:
    names: dict[str, Any] = {}
    exec(OWN[2], names)
    e, s, c = torch.randn(3), torch.randn(2), torch.randn(4)
    cell = names["OneGate"](3, 2, 4)
    W, W_f, b, b_f = cell.W.weight[:2], cell.W.weight[2:], cell.W.bias[:2], cell.W.bias[2:]
    U, U_f, C, C_f = cell.U.weight, cell.U_f.weight, cell.C.weight[:2], cell.C.weight[2:]
    f = torch.sigmoid(W_f @ e + b_f + U_f @ s + C_f @ c)
    expected = (1 - f) * s + f * torch.tanh(W @ e + b + U @ (f * s) + C @ c)
    torch.testing.assert_close(cell(cell.project(e), s, c), expected)
    assert names["OneGate"](3, 2).C is None


def test_python_of_the_evaluation_page(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = blocks(PAGES["docs/how-to/evaluate.md"], "python")
    exec(code, {})
    score, first, second, *_, p_value = capsys.readouterr().out.split("\n")[:-1]
    assert score.startswith("BLEU ")
    assert (first.split()[:2], second.split()[:2]) == (["1–10", "1"], ["11–20", "1"])
    assert 0 < float(p_value) <= 1
