"""benchmarks/serving.py: it sees lost and swapped answers, and runs from end to end. Never a time."""

from __future__ import annotations

import asyncio
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.serving.served_models import ServedModel
from rnnsearch.serving.service import Service
from rnnsearch.translation.translator import Translator

from .conftest import Loopback

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "serving.py"
LINES = [f"The {word} sees a dog ." for word in ("man", "woman", "cat", "old man", "girl", "house", "small cat")]


@pytest.fixture
def benchmark() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def one_model(make_service: Callable[..., Service], served: list[ServedModel], loopback_of: Any) -> Loopback:
    service = make_service()
    service.models._models = served[:1]
    server: Loopback = loopback_of(service)
    return server


def test_answers_that_are_right_are_counted_as_such(benchmark: dict[str, Any], one_model: Loopback, served: list[ServedModel]) -> None:
    expected = served[0].translator.translate(LINES)
    tally = asyncio.run(benchmark["clients_of"](one_model.port, 10, benchmark["so_many"](60), LINES, expected))
    assert tally.faults == []
    assert tally.statuses == {200: 60}
    assert len(tally.seconds) == 60
    assert tally.lost == 0
    summary = tally.to_dict(2.0)
    assert summary["requests_per_second"] == 30
    assert summary["p50"] <= summary["p95"] <= summary["p99"]


def test_swapped_answers_are_seen(benchmark: dict[str, Any], one_model: Loopback, served: list[ServedModel]) -> None:
    expected = served[0].translator.translate(LINES)
    shifted = [*expected[1:], expected[0]]
    tally = asyncio.run(benchmark["clients_of"](one_model.port, 2, benchmark["so_many"](14), LINES, shifted))
    assert len(tally.faults) == 14
    answer = {"translations": [{"text": "x\n  \t", "sentences": []}]}
    sentence = {"source": LINES[0], "source_tokens": expected[0].source_tokens}
    best = {"text": expected[0].text, "score": expected[0].score, "log_probabilities": expected[0].log_probabilities}
    answer["translations"][0]["sentences"] = [sentence | {"hypotheses": [best]}]  # type: ignore[assignment]
    assert benchmark["fault"](LINES[0], expected[0], "\n  \t", answer) == ""
    assert "key" in benchmark["fault"](LINES[0], expected[0], "\n \t ", answer)
    best |= {"text": "another", "score": expected[0].score - 5}
    assert "another translation" in benchmark["fault"](LINES[0], expected[0], "\n  \t", answer)


def test_what_is_refused_otherwise_than_with_retry_after_is_a_fault(benchmark: dict[str, Any], loopback: Loopback, tiny_run: Path) -> None:
    """Of two models none is named."""
    expected = Translator.load(tiny_run).translate(LINES)
    tally = asyncio.run(benchmark["clients_of"](loopback.port, 1, benchmark["so_many"](2), LINES, expected))
    assert [one[:10] for one in tally.faults] == ["status 400", "status 400"]


def test_every_key_is_another(benchmark: dict[str, Any]) -> None:
    keys = [benchmark["key_in_white_space"](number) for number in range(300)]
    assert len(set(keys)) == 300
    assert all(key.strip() == "" and key.count("\n") == 1 for key in keys)


@pytest.mark.slow
def test_the_benchmark_from_end_to_end(tiny_run: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join(LINES) + "\n")
    small = ["--lone", 5, "--requests", 40, "--saturating", 8, "--clients", 20, "--seconds", 2, "--memory", 50, "--kill-seconds", 6]
    words = [sys.executable, SCRIPT, tiny_run, "--text", text, "--out", tmp_path / "out.json", *small]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["sentences"] == len(LINES)
    assert results["lone"]["requests"] == 5
    assert results["saturated"]["answered"] == 40
    assert results["load"]["faults"] == results["kill"]["faults"] == 0
    assert results["memory"]["requests"] == 50
    assert results["kill"]["replaced"] is True
