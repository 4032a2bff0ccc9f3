"""benchmarks/scaling.py: its bytes are those that an update sends, and its plan follows from them. Never a time."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from rank_threads import together

from rnnsearch.config import Settings, load_config
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.parallel import ParallelTrainer, Share
from rnnsearch.training.ranks import Part, Ranks
from rnnsearch.training.trainer import Trainer

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "scaling.py"
SIZES = [
    "model.embedding_size=32",
    "model.hidden_size=24",
    "model.alignment_size=16",
    "model.maxout_size=16",
    "model.initialisation=glorot",
]
WORDS, PAIRS, LENGTH = 400, 3, 9


def sent_in_an_update(settings: Settings, world: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of gradients and parameters, by rank. All words of a rank's batch are different."""
    sent, swap = Counter[int](), Ranks.swap

    def counting(ranks: Ranks, out: list[Part], into: list[Part]) -> None:
        sent[ranks.rank] += sum(tensor.nbytes for _, tensor in out if tensor.dtype != torch.float64)
        swap(ranks, out, into)

    def work(ranks: Ranks) -> None:
        network = TranslationNetwork(settings.model, WORDS, WORDS)
        parallel = ParallelTrainer(Trainer(network, settings.training, 0), ranks, settings.training)
        first = 2 + ranks.rank * PAIRS * (LENGTH + 1)
        ids = torch.arange(first, first + PAIRS * (LENGTH + 1)).view(PAIRS, LENGTH + 1)
        batch = Batch(ids, torch.full((PAIRS,), LENGTH + 1), ids, torch.full((PAIRS,), LENGTH + 1))
        sent[ranks.rank] = 0
        parallel.update_together(Share([batch], world * PAIRS), 1)

    monkeypatch.setattr(Ranks, "swap", counting)
    together(world, work)
    return [sent[rank] for rank in range(world)]


@pytest.mark.parametrize(("world", "precision"), [(2, "float32"), (2, "bfloat16"), (3, "float32")])
@pytest.mark.parametrize("optimiser", ["adam", "adadelta"])
def test_bytes_are_those_of_an_update(optimiser: str, world: int, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_config(overrides=[*SIZES, f"training.optimiser={optimiser}", f"training.exchange_precision={precision}"])
    sizes = runpy.run_path(str(SCRIPT))["Sizes"].of(settings, WORDS, LENGTH, PAIRS)
    assert bool(sizes.rows) == (optimiser == "adadelta")
    for sent in sent_in_an_update(settings, world, monkeypatch):
        # Parameters begin at aligned places; the last word of a target is read by nobody, so it has no row.
        assert sent == pytest.approx(sizes.sent(world, 4 if precision == "float32" else 2), rel=0.02)


def plan(*options: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    sets = [word for change in SIZES for word in ("--set", change)]
    monkeypatch.setattr(sys, "argv", ["scaling.py", *sets, "--words", "50", "--length", "4", "--json", *options])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    return json.loads(capsys.readouterr().out)


def test_the_plan_follows_from_bytes_and_operations(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan("--ranks", "2", "4", "--card-share", "0.5", monkeypatch=monkeypatch, capsys=capsys)
    for row in found["plan"]:
        assert row["share"] == pytest.approx(row["arithmetic"] / (row["arithmetic"] + row["exchange"]))
        bigger = row["pairs"] / 80 * row["arithmetic"]  # arithmetic grows with the pairs
        assert bigger / (bigger + row["exchange"]) == pytest.approx(0.9)
    assert all(row["bytes"] == found["plan"][0]["bytes"] for row in found["plan"] if (row["ranks"], row["gradient_bytes"]) == (2, 4))
    slow, fast = ([row for row in found["plan"] if row["network"] == name] for name in ("10 Gbit/s", "100 Gbit/s"))
    assert all(one["exchange"] == pytest.approx(10 * other["exchange"]) for one, other in zip(slow, fast, strict=True))


@pytest.mark.slow
def test_it_measures() -> None:
    sets = [word for change in SIZES for word in ("--set", change)]
    words = ["--measure", *sets, "--words", "50", "--length", "4", "--repetitions", "2", "--json"]
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    ways = ["", *(f"{way}, {precision}" for way in ("memory", "messages") for precision in ("float32", "bfloat16"))]
    assert [row["exchange"] for row in rows] == ways
    assert all(row["update"] > 0 for row in rows)
