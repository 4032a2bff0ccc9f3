"""The benchmark does the work that it reports: whole batches, all of the length asked for. Never how long it
takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import Command, sets, sizes

from rnnsearch.config import load_config
from rnnsearch.lab import bench
from rnnsearch.settings import Settings
from rnnsearch.training.trainer import Trainer

SMALL = [*sizes(8), "training.batch_size=3", "search.batch_size=3", "search.beam=2"]


@pytest.fixture
def settings() -> Settings:
    return load_config("", SMALL)


def test_training_is_whole_updates(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warm-up and the repetitions, each one update of the batch; throughput is tokens, sentences and
    seconds of one another."""
    updates: list[tuple[int, ...]] = []
    update = Trainer.update

    def counted(self: Any, batches: Any, number: int, pairs: int) -> Any:
        updates.append((number, *batches[0].target.shape))
        return update(self, batches, number, pairs)

    monkeypatch.setattr(Trainer, "update", counted)
    result = bench.bench_training(settings, words=20, length=5, repetitions=2)
    assert updates == [(1, 3, 6), (2, 3, 6), (3, 3, 6)]
    assert result.words_per_second == pytest.approx(3 * 6 / result.seconds)
    assert result.sentences_per_second == pytest.approx(3 / result.seconds)
    assert (result.length, result.target_words, result.precision) == (5, 20, "float32")
    assert result.peak_memory > 10_000_000


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_translations_have_the_length_asked_for(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[list[Any]]] = []
    search = bench.search

    def kept(*arguments: Any, **more: Any) -> Any:
        found.append(search(*arguments, **more))
        return found[-1]

    monkeypatch.setattr(bench, "search", kept)
    changed = load_config("", [*SMALL, f"search.precision={precision}"])
    result = bench.bench_translation(changed, words=20, length=7, repetitions=1)
    assert len(found) == 2
    for batch in found:
        assert [len(hypotheses[0].ids) - hypotheses[0].finished for hypotheses in batch] == [
            7,
            7,
            7,
        ]
    assert (result.what, result.sentences, result.precision) == (
        "translating with a beam of 2",
        3,
        precision,
    )


@pytest.mark.parametrize("work", ["train", "translate"])
def test_command(work: str, command: Command) -> None:
    line = f"bench {work} --words 20 --length 4 --repetitions 1 {sets(*SMALL)}"
    done = command(f"{line} --json")
    assert done.code == 0
    assert json.loads(done.out)["length"] == 4
    assert "target words/s" in command(line).out
