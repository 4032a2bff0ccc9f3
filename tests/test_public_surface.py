"""What `import rnnsearch` gives, and that it and the command's help cost nothing heavy."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refusal

import rnnsearch
import rnnsearch.extending

HEAVY = {
    *[
        "torch",
        "matplotlib",
        "sacrebleu",
        "sacremoses",
        "sentencepiece",
        "tensorboard",
        "safetensors",
    ]
}
BESIDE_HELP = HEAVY | {"numpy", "jaxtyping"}
OTHERS = """
matplotlib PIL pandas pyarrow sacrebleu tensorboard py3langid eflomal lxml fastapi uvicorn backports sentencepiece
rich.console
"""
BESIDE_TRANSLATION = {*OTHERS.split()}
"""The run has no subwords; rich.cells counts columns, and is light."""

TEXT, LINKS = "0-0 1-1", {(0, 0), (1, 1)}
NO_LISTS = [
    ("bleu", (TEXT, TEXT), "str was given, not hypotheses (give a list"),
    ("bleu", ([TEXT], TEXT), "str was given, not references"),
    ("bleu", ([["a", "b"]], [TEXT]), "item 1 of hypotheses is list, not text"),
    ("chrf", ([TEXT], None), "NoneType was given, not references"),
    ("chrf", ({"a": 1}, [TEXT]), "dict was given, not hypotheses"),
    ("symmetrise", (TEXT, TEXT), "forward: str was given, not links (give pairs"),
    ("symmetrise", (LINKS, [0, 1]), "reverse: list was given, not links"),
    (
        "symmetrise",
        (LINKS, LINKS, "best"),
        "there is no method 'best' (use one of grow-diag-final-and",
    ),
    (
        "alignment_error",
        ([TEXT], [rnnsearch.GoldLinks(frozenset(LINKS))]),
        "sentence 1 of links: str",
    ),
    ("alignment_error", ([LINKS], [LINKS]), "sentence 1 of gold is set, not GoldLinks"),
    ("alignment_error", (None, [LINKS]), "NoneType was given, not links (give a list"),
    ("alignment_error", ([LINKS], 1), "int was given, not gold links"),
    (
        "alignment_error",
        ([[("0", "0")]], [rnnsearch.GoldLinks(frozenset())]),
        "sentence 1 of links",
    ),
    ("symmetrise", ([("a", "b")], LINKS), "forward: list was given, not links"),
    ("symmetrise", (LINKS, LINKS, ["union"]), "there is no method ['union'] (use one of"),
    ("GoldLinks", (None,), "sure: NoneType was given, not links"),
    ("GoldLinks", (LINKS, "0-0"), "possible: str was given, not links"),
    ("GoldLinks", ([b"01"],), "sure: list was given, not links"),
    ("GoldLinks", ([(-1, 0)],), "sure: (-1, 0) is no link (count words from 0)"),
    ("symmetrise", ([(-1, 0)], LINKS, "union"), "forward: (-1, 0) is no link"),
    ("chrf", ([TEXT], {TEXT}), "set was given, not references (give a list"),
    ("load_config", ("demo", "model.hidden_size=8"), "str was given, not overrides"),
    ("load_config", ("demo", [8]), "item 1 of overrides is int, not text"),
]


@pytest.mark.parametrize(("name", "given", "said"), NO_LISTS)
def test_what_is_no_list_is_refused(name: str, given: tuple[object, ...], said: str) -> None:
    with refusal(f"^{re.escape(said)}"):
        getattr(rnnsearch, name)(*given)


@pytest.mark.parametrize(
    ("name", "given", "named", "said"),
    [
        ("read_gold", ["a"], {"first": 2}, "first is 2 (give a whole number, from 0 to 1)"),
        ("read_gold", ["a"], {"first": "1"}, "first is '1'"),
        ("read_gold", ["a"], {"pairs": ["a"]}, "pair 1 is str, not a source and a target line"),
        ("generate", [1], {"seed": None}, "seed is None"),
        ("generate", [1], {"min_words": "a"}, "min_words is 'a'"),
        ("Aligner", ["en-fr"], {}, "translator is 'en-fr', no Translator (use Aligner.load)"),
    ],
)
def test_arguments_of_another_kind_are_refused(
    name: str, given: list[object], named: dict[str, object], said: str
) -> None:
    with refusal(f"^{re.escape(said)}"):
        getattr(rnnsearch, name)(*given, **named)


def test_gold_links_may_be_any_links() -> None:
    gold = rnnsearch.GoldLinks([(0, 0)], {(1, 1)})  # type: ignore[arg-type]
    assert gold.sure == {(0, 0)}
    assert gold.possible == LINKS
    assert isinstance(gold.sure, frozenset)
    assert isinstance(gold.possible, frozenset)


def test_a_generator_is_a_list() -> None:
    assert rnnsearch.bleu((text for text in [TEXT]), (text for text in [TEXT])).value > 99.9
    gold = (rnnsearch.GoldLinks(frozenset(links)) for links in [LINKS])
    assert rnnsearch.alignment_error((links for links in [LINKS]), gold).aer == 0  # type: ignore[arg-type]


COMMANDS = {"typer", "click", "jinja2", "sacremoses"}

API = Path(__file__).resolve().parents[1] / "docs" / "reference" / "api.md"
NAMES = re.findall(r"^::: ([\w.]+)$", API.read_text("utf-8"), re.MULTILINE)
"""Whoever changes that page changes what users rely on: docs/reference/stability.md says how."""
PUBLIC = [name.removeprefix("rnnsearch.") for name in NAMES if name.count(".") == 1]
TYPES = {"Link", "Alpha", "Energies", "Initialiser", "Keys", "Memory", "Query"}
"""Names of types that are no classes, and so have no docstring of their own."""


def test_the_names_are_those_of_their_page() -> None:
    extending = [f"extending.{name}" for name in rnnsearch.extending.__all__]
    assert sorted(NAMES) == sorted(f"rnnsearch.{name}" for name in [*rnnsearch.__all__, *extending])
    assert {*PUBLIC, "__version__"} <= {*dir(rnnsearch)}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_imported(name: str) -> None:
    module, _, name = name.rpartition(".")
    namespace: dict[str, object] = {}
    exec(f"from {module} import {name}", namespace)
    found = namespace[name]
    assert found is getattr(sys.modules[module], name)
    assert name in TYPES or inspect.getdoc(found)


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        _ = rnnsearch.nosuch
    with pytest.raises(ImportError):
        exec("from rnnsearch import nosuch")


def imported_by(code: str, *words: object) -> set[str]:
    """The modules and packages that a new process has imported after it has run `code`."""
    code = f"""
