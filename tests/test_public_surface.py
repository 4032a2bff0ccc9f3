"""What `import rnnsearch` gives, and that it and the command's help cost nothing heavy."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import rnnsearch
import rnnsearch.extending
from rnnsearch.system.extras import package_version

HEAVY = {"torch", "matplotlib", "sacrebleu", "sacremoses", "sentencepiece", "tensorboard", "safetensors"}
BESIDE_HELP = HEAVY | {"numpy", "jaxtyping"}
BESIDE_TRANSLATION = {
    *(
        "matplotlib",
        "PIL",
        "rich.console",  # rich.cells counts columns, and is light
        "pandas",
        "pyarrow",
        "sacrebleu",
        "tensorboard",
        "sentencepiece",
    ),  # the run has no subwords
    *("py3langid", "eflomal", "lxml", "fastapi", "uvicorn", "backports"),
}

PUBLIC = [
    *(
        "AlignedPair",
        "Aligner",
        "AlignmentScore",
        "Corpus",
        "DataSettings",
        "GeneratedPair",
        "GoldLinks",
        "Hypothesis",
        "InputError",
        "Link",
        "ModelSettings",
    ),
    *(
        "PreparationReport",
        "Run",
        "Score",
        "SearchSettings",
        "Settings",
        "TrainingInterrupted",
        "TrainingSettings",
        "Translation",
    ),
    *(
        "Translator",
        "alignment_error",
        "bleu",
        "chrf",
        "generate",
        "load_config",
        "prepare",
        "read_gold",
        "read_pharaoh",
        "recipe_names",
    ),
    *("symmetrise", "train"),
]
FOR_EXTENDERS = [
    *(
        "Alignment",
        "Cell",
        "Encoded",
        "Encoder",
        "Energies",
        "Initialiser",
        "Keys",
        "Linear",
        "Memory",
        "Readout",
        "State",
        "Weights",
    ),
    *("gaussian", "orthogonal", "zeros"),
]
TYPES = {"Link", "Energies", "Initialiser", "Keys", "Memory", "State", "Weights"}
"""Names of types that are no classes, and so have no docstring of their own."""


def test_the_names_are_these() -> None:
    """Whoever changes this list changes what users rely on: docs/reference/stability.md says how."""
    assert rnnsearch.__all__ == PUBLIC
    assert rnnsearch.extending.__all__ == FOR_EXTENDERS
    assert {*PUBLIC, "__version__"} <= {*dir(rnnsearch)}


@pytest.mark.parametrize(
    "name",
    [*(f"rnnsearch.{name}" for name in PUBLIC), *(f"rnnsearch.extending.{name}" for name in FOR_EXTENDERS)],
)
def test_every_name_can_be_imported(name: str) -> None:
    module, _, name = name.rpartition(".")
    namespace: dict[str, object] = {}
    exec(f"from {module} import {name}", namespace)
    found = namespace[name]
    assert found is getattr(sys.modules[module], name)
    assert name in TYPES or inspect.getdoc(found)


def test_type_checkers_see_what_is_imported_when_used() -> None:
    """The names under TYPE_CHECKING are those that __getattr__ finds, from the same modules."""
    import ast

    tree = ast.parse(Path(str(rnnsearch.__file__)).read_text("utf-8"))
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == rnnsearch._LAZY
    assert {*seen, "InputError"} == {*PUBLIC}


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        _ = rnnsearch.nosuch
    with pytest.raises(ImportError):
        exec("from rnnsearch import nosuch")


LIGHT = {
    "import": "import rnnsearch; rnnsearch.Translation, rnnsearch.load_config('demo'), rnnsearch.InputError",
    "star": "from rnnsearch.config import *; from rnnsearch.records import *",
    "help": "import rnnsearch.cli, sys; sys.argv = ['rnnsearch', '--help']; run(rnnsearch.cli.main)",
    "help of a command": "import rnnsearch.cli, sys; sys.argv = ['rnnsearch', 'translate', '--help']; "
    "run(rnnsearch.cli.main)",
    "a wrong recipe": "import rnnsearch.cli, sys; sys.argv = 'rnnsearch train nosuch --data s --out "
    "r'.split(); run(rnnsearch.cli.main)",
}


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
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, encoding="utf-8", check=True
    )
    imported = set(done.stderr.split("\n")[-2].split())
    assert "rnnsearch" in imported
    return imported


@pytest.mark.parametrize("what", LIGHT)
def test_nothing_heavy_is_imported(what: str) -> None:
    imported = imported_by(LIGHT[what])
    assert not imported & HEAVY


@pytest.mark.parametrize("words", [["--help"], ["translate", "--help"]])
def test_help_waits_for_no_library_of_numbers(words: list[str]) -> None:
    assert not imported_by("import rnnsearch.cli; run(rnnsearch.cli.main)", *words) & BESIDE_HELP


def test_a_translator_imports_no_command_and_no_picture() -> None:
    imported = imported_by("from rnnsearch import Translator")
    assert not imported & (BESIDE_TRANSLATION | {"typer", "click", "jinja2", "sacremoses"})


def test_translating_imports_only_what_it_uses(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("The man sees.\n")
    imported = imported_by(
        "import rnnsearch.cli; run(rnnsearch.cli.main)",
        "translate",
        tiny_run,
        tmp_path / "text",
        "--threads",
        1,
    )
    assert "torch" in imported
    assert imported & BESIDE_TRANSLATION == set()


def test_the_version_is_that_of_the_installed_package() -> None:
    try:
        expected = version("rnnsearch")
    except PackageNotFoundError:
        expected = "0 (not installed)"
    assert package_version() == expected
    assert package_version()[0].isdigit()
    assert rnnsearch.__version__ == package_version()


def public_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    for name in PUBLIC:
        found = getattr(rnnsearch, name)
        if inspect.isclass(found):
            for method, _ in inspect.getmembers(
                found, lambda each: inspect.isfunction(each) or inspect.ismethod(each)
            ):
                if not method.startswith("_") and getattr(found, method).__module__.startswith("rnnsearch"):
                    yield f"{name}.{method}", getattr(found, method)
        elif inspect.isfunction(found):
            yield name, found


def test_whoever_takes_a_path_takes_a_string() -> None:
    taking = {
        f"{name}({parameter.name})": str(parameter.annotation)
        for name, function in public_functions()
        for parameter in inspect.signature(function).parameters.values()
        if re.search(r"\bPath\b|\bLines\b", str(parameter.annotation))
    }
    assert taking.keys() >= {
        "Translator.load(runs)",
        "Corpus.open(path)",
        "train(path)",
        "prepare(out)",
        "prepare(source)",
        "load_config(recipe)",
    }
    assert [
        name for name, annotation in taking.items() if not re.search(r"\bstr\b|\bLines\b", annotation)
    ] == []
