"""A message is one line that does nothing to the terminal, whatever the names in it hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

from rnnsearch import (
    Aligner,
    DataSettings,
    PrepareOptions,
    Run,
    Translator,
    generate,
    load_config,
    prepare,
    read_gold,
    train,
)
from rnnsearch.arguments import require_number
from rnnsearch.errors import InputError, escaped


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain é 中 a\u0301", "plain é 中 a\u0301"),
        ("tab\tand\nline", r"tab\tand\nline"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("not UTF-8 \udcff", r"not UTF-8 \udcff"),
    ],
)
def test_what_no_terminal_shows_is_escaped(name: str, shown: str) -> None:
    assert escaped(name) == shown
    assert str(InputError("is odd", file=name)) == f"{shown}: is odd"
    assert escaped(name).encode("utf-8")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("is wrong"), "is wrong"),
        (InputError("is wrong", remedy="mend it"), "is wrong (mend it)"),
        (InputError("is wrong", file="a.txt"), "a.txt: is wrong"),
        (
            InputError("is wrong", file=Path("a/b"), line=3, remedy="mend it"),
            "a/b:3: is wrong (mend it)",
        ),
        (
            InputError("is\r\nwrong\x1b[2J", file="a\nb", remedy="mend\nit"),
            r"a\nb: is wrong\x1b[2J (mend it)",
        ),
    ],
)
def test_an_error_is_one_line(error: InputError, line: str) -> None:
    assert str(error) == line


@pytest.mark.parametrize(
    ("value", "whole", "said"),
    [
        (0, True, r"size is 0 \(give a whole number, from 1 to 9\)"),
        ("3", True, r"size is '3' \(give a whole number"),
        (2.0, True, r"size is 2.0 \(give a whole number"),
        (math.nan, False, r"size is nan \(give a number, from 1 to 9\)"),
        (9.5, False, r"size is 9.5 \(give a number"),
    ],
)
def test_a_number_that_cannot_be_is_one_line(value: object, whole: bool, said: str) -> None:
    require_number("size", np.int64(9), 1, 9)
    require_number("size", 9.0, 1, 9, whole=False)
    with refusal(said):
        require_number("size", value, 1, 9, whole=whole)


@pytest.mark.parametrize(
    ("misuse", "said"),
    [
        (lambda: Run.open(3), r"the run is 3, of type int \(give a str or Path\)"),  # type: ignore[arg-type]
        (lambda: read_gold(b"x"), r"the file is b'x', of type bytes"),  # type: ignore[arg-type]
        (lambda: load_config(3), "the recipe is 3"),  # type: ignore[arg-type]
        (lambda: train(3, 4, "run"), "settings is 3"),  # type: ignore[arg-type]
        (lambda: generate(-1), "pairs is -1"),
        (lambda: prepare([], [], "s", settings=3), "settings is 3"),  # type: ignore[arg-type]
        (
            lambda: prepare(
                [], [], "s", settings=DataSettings(), options=PrepareOptions(workers=-1)
            ),
            "options.workers is -1",
        ),
        (
            lambda: prepare([], [], "s", settings=DataSettings(), options=PrepareOptions(repeat=2)),  # type: ignore[arg-type]
            "options.repeat is 2",
        ),
    ],
)
def test_misuse_in_python_is_one_line(misuse: Callable[[], object], said: str) -> None:
    with refusal(said):
        misuse()


def test_misuse_of_a_translator_is_one_line(tiny_run: Path, tmp_path: Path) -> None:
    translator, pairs = Translator.load(tiny_run), [("a", "b")]
    for size in (-1, 0, 1.5):
        with refusal(f"batch_size is {size}"):
            translator.score(pairs, batch_size=size)  # type: ignore[arg-type]
    with refusal(r"threshold is 2 \(give a number, from 0 to 1\)"):
        Aligner.load(tiny_run).align(pairs, threshold=2)
    with refusal("NoneType was given, not pairs"):
        Aligner.load(tiny_run).align(None)  # type: ignore[arg-type]
    with refusal("int was given, not prefix"):
        translator.translate(["a"], prefix=3)  # type: ignore[arg-type]
    with refusal("settings is 'beam', of type str"):
        translator.translate(["a"], settings="beam")  # type: ignore[arg-type]
    with refusal("the glossary is 3"):
        translator.translate(["a"], glossary=3)  # type: ignore[arg-type]
    with refusal("card is 3"):
        translator.save_pretrained(tmp_path / "model", card=3)  # type: ignore[arg-type]
