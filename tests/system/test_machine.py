"""Training's memory does not grow with the number of different shapes that sentences bring."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rnnsearch.system.machine import SHAPES_KEPT, set_up_cpu

PRODUCTS = """
import resource, sys, torch
from rnnsearch.system.machine import set_up_cpu

def multiply(shapes):
    for rows in shapes:
        torch.ones(rows, 32, dtype=torch.bfloat16) @ torch.ones(32, 32, dtype=torch.bfloat16)

set_up_cpu(1)
multiply(range(1, 201))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
multiply(range(201, 1001))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024))
"""


def test_new_shapes_of_products_take_no_more_memory() -> None:
    """oneDNN prepares each shape of a bfloat16 product and by default keeps a thousand, here some 500 MiB.

    A CPU without such products prepares nothing, and passes.
    """
    environment = {name: value for name, value in os.environ.items() if name not in SHAPES_KEPT}
    grown = subprocess.run(
        [sys.executable, "-c", PRODUCTS],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert int(grown) < 100 * 2**20


def test_the_environment_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    monkeypatch.delenv("LRU_CACHE_CAPACITY", raising=False)
    set_up_cpu(1)
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"
    assert os.environ["LRU_CACHE_CAPACITY"] == SHAPES_KEPT["LRU_CACHE_CAPACITY"]


FORKED = """
import multiprocessing, torch
from rnnsearch.system.machine import set_up_cpu

def product(threads):
    return set_up_cpu(threads), torch.ones(500, 500).mm(torch.ones(500, 500)).sum().item()

if __name__ == "__main__":
    torch.set_num_threads(2)
    product(2)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map_async(product, [0]).get(60))
"""


def test_a_fork_of_a_process_that_has_computed_uses_one_thread() -> None:
    """The threads of the parent are not in the fork, which would wait for them forever."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True)
    assert done.stdout == "[(1, 125000000.0)]\n", done.stderr
