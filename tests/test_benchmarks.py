"""Benchmarks do the work that they name. Never a time."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rnnsearch.builtin.corpus import write
from rnnsearch.kernels import KERNELS
from rnnsearch.model.layers import tanh
from rnnsearch.system.kernel_dispatch import LOADED, linear_cache

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def growth(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs growth.py in a process of its own: it counts the memory of those that it starts."""
    command = [sys.executable, BENCHMARKS / "growth.py", *words]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_growth_measures_every_command_on_files_of_each_size(tmp_path: Path) -> None:
    write(tmp_path, 600, 3)
    recipe = tmp_path / "recipe.toml"
    sizes = "".join(f"{name}_size = 8\n" for name in ("embedding", "hidden", "alignment", "maxout"))
    recipe.write_text(f"[model]\n{sizes}[training]\nbatch_size = 10\n[search]\nbeam = 1\n")
    sides = ["--source", tmp_path / "dev.en", tmp_path / "train.en"]
    sides += ["--target", tmp_path / "dev.fr", tmp_path / "train.fr"]
    done = growth(*sides, "--sizes", 12, 602, "--recipe", recipe, "--updates", 2, "--sentences", 16)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    assert all(float(figure.replace(",", "")) for row in rows for figure in row[3:])
    small, large = ([(row[1], int(row[2])) for row in rows if row[0] == size] for size in ("12", "602"))
    assert small == [("prepare", 12), ("train", 20), ("translate --out", 12), ("align --out", 12)]
    whole = [pair for pair in large if pair[1] == 602]
    assert [name for name, _ in whole] == ["prepare"]
    assert [name for name, pairs in large if pairs < 602] == ["train", "translate --out", "align --out"]


@pytest.mark.slow
def test_kernel_prices_leave_each_kernel_out() -> None:
    command = [sys.executable, BENCHMARKS / "kernel_prices.py", "--size", "tiny", "--rounds", "1"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    head, everything, *others, none = [line.split("\t") for line in done.stdout.splitlines()]
    assert head == ["without", "an update takes", "a search takes"]
    assert everything == ["–", *["+0.0 % (+0.0 to +0.0)"] * 2]
    assert none[0] == "all"
    assert all(re.fullmatch(r"[+-]\d+\.\d % \(.+\)", cell) for row in [*others, none] for cell in row[1:])


def test_kernel_prices_name_kernels() -> None:
    prices = runpy.run_path(str(BENCHMARKS / "kernel_prices.py"))
    named = {name for names in prices["WITHOUT"].values() for name in names}
    assert named == set(KERNELS)
    with prices["without"](("model.layers:tanh",)):
        tanh(torch.zeros(1))
        linear_cache(torch.float32)
        assert LOADED["model.layers:tanh"] is None
        assert LOADED["system.kernel_dispatch:linear_cache"] is not None