import sys
def run(main):
    try: main()
    except SystemExit as leaving: assert not leaving.code or "nosuch" in sys.argv, leaving.code
sys.argv = ["rnnsearch", *sys.argv[1:]]
{code}
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    imported = set(done.stderr.split("\n")[-2].split())
    assert "rnnsearch" in imported
    return imported


RUN = "import rnnsearch.cli; run(rnnsearch.cli.main)"
LIGHT = {
    "import": (
        "import rnnsearch; rnnsearch.Translation, rnnsearch.load_config('demo'), rnnsearch.InputError",
        HEAVY,
    ),
    "star": ("from rnnsearch.config import *; from rnnsearch.records import *", HEAVY),
    "a wrong recipe": (
        f"sys.argv = 'rnnsearch train nosuch --data s --out r'.split(); {RUN}",
        HEAVY,
    ),
    "help": (f"sys.argv[1:] = ['--help']; {RUN}", BESIDE_HELP),
    "help of a command": (f"sys.argv[1:] = ['translate', '--help']; {RUN}", BESIDE_HELP),
    "a translator": ("from rnnsearch import Translator", BESIDE_TRANSLATION | COMMANDS),
}


@pytest.mark.parametrize("what", LIGHT)
def test_nothing_heavy_is_imported(what: str) -> None:
    code, heavy = LIGHT[what]
    assert not imported_by(code) & heavy


def test_translating_imports_only_what_it_uses(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("The man sees.\n")
    words = ["translate", tiny_run, tmp_path / "text", "--threads", 1]
    imported = imported_by(RUN, *words)
    assert "torch" in imported
    assert not imported & BESIDE_TRANSLATION
